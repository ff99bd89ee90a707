/** The examples of docs/payment-intents.md, executed in their order against a fresh gateway. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { compareShown, listFences, readDocument, splitWords, toRequest } from '#test/support/docs.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'

const fences = listFences(readDocument('docs/payment-intents.md'))
const examples = fences.flatMap((fence, index) => {
  const shown = fences[index + 1]
  return fence.info === 'sh run' && shown ? [{ line: fence.line, fence, shown }] : []
})

let gateway: TestGateway
/** What the reader sets from the answers above: the id of the intent, and the access token for it. */
let known: Record<string, string> = {}
beforeAll(async () => {
  gateway = await startTestGateway()
})
afterAll(() => gateway.stop())

test('every command is followed by its answer', () => {
  expect(examples).toHaveLength(fences.filter(({ info }) => info === 'sh run').length)
  expect(examples.filter(({ shown }) => !/^json \d{3}$/.test(shown.info))).toEqual([])
  expect(examples.length).toBeGreaterThan(3)
})

test.each(examples)('line $line', async ({ fence, shown }) => {
  const words = splitWords(fence.content, {
    TOLLGATE_API: `${gateway.url}/api/v2`,
    TOLLGATE_MERCHANT: gateway.merchantId,
    TOLLGATE_KEY: gateway.apiKey,
    ...known,
  })
  const { verb, url, headers, body } = toRequest(words)
  const response = await fetch(url, { method: verb, headers, ...(body === undefined ? {} : { body }) })
  const answer = (await response.json()) as { id?: string; access_token?: string }
  expect(`json ${response.status}`).toBe(shown.info)
  expect(compareShown(JSON.parse(shown.content), answer)).toEqual([])
  known = {
    ...known,
    ...(answer.id === undefined ? {} : { INTENT_ID: answer.id }),
    ...(answer.access_token === undefined ? {} : { ACCESS_TOKEN: answer.access_token }),
  }
})
