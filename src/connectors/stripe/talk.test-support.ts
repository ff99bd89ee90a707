/** A Stripe connector with scripted answers, and the calls it made. */
import type { Connector, HttpAnswer, HttpRequest, Inquiry, ProviderAccount } from '#connectors/contract.ts'
import { stripe } from '#connectors/stripe/connector.ts'
import { accountOf, answered, paymentOf, reference } from '#connectors/stripe/examples.test-support.ts'

export const signal = AbortSignal.timeout(60_000)
export const sentAt = new Date('2026-11-16T10:00:00Z')

export interface Talk {
  readonly connector: Connector
  readonly requests: HttpRequest[]
  /** Verb and path of each call. */
  calls(): string[]
}

/** Returns the answers in turn and repeats the last one. */
export function talk(answers: readonly HttpAnswer[], account: Partial<ProviderAccount> = {}): Talk {
  const requests: HttpRequest[] = []
  const http = {
    exchange(request: HttpRequest): Promise<HttpAnswer> {
      requests.push(request)
      const answer = answers[Math.min(requests.length, answers.length) - 1]
      return Promise.resolve(answer ?? { kind: 'unreached', reason: 'no answer' })
    },
  }
  const connector = stripe.open(accountOf({ settings: {}, ...account }), {
    http,
    nowMs: () => sentAt.getTime() + 60_000,
  })
  return {
    connector,
    requests,
    calls: () => requests.map(({ verb, url }) => `${verb} ${new URL(url).pathname}`),
  }
}

export const inquiryOf = (operation: Inquiry['operation'], more: Partial<Inquiry> = {}): Inquiry => ({
  operation,
  reference,
  amount: { value: 400, currency: 'EUR' },
  payment: paymentOf('CARD', { authorizedValue: 1000, capturedValue: 300 }),
  authorizationTransactionId: 'pi_1',
  sentAt,
  ...more,
})

export const told = (transactionId: string) => ({
  provider: { echo: { reference, amount: { value: 1000, currency: 'EUR' } }, transactionId },
})
export const left = { query: { left: '1' }, form: {} }
export const back = { query: {}, form: {} }
export const list = (...data: unknown[]) => answered({ object: 'list', data, has_more: false })
export const refused = (error: Record<string, unknown>, status: number) => answered({ error }, status)
