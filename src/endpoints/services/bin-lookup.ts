/** `POST /services/binLookup`: what is known about cards that begin with these digits. */
import { toSpan } from '#domain/cards/bin-ranges.ts'
import { keep, serviceCall } from '#endpoints/services/shared.ts'
import { perform, type Services } from '#endpoints/services.ts'
import { endpoint } from '#http/endpoint.ts'
import { binAnswer, binQuestion } from '#schemas/services/bin-lookup.ts'

export const binLookupEndpoint = endpoint<Services, typeof binQuestion>({
  ...serviceCall,
  path: '/services/binLookup',
  operationId: 'lookUpBin',
  summary: 'Look up a card by its first digits',
  description:
    'The narrowest known range that holds every card with these digits answers; the more digits, the more exact. ' +
    'The ranges are the same for all merchants. 404 where nothing is known.',
  body: binQuestion,
  looksUp: true,
  answers: { 200: binAnswer },
  examples: [
    {
      summary: 'A card with two brands',
      body: { bin: '497010' },
      status: 200,
      answer: {
        bin: '497010',
        brand: 'visa',
        coBrands: ['cartes_bancaires'],
        product: 'Classic',
        source: 'DEBIT',
        issuer: 'Tollgate Test Bank',
        country: 'FRA',
        currency: 'EUR',
        dccEligible: true,
      },
    },
  ],
  async handle(call, services) {
    const { bin } = call.body
    const { span: _, ...facts } = await perform(services.lookUps.bins.find(toSpan(bin)))
    return keep({ bin, ...facts }, call, services)
  },
})
