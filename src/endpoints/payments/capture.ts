/** `POST /payments/{id}/captures`: takes some or all of the authorised amount. */
import { checkShared } from '#endpoints/checks.ts'
import { exampleIds, exampleSuccess, requirePayId, toFollowUp } from '#endpoints/payments/follow-up.ts'
import { paymentPath } from '#endpoints/payments/path.ts'
import { perform, type Services } from '#endpoints/services.ts'
import { endpoint } from '#http/endpoint.ts'
import type { CaptureCommand } from '#lifecycle/capture.ts'
import { readRest } from '#methods/fields/objects.ts'
import { capture } from '#operations/payments/follow-up-kinds.ts'
import { type CaptureRequest, captureRequest } from '#schemas/follow-ups.ts'
import { captureResult, failedCapture } from '#schemas/result.ts'

export const captureEndpoint = endpoint<Services, typeof captureRequest, typeof paymentPath>({
  verb: 'POST',
  scope: 'payments',
  path: '/payments/{id}/captures',
  operationId: 'capturePayment',
  summary: 'Capture a payment',
  description:
    'Takes money from an authorised payment, all of it or a part, as often as the method allows. A capture whose ' +
    'outcome is not known counts as taken until it is settled. A declined capture leaves the payment as it was.',
  tag: 'Payments',
  version: '2.0.0',
  access: 'merchant',
  idempotent: true,
  frequent: true,
  dialect: 'payment',
  params: paymentPath,
  body: captureRequest,
  answers: { 200: captureResult, 422: failedCapture },
  examples: [
    {
      summary: 'A first part of the order was shipped',
      after: ['createPayment'],
      params: { id: '{payId}' },
      body: {
        transId: 'order-1001',
        refNr: 'parcel-1',
        amount: { value: 1999, currency: 'EUR' },
        captureMethod: { manual: { currentSequence: 1, total: 2, final: false } },
      },
      status: 200,
      answer: {
        ...exampleIds,
        transId: 'order-1001',
        xId: '019a3f6b9d107c2e8f30415263748596',
        refNr: 'parcel-1',
        status: 'OK',
        ...exampleSuccess,
        paymentMethods: {
          card: { providerResponseCode: '00', providerTransactionId: 'sim9e8d7c6b5a4f3e2d1c0b' },
        },
      },
    },
  ],
  async handle({ body, params, merchant, key }, { engine, environment }) {
    checkShared(body, environment)
    return perform(capture({ merchant, payId: requirePayId(params), command: toCommand(body), key }, engine))
  },
})

function toCommand({ captureMethod, ...body }: CaptureRequest): CaptureCommand {
  const rest = readRest(body.paymentMethods)
  const followUp = toFollowUp(body)
  // A capture may name its own mandate, which is not account data: the next file for the bank contains it.
  const directDebit = body.paymentMethods?.directDebit
  return {
    ...followUp,
    ...(directDebit ? { details: { ...followUp.details, directDebit } } : {}),
    manual: captureMethod?.manual,
    closes: rest === 'closed' || undefined,
    releasesRest: rest === 'reversed' || undefined,
  }
}
