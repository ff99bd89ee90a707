/** Finds the payment that a page's address names, and decides which page the customer sees now. */
import type { Connector } from '#connectors/contract.ts'
import { textAt } from '#domain/json.ts'
import type { Merchant } from '#domain/merchant.ts'
import type { CountExchange } from '#http/authentication/shared-counts.ts'
import { countDeclines, maximumTries } from '#lifecycle/attempt.ts'
import { namedCustomer, type StoredCard } from '#lifecycle/customer.ts'
import { openAction } from '#lifecycle/customer-step.ts'
import type { StoredAction } from '#lifecycle/outcome.ts'
import { lastOperation, type Operation, openTry, type Payment } from '#lifecycle/payment.ts'
import { beginsPlan, type CredentialTerms, credentialTerms } from '#lifecycle/plans/plan.ts'
import type { OpeningLog } from '#operations/audit/audit.ts'
import type { Engine } from '#operations/engine.ts'
import { merchantNow } from '#operations/engine.ts'
import type { LookUps } from '#operations/look-ups.ts'
import { findBegunPlan } from '#operations/payments/customer-pages/attempt.ts'
import { type OfferedMethod, offerMethods } from '#operations/payments/customer-pages/offer.ts'

export interface PageSubject {
  readonly merchantId: Merchant['merchantId']
  readonly payId: Payment['payId']
  /** The payment's first operation. */
  readonly first?: Operation['xId'] | undefined
  readonly step?: { readonly xId: Operation['xId']; readonly type: string }
}

export const pageOf = ({
  merchantId,
  payId,
  operations,
}: Pick<Payment, 'merchantId' | 'payId' | 'operations'>): PageSubject => ({
  merchantId,
  payId,
  first: operations[0]?.xId,
})

export interface PageDeps {
  readonly engine: Engine
  /** Card ranges and exchange rates, for offers in the customer's own currency. */
  readonly lookUps: LookUps
  readonly audit: OpeningLog
  readonly environment: 'test' | 'live'
  /** The path prefixes of the pages that we serve for providers without a web site of their own. */
  readonly sites: readonly string[]
  readonly findMerchant: (merchantId: Merchant['merchantId']) => Promise<Merchant | undefined>
  readonly pageTokens: {
    issue(subject: PageSubject): string
    /** isOld: sealed with a replaced key, which may have been stolen. */
    read(pageToken: string): (PageSubject & { readonly isOld: boolean }) | undefined
  }
  readonly secure: boolean
  /** Counts of other processes against the same limits; without it the process counts alone. */
  readonly counts?: CountExchange
  /** The origin that others see. */
  readonly origin: () => string
  /** The contact for reports of security problems. */
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
  /** Set on a provider's or issuer's page: its try and method. */
  readonly step?: PageSubject['step']
  readonly merchant: Merchant
  readonly payment: Payment
  readonly now: Date
  /** The customer's saved cards, the most recently used first. */
  readonly remembered: readonly StoredCard[]
  /** The methods offered; empty once there is nothing left to pay. */
  readonly offered: readonly OfferedMethod[]
  /** The account's own label for the method, if it has one. */
  readonly label?: string | undefined
  /** The payment would begin a plan that the merchant has cancelled since. */
  readonly isPlanCancelled?: boolean | undefined
  /** The connector of the account to which the open try was sent. */
  readonly connector?: Connector | undefined
}

/** Undefined for an address that the gateway did not issue. */
export async function openHosted(
  pageToken: string,
  { engine, findMerchant, pageTokens }: PageDeps,
): Promise<Hosted | undefined> {
  const subject = pageTokens.read(pageToken)
  const merchant = subject && (await findMerchant(subject.merchantId))
  const payment = subject && merchant && (await engine.payments.byPayId(subject.merchantId, subject.payId))
  if (!payment || !merchant || (subject.isOld && !namesOperation(subject, payment))) return undefined
  const now = merchantNow(engine.clock, merchant)
  if (hasEnded(payment, now)) return undefined
  const remembered = await listRemembered(payment, now, engine)
  const isOpen = payment.status === 'AUTHORIZE_REQUEST' || payment.status === 'PENDING'
  const offered = isOpen ? await offerMethods(payment, merchant, engine) : []
  const account =
    payment.provider && (await engine.providers.open(merchant.merchantId, payment.provider.account))
  const label = account?.label(payment.method.type)
  const waiting = openTry(payment)
  const asked = waiting && (await engine.providers.open(merchant.merchantId, waiting.prepared.account))
  const { step } = subject
  const plan = isOpen ? await findBegunPlan(payment, engine) : undefined
  return {
    ...{ pageToken, merchant, payment, step, now, remembered, offered, label },
    connector: asked?.connector,
    isPlanCancelled: plan?.status === 'CANCELLED',
  }
}

/**
 * For an address sealed with a replaced key: it must name more of the payment than its id, which a forger would not
 * know.
 */
const namesOperation = ({ first, step }: PageSubject, { operations }: Payment): boolean =>
  operations.some(({ xId }) => xId === (step?.xId ?? first))

/** 30 days, as the contract says. */
const shownAfterEndMs = 30 * 24 * 60 * 60 * 1000

