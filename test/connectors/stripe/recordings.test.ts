/** All recorded answers of Stripe's test system, with the outcome that our readers must find. */
import { expect, test } from 'vitest'
import { followUpOf, reference } from '#connectors/stripe/examples.test-support.ts'
import { readIntent, readRelease, readTotal } from '#connectors/stripe/translate/intents.ts'
import { type Asked, readAnswer, readRefusal } from '#connectors/stripe/translate/outcomes.ts'
import { textAt } from '#connectors/stripe/translate/wire.ts'
import { materialIsThere, sayItIsAbsent } from '#test/support/stripe/material.ts'
import { type Recording, readRecordings } from '#test/support/stripe/recordings.ts'

const asked: Asked = { reference, amount: { value: 1000, currency: 'USD' }, captureReference: reference }

/** The outcome of a recorded answer. Objects that we do not read are named by their kind. */
function meaningOf({ path, verb, answer }: Recording): string {
  const reading = readAnswer(answer)
  if (reading.kind === 'none') return reading.outcome.kind
  if (reading.kind === 'refused') {
    const outcome = readRefusal(reading, asked)
    return outcome.kind === 'declined' ? `declined ${outcome.detail}` : outcome.kind
  }
  const kind = textAt(reading.object, 'object') ?? 'nothing'
  if (kind !== 'payment_intent') return kind
  if (path.endsWith('/capture')) {
    const request = followUpOf('CAPTURE', { amount: asked.amount, newTotal: 1000 })
    const total = { name: 'amount_received', id: textAt(reading.object, 'id') ?? '' } as const
    return `capture ${readTotal(reading.object, request, total).kind}`
  }
  if (path.endsWith('/cancel')) {
    return `release ${readRelease(reading.object, asked, textAt(reading.object, 'id') ?? '').kind}`
  }
  const { authorization, capture } = readIntent(reading.object, asked)
  const detail = authorization.kind === 'declined' ? ` ${authorization.detail}` : ''
  const action = authorization.kind === 'action' ? ` ${authorization.action.type}` : ''
  return [`${verb} ${authorization.kind}${detail}${action}`, ...(capture ? [capture.kind] : [])].join(' + ')
}

const domain = ['apple_pay_domain', 'list', 'payment_method_domain', 'list']
const setUp = ['setup_intent', 'ephemeral_key']
/** An intent without a try, which can still be paid. */
const untried = 'post pending'

const expected: Readonly<Record<string, readonly string[]>> = {
  'SpreeStripe_CreatePaymentIntent--saves_payment_intent_in_the_database': [
    'customer',
    untried,
    'ephemeral_key',
  ],
  'SpreeStripe_CreatePaymentIntent--when_order_is_not_valid--still_creates_a_payment_intent': [
    'customer',
    untried,
    'ephemeral_key',
  ],
  'SpreeStripe_RegisterDomain--for_custom_domain--when_tld_length_is_more_then_2--registers_the_Apple_Pay_domain_and_top_level_domain_in_Stripe':
    domain.flatMap(kind => [kind, kind]),
  'SpreeStripe_RegisterDomain--for_store--register_only_store_domain': domain,
  attach_customer_to_credit_card_error: ['customer', 'declined 0305'],
  cancel_payment_intent: ['release approved'],
  capture_payment_intent_requires_capture: ['post approved', 'get approved', 'capture approved'],
  capture_payment_intent_unsupported_state: [untried, 'get pending'],
  create_customer: ['customer', 'customer'],
  create_customer_based_on_user: ['customer', 'customer'],
  create_payment_intent: ['customer', untried],
  create_payment_intent_invalid_address: ['customer', untried],
  create_payment_intent_off_session: ['post approved + approved'],
  create_payment_intent_with_payment_method: ['post approved + approved', 'get approved + approved'],
  create_payment_setup_session: ['customer', ...setUp],
  create_payment_setup_session_existing_customer: setUp,
  create_tax_calculation_us_tx: ['tax.calculation'],
  create_tax_transaction_us_tx: ['tax.transaction'],
  processing_sepa_debit_payment_intent: ['get pending', 'charge', 'get pending'],
  retrieve_payment_intent_bank_transfer: ['get action instructions', 'get action instructions'],
  successful_payment_intent_with_charge: ['get approved + approved', 'charge', 'get approved + approved'],
  update_customer: ['customer', 'customer'],
  update_payment_intent_amount_new_amount: [untried],
  update_payment_intent_invalid_address: [untried],
  update_payment_intent_new_amount: [untried],
  update_payment_intent_new_currency: [untried],
}

test('every recorded answer has the expected outcome', () => {
  if (!materialIsThere) return sayItIsAbsent()
  const found: Record<string, string[]> = {}
  for (const recording of readRecordings()) {
    const list = found[recording.file] ?? []
    found[recording.file] = [...list, meaningOf(recording)]
  }
  expect(found).toEqual(expected)
})
