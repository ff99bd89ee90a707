/**
 * A merchant's program against the types that openapi-typescript makes of the document: it creates a payment of every
 * shape, confirms an intent, reads a record and handles every type of event. It is compiled by a test and never run.
 */
import createClient from 'openapi-fetch'
import type { components, paths } from '../dist/schema.d.ts'

type Schemas = components['schemas']

const client = createClient<paths>({ baseUrl: 'https://gateway.example/api/v2' })

const direct = 'DIRECT'
const hosted = 'HOSTED'
const account = { number: 'DE89370400440532013000', accountHolderName: 'Ada Lovelace' }

const shapes: Schemas['CreatePayment']['paymentMethods'][] = [
  { integrationType: direct, type: 'CARD', card: { number: '4111111111111111', expiryDate: '203012' } },
  { integrationType: direct, type: 'DIRECTDEBIT', directDebit: { account } },
  { integrationType: hosted, type: 'PROVIDERK', providerK: {} },
  { integrationType: hosted, type: 'PROVIDERM', providerM: {} },
  { integrationType: hosted, type: 'PROVIDERP', providerP: {} },
  { integrationType: hosted, type: 'PROVIDERR', providerR: {} },
  { integrationType: hosted, type: 'PROVIDERT', providerT: {} },
  { integrationType: hosted, type: 'PROVIDERZ', providerZ: {} },
  { integrationType: hosted, type: 'IDEAL', ideal: {} },
  { integrationType: hosted, type: 'BOLETO' },
]

export async function pay(paymentMethods: (typeof shapes)[number]): Promise<string> {
  const { data, error } = await client.POST('/payments', {
    body: { transId: 'order-1', amount: { value: 4999, currency: 'EUR' }, paymentMethods },
  })
  if (data) return data.payId
  if ('field' in error) return `${error.field}: ${error.error}`
  if ('traceId' in error) return `${error.title} (${error.traceId})`
  return error.responseCode
}

export async function confirm(id: string): Promise<string> {
  const { data } = await client.POST('/payment-intents/{id}/confirm', {
    params: { path: { id } },
    body: {
      integrationType: direct,
      type: 'CARD',
      card: { number: '4111111111111111', expiryDate: '203012', securityCode: '123' },
      browserInfo: { ipAddress: '192.0.2.1' },
    },
  })
  return data?.status ?? ''
}

export async function goOn(id: string): Promise<void> {
  const amount = { value: 4999, currency: 'EUR' }
  const params = { path: { id } }
  await client.POST('/payments/{id}/captures', {
    params,
    body: { transId: 'order-1', amount, paymentMethods: { card: { finishAuth: true } } },
  })
  await client.POST('/payments/{id}/refunds', {
    params,
    body: {
      transId: 'order-1',
      amount,
      paymentMethods: { boleto: { bankName: 'Bank', accountNumber: '1-2' } },
    },
  })
}

export function lastDigits({ paymentMethods }: Schemas['PaymentRecord']): string | undefined {
  if (paymentMethods?.type === 'CARD') return paymentMethods.card?.last4Digits
  if (paymentMethods?.type === 'DIRECTDEBIT') return paymentMethods.directDebit?.account?.last4Digits
  return undefined
}

const describe = ({ payId, operation }: { payId: string; operation?: Schemas['EventOperation'] }): string =>
  `${payId} ${operation?.type} ${operation?.amount.value}`

/** No default: a type that is missing here leaves the function without a result, and that does not compile. */
export function handle(event: Schemas['WebhookEvent']): string {
  switch (event.type) {
    case 'payment.authorized':
      return describe(event)
    case 'payment.captured':
      return describe(event)
    case 'payment.failed':
      return describe(event)
    case 'payment.reversed':
      return describe(event)
    case 'payment.lapsed':
      return describe(event)
    case 'payment.paid_late':
      return describe(event)
    case 'capture.succeeded':
      return describe(event)
    case 'capture.failed':
      return describe(event)
    case 'refund.succeeded':
      return describe(event)
    case 'refund.failed':
      return describe(event)
    case 'reversal.succeeded':
      return describe(event)
    case 'reversal.failed':
      return describe(event)
    case 'debit.announced':
      return `${event.mandateId} on ${event.dueDate}`
    case 'debit.returned':
      return `${event.operation?.responseCode}: ${event.amount.returnedValue}`
    case 'dispute.opened':
      return event.disputeId
    case 'dispute.won':
      return event.disputeId
    case 'dispute.lost':
      return event.disputeId
    case 'intent.attempt_failed':
      return event.paymentIntentId ?? ''
    case 'plan.charged':
      return describe(event)
    case 'plan.charge_failed':
      return describe(event)
    case 'plan.suspended':
      return describe(event)
    case 'plan.completed':
      return event.paymentPlanId ?? ''
    case 'plan.cancelled':
      return event.paymentPlanId ?? ''
  }
}