/** The address of a finished payment expires, because it stays in mailboxes and browser histories. */
const hasEnded = ({ status, updatedAt }: Payment, now: Date): boolean =>
  status !== 'AUTHORIZE_REQUEST' &&
  status !== 'PENDING' &&
  now.getTime() - updatedAt.getTime() > shownAfterEndMs

/**
 * A merchant opens a session for a customer who is signed in, so their saved cards may be offered. A link may have been
 * forwarded: whoever opens it must not be offered the cards of the customer it was sent to.
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

export const isLink = ({ own }: Payment): boolean => own.linkId !== undefined

/**
 * The stage of the customer. `form`: chooses or fills in. `step`: has to go to a provider or issuer. `instructions`:
 * pays elsewhere. `waiting`: nothing to do but wait for the result. The others are ends.
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

export type Standing = Pick<Hosted, 'payment' | 'now' | 'isPlanCancelled'>

export function stageOf({ payment, now, isPlanCancelled }: Standing): Stage {
  switch (payment.status) {
    case 'AUTHORIZE_REQUEST':
    case 'PENDING':
      return stageOfOpen(payment, now, isPlanCancelled)
    case 'FAILED':
      return stageOfFailed(payment)
    case 'REVERSED':
      // The approved amount has been reversed in full, so the customer has not paid.
      return 'cancelled'
    default:
      return 'paid'
  }
}

function stageOfOpen(payment: Payment, now: Date, isPlanCancelled = false): Stage {
  if (payment.awaits !== 'CUSTOMER') return 'waiting'
  if (payment.expiresAt && payment.expiresAt.getTime() <= now.getTime()) return 'expired'
  const step = openTry(payment)?.prepared.step
  if (step === undefined) return isPlanCancelled ? 'cancelled' : 'form'
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

const urlsOf = ({ details }: Payment): Urls => details.urls ?? {}

/**
 * The addresses at which the page's forms may end. The webhook's address is stored beside these but must not reach the
 * customer.
 */
export function returnAddresses(payment: Payment): readonly string[] {
  const { return: back, cancel } = urlsOf(payment)
  return [back, cancel].filter(address => address !== undefined)
}

/**
 * The shop's address from the stored payment, with the payment's id appended. It is handled as text, so that the rest stays
 * exactly as the shop wrote it: the shop may have signed it.
 */
function withPayId(address: string | undefined, { payId }: Payment): string | undefined {
  if (address === undefined) return undefined
  // Characters that a header cannot hold must be encoded first.
  const plain = /^[\x21-\x7e]*$/.test(address) ? address : new URL(address).href
  const [, before = '', fragment = ''] = /^([^#]*)(.*)$/s.exec(plain) ?? []
  const joint = !before.includes('?') ? '?' : /[?&]$/.test(before) ? '' : '&'
  return `${before}${joint}PayId=${payId}${fragment}`
}

const unpaid: readonly Stage[] = ['expired', 'cancelled', 'tooManyTries', 'failed']

/** Where the customer returns to: `urls.cancel`, if given, after an end without payment, otherwise `urls.return`. */
export function returnUrl(hosted: Standing): string | undefined {
  const { payment } = hosted
  const { return: back, cancel } = urlsOf(payment)
  return withPayId(unpaid.includes(stageOf(hosted)) ? (cancel ?? back) : back, payment)
}

export const isSession = ({ own }: Payment): boolean => own.session === true

/** How often and until when a payment's plan charges; undefined where the payment begins none. */
export function recurringTerms({ details }: Payment): CredentialTerms['recurring'] {
  const terms = beginsPlan(details) ? credentialTerms(details) : undefined
  // The merchant may leave all terms open and only state that the customer will be charged again.
  return terms?.type === 'RECURRING' ? (terms.recurring ?? {}) : terms?.recurring
}

/** The merchant's request requires saving the card, so the page shows no tick box. */
export function isKeptAnyway({ amount, details }: Payment): boolean {
  return amount.value === 0 || details.linkType === 'TOKENIZE' || beginsPlan(details)
}

export interface Mandate {
  readonly mandateId: string
  /** DD.MM.YYYY */
  readonly dateOfSignature: string
}

/** The mandate of the request; otherwise the payment's id serves as mandate reference, signed today. */
export function mandateOf({ payment, now }: Pick<Hosted, 'payment' | 'now'>): Mandate {
  const { methodFields } = payment.own
  const [year, month, day] = now.toISOString().slice(0, 10).split('-')
  return {
    mandateId: textAt(methodFields, 'mandateId') ?? payment.payId,
    dateOfSignature: textAt(methodFields, 'dateOfSignature') ?? `${day}.${month}.${year}`,
  }
}

type Redirect = Extract<StoredAction, { type: 'redirect' }>

/**
 * The provider's page to which the customer must go: a web address, or a path of this origin. Undefined on our own
 * pages.
 */
export function providerAction({ payment }: Pick<Hosted, 'payment'>): Redirect | undefined {
  const waiting = openTry(payment)
  const action = waiting && openAction(waiting)
  return action?.type === 'redirect' && (/^https?:/.test(action.url) || isOwnPath(action.url))
    ? action
    : undefined
}

export const isOwnPath = (url: string): boolean => /^\/(?![/\\])/.test(url)
