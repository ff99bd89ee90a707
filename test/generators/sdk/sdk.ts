/** A merchant's program with the functions that @hey-api/openapi-ts makes of the document; compiled, never run. */
import { confirmPaymentIntent, createPayment } from '../dist/sdk/sdk.gen.ts'
import type { CreatePayment, PaymentRecord, WebhookEvent } from '../dist/sdk/types.gen.ts'

const account = { number: 'DE89370400440532013000', accountHolderName: 'Ada Lovelace' }

const shapes: CreatePayment['paymentMethods'][] = [
  { integrationType: 'DIRECT', type: 'CARD', card: { number: '4111111111111111', expiryDate: '203012' } },
  { integrationType: 'DIRECT', type: 'DIRECTDEBIT', directDebit: { account } },
  { integrationType: 'HOSTED', type: 'IDEAL', ideal: {} },
  { integrationType: 'HOSTED', type: 'BOLETO' },
]

export async function pay(paymentMethods: (typeof shapes)[number]): Promise<string | undefined> {
  const amount = { value: 4999, currency: 'EUR' }
  const { data } = await createPayment({ body: { transId: 'order-1', amount, paymentMethods } })
  return data?.payId
}

export async function confirm(id: string): Promise<string | undefined> {
  const card = { number: '4111111111111111', expiryDate: '203012' }
  const { data } = await confirmPaymentIntent({
    path: { id },
    body: { integrationType: 'DIRECT', type: 'CARD', card },
  })
  return data?.status
}

export const lastDigits = ({ paymentMethods }: PaymentRecord): string | undefined =>
  paymentMethods?.type === 'CARD' ? paymentMethods.card?.last4Digits : undefined

export function handle(event: WebhookEvent): string {
  if (event.type === 'debit.announced') return event.mandateId
  if (event.type === 'dispute.opened') return event.disputeId
  return event.payId
}
