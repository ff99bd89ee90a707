/** `/test/faults`: makes the simulator fail on demand, for this merchant only. */
import type { Services } from '#endpoints/services.ts'
import { actOnce } from '#endpoints/test/once.ts'
import { answer, endpoint } from '#http/endpoint.ts'
import { InvalidField } from '#http/server/ports.ts'
import { failedResult } from '#schemas/result.ts'
import { faultList, faultRule } from '#schemas/test-tools.ts'

const shared = {
  path: '/test/faults',
  tag: 'Test',
  version: '2.5.0',
  access: 'merchant',
  idempotent: false,
  testOnly: true,
  dialect: 'payment',
  answers: { 200: faultList },
} as const

/** 100: a row holds that many easily, and no test needs more faults at once. */
const rulesMax = 100

const example = { operation: 'CAPTURE', fault: 'lost_answer', times: 1 }

export const addFaultEndpoint = endpoint<Services, typeof faultRule>({
  ...shared,
  verb: 'POST',
  scope: 'test',
  operationId: 'addTestFault',
  summary: 'Make the next operations fail',
  description: 'Each rule is used up after so many operations. Rules are tried in the order they were given.',
  body: faultRule,
  examples: [
    {
      summary: 'Lose the answer to the next capture',
      body: example,
      status: 200,
      answer: { faults: [example] },
    },
  ],
  idempotent: true,
  answers: { 200: faultList, 422: failedResult },
  handle: (call, services) =>
    actOnce(call, services, async () => {
      const { merchantId } = call.merchant
      const { faults } = services.testTools
      if ((await faults.list(merchantId)).length >= rulesMax) {
        throw new InvalidField(
          'body',
          `is one rule too many; at most ${rulesMax} wait at a time, and DELETE /test/faults forgets them`,
        )
      }
      await faults.add(merchantId, call.body)
      return { body: { faults: await faults.list(merchantId) } }
    }),
})

export const listFaultsEndpoint = endpoint<Services>({
  ...shared,
  verb: 'GET',
  scope: 'test',
  operationId: 'listTestFaults',
  summary: 'List the faults in force',
  description: 'What is still to go wrong.',
  examples: [{ summary: 'One fault', after: ['addTestFault'], status: 200, answer: { faults: [example] } }],
  handle: async ({ merchant }, { testTools: { faults } }) =>
    answer(200, { faults: await faults.list(merchant.merchantId) }),
})

export const clearFaultsEndpoint = endpoint<Services>({
  ...shared,
  verb: 'DELETE',
  scope: 'test',
  operationId: 'clearTestFaults',
  summary: 'Let everything work again',
  description: 'Forgets all rules of this merchant.',
  examples: [{ summary: 'No faults any more', status: 200, answer: { faults: [] } }],
  async handle({ merchant }, { testTools: { faults } }) {
    await faults.clear(merchant.merchantId)
    return answer(200, { faults: [] })
  },
})
