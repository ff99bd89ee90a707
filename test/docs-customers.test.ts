/** The examples of docs/customers.md, executed in their order against a fresh gateway. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { compareShown, listFences, readDocument, splitWords, toRequest } from '#test/support/docs.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'

const fences = listFences(readDocument('docs/customers.md'))
const examples = fences.flatMap((fence, index) => {
  const shown = fences[index + 1]
  return fence.info === 'sh run' && shown ? [{ line: fence.line, fence, shown }] : []
})

let gateway: TestGateway
const variables: Record<string, string> = {}
beforeAll(async () => {
  gateway = await startTestGateway()
  variables.TOLLGATE_API = `${gateway.url}/api/v2`
  variables.TOLLGATE_MERCHANT = gateway.merchantId
  variables.TOLLGATE_KEY = gateway.apiKey
})
afterAll(() => gateway.stop())

interface Answered {
  readonly customerInfo?: { readonly gatewayCustomerId: string }
  readonly gatewayCustomerId?: string
  readonly data?: readonly { readonly id: string }[]
}

/** What later examples call by a name. */
function remember({ customerInfo, gatewayCustomerId, data }: Answered): void {
  if (customerInfo) variables.CUSTOMER_ID = customerInfo.gatewayCustomerId
  if (gatewayCustomerId && data?.[0]) variables.METHOD_ID = data[0].id
}

test('every example is followed by its answer', () => {
  expect(examples.length).toBeGreaterThan(5)
  expect(examples.filter(({ shown }) => !/^json \d{3}$/.test(shown.info))).toEqual([])
})

test.each(examples)('line $line', async ({ fence, shown }) => {
  const { verb, url, headers, body } = toRequest(splitWords(fence.content, variables))
  const response = await fetch(url, { method: verb, headers, ...(body === undefined ? {} : { body }) })
  const answered = (await response.json()) as Answered
  expect(`json ${response.status}`).toBe(shown.info)
  expect(compareShown(JSON.parse(shown.content), answered)).toEqual([])
  remember(answered)
})
