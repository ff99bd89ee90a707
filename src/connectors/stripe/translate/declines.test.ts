/** Every decline code of Stripe maps to a response code with a description. */
import { expect, test } from 'vitest'
import {
  declineDetails,
  detailOfCancellation,
  detailOfDecline,
  detailOfReturn,
  errorDetails,
} from '#connectors/stripe/translate/declines.ts'
import { describe as describeCode } from '#domain/response-codes.ts'

test('every code has a detail that our list of response codes describes', () => {
  const vague = [...declineDetails, ...errorDetails].filter(
    ([, detail]) => describeCode(`2100${detail}`).description === 'Declined.',
  )
  expect(vague).toEqual([])
})

test.each([
  ['insufficient_funds', 'card_declined', '0351'],
  ['stolen_card', 'card_declined', '0343'],
  ['lost_card', 'card_declined', '0341'],
  ['fraudulent', 'card_declined', '0334'],
  ['expired_card', 'expired_card', '0354'],
  [undefined, 'incorrect_cvc', '0314'],
  [undefined, 'payment_intent_payment_attempt_expired', '0402'],
  [undefined, 'payment_method_customer_decline', '0703'],
  ['a_code_of_tomorrow', 'card_declined', '0305'],
  [undefined, 'a_code_of_tomorrow', '0305'],
  [undefined, undefined, '0305'],
])('decline_code %s with code %s is %s', (declineCode, code, detail) => {
  expect(detailOfDecline(declineCode, code)).toBe(detail)
})

test.each([
  ['abandoned', '0703'],
  ['requested_by_customer', '0703'],
  ['duplicate', '0703'],
  ['failed_invoice', '0703'],
  ['void_invoice', '0703'],
  ['fraudulent', '0334'],
  ['automatic', '0402'],
  ['expired', '0402'],
  [undefined, '0703'],
])('an intent that was cancelled as %s is %s', (reason, detail) => {
  expect(detailOfCancellation(reason)).toBe(detail)
})

test('a returned debit has the reason', () => {
  expect(detailOfReturn('insufficient_funds')).toBe('0351')
  expect(detailOfReturn('a reason of tomorrow')).toBe('0305')
  expect(detailOfReturn('constructor')).toBe('0305')
})
