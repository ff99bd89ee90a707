/** Runs the examples of a document: each fence marked `sh run` is sent, and the fence after it is what must come back. */
import {
  compareShown,
  type Document,
  type Fence,
  listFences,
  splitWords,
  toRequest,
  type Variables,
} from '#test/support/docs.ts'
import type { TestGateway } from '#test/support/gateway.ts'

export interface DocExample {
  readonly line: number
  readonly fence: Fence
  readonly shown: Fence
}

export function listExamples(document: Document): DocExample[] {
  const fences = listFences(document)
  return fences.flatMap((fence, index) => {
    const shown = fences[index + 1]
    return fence.info === 'sh run' && shown ? [{ line: fence.line, fence, shown }] : []
  })
}

/** Remembers the ids of earlier answers, by the names that the document gives them. */
export function createExampleRunner(gateway: TestGateway) {
  let ids: Variables = {}
  /** What is not as shown. */
  return async ({ fence, shown }: DocExample): Promise<string[]> => {
    const variables = {
      TOLLGATE_API: `${gateway.url}/api/v2`,
      TOLLGATE_MERCHANT: gateway.merchantId,
      TOLLGATE_KEY: gateway.apiKey,
      ...ids,
    }
    const { verb, url, headers, body } = toRequest(splitWords(fence.content, variables))
    const response = await fetch(url, { method: verb, headers, ...(body === undefined ? {} : { body }) })
    const answer = (await response.json()) as {
      payId?: string
      quoteId?: string
      paymentPlanId?: string
    }
    ids = {
      ...ids,
      ...(answer.payId === undefined ? {} : { PAY_ID: answer.payId }),
      ...(answer.quoteId === undefined ? {} : { QUOTE_ID: answer.quoteId }),
      ...(answer.paymentPlanId === undefined ? {} : { PLAN_ID: answer.paymentPlanId }),
    }
    const status = `json ${response.status}`
    return [
      ...(status === shown.info ? [] : [`${status} came, ${shown.info} is shown`]),
      ...compareShown(JSON.parse(shown.content), answer),
    ]
  }
}
