/** The connector at the double of Stripe, over real HTTP, and the requests that its tests send. */
import type { AuthorizationOutcome, Connector, Inquiry, NoticeFact } from '#connectors/contract.ts'
import type { ProviderHttpPool } from '#connectors/http.ts'
import { stripe } from '#connectors/stripe/connector.ts'
import {
  accountOf,
  authorizationOf,
  followUpOf,
  paymentOf,
  reference,
  testCard,
} from '#connectors/stripe/examples.test-support.ts'
import type { XId } from '#domain/ids.ts'
import { Secret } from '#domain/secret.ts'
import type { Outcome } from '#lifecycle/outcome.ts'
import type { StripeDouble } from '#test/support/stripe/double.ts'

export const keys = { secretKey: 'sk_test_double', webhookSecret: 'whsec_double' }

export const openConnectorAt = (
  { origin }: StripeDouble,
  pool: ProviderHttpPool,
  secretKey = keys.secretKey,
): Connector =>
  stripe.open(
    accountOf({
      settings: { baseUrl: origin, rawCards: 'true' },
      secrets: { secretKey: new Secret(secretKey), webhookSecret: new Secret(keys.webhookSecret) },
    }),
    { http: pool.forHosts(), nowMs: () => Date.now() },
  )

export const signal = (): AbortSignal => AbortSignal.timeout(20_000)

export const card = authorizationOf('CARD', { card: testCard })
export const withCard = (number: string, more: Partial<typeof card> = {}) =>
  authorizationOf('CARD', { card: { ...testCard, number: new Secret(number) }, ...more })

export const inquiryOf = (operation: Inquiry['operation'], more: Partial<Inquiry> = {}): Inquiry => ({
  operation,
  reference,
  amount: card.amount,
  payment: card.payment,
  sentAt: new Date(),
  ...more,
})

export function transactionIdOf({ authorization }: AuthorizationOutcome): string {
  const id = 'provider' in authorization ? authorization.provider.transactionId : undefined
  if (id === undefined) throw new Error(`no transaction id: ${authorization.kind}`)
  return id
}

export const follow = (
  operation: 'CAPTURE' | 'REFUND' | 'REVERSAL' | 'INCREMENTAL',
  id: string,
  parts: { reference: XId; value: number; newTotal: number; authorized?: number; final?: boolean },
) =>
  followUpOf(operation, {
    reference: parts.reference,
    amount: { value: parts.value, currency: 'EUR' },
    newTotal: parts.newTotal,
    final: parts.final,
    authorizationTransactionId: id,
    payment: paymentOf('CARD', { authorizedValue: parts.authorized ?? 1000 }),
  })

export const kindOf = (outcome: Outcome | undefined): string | undefined => outcome?.kind

/** The facts of all notices so far, as the connector reads them. */
export const readFacts = (connector: Connector, double: StripeDouble): NoticeFact[] =>
  double.takeEvents().flatMap(({ payload }) => {
    const notice = connector.readNotice?.({
      headers: { 'stripe-signature': double.sign(payload) },
      body: Buffer.from(payload),
      query: {},
    })
    return notice?.verdict === 'genuine' ? notice.items.map(({ fact }) => fact) : []
  })
