/** The examples of the pages about one subject each, executed in their order, each page with a merchant of its own. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { endpoints } from '#endpoints/index.ts'
import { createExampleRunner, listExamples } from '#test/support/docs/doc-examples.ts'
import { listFences, readDocument } from '#test/support/docs/docs.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { openShop } from '#test/support/shop.ts'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startTestGateway()
})
afterAll(() => gateway.stop())

/** Each with what the addresses that it is about have in common. */
describe.each([
  ['docs/customers.md', /^\/customers/],
  ['docs/payment-intents.md', /^\/payment-intents/],
  ['docs/payment-plans.md', /payment-plans/],
  ['docs/services.md', /^\/services/],
])('%s', (path, subject) => {
  const document = readDocument(path)
  const examples = listExamples(document)
  let run: ReturnType<typeof createExampleRunner>
  beforeAll(async () => {
    const { merchantId, apiKey } = await openShop(gateway)
    run = createExampleRunner({ url: gateway.url, merchantId, apiKey })
  })

  test('every command is followed by its answer', () => {
    expect(examples).toHaveLength(listFences(document).filter(({ info }) => info === 'sh run').length)
    expect(examples.filter(({ shown }) => !/^json \d{3}$/.test(shown.info))).toEqual([])
    expect(examples.length).toBeGreaterThan(4)
  })

  test('every endpoint is spoken of', () => {
    const addresses = endpoints.filter(endpoint => subject.test(endpoint.path)).map(one => one.path)
    const unspoken = addresses.filter(address => {
      const [start = '', ...rest] = address.split(/\{\w+\}/)
      const pattern = [start, ...rest]
        .map(part => part.replaceAll('/', '\\/'))
        .join('(?:\\{\\w+\\}|\\$\\w+|…)')
      return !new RegExp(`${pattern}(?![\\w/])`).test(document.text)
    })
    expect(unspoken).toEqual([])
  })

  /** In their order: a later one speaks of what an earlier one made. */
  test.each(examples)('line $line', async example => {
    expect(await run(example)).toEqual([])
  })
})
