/** The stage on which the Stripe connector proves itself: the double as the provider, with its faults and its ledger. */
import type { Behaviour } from '#connectors/conformance.ts'
import type { ConnectorDefinition } from '#connectors/contract.ts'
import { stripe } from '#connectors/stripe/connector.ts'
import type { OperationType } from '#lifecycle/payment.ts'
import { type OpenStage, openStage } from '#test/support/providers/conformance-stage.ts'
import { type Fault, StripeDouble } from '#test/support/stripe/double.ts'

/** Shorter than in production, so that a test with a hanging call does not wait. */
const timeoutMs = 1_000

const impatient: ConnectorDefinition = {
  facts: { ...stripe.facts, timeoutMs },
  open: (account, tools) => ({ ...stripe.open(account, tools), facts: { ...stripe.facts, timeoutMs } }),
}

const paths: Partial<Record<OperationType, RegExp>> = {
  AUTHORIZATION: /\/payment_intents$/,
  CAPTURE: /\/capture$/,
  REVERSAL: /\/cancel$/,
  INCREMENTAL: /\/increment_authorization$/,
  REFUND: /\/refunds$/,
}

const faults: Readonly<Record<Behaviour, Fault | undefined>> = {
  approve: undefined,
  decline: 'declined',
  unreached: 'too many requests',
  throttled: 'told to wait',
  lostBefore: 'lost before',
  lostAfter: 'lost after',
  errorPage: 'error page after',
  throws: 'truncated',
  hangs: 'slow',
  otherAmount: 'wrong echo',
}

export async function stripeStage(): Promise<OpenStage> {
  const secrets = { secretKey: 'sk_test_double', webhookSecret: 'whsec_double' }
  const double = await StripeDouble.start(secrets)
  const stage = await openStage({
    definition: impatient,
    secrets,
    settings: { baseUrl: double.origin, rawCards: 'true' },
    ledger: double.books.movements,
    arm(operation, behaviour) {
      const path = paths[operation]
      const fault = faults[behaviour]
      if (path && fault) double.arm('POST', path, fault)
    },
    tell: () =>
      double.takeEvents().map(({ payload }) => ({
        body: payload,
        headers: { 'stripe-signature': double.sign(payload) },
      })),
    forge: ({ body }) => ({ body, headers: { 'stripe-signature': double.sign(body, 'whsec_guessed') } }),
    onEarly: run => {
      double.beforeAnswer = run
    },
  })
  return {
    ...stage,
    async close() {
      await stage.close()
      await double.stop()
    },
  }
}
