/** Runs the examples of a document: each fence marked `sh run` is sent, and the fence after it is what must come back. */
import {
  compareShown,
  type Document,
  type Fence,
  listFences,
  splitWords,
  toRequest,
} from '#test/support/docs/docs.ts'

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

/** The merchant of the examples: each document has its own. */
export interface Reader {
  readonly url: string
  readonly merchantId: string
  readonly apiKey: string
}

interface Answered {
  readonly id?: string
  readonly payId?: string
  readonly quoteId?: string
  readonly paymentPlanId?: string
  readonly access_token?: string
  readonly customerInfo?: { readonly gatewayCustomerId?: string }
  readonly gatewayCustomerId?: string
  readonly data?: readonly { readonly id: string }[]
}

/** Values of an answer that later examples use, by their names in the documents. */
const notes: Readonly<Record<string, (answer: Answered) => string | undefined>> = {
  PAY_ID: ({ payId }) => payId,
  QUOTE_ID: ({ quoteId }) => quoteId,
  PLAN_ID: ({ paymentPlanId }) => paymentPlanId,
  INTENT_ID: ({ id }) => (id?.startsWith('pi_') ? id : undefined),
  ACCESS_TOKEN: answer => answer.access_token,
  CUSTOMER_ID: ({ customerInfo }) => customerInfo?.gatewayCustomerId,
  // The list of one customer's methods says whose they are.
  METHOD_ID: ({ gatewayCustomerId, data }) => (gatewayCustomerId ? data?.[0]?.id : undefined),
}

export function createExampleRunner({ url: origin, merchantId, apiKey }: Reader) {
  const variables: Record<string, string> = {
    TOLLGATE_API: `${origin}/api/v2`,
    TOLLGATE_MERCHANT: merchantId,
    TOLLGATE_KEY: apiKey,
  }
  /** Returns the differences from the shown answer. */
  return async ({ fence, shown }: DocExample): Promise<string[]> => {
    const { verb, url, headers, body } = toRequest(splitWords(fence.content, variables))
    const response = await fetch(url, { method: verb, headers, ...(body === undefined ? {} : { body }) })
    const answer = (await response.json()) as Answered
    for (const [name, read] of Object.entries(notes)) {
      const value = read(answer)
      if (value !== undefined) variables[name] = value
    }
    const status = `json ${response.status}`
    return [
      ...(status === shown.info ? [] : [`${status} came, ${shown.info} is shown`]),
      ...compareShown(JSON.parse(shown.content), answer),
    ]
  }
}
