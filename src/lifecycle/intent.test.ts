import { expect, test } from 'vitest'
import type { IntentId, MerchantId, PayId } from '#domain/ids.ts'
import { decideIntentConfirm, type Intent, intentEnd } from '#lifecycle/intent.ts'
import type { PaymentStatus } from '#lifecycle/payment.ts'

const createdAt = new Date('2027-03-10T12:00:00Z')
const before = new Date('2027-03-11T11:59:59.999Z')
const end = new Date('2027-03-11T12:00:00Z')

const intent = (status?: PaymentStatus): Intent => ({
  merchantId: 'mer_1' as MerchantId,
  intentId: `pi_${'0'.repeat(32)}` as IntentId,
  request: {},
  createdAt,
  expiresAt: intentEnd(createdAt),
  payment: status && { payId: '0'.repeat(32) as PayId, status },
})

test.each<[status: PaymentStatus | undefined, now: Date, refusal: string | undefined]>([
  [undefined, before, undefined],
  [undefined, end, 'EXPIRED'],
  ['FAILED', before, undefined],
  ['FAILED', end, 'EXPIRED'],
  ['AUTHORIZE_REQUEST', before, 'CONFIRM_NOT_EXPECTED'],
  ['PENDING', before, 'CONFIRM_NOT_EXPECTED'],
  ['AUTHORIZED', before, 'CONFIRM_NOT_EXPECTED'],
  ['CAPTURE_REQUEST', before, 'CONFIRM_NOT_EXPECTED'],
  ['OK', before, 'CONFIRM_NOT_EXPECTED'],
  // Given back by the shop: that was a payment all the same.
  ['REVERSED', before, 'CONFIRM_NOT_EXPECTED'],
  // What holds it is said before its end is: the money may have moved.
  ['PENDING', end, 'CONFIRM_NOT_EXPECTED'],
  ['OK', end, 'CONFIRM_NOT_EXPECTED'],
])('last payment %s at %s: %s', (status, now, refusal) => {
  expect(decideIntentConfirm(intent(status), now)).toEqual(
    refusal === undefined ? { accepted: true } : { accepted: false, refusal },
  )
})
