/** A payment as its customer's pages see it: found by the address of the page, and which page it is on right now. */
import type { Merchant } from '#domain/merchant.ts'
import { countDeclines, maximumTries } from '#lifecycle/attempt.ts'
import { lastOperation, type Operation, openTry, type Payment } from '#lifecycle/payment.ts'
import type { Engine } from '#operations/engine.ts'
import { merchantNow } from '#operations/engine.ts'

export interface PageSubject {
  readonly merchantId: Merchant['merchantId']
  readonly payId: Payment['payId']
  readonly step?: { readonly xId: Operation['xId']; readonly type: string }
}

export interface PageDeps {
  readonly engine: Engine
  readonly environment: 'test' | 'live'
  readonly findMerchant: (merchantId: Merchant['merchantId']) => Promise<Merchant | undefined>
  readonly pageTokens: {
    issue(subject: PageSubject): string
    read(pageToken: string): PageSubject | undefined
  }
  readonly secure: boolean
}

export interface Hosted {
  readonly pageToken: string
  /** Set on the page of a provider or issuer: the try and the method it is about. */
  readonly step?: PageSubject['step']
  readonly merchant: Merchant
  readonly payment: Payment
  readonly now: Date
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
  return { pageToken, merchant, payment, step: subject.step, now: merchantNow(engine.clock, merchant) }
}

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
  if (responseCode.endsWith('0703')) return 'cancelled'
  return countDeclines(payment) >= maximumTries ? 'tooManyTries' : 'failed'
}

interface Urls {
  readonly return?: string
  readonly cancel?: string
}

export const urlsOf = ({ details }: Payment): Urls => (details.urls ?? {}) as Urls

/** The shop's own address with the payment's id appended; only ever from the stored payment. */
function withPayId(address: string | undefined, { payId }: Payment): string | undefined {
  if (address === undefined) return undefined
  const url = new URL(address)
  url.searchParams.append('PayId', payId)
  return url.href
}

/** Where the shop wants its customer back: after an end without payment at the place for those who turned back. */
export function returnUrl(payment: Payment): string | undefined {
  const { return: back, cancel } = urlsOf(payment)
  return withPayId(payment.status === 'FAILED' ? (cancel ?? back) : back, payment)
}

export const isSession = ({ details }: Payment): boolean => details.session === true
