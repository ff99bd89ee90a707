/**
 * The facts about Stripe that do not depend on an account: hosts, settings, secrets, methods, amounts and time limits.
 */
import type { ConnectorFacts } from '#connectors/contract.ts'
import { isDebit, labels, storedCode, stripeCode } from '#connectors/stripe/methods.ts'
import { exponent } from '#connectors/stripe/translate/amounts.ts'
import type { OperationType } from '#lifecycle/payment.ts'
import type { Method } from '#methods/rows.ts'

/**
 * The newest API version in which `payment_method_types` chooses the method of intents and sessions; the next version
 * replaces that field. Sent with every call, so that an upgrade of the account changes nothing here.
 */
export const apiVersion = '2026-08-26.dahlia'

export const liveOrigin = 'https://api.stripe.com'
/** Stripe has a separate host for files. */
export const liveFilesOrigin = 'https://files.stripe.com'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

/** How long Stripe may leave a payment undecided, by the family of the method. */
const pendingDays: Readonly<Record<string, number>> = {
  // A card payment only waits for the cardholder, and a session lives 24 hours.
  card: 2,
  // SEPA debits succeed or fail within 14 working days.
  direct_debit: 21,
  // Vouchers can be valid for up to 60 days; transfers have no deadline.
  voucher: 61,
  bank_transfer: 61,
}

/** A refund may wait for the merchant's balance or for the customer's bank details. */
const refundPendingDays = 45

/** The mode that a key names: sk_test_…, rk_live_…. Undefined: it names none. */
export function modeOfKey(key: string): 'test' | 'live' | undefined {
  const [, mode] = /^[a-z]+_(test|live)_/.exec(key) ?? []
  return mode === 'test' || mode === 'live' ? mode : undefined
}

/** A test-mode key in live would take test money for real orders; a live key in test would charge real cards. */
function checkSecretKey(key: string, environment: 'test' | 'live'): string | undefined {
  if (/^pk_|\s/.test(key)) return 'it has to be a secret or restricted key, sk_… or rk_…'
  const mode = modeOfKey(key) ?? environment
  return mode === environment
    ? undefined
    : `it is a key of Stripe's ${mode} mode, but this is the ${environment} environment`
}

export const stripeFacts: ConnectorFacts = {
  name: 'stripe',
  liveHosts: ['api.stripe.com', 'files.stripe.com'],
  settings: {
    rawCards: {
      default: 'false',
      check: value => (value === 'true' || value === 'false' ? undefined : 'allowed are true and false'),
      description:
        'true: card numbers that we hold are sent to Stripe, which has to allow it. false: cards go through Stripe’s page.',
    },
  },
  secrets: {
    secretKey: {
      required: true,
      check: checkSecretKey,
      description: 'The secret or restricted key of the Stripe account.',
    },
    webhookSecret: {
      required: true,
      check: value =>
        /^(we|sk|rk|pk)_|\s/.test(value)
          ? 'it has to be the signing secret of the endpoint, whsec_…'
          : undefined,
      description: 'The signing secret of the webhook endpoint that leads to this account’s notice address.',
    },
  },
  serves: type => stripeCode(type) !== undefined,
  label: type => labels[type],
  exponent,
  // Stripe's own minimum depends on the currency that the account settles in, so Stripe checks it. It refuses an intent
  // of zero, and its page asks for no card where nothing is to be paid, so that such a payment would never be decided.
  minimum: () => 1,
  lostAnswer: {
    noticeWithinMs: 0,
    // The list of intents by time is up to date at once; five minutes cover a request that is still under way.
    lookUpSettledMs: 5 * minuteMs,
    // Stripe keeps idempotency keys for at least 24 hours.
    repeatWithinMs: 23 * hourMs,
    undo: false,
  },
  timeoutMs: 20_000,
  pendingMs: ({ family, type }: Method, operation: OperationType) => {
    if (operation === 'REFUND') return refundPendingDays * dayMs
    // Charged again as a debit, a bank redirect is decided as late as one.
    const isChargedAsDebit = isDebit(storedCode(stripeCode(type) ?? ''))
    return (pendingDays[isChargedAsDebit ? 'direct_debit' : family] ?? 3) * dayMs
  },
}
