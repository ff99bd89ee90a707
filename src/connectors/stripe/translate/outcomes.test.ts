/** Answers without an object: errors, error pages, no answer. */
import { expect, test } from 'vitest'
import { answered, reference } from '#connectors/stripe/examples.test-support.ts'
import { provesArrival, readAnswer, readRefusal } from '#connectors/stripe/translate/outcomes.ts'
import type { Outcome } from '#lifecycle/outcome.ts'

const asked = { reference, amount: { value: 1000, currency: 'EUR' } }

function outcomeOf(answer: Parameters<typeof readAnswer>[0]): Outcome {
  const reading = readAnswer(answer)
  if (reading.kind === 'object') throw new Error('an object')
  return reading.kind === 'refused' ? readRefusal(reading, asked) : reading.outcome
}

const error = (fields: Record<string, unknown>) => ({ error: fields })

test.each<[string, Parameters<typeof readAnswer>[0], Partial<Outcome>]>([
  ['no connection', { kind: 'unreached', reason: 'refused' }, { kind: 'unreached' }],
  ['no answer', { kind: 'lost', reason: 'reset' }, { kind: 'unknown' }],
  ['an error page', answered('<html>Bad gateway</html>', 502), { kind: 'unknown' }],
  ['an error page with a good status', answered('<html></html>', 200), { kind: 'unknown' }],
  ['half an answer', answered('{"id":"pi_1","sta', 200), { kind: 'unknown' }],
  ['a list instead of an object', answered('[]', 200), { kind: 'unknown' }],
  ['a server error of Stripe', answered(error({ type: 'api_error' }), 500), { kind: 'unknown' }],
  ['a status without an error', answered({}, 400), { kind: 'unknown' }],
  ['a teapot', answered(error({ type: 'tea' }), 418), { kind: 'unknown' }],
  [
    'a declined card',
    answered(
      error({
        type: 'card_error',
        code: 'card_declined',
        decline_code: 'stolen_card',
        message: 'Your card was declined.',
        payment_intent: { id: 'pi_1' },
      }),
      402,
    ),
    {
      kind: 'declined',
      detail: '0343',
      provider: {
        echo: asked,
        transactionId: 'pi_1',
        responseCode: '43',
        responseText: 'stolen_card: Your card was declined.',
      },
    },
  ],
  [
    'an invalid request',
    answered(error({ type: 'invalid_request_error', code: 'amount_too_small' }), 400),
    { kind: 'declined', detail: '0313' },
  ],
  [
    'an object that is not in the account of this key',
    answered(error({ type: 'invalid_request_error', code: 'resource_missing' }), 404),
    { kind: 'declined', detail: '0312', callRefused: true },
  ],
  [
    'a wrong key',
    answered(
      error({ type: 'invalid_request_error', message: 'Invalid API Key provided: sk_test_****1234' }),
      401,
    ),
    { kind: 'declined', detail: '0396', callRefused: true },
  ],
  [
    'too many requests',
    answered(error({ type: 'invalid_request_error', code: 'rate_limit' }), 429),
    { kind: 'unreached' },
  ],
  [
    'the same key at the same time',
    answered(error({ type: 'idempotency_error', code: 'idempotency_key_in_use' }), 409),
    { kind: 'unknown' },
  ],
  [
    'the same key with another body',
    answered(error({ type: 'idempotency_error' }), 400),
    { kind: 'unknown' },
  ],
])('the outcome is right for %s', (_, answer, expected) => {
  expect(outcomeOf(answer)).toMatchObject(expected)
})

test('only the same key with another body proves that the first request arrived', () => {
  expect(provesArrival({ status: 400, error: { type: 'idempotency_error' } })).toBe(true)
  expect(provesArrival({ status: 409, error: { type: 'idempotency_error' } })).toBe(false)
  expect(provesArrival({ status: 400, error: { type: 'invalid_request_error' } })).toBe(false)
})

test('an error text that quotes a card number is not kept', () => {
  const outcome = outcomeOf(
    answered(error({ code: 'incorrect_number', message: 'No such card: 4242 4242 4242 4242!' }), 402),
  )
  expect(JSON.stringify(outcome)).not.toContain('4242')
})
