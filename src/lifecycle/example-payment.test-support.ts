/** A payment to start from in the table tests of this folder. */
import type { MerchantId, PayId, XId } from '#domain/ids.ts'
import { providerResultOutstanding, success } from '#domain/response-codes.ts'
import type { Outcome, ProviderFacts } from '#lifecycle/outcome.ts'
import { noSums, type Operation, type Payment, type Sums } from '#lifecycle/payment.ts'
import { findMethod } from '#methods/catalogue.ts'
import type { Method } from '#methods/rows.ts'

export const now = new Date('2026-03-01T12:00:00Z')
export const later = (hours: number): Date => new Date(now.getTime() + hours * 3_600_000)

export const xIdOf = (n: number): XId => n.toString(16).padStart(32, '0') as XId

/** A row of the catalogue, served or not. */
export function methodOf(type: string): Method {
  const method = findMethod(type)
  if (!method) throw new Error(`the catalogue has no ${type}`)
  return method
}

export const cardMethod = (): Method => methodOf('CARD')

export const factsFor = (operation: Operation): ProviderFacts => ({
  echo: { reference: operation.xId, amount: { value: operation.amount, currency: 'EUR' } },
  transactionId: 'T1',
})

export function operationOf(change: Partial<Operation>): Operation {
  return {
    xId: xIdOf(1),
    sequence: 1,
    type: 'AUTHORIZATION',
    state: 'AUTHORIZED',
    amount: 1000,
    transId: 'order-1',
    responseCode: change.state === 'SENT' ? providerResultOutstanding : success,
    prepared: {},
    details: {},
    createdAt: now,
    updatedAt: now,
    ...change,
  }
}

export type PaymentChange = Partial<Omit<Payment, 'sums'>> & { readonly sums?: Partial<Sums> }

/** Authorised for 10.00 EUR, to be captured by hand, nothing taken yet. */
export function paymentOf({ sums, ...change }: PaymentChange = {}): Payment {
  return {
    merchantId: 'mer_1' as MerchantId,
    kind: 'PAYMENT',
    payId: xIdOf(99) as unknown as PayId,
    transId: 'order-1',
    method: cardMethod(),
    integrationType: 'DIRECT',
    status: 'AUTHORIZED',
    amount: { value: 1000, currency: 'EUR' },
    captureMethod: { type: 'MANUAL' },
    closedForCapture: false,
    authorizationExpiresAt: later(7 * 24),
    details: {},
    own: {},
    eventSequence: 0,
    operations: [operationOf({})],
    createdAt: now,
    updatedAt: now,
    version: 2,
    ...change,
    sums: { ...noSums, authorized: 1000, ...sums },
  }
}

const answered = operationOf({ state: 'SENT' })

/** Every kind of outcome. */
export const outcomes: Readonly<Record<Outcome['kind'], Outcome>> = {
  approved: { kind: 'approved', provider: factsFor(answered) },
  declined: { kind: 'declined', detail: '0351', provider: factsFor(answered) },
  pending: { kind: 'pending', provider: factsFor(answered) },
  unreached: { kind: 'unreached' },
  unknown: { kind: 'unknown' },
}
