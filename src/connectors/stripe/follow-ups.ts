/** Capture, increment, reversal and refund of an approved payment. Each is one call under the key of its operation. */
import type { FollowUpRequest, HttpAnswer } from '#connectors/contract.ts'
import { isOtherKey, type StripeClient } from '#connectors/stripe/client.ts'
import { stripeCode } from '#connectors/stripe/methods.ts'
import { toStripeAmount } from '#connectors/stripe/translate/amounts.ts'
import { notPermitted } from '#connectors/stripe/translate/declines.ts'
import { readRelease, readTotal, toCapture } from '#connectors/stripe/translate/intents.ts'
import {
  declined,
  isMissing,
  readAnswer,
  readRefusal,
  unknown,
} from '#connectors/stripe/translate/outcomes.ts'
import { readRefund, toRefund } from '#connectors/stripe/translate/refunds.ts'
import type { Wire } from '#connectors/stripe/translate/wire.ts'
import type { Outcome } from '#lifecycle/outcome.ts'

interface FollowUpTools {
  readonly client: StripeClient
  readonly signal: AbortSignal
}

const pathOf = (intentId: string, action: string): string =>
  `/v1/payment_intents/${encodeURIComponent(intentId)}/${action}`

/** An approval without a payment intent was not made by this connector, so it has no follow-ups. */
const notOurs = (request: FollowUpRequest): Outcome =>
  declined(request, notPermitted, 'The payment has no payment intent at Stripe.')

function intentOf({ authorizationTransactionId: id }: FollowUpRequest): string | undefined {
  return id?.startsWith('pi_') ? id : undefined
}

function outcomeOf(answer: HttpAnswer, { request, tools, read }: Answered): Outcome {
  const reading = readAnswer(answer)
  if (reading.kind === 'object') return read(reading.object)
  if (reading.kind === 'none') return reading.outcome
  return isMissing(reading) && isOtherKey(request.kept, tools.client)
    ? unknown
    : readRefusal(reading, request)
}

interface Answered {
  readonly request: FollowUpRequest
  readonly tools: FollowUpTools
  readonly read: (object: Wire) => Outcome
}

export async function capture(request: FollowUpRequest, tools: FollowUpTools): Promise<Outcome> {
  const id = intentOf(request)
  const amount = toStripeAmount(request.amount)
  const code = stripeCode(request.payment.method.type)
  if (id === undefined || amount === undefined || code === undefined) return notOurs(request)
  const call = { form: toCapture(request, code, amount), key: request.reference }
  const answer = await tools.client.post(pathOf(id, 'capture'), call, tools.signal)
  return outcomeOf(answer, {
    request,
    tools,
    read: intent => readTotal(intent, request, { name: 'amount_received', id }),
  })
}

/** Our amount is the difference; Stripe expects the new total. */
export async function increment(request: FollowUpRequest, tools: FollowUpTools): Promise<Outcome> {
  const id = intentOf(request)
  const amount = toStripeAmount({ value: request.newTotal, currency: request.amount.currency })
  if (id === undefined || amount === undefined) return notOurs(request)
  const call = { form: { amount, expand: ['latest_charge'] }, key: request.reference }
  const answer = await tools.client.post(pathOf(id, 'increment_authorization'), call, tools.signal)
  return outcomeOf(answer, {
    request,
    tools,
    read: intent => readTotal(intent, request, { name: 'amount', id }),
  })
}

/** Releases the whole rest, because Stripe cannot release a part of it. */
export async function reverse(request: FollowUpRequest, tools: FollowUpTools): Promise<Outcome> {
  const id = intentOf(request)
  if (id === undefined) return notOurs(request)
  const call = { form: { expand: ['latest_charge'] }, key: request.reference }
  const answer = await tools.client.post(pathOf(id, 'cancel'), call, tools.signal)
  return outcomeOf(answer, { request, tools, read: intent => readRelease(intent, request, id) })
}

export async function refund(request: FollowUpRequest, tools: FollowUpTools): Promise<Outcome> {
  const id = intentOf(request)
  const amount = toStripeAmount(request.amount)
  if (id === undefined || amount === undefined) return notOurs(request)
  const call = { form: toRefund(request, id, amount), key: request.reference }
  const answer = await tools.client.post('/v1/refunds', call, tools.signal)
  return outcomeOf(answer, { request, tools, read: object => readRefund(object, request) })
}
