/** The examples of docs/payment-plans.md, executed in their order against a fresh gateway. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { endpoints } from '#endpoints/index.ts'
import { createExampleRunner, listExamples } from '#test/support/doc-examples.ts'
import { readDocument } from '#test/support/docs.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'

const document = readDocument('docs/payment-plans.md')
const examples = listExamples(document)

let gateway: TestGateway
let run: ReturnType<typeof createExampleRunner>
beforeAll(async () => {
  gateway = await startTestGateway()
  run = createExampleRunner(gateway)
})
afterAll(() => gateway.stop())

test('every endpoint of plans is spoken of', () => {
  const paths = endpoints.filter(({ path }) => path.includes('payment-plans')).map(({ path }) => path)
  expect(paths).toHaveLength(7)
  const words = paths.map(path => path.replace('{paymentPlanId}', '$PLAN_ID'))
  expect(words.filter(path => !document.text.includes(path))).toEqual([])
})

/** In their order: a later one speaks of what an earlier one made. */
test.each(examples)('line $line', async example => {
  expect(await run(example)).toEqual([])
})
