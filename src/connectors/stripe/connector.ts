/**
 * The connector of one Stripe account. Each operation of the contract is delegated to the file that makes its calls.
 * Nothing in this folder retries a call.
 */
import type {
  Connector,
  ConnectorDefinition,
  ConnectorTools,
  ProviderAccount,
  SandboxData,
} from '#connectors/contract.ts'
import { demandsChallenge } from '#connectors/instruments.ts'
import { runPaymentScript } from '#connectors/payment-script.ts'
import { authorize } from '#connectors/stripe/authorize.ts'
import { checkAccount } from '#connectors/stripe/check.ts'
import { createClient, fetchReport } from '#connectors/stripe/client.ts'
import { cancelAction, complete } from '#connectors/stripe/customer-return.ts'
import { createDisputeActions } from '#connectors/stripe/dispute-actions.ts'
import { stripeFacts } from '#connectors/stripe/facts.ts'
import { capture, increment, refund, reverse } from '#connectors/stripe/follow-ups.ts'
import { fetchMoneyBack, lookUp } from '#connectors/stripe/look-up.ts'
import { capabilitiesOf } from '#connectors/stripe/methods.ts'
import { readNotice, readRefunds } from '#connectors/stripe/notices.ts'
import { readSettlement } from '#connectors/stripe/translate/settlement.ts'
import { Secret } from '#domain/secret.ts'
import { formOf } from '#methods/offer.ts'

export const stripe: ConnectorDefinition = { facts: stripeFacts, open: openStripe }

function openStripe(account: ProviderAccount, { http, nowMs }: ConnectorTools): Connector {
  const client = createClient(account, http)
  const rawCards = account.settings.rawCards === 'true'
  const connector: Connector = {
    facts: stripeFacts,
    supports: method => capabilitiesOf(method, rawCards),
    willChallenge: demandsChallenge,
    sandbox: rawCards ? sandbox : undefined,
    // The try that the customer returns to was sent before, and keeps what is known of it.
    keep: ({ approval = {}, returned }) => (returned ? approval : { keyMark: client.keyMark }),
    authorize: (request, signal) => authorize(request, { client, nowMs, signal, rawCards }),
    complete: (returned, signal) => complete(returned, { client, nowMs, signal }),
    cancelAction: (inquiry, signal) => cancelAction(inquiry, { client, nowMs, signal }),
    capture: (request, signal) => capture(request, { client, signal }),
    reverse: (request, signal) => reverse(request, { client, signal }),
    refund: (request, signal) => refund(request, { client, signal }),
    increment: (request, signal) => increment(request, { client, signal }),
    inquire: (inquiry, signal) => lookUp(inquiry, { client, nowMs, signal }),
    readNotice: raw =>
      readNotice(raw, {
        secret: account.secrets.webhookSecret?.reveal() ?? '',
        nowMs: nowMs(),
        live: account.environment === 'live',
      }),
    listRefunds: async (intentId, signal) => {
      const refunds = await fetchMoneyBack(intentId, { client, nowMs, signal })
      return refunds && readRefunds(refunds)
    },
    disputes: createDisputeActions(client),
    readSettlement,
    fetchReport: (report, signal) => fetchReport(report, client, signal),
    check: signal => checkAccount(account, client, signal),
    checkPayments: signal => runPaymentScript({ connector, account, ...sandboxCards, signal }),
  }
  return connector
}

/** Test cards of Stripe's sandbox. */
const sandboxCards = {
  approvedCard: {
    number: new Secret('4242424242424242'),
    expiryDate: '203412',
    securityCode: new Secret('123'),
  },
  declinedCard: {
    number: new Secret('4000000000000002'),
    expiryDate: '203412',
    securityCode: new Secret('123'),
  },
}

const sandbox: SandboxData = {
  cards: [
    { number: '4242424242424242', description: 'Stripe: approves' },
    { number: '4000000000000002', description: 'Stripe: declines' },
    { number: '4000000000009995', description: 'Stripe: declines, insufficient funds' },
    { number: '4000000000003220', description: 'Stripe: 3-D Secure' },
  ],
  instrument: method => (formOf(method) === 'card' ? { card: sandboxCards.approvedCard } : undefined),
}
