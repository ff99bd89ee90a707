/** What sessions and links have in common: a payment whose method the customer will choose on our page. */
import { checkShared } from '#endpoints/checks.ts'
import { confirmsLater, requireMethod, toCommand } from '#endpoints/payments/payment-command.ts'
import { perform, type Services } from '#endpoints/services.ts'
import type { Answer, Call } from '#http/endpoint.ts'
import { InvalidField } from '#http/server/ports.ts'
import type { Payment } from '#lifecycle/payment.ts'
import { undecided } from '#methods/method.ts'
import { beginsAgreement, offeredMethods } from '#methods/offer.ts'
import { merchantNow } from '#operations/engine.ts'
import { type CreatePayment, createPayment } from '#operations/payments/create-payment.ts'
import type { CreateSession } from '#schemas/session.ts'

export interface Beginning {
  readonly answerWaiting: CreatePayment['answerWaiting']
  /** Given for a payment link. */
  readonly linkId?: string
}

export async function beginSession(
  { body, merchant, key }: Pick<Call<CreateSession>, 'body' | 'merchant' | 'key'>,
  { engine, environment }: Services,
  { answerWaiting, linkId }: Beginning,
): Promise<Answer> {
  checkShared(body, environment)
  for (const [index, type] of (body.allowedPaymentMethod ?? []).entries())
    requireMethod(`allowedPaymentMethod[${index}]`, type, merchant)
  const { paymentMethods, ...rest } = body
  const now = merchantNow(engine.clock, merchant)
  const command = toCommand(rest, {
    merchant,
    method: undecided,
    integrationType: 'HOSTED',
    object: paymentMethods?.card,
    confirmsLater: confirmsLater({ card: paymentMethods?.card }),
    now,
  })
  const page = { ...command, own: { ...command.own, linkId, session: true } }
  checkOffer(page, merchant.methods)
  return perform(createPayment({ merchant, command: page, key, answerWaiting }, engine))
}

/** A page without a single method to pay by would be a dead end for the customer, so the request is refused now. */
function checkOffer(
  page: Pick<Payment, 'method' | 'amount' | 'captureMethod' | 'details' | 'own'>,
  chosen: readonly string[] | undefined,
): void {
  if (offeredMethods(page, chosen).length > 0) return
  const field = page.details.allowedPaymentMethod === undefined ? 'amount.currency' : 'allowedPaymentMethod'
  const { value, currency } = page.amount
  const agreed = beginsAgreement(page.details) ? ', credentialOnFile.initialPayment' : ''
  throw new InvalidField(
    field,
    `no payment method fits ${value} ${currency}, the country${agreed} and captureMethod ${page.captureMethod.type}; ` +
      'GET /payment-methods lists what each one takes',
  )
}
