/** `POST /payments/refunds`: pays money out to a card or an account without a payment behind it. */
import { checkShared } from '#endpoints/checks.ts'
import { exampleIds, exampleSuccess } from '#endpoints/payments/follow-up.ts'
import { readAccount, readCard } from '#endpoints/payments/instruments.ts'
import { perform, type Services } from '#endpoints/services.ts'
import { endpoint } from '#http/endpoint.ts'
import { InvalidField } from '#http/server/ports.ts'
import type { CreateCommand } from '#lifecycle/create.ts'
import { findBrandMisfit, findCurrencyMisfit, findMethodByKey } from '#methods/catalogue.ts'
import { createPayment } from '#operations/payments/create-payment.ts'
import { type CreditRequest, creditRequest } from '#schemas/credit.ts'
import { creditResult, failedCredit } from '#schemas/result.ts'

export const creditEndpoint = endpoint<Services, typeof creditRequest>({
  verb: 'POST',
  scope: 'payouts',
  path: '/payments/refunds',
  operationId: 'creditWithoutReference',
  summary: 'Refund without reference',
  description:
    'Pays out to a card or an account that need not have paid here before. It is a payment of its own, with one ' +
    'CREDIT operation; its transId must be free.',
  tag: 'Payments',
  version: '2.2.0',
  access: 'merchant',
  idempotent: true,
  dialect: 'followUp',
  body: creditRequest,
  answers: { 200: creditResult, 422: failedCredit },
  examples: [
    {
      summary: 'A goodwill payment to a card',
      body: {
        transId: 'goodwill-7',
        amount: { value: 1500, currency: 'EUR' },
        paymentMethods: {
          card: {
            number: '4111111111111111',
            cardholderName: 'Ada Lovelace',
            expiryDate: '203012',
            brand: 'visa',
          },
        },
      },
      status: 200,
      answer: {
        ...exampleIds,
        transId: 'goodwill-7',
        xId: '019a3f6be5157173d48596a7b8c9daeb',
        status: 'OK',
        ...exampleSuccess,
        paymentMethods: {
          card: {
            providerResponseCode: '00',
            providerTransactionId: 'sim9e8d7c6b5a4f3e2d1c0b',
            providerApprovalCode: 913605,
          },
        },
      },
    },
  ],
  async handle({ body, merchant, key }, { engine, environment }) {
    checkShared(body, environment)
    const { card, directDebit } = body.paymentMethods
    const command = toCommand(body, merchant.merchantId)
    return perform(
      createPayment(
        {
          merchant,
          command,
          card: readCard(card),
          account: readAccount(directDebit),
          key,
          kind: 'CREDIT',
        },
        engine,
      ),
    )
  },
})

function toCommand(body: CreditRequest, merchantId: CreateCommand['merchantId']): CreateCommand {
  const { transId, refNr, amount, metadata, simulationMode, paymentMethods, ...rest } = body
  const [objectKey = ''] = Object.keys(paymentMethods)
  const method = findMethodByKey(objectKey)
  if (!method?.operations.includes('credit')) {
    throw new InvalidField(`paymentMethods.${objectKey}`, 'cannot be paid out to')
  }
  const { value, currency, ...amountDetails } = amount
  const misfit = findCurrencyMisfit(method, currency)
  if (misfit) throw new InvalidField(misfit.field, misfit.error)
  const contradiction = findBrandMisfit(paymentMethods.card)
  if (contradiction) throw new InvalidField(contradiction.field, contradiction.error)
  return {
    merchantId,
    transId,
    refNr,
    method,
    integrationType: 'DIRECT',
    amount: { value, currency },
    captureMethod: { type: 'AUTOMATIC' },
    metadata,
    hints: { simulationMode },
    details: { ...rest, metadata, amount: amountDetails },
  }
}
