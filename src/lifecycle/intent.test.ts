import { expect, test } from 'vitest'
import type { IntentId, MerchantId, PayId } from '#domain/ids.ts'
import {
  cardMethod,
  methodOf,
  now,
  operationOf,
  paymentOf,
  xIdOf,
} from '#lifecycle/example-payment.test-support.ts'
import { decideIntentConfirm, giveWay, type Intent, intentEnd, type NextWay } from '#lifecycle/intent.ts'
import type { Operation, Payment, PaymentStatus } from '#lifecycle/payment.ts'

const createdAt = new Date('2027-03-10T12:00:00Z')
const before = new Date('2027-03-11T11:59:59.999Z')
const end = new Date('2027-03-11T12:00:00Z')

const intent = (status?: PaymentStatus): Intent => ({
  merchantId: 'mer_1' as MerchantId,
  intentId: `pi_${'0'.repeat(32)}` as IntentId,
  request: {},
  createdAt,
  declines: 0,
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
  // A payment that the shop reversed was a payment all the same.
  ['REVERSED', before, 'CONFIRM_NOT_EXPECTED'],
  // The payment that blocks the intent comes before its expiry, because money may have moved.
  ['PENDING', end, 'CONFIRM_NOT_EXPECTED'],
  ['OK', end, 'CONFIRM_NOT_EXPECTED'],
])('confirming an intent whose last payment is %s at %s is refused with: %s', (status, now, refusal) => {
  expect(decideIntentConfirm(intent(status), now)).toEqual(
    refusal === undefined ? { accepted: true } : { accepted: false, refusal },
  )
})

test.each<[declines: number, status: PaymentStatus | undefined, refusal: string | undefined]>([
  [9, 'FAILED', undefined],
  [10, 'FAILED', 'CONFIRM_NOT_EXPECTED'],
  [19, 'FAILED', 'CONFIRM_NOT_EXPECTED'],
])(
  'confirming an intent after %s declines, the last payment being %s, is refused with: %s',
  (declines, status, refusal) => {
    expect(decideIntentConfirm({ ...intent(status), declines }, before)).toEqual(
      refusal === undefined ? { accepted: true } : { accepted: false, refusal },
    )
  },
)

test.each<[payments: number, refusal: string | undefined]>([
  [49, undefined],
  [50, 'CONFIRM_NOT_EXPECTED'],
])('confirming an intent after %s payments is refused with: %s', (payments, refusal) => {
  expect(decideIntentConfirm({ ...intent('FAILED'), payments }, before)).toEqual(
    refusal === undefined ? { accepted: true } : { accepted: false, refusal },
  )
})

const card: NextWay = { method: cardMethod(), integrationType: 'DIRECT' }
const samePage: NextWay = { ...card, integrationType: 'HOSTED' }
const otherPage: NextWay = { method: methodOf('DIRECTDEBIT'), integrationType: 'HOSTED' }

/** A payment on our hosted page with these operations. */
const onPage = (operations: Partial<Operation>[], change: Partial<Payment> = {}): Payment =>
  paymentOf({
    status: 'AUTHORIZE_REQUEST',
    integrationType: 'HOSTED',
    awaits: 'CUSTOMER',
    operations: operations.map((operation, at) => operationOf({ xId: xIdOf(at + 1), ...operation })),
    sums: { authorized: 0 },
    ...change,
  })
const untouched: Partial<Operation>[] = [{ state: 'AUTHORIZE_REQUEST' }]

test.each<[name: string, payment: Payment, next: NextWay, gives: boolean]>([
  ['untouched, now in the app', onPage(untouched), card, true],
  ['untouched, now by another page', onPage(untouched), otherPage, true],
  ['untouched, the same page again', onPage(untouched), samePage, false],
  ['a try was declined', onPage([{ state: 'FAILED' }]), card, true],
  [
    'a provider waits for the customer',
    onPage([{ state: 'AUTHORIZE_REQUEST', prepared: { step: 'page' } }]),
    card,
    false,
  ],
  [
    'an issuer waits for the customer',
    onPage([{ state: 'FAILED' }, { state: 'AUTHORIZE_REQUEST', prepared: { step: 'challenge' } }]),
    card,
    false,
  ],
  ['a voucher is printed', onPage([{ state: 'PENDING' }], { status: 'PENDING' }), card, false],
  [
    'a provider has not answered',
    onPage([{ state: 'SENT' }], { status: 'PENDING', awaits: undefined }),
    card,
    false,
  ],
  ['the shop must confirm', onPage(untouched, { integrationType: 'DIRECT', awaits: 'CONFIRM' }), card, false],
  ['paid', onPage([{ state: 'OK' }], { status: 'OK', awaits: undefined }), card, false],
])('whether an open page makes room for another payment: %s', (_, payment, next, gives) => {
  const ended = giveWay(payment, next, { now, xId: xIdOf(9) })
  expect(ended?.status).toBe(gives ? 'FAILED' : undefined)
  if (ended) expect(ended.operations.at(-1)).toMatchObject({ state: 'FAILED', responseCode: '21000703' })
})
