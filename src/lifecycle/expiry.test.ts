import { describe, expect, test } from 'vitest'
import {
  later,
  methodOf,
  now,
  operationOf,
  paymentOf,
  xIdOf,
} from '#lifecycle/example-payment.test-support.ts'
import { cancelRequest, expireRequest, lapse } from '#lifecycle/expiry.ts'
import type { Payment, PaymentStatus, Sums } from '#lifecycle/payment.ts'

const end = later(7 * 24)
const justBefore = (at: Date) => new Date(at.getTime() - 1)

describe('an authorisation lapses', () => {
  // Each line: the case, status and sums before, status and reversed amount after (undefined: nothing to lapse).
  test.each<[string, PaymentStatus, Partial<Sums>, [PaymentStatus, number] | undefined]>([
    ['nothing captured', 'AUTHORIZED', {}, ['REVERSED', 1000]],
    ['a part was reversed', 'AUTHORIZED', { reversed: 400 }, ['REVERSED', 1000]],
    ['a part was captured', 'OK', { captured: 400 }, ['OK', 600]],
    ['captured and refunded', 'OK', { captured: 400, refunded: 400 }, ['OK', 600]],
    ['a part may have been captured', 'AUTHORIZED', { capturing: 400 }, ['AUTHORIZED', 600]],
    ['a part is being reversed', 'AUTHORIZED', { reversing: 400 }, ['AUTHORIZED', 600]],
    ['a delayed capture that never fired', 'CAPTURE_REQUEST', {}, ['REVERSED', 1000]],
    ['a delayed capture under way', 'CAPTURE_REQUEST', { capturing: 400 }, ['CAPTURE_REQUEST', 600]],
    ['captured in full', 'OK', { captured: 1000 }, undefined],
    ['a capture of the whole amount under way', 'AUTHORIZED', { capturing: 1000 }, undefined],
    ['reversed before', 'REVERSED', { reversed: 1000 }, undefined],
    ['never approved', 'FAILED', { authorized: 0 }, undefined],
    ['waiting for the customer', 'AUTHORIZE_REQUEST', { authorized: 0 }, undefined],
    ['no answer yet', 'PENDING', { authorized: 0 }, undefined],
    ['an account verification', 'AUTHORIZED', { authorized: 0 }, undefined],
  ])('%s', (_, status, sums, expected) => {
    const payment = paymentOf({ status, sums })
    const lapsed = lapse(payment, end)
    if (!expected) return expect(lapsed).toBeUndefined()
    const [after, reversed] = expected
    expect(lapsed).toEqual({
      ...payment,
      status: after,
      sums: { ...payment.sums, reversed },
      updatedAt: end,
      version: 3,
    })
  })

  test.each<[string, Payment, Date, boolean]>([
    ['at its end', paymentOf(), end, true],
    ['not a millisecond before', paymentOf(), justBefore(end), false],
    ['never without an end', paymentOf({ authorizationExpiresAt: undefined }), later(99_999), false],
  ])('%s', (_, payment, at, lapses) => expect(lapse(payment, at) !== undefined).toBe(lapses))

  test('only once', () => {
    const lapsed = lapse(paymentOf({ status: 'OK', sums: { captured: 400 } }), end)
    expect(lapsed && lapse(lapsed, end)).toBeUndefined()
  })
})

const waiting = (change: Partial<Payment> = {}): Payment =>
  paymentOf({
    status: 'AUTHORIZE_REQUEST',
    awaits: 'CUSTOMER',
    expiresAt: later(24),
    sums: { authorized: 0 },
    operations: [operationOf({ state: 'AUTHORIZE_REQUEST', responseCode: '60000100' })],
    ...change,
  })

const asked = () => waiting({ status: 'PENDING', awaits: undefined })
const leftOpen = () =>
  waiting({ status: 'PENDING', operations: [operationOf({ state: 'PENDING', responseCode: '60000200' })] })

test('after a failed try, the end is recorded as an operation of its own', () => {
  const declined = operationOf({ state: 'FAILED', responseCode: '21000351', details: { metadata: { a: 1 } } })
  const tried = waiting({ integrationType: 'HOSTED', operations: [declined] })
  expect(cancelRequest(tried, { now: later(1), xId: xIdOf(7) })).toEqual({
    ...tried,
    status: 'FAILED',
    awaits: undefined,
    operations: [
      declined,
      {
        ...declined,
        xId: xIdOf(7),
        sequence: 2,
        responseCode: '21000703',
        createdAt: later(1),
        updatedAt: later(1),
      },
    ],
    updatedAt: later(1),
    version: tried.version + 1,
  })
})

describe('a request ends', () => {
  // Each line: what happens, the payment, when, and the response code (undefined: it does not end).
  test.each<[string, typeof expireRequest, Payment, Date, string | undefined]>([
    ['at its deadline', expireRequest, waiting(), later(24), '21000402'],
    ['not a millisecond before', expireRequest, waiting(), justBefore(later(24)), undefined],
    ['never without a deadline', expireRequest, waiting({ expiresAt: undefined }), later(999), undefined],
    ['without its confirm', expireRequest, waiting({ awaits: 'CONFIRM' }), later(24), '21000402'],
    [
      'with the code of its method',
      expireRequest,
      waiting({ method: methodOf('PROVIDERP') }),
      later(24),
      '24000402',
    ],
    ['the provider was called meanwhile', expireRequest, asked(), later(24), undefined],
    ['the customer left the provider page open', expireRequest, leftOpen(), later(24), '21000402'],
    ['approved meanwhile', expireRequest, waiting({ status: 'AUTHORIZED' }), later(24), undefined],
    ['ended before', expireRequest, waiting({ status: 'FAILED' }), later(24), undefined],
    ['cancelled by the customer', cancelRequest, waiting(), now, '21000703'],
    [
      'cancelled, with the code of its method',
      cancelRequest,
      waiting({ method: methodOf('PROVIDERK') }),
      now,
      '25000703',
    ],
    ['cancelled after the approval', cancelRequest, waiting({ status: 'OK' }), now, undefined],
    ['cancelled while the provider decides', cancelRequest, asked(), now, undefined],
    ['cancelled while the provider page is open', cancelRequest, leftOpen(), now, '21000703'],
  ])('%s', (_, rule, payment, at, responseCode) => {
    const ended = rule(payment, { now: at, xId: xIdOf(7) })
    if (!responseCode) return expect(ended).toBeUndefined()
    const [first] = payment.operations
    expect(ended).toEqual({
      ...payment,
      status: 'FAILED',
      awaits: undefined,
      operations: [{ ...first, state: 'FAILED', responseCode, updatedAt: at }],
      updatedAt: at,
      version: payment.version + 1,
    })
  })
})
