/** Which of several captures a refund belongs to: the field of the form, the question, and the request. */
import { type Json, toRows } from '#console/context.ts'
import { type Field, isMoney, pick } from '#console/views/parts.ts'
import { findMethod } from '#methods/catalogue.ts'
import { formatMoney } from '#pages/money-text.ts'

interface Capture {
  readonly id: string
  readonly value: number
  /** Its amount and time, for the choice and for the question. */
  readonly label: string
}

export interface Refunded {
  /** The amount of the capture; undefined if there is none to choose. */
  readonly value?: number
  readonly fields: readonly Field[]
  /** The end of "Refund €3.00 …?" */
  readonly said: string
  /** The part of the request that names the capture. */
  readonly body: object
}

/** What the person has chosen in the form, else the last capture, which a refund without a name goes to. */
export function chooseCapture(payment: Json, chosen: string | undefined): Refunded {
  const method = findMethod(String(pick(payment, 'paymentMethods.type')))
  const captures = method?.operations.includes('multi_capture') ? listCaptures(payment) : []
  const capture = captures.find(({ id }) => id === chosen) ?? captures[0]
  if (!method || !capture || captures.length === 1) return { fields: [], said: '', body: {} }
  const { id, value } = capture
  const body = { paymentMethods: { [method.key]: { providerTransactionId: id } } }
  // Stripe has one id for all captures: there is nothing to choose, and named by it each of them can be refunded.
  if (captures.some(other => other !== capture && other.id === id))
    return { value, fields: [], said: '', body }
  const field = {
    name: 'capture',
    label: 'Of which capture',
    value: id,
    choices: captures.map(({ id }) => id),
    names: Object.fromEntries(captures.map(({ id, label }) => [id, label])),
  }
  return { value, fields: [field], said: ` of the capture of ${capture.label}`, body }
}

/** The newest first. */
function listCaptures({ operations }: Json): readonly Capture[] {
  const captures = toRows(operations).flatMap(
    ({ type, status, amount, providerTransactionId: id, creationDate }): Capture[] =>
      type === 'CAPTURE' && status === 'OK' && typeof id === 'string' && isMoney(amount)
        ? [{ id, value: amount.value, label: `${formatMoney(amount, 'en')} on ${toMinute(creationDate)}` }]
        : [],
  )
  return captures.toReversed()
}

const toMinute = (at: unknown): string => `${String(at).slice(0, 16).replace('T', ' ')} UTC`
