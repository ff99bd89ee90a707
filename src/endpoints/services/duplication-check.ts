/** `POST /services/duplicationCheck`: has this order been paid already? */
import { success } from '#domain/response-codes.ts'
import { describeCode, keep, serviceCall } from '#endpoints/services/shared.ts'
import { perform, type Services } from '#endpoints/services.ts'
import { endpoint } from '#http/endpoint.ts'
import { findDuplicates } from '#operations/payments/find-duplicates.ts'
import { duplicationAnswer, duplicationCheck } from '#schemas/services/duplication-check.ts'

/** 24 hours, as the contract says. */
const usualLookbackHours = 24

export const duplicationCheckEndpoint = endpoint<Services, typeof duplicationCheck>({
  ...serviceCall,
  path: '/services/duplicationCheck',
  operationId: 'checkDuplication',
  summary: 'Look for payments of the same order',
  description:
    'Finds payments with the same order reference or invoice, amount and currency that hold money or may come to. ' +
    'Failed and reversed payments do not count. Ask before a new payment; the check itself reserves nothing.',
  body: duplicationCheck,
  answers: { 200: duplicationAnswer },
  examples: [
    {
      summary: 'An order that nobody has paid',
      body: { order: { merchantReference: 'basket-4711' }, amount: { value: 4999, currency: 'EUR' } },
      status: 200,
      answer: {
        status: 'OK',
        responseCode: '00000000',
        responseDescription: 'Success.',
        duplicate: false,
        payments: [],
      },
    },
  ],
  async handle(call, services) {
    const { body, merchant } = call
    const { order, amount, lookbackHours = usualLookbackHours } = body
    const { engine, lookUps } = services
    const found = await perform(
      findDuplicates({ merchant, order, amount, lookbackHours }, { ...lookUps, clock: engine.clock }),
    )
    return keep(
      {
        status: 'OK',
        ...describeCode(found.responseCode),
        duplicate: found.responseCode !== success,
        payments: found.payments.map(({ createdAt, ...payment }) => ({
          ...payment,
          creationDate: createdAt.toISOString(),
        })),
      },
      call,
      services,
    )
  },
})
