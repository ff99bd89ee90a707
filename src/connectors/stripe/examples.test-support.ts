/** Requests as the engine would make them, for the tests of this connector. */
import type {
  AuthorizationRequest,
  FollowUpRequest,
  HttpAnswer,
  PaymentContext,
  ProviderAccount,
} from '#connectors/contract.ts'
import { type MerchantId, type PayId, parsePayId, parseXId, type XId } from '#domain/ids.ts'
import { Secret } from '#domain/secret.ts'
import { type Method, rows } from '#methods/rows.ts'

export function xId(digits: string): XId {
  const id = parseXId(digits.padStart(32, '0'))
  if (id === undefined) throw new Error(`${digits} is no id`)
  return id
}

function payId(digits: string): PayId {
  const id = parsePayId(digits.padStart(32, '0'))
  if (id === undefined) throw new Error(`${digits} is no id`)
  return id
}

export const reference = xId('a1')
export const captureReference = xId('c1')
const merchantId = 'm-1' as MerchantId

/** An account at Stripe that accepts card numbers unless changed. */
export const accountOf = (change: Partial<ProviderAccount> = {}): ProviderAccount => ({
  accountId: 'acc_1',
  merchantId,
  connector: 'stripe',
  name: 'main',
  environment: 'test',
  settings: { rawCards: 'true' },
  secrets: { secretKey: new Secret('sk_test_1'), webhookSecret: new Secret('whsec_1') },
  ...change,
})

export function methodOf(type: string): Method {
  const method = rows.find(row => row.type === type)
  if (method === undefined) throw new Error(`no method ${type}`)
  return method
}

export const paymentOf = (type: string, more: Partial<PaymentContext> = {}): PaymentContext => ({
  merchantId,
  payId: payId('b1'),
  method: methodOf(type),
  transId: 'order-1',
  amount: { value: 1000, currency: 'EUR' },
  authorizedValue: 0,
  capturedValue: 0,
  returnUrl: 'https://shop.example/pay/return/abc',
  captureMethod: 'AUTOMATIC',
  ...more,
})

export const authorizationOf = (
  type: string,
  more: Partial<AuthorizationRequest> = {},
): AuthorizationRequest => ({
  operation: 'AUTHORIZATION',
  reference,
  amount: { value: 1000, currency: 'EUR' },
  payment: paymentOf(type),
  at: new Date('2026-11-16T10:00:00Z'),
  send: 1,
  customerPresent: true,
  ...more,
})

/** A card of Stripe's sandbox. */
export const testCard = {
  number: new Secret('4242424242424242'),
  expiryDate: '203012',
  cardholderName: 'Ada Lovelace',
  securityCode: new Secret('123'),
}

export const testAccount = { number: new Secret('DE89370400440532013000'), holderName: 'Ada Lovelace' }

export const followUpOf = (
  operation: FollowUpRequest['operation'],
  more: Partial<FollowUpRequest> = {},
): FollowUpRequest => ({
  operation,
  reference,
  amount: { value: 400, currency: 'EUR' },
  payment: paymentOf('CARD', { authorizedValue: 1000 }),
  at: new Date('2026-11-16T10:00:00Z'),
  send: 1,
  authorizationReference: xId('a0'),
  authorizationTransactionId: 'pi_1',
  newTotal: 400,
  ...more,
})

export const answered = (body: unknown, status = 200): HttpAnswer => ({
  kind: 'answered',
  status,
  headers: {},
  body: typeof body === 'string' ? body : JSON.stringify(body),
})

/** An intent in Stripe's format, reduced to the members that we read. */
export const intentOf = (
  status: string,
  more: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> => ({
  id: 'pi_1',
  object: 'payment_intent',
  amount: 1000,
  amount_capturable: status === 'requires_capture' ? 1000 : 0,
  amount_received: status === 'succeeded' ? 1000 : 0,
  currency: 'eur',
  capture_method: 'automatic',
  status,
  metadata: { tollgate: reference },
  latest_charge: 'ch_1',
  ...more,
})

export const sessionOf = (
  status: string,
  more: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> => ({
  id: 'cs_test_1',
  object: 'checkout.session',
  amount_total: 1000,
  currency: 'eur',
  client_reference_id: reference,
  metadata: { tollgate: reference },
  payment_status: 'unpaid',
  status,
  url: status === 'open' ? 'https://checkout.stripe.com/c/pay/cs_test_1' : null,
  expires_at: 1_800_000_000,
  payment_intent: null,
  ...more,
})
