/** A payment as its customer's pages see it: found by the address of the page, and which page it is on right now. */
import { simulatedPage, simulatorFacts } from '#connectors/simulator/simulator.ts'
import type { Merchant } from '#domain/merchant.ts'
import type { CountExchange } from '#http/authentication/shared-counts.ts'
import { countDeclines, maximumTries } from '#lifecycle/attempt.ts'
import { namedCustomer, type StoredCard } from '#lifecycle/customer.ts'
import { openAction } from '#lifecycle/customer-step.ts'
import type { StoredAction } from '#lifecycle/outcome.ts'
import { lastOperation, type Operation, openTry, type Payment } from '#lifecycle/payment.ts'
import type { Engine } from '#operations/engine.ts'
import { merchantNow } from '#operations/engine.ts'
import type { LookUps } from '#operations/look-ups.ts'
import { type OfferedMethod, offerMethods } from '#operations/payments/offer.ts'

export interface PageSubject {
  readonly merchantId: Merchant['merchantId']
  readonly payId: Payment['payId']
  readonly step?: { readonly xId: Operation['xId']; readonly type: string }
}

export interface PageDeps {
  readonly engine: Engine
  /** Card ranges and exchange rates, for offers in the customer's own currency. */
  readonly lookUps: LookUps
  readonly environment: 'test' | 'live'
  readonly findMerchant: (merchantId: Merchant['merchantId']) => Promise<Merchant | undefined>
  readonly pageTokens: {
    issue(subject: PageSubject): string
    read(pageToken: string): PageSubject | undefined
  }
  readonly secure: boolean
  /** What other processes counted against the same limits; alone unless given. */
  readonly counts?: CountExchange
  /** The origin that others see. */
  readonly origin: () => string
  /** Whom to tell about a hole in the gateway. */
  readonly securityContact?: string | undefined
  /** Signs the list of files that a page loads. */
  readonly signInventory: (text: string) => InventorySignature
}

export interface InventorySignature {
  readonly algorithm: 'Ed25519'
  /** Base64. */
  readonly publicKey: string
  readonly value: string
}

export interface Hosted {
  readonly pageToken: string
  /** Set on the page of a provider or issuer: the try and the method it is about. */
  readonly step?: PageSubject['step']
  readonly merchant: Merchant
  readonly payment: Payment
  readonly now: Date
  /** The cards that this customer kept, the one used last first. */
  readonly remembered: readonly StoredCard[]
  /** How the customer may pay; empty once there is nothing to pay any more. */
  readonly offered: readonly OfferedMethod[]
}

/** Undefined for an address that we never gave out. */
export async function openHosted(
  pageToken: string,
  { engine, findMerchant, pageTokens }: PageDeps,
): Promise<Hosted | undefined> {
  const subject = pageTokens.read(pageToken)
  const merchant = subject && (await findMerchant(subject.merchantId))
  const payment = subject && merchant && (await engine.payments.byPayId(subject.merchantId, subject.payId))
  if (!payment || !merchant) return undefined
  const now = merchantNow(engine.clock, merchant)
  if (hasEnded(payment, now)) return undefined
  const remembered = await listRemembered(payment, now, engine)
  const isOpen = payment.status === 'AUTHORIZE_REQUEST' || payment.status === 'PENDING'
  const offered = isOpen ? await offerMethods(payment, merchant, engine) : []
  return { pageToken, merchant, payment, step: subject.step, now, remembered, offered }
}

/** 30 days: the contract. By then every customer who wanted to see the result has seen it. */
const shownAfterEndMs = 30 * 24 * 60 * 60 * 1000

/** The address of a finished payment ends, because mail boxes and histories in which it lies do not. */
const hasEnded = ({ status, updatedAt }: Payment, now: Date): boolean =>
  status !== 'AUTHORIZE_REQUEST' &&
  status !== 'PENDING' &&
  now.getTime() - updatedAt.getTime() > shownAfterEndMs

/**
 * The merchant knows who sits before a page that it opened for somebody who signed in. A link is another matter: it may
 * have been forwarded, and whoever opens it must not pay with the cards of whom it was meant for.
 */
async function listRemembered(
  payment: Payment,
  now: Date,
  { storedMethods }: Pick<Engine, 'storedMethods'>,
): Promise<readonly StoredCard[]> {
  const { merchantId, integrationType, status } = payment
  const named = namedCustomer(payment)
  const isShown = integrationType === 'HOSTED' && status === 'AUTHORIZE_REQUEST' && !isLink(payment)
  if (named === undefined || !isShown) return []
  const thisMonth = now.toISOString().slice(0, 7).replace('-', '')
  const cards = await storedMethods.listRemembered(merchantId, named)
  return cards.filter(({ expiryDate }) => expiryDate === undefined || expiryDate >= thisMonth)
}

