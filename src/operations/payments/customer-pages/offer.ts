/**
 * Finds the methods that the customer's page offers: they fit the payment, and an account of the merchant supports
 * them.
 */
import { narrowMethod } from '#connectors/capabilities.ts'
import type { FieldMisfit } from '#connectors/contract.ts'
import type { OpenedAccount } from '#connectors/directory.ts'
import type { Merchant } from '#domain/merchant.ts'
import { askedCapture, offerFor } from '#lifecycle/attempt.ts'
import type { Payment } from '#lifecycle/payment.ts'
import { beginsAgreement, formOf, type MethodForm } from '#methods/offer.ts'
import type { Method, MethodOperation } from '#methods/rows.ts'
import type { Engine } from '#operations/engine.ts'
import {
  amountMisfit,
  type Choosing,
  chooseAccount,
  takesCardItself,
} from '#operations/payments/provider-calls/choose-account.ts'

export interface OfferedMethod {
  readonly method: Method
  readonly account: OpenedAccount
  /** The form on our page; none if the provider's page asks for the card. */
  readonly form: MethodForm
  /** The account's own name for the method, if it has one. */
  readonly label?: string
}

/** The part of a payment that decides what its page offers. */
export type Page = Pick<Payment, 'method' | 'amount' | 'captureMethod' | 'details'> &
  Partial<Pick<Payment, 'own' | 'operations'>> & { readonly confirmsLater?: boolean }

export async function offerMethods(
  page: Page,
  merchant: Merchant,
  engine: Pick<Engine, 'providers'>,
): Promise<readonly OfferedMethod[]> {
  const found = await Promise.all(
    offerFor(page, merchant.methods).map(async method => {
      const choice = await chooseAccount(toPageChoosing(page, { merchant, method }), engine)
      return choice.account ? [toOffered(method, choice.account)] : []
    }),
  )
  return found.flat()
}

/**
 * The requirements for the account of a try on our page: everything that the merchant requested, and the exact amount.
 */
export function toPageChoosing(
  page: Page,
  { merchant, method }: Pick<Choosing, 'merchant' | 'method'>,
): Choosing {
  const { amount, details } = page
  const { type } = askedCapture(page)
  return {
    merchant,
    method,
    amount,
    details,
    // AUTOMATIC is also the default, so the merchant may not have asked for it.
    captureType: type === 'AUTOMATIC' ? undefined : type,
    isKept: beginsAgreement(details),
    confirmsLater: page.confirmsLater ?? page.operations?.[0]?.details.confirmsLater,
    fitsAmount: true,
  }
}

/**
 * Why this page cannot offer any method: no account supports one of them, or none that does can express the amount.
 * Undefined if the page can offer a method, or the merchant has no accounts.
 */
export async function findPageMisfit(
  page: Page,
  merchant: Merchant,
  engine: Pick<Engine, 'providers'>,
): Promise<FieldMisfit | 'NO_CONNECTOR' | undefined> {
  const [first] = await engine.providers.enabled(merchant.merchantId)
  const hasAccounts = first !== undefined && first.accountId !== undefined
  if (!hasAccounts || (await offerMethods(page, merchant, engine)).length > 0) return undefined
  for (const method of offerFor(page, merchant.methods)) {
    const choosing = { ...toPageChoosing(page, { merchant, method }), fitsAmount: false }
    const { account } = await chooseAccount(choosing, engine)
    const misfit = account && amountMisfit(account, page.amount)
    if (misfit) return misfit
  }
  return 'NO_CONNECTOR'
}

function toOffered(method: Method, account: OpenedAccount): OfferedMethod {
  const form = takesCardItself(account, method) ? 'none' : formOf(method)
  return { method, account, form, label: account.label(method.type) }
}

/**
 * What a payment can ask for when it is made: it goes to an account that can do it. What comes later is up to the
 * account that took the payment.
 */
const decidedAtOnce: ReadonlySet<MethodOperation> = new Set([
  'capture',
  'partial_capture',
  'credit',
  'recurring',
])

/**
 * The part of the catalogue that the merchant's enabled accounts support and the routing rules let some payment have,
 * for lists made before the amount is known.
 * Each method is narrowed to what any account that supports it can be asked for at once, and for the rest to the
 * capabilities of the first one. The simulator of a test merchant without accounts supports the whole catalogue.
 */
export async function servedMethods(
  methods: readonly Method[],
  {
    merchantId,
    ...asked
  }: Pick<Merchant, 'merchantId'> & { readonly currency?: string; readonly country?: string },
  { providers }: Pick<Engine, 'providers'>,
): Promise<readonly Method[]> {
  const accounts = await providers.enabled(merchantId)
  if (accounts.some(({ accountId }) => accountId === undefined)) return methods
  const reachable = await providers.reachable(merchantId)
  return methods.flatMap(method => {
    const serving = reachable({ method, ...asked }).flatMap(account => {
      const can = account.connector.supports(method)
      return can ? [{ account, can, narrow: narrowMethod(method, can) }] : []
    })
    const [first] = serving
    if (!first) return []
    const isDirect = formOf(method) !== 'card' || serving.some(({ can }) => can.rawCards)
    return [
      {
        ...first.narrow,
        integration: isDirect ? method.integration : method.integration.filter(type => type === 'HOSTED'),
        capture: method.capture.filter(type => serving.some(({ narrow }) => narrow.capture.includes(type))),
        operations: method.operations.filter(operation =>
          (decidedAtOnce.has(operation) ? serving : [first]).some(({ narrow }) =>
            narrow.operations.includes(operation),
          ),
        ),
        label: first.account.label(method.type) ?? method.label,
      },
    ]
  })
}
