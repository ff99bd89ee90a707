/** Requests to Adyen and its answers, for the tests of answers.ts. */
import { type Asked, fromPayment } from '#connectors/adyen/translate/answers.ts'
import type { AuthorizationOutcome, HttpAnswer, Outcome } from '#connectors/contract.ts'
import { xIdOf } from '#lifecycle/example-payment.test-support.ts'

export const asked: Asked = { reference: xIdOf(1), amount: { value: 1000, currency: 'EUR' } }
export const echo = { merchantReference: asked.reference, amount: asked.amount, pspReference: 'PSP1' }

export const answered = (status: number, body: unknown): HttpAnswer => ({
  kind: 'answered',
  status,
  headers: {},
  body: typeof body === 'string' ? body : JSON.stringify(body),
})

/** The kind of an outcome, or the detail of a decline. */
export const said = (outcome: Outcome | AuthorizationOutcome['authorization']): string =>
  outcome.kind === 'declined' ? outcome.detail : outcome.kind

export const payment = (body: unknown, status = 200): string =>
  said(fromPayment(answered(status, body), asked).authorization)