export const isLink = ({ details }: Payment): boolean => details.linkId !== undefined

/**
 * Where the customer is. `form`: chooses or fills in. `step`: has to go to a provider or issuer. `instructions`: pays
 * elsewhere. `waiting`: nothing to do but wait for the result. The others are ends.
 */
export type Stage =
  | 'form'
  | 'step'
  | 'instructions'
  | 'waiting'
  | 'paid'
  | 'expired'
  | 'cancelled'
  | 'tooManyTries'
  | 'failed'

export function stageOf({ payment, now }: Pick<Hosted, 'payment' | 'now'>): Stage {
  switch (payment.status) {
    case 'AUTHORIZE_REQUEST':
    case 'PENDING':
      return stageOfOpen(payment, now)
    case 'FAILED':
      return stageOfFailed(payment)
    default:
      return 'paid'
  }
}

function stageOfOpen(payment: Payment, now: Date): Stage {
  if (payment.awaits !== 'CUSTOMER') return 'waiting'
  if (payment.expiresAt && payment.expiresAt.getTime() <= now.getTime()) return 'expired'
  const step = openTry(payment)?.prepared.step
  if (step === undefined) return 'form'
  return step === 'instructions' ? 'instructions' : 'step'
}

function stageOfFailed(payment: Payment): Stage {
  const { responseCode } = lastOperation(payment)
  if (responseCode.endsWith('0402')) return 'expired'
  if (/070[34]$/.test(responseCode)) return 'cancelled'
  return countDeclines(payment) >= maximumTries ? 'tooManyTries' : 'failed'
}

interface Urls {
  readonly return?: string
  readonly cancel?: string
}

export const urlsOf = ({ details }: Payment): Urls => (details.urls ?? {}) as Urls

/**
 * The shop's own address with the payment's id appended; only ever from the stored payment. As text, so that everything else
 * stays as the shop wrote it: it may have signed it.
 */
function withPayId(address: string | undefined, { payId }: Payment): string | undefined {
  if (address === undefined) return undefined
  // Other letters than those of a header must be encoded first.
  const plain = /^[\x21-\x7e]*$/.test(address) ? address : new URL(address).href
  const [, before = '', fragment = ''] = /^([^#]*)(.*)$/s.exec(plain) ?? []
  const joint = !before.includes('?') ? '?' : /[?&]$/.test(before) ? '' : '&'
  return `${before}${joint}PayId=${payId}${fragment}`
}

/** Where the shop wants its customer back: after an end without payment at the place for those who turned back. */
export function returnUrl(payment: Payment): string | undefined {
  const { return: back, cancel } = urlsOf(payment)
  return withPayId(payment.status === 'FAILED' ? (cancel ?? back) : back, payment)
}

export const isSession = ({ details }: Payment): boolean => details.session === true

/** Keeping the card is what the merchant asked for: there is nothing for the customer to tick. */
export function isKeptAnyway({ amount, details }: Payment): boolean {
  const agreed = details.credentialOnFile as { initialPayment?: boolean } | undefined
  return amount.value === 0 || details.linkType === 'TOKENIZE' || agreed?.initialPayment === true
}

export interface Mandate {
  readonly mandateId: string
  /** DD.MM.YYYY */
  readonly dateOfSignature: string
}

/** The merchant's own mandate where it gave one; else the payment's id, which is as unique, signed today. */
export function mandateOf({ payment, now }: Pick<Hosted, 'payment' | 'now'>): Mandate {
  const given = (payment.details.methodFields ?? {}) as Partial<Mandate>
  const [year, month, day] = now.toISOString().slice(0, 10).split('-')
  return {
    mandateId: given.mandateId ?? payment.payId,
    dateOfSignature: given.dateOfSignature ?? `${day}.${month}.${year}`,
  }
}

type Redirect = Extract<StoredAction, { type: 'redirect' }>

/** Where the customer has to go; undefined on pages of ours and of the simulator. */
export function providerAction({ payment }: Pick<Hosted, 'payment'>): Redirect | undefined {
  const waiting = openTry(payment)
  const action = waiting && openAction(waiting)
  if (action?.type !== 'redirect' || action.url === simulatedPage || !/^https?:/.test(action.url))
    return undefined
  return action
}

/** The simulator's customers decide on a page of ours; what those of a provider did is the provider's to tell. */
export const isSimulated = ({ payment: { provider } }: Pick<Hosted, 'payment'>): boolean =>
  provider === undefined || provider.connector === simulatorFacts.name
