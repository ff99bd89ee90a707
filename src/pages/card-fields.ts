/**
 * Card fields inside a shop's page: a frame of our origin that belongs to a merchant and to no payment. What the
 * customer types becomes a one-time card, whose token the shop's server sends with `POST /payments`.
 */
import { detectBrand } from '#domain/cards/card-brands.ts'
import type { MerchantId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import { networkOf } from '#domain/network-address.ts'
import { Secret } from '#domain/secret.ts'
import type { PageAnswer, PageRequest } from '#http/server/page-routes.ts'
import { merchantNow } from '#operations/engine.ts'
import type { PageDeps } from '#pages/hosted.ts'
import { chooseLanguage } from '#pages/language.ts'
import type { Limits } from '#pages/limits.ts'
import type { PageContext } from '#pages/page-context.ts'
import { readCardForm } from '#pages/read-form.ts'
import { securityHeaders } from '#pages/security-headers.ts'
import { themeOf } from '#pages/show.ts'
import { renderCardFields } from '#pages/views/card-form.ts'
import type { PageFrame } from '#pages/views/layout.ts'

/** The path of card fields; the merchant's id follows. */
export const fieldsPath = '/pay/fields/'

/** 60 tokens in ten minutes from one address: many customers may share an address, and each needs one or two. */
export const tokensMax = 60

interface FieldsContext {
  readonly pageContext: PageContext
  readonly deps: PageDeps
}

export async function showFields(request: PageRequest, context: FieldsContext): Promise<PageAnswer> {
  const merchant = await findMerchant(request, context.deps)
  if (!merchant) return context.pageContext.deadEnd(request, 'unknown')
  const frame = frameOf(request, merchant, context)
  // The answers to the form are in the language of its page.
  const action = `${fieldsPath}${merchant.merchantId}?language=${frame.language.locale}`
  const body = renderCardFields(frame, action)
  return { status: 200, body, headers: headersOf(merchant, context) }
}

/** The token, or what is wrong with the entries. */
export async function takeFields(
  request: PageRequest,
  context: FieldsContext & { readonly tokens: Limits },
): Promise<PageAnswer> {
  const { pageContext, deps, tokens } = context
  const merchant = await findMerchant(request, deps)
  if (!merchant) return pageContext.deadEnd(request, 'unknown')
  const { texts } = frameOf(request, merchant, context).language
  const keys = [`tokens ${networkOf(request.address)}`]
  if (!tokens.allows(keys)) return pageContext.json({ message: texts.slowDownText })
  const now = merchantNow(deps.engine.clock, merchant)
  const thisMonth = now.toISOString().slice(0, 7).replace('-', '')
  const { entry, errors } = readCardForm(request.form ?? {}, texts, thisMonth)
  if (errors) return pageContext.json({ errors })
  tokens.count(keys)
  const { number, expiryDate, cardholderName, securityCode } = entry
  const card = {
    number: new Secret(number),
    expiryDate,
    cardholderName,
    securityCode: new Secret(securityCode),
  }
  const token = await deps.engine.oneTimeCards.issue(merchant.merchantId, card, now)
  return pageContext.json({
    token,
    card: { brand: detectBrand(number), last4Digits: number.slice(-4), expiryDate },
  })
}

/** Other texts cannot be a merchant's id, so no query is made for them. */
const isMerchantId = (text: string): text is MerchantId => /^[\w.-]{1,64}$/.test(text)

/** Only a merchant who has named the sites that may frame its pages has card fields. */
async function findMerchant(
  { params: { merchantId = '' } }: PageRequest,
  deps: PageDeps,
): Promise<Merchant | undefined> {
  const merchant = isMerchantId(merchantId) ? await deps.findMerchant(merchantId) : undefined
  return merchant && !merchant.disabled && (merchant.frameOrigins?.length ?? 0) > 0 ? merchant : undefined
}

const frameOf = (
  { headers, query }: PageRequest,
  merchant: Merchant,
  { pageContext: { assets, isTest } }: FieldsContext,
): PageFrame => ({
  language: chooseLanguage(query.language, headers['accept-language']),
  assets,
  isTest,
  merchantName: merchant.name,
  theme: themeOf({ merchant }),
})

const headersOf = (merchant: Merchant, { deps }: FieldsContext): Record<string, string> =>
  securityHeaders({ theme: themeOf({ merchant }), frameAncestors: merchant.frameOrigins, tls: deps.secure })
