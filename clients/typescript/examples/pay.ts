/** Reserve now, capture a part, refund a part of that, and look at the payment. */
import { isUnknown, PaymentFailedError, type Tollgate } from '../src/index.ts'

export async function pay(tollgate: Tollgate, transId: string): Promise<string> {
  const created = await tollgate.payments.create({
    transId,
    amount: { value: 2500, currency: 'EUR' },
    captureMethod: { type: 'MANUAL' },
    paymentMethods: {
      integrationType: 'DIRECT',
      type: 'CARD',
      card: { number: '4111111111111111', expiryDate: '203012', securityCode: '123' },
    },
  })
  // The answer was lost: keep the key with the order, and send the same request under it again later.
  if (isUnknown(created)) return `ask again with ${created.idempotencyKey}`
  // The provider has not decided yet: the webhook will tell.
  if (created.status === 'PENDING') return `wait for the webhook of ${created.payId}`

  await tollgate.payments.capture(created.payId, { transId, amount: { value: 1000, currency: 'EUR' } })
  await tollgate.payments.refund(created.payId, { transId, amount: { value: 400, currency: 'EUR' } })
  const { amount } = await tollgate.payments.get(created.payId)
  return `captured ${amount?.capturedValue}, refunded ${amount?.refundedValue}`
}

/** A declined card: the error says what to do next. */
export async function payDeclined(tollgate: Tollgate, transId: string): Promise<string> {
  try {
    await tollgate.payments.create({
      transId,
      amount: { value: 2500, currency: 'EUR' },
      paymentMethods: {
        integrationType: 'DIRECT',
        type: 'CARD',
        card: { number: '4000000000000002', expiryDate: '203012', securityCode: '123' },
      },
    })
    return 'paid'
  } catch (error) {
    if (error instanceof PaymentFailedError) return `${error.responseCode}: ${error.advice}`
    throw error
  }
}
