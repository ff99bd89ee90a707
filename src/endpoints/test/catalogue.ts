/** `GET /test/catalogue`: every number, mode and code that has a meaning in the test environment, for machines. */
import { buildTestCatalogue } from '#connectors/simulator/catalogue.ts'
import type { Services } from '#endpoints/services.ts'
import { endpoint } from '#http/endpoint.ts'
import { testCatalogue } from '#schemas/test-catalogue.ts'

/** The same for everybody, so it is built once, on the first request. */
let written: string | undefined

export const testCatalogueEndpoint = endpoint<Services>({
  verb: 'GET',
  scope: 'test',
  path: '/test/catalogue',
  operationId: 'getTestCatalogue',
  summary: 'List what can be tested',
  description:
    'The card numbers, accounts, amounts and simulation modes that have a meaning, all response codes with advice, and the ' +
    'BINs that the look-up knows. Any other valid number is approved.',
  tag: 'Test',
  version: '2.5.0',
  access: 'merchant',
  idempotent: false,
  testOnly: true,
  dialect: 'payment',
  answers: { 200: testCatalogue },
  examples: [
    {
      summary: 'The catalogue',
      status: 200,
      answer: {
        cards: [
          {
            number: '4000002760003184',
            brand: 'visa',
            outcome: '3-D Secure challenge',
            description: 'The customer must pass a challenge, then it is approved',
            threeDs: 'challenge',
          },
        ],
        accounts: [
          { number: 'DE89370400440532013000', outcome: 'approved', description: 'Approves everything' },
        ],
        amounts: [{ value: 99990351, outcome: 'declined 51', description: 'Insufficient funds' }],
        simulationModes: [
          { mode: '0000', outcome: 'approved', description: 'Approves, whatever the card or account says' },
        ],
        responseCodes: [{ code: '00000000', description: 'Success.', advice: 'nothing to do' }],
        bins: [],
      },
    },
  ],
  async handle() {
    written ??= JSON.stringify(buildTestCatalogue())
    return { status: 200, json: written }
  },
})
