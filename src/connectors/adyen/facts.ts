/** The facts about Adyen that do not depend on an account, and the capabilities of an account for a method. */

import { findAdyenMethod, findTokenCode, labelOf } from '#connectors/adyen/methods.ts'
import { adyenExponent } from '#connectors/adyen/translate/amounts.ts'
import type { AdyenTerms } from '#connectors/adyen/translate/authorization.ts'
import type { Capabilities, ConnectorFacts, ProviderAccount } from '#connectors/contract.ts'
import type { Method } from '#methods/rows.ts'

const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs

const yesOrNo = (value: string): string | undefined =>
  value === 'true' || value === 'false' ? undefined : 'must be true or false'

export const adyenFacts: ConnectorFacts = {
  name: 'adyen',
  // 64 KiB: Adyen sends one item of a few kilobytes per message.
  noticeBytesMax: 65_536,
  // {prefix}-checkout-live.adyenpayments.com, and the host of the Dispute API.
  liveHosts: ['*.adyenpayments.com', 'ca-live.adyen.com'],
  settings: {
    merchantAccount: {
      required: true,
      description: 'Name of the merchant account at Adyen, for example ExampleShopECOM.',
      check: value =>
        /^[\w-]{1,80}$/.test(value) ? undefined : 'must be letters, digits, _ and -, at most 80 characters',
    },
    liveUrlPrefix: {
      required: true,
      environment: 'live',
      description:
        'Prefix of the live endpoints, from Developers > API URLs, for example 1797a841fbb37ca7-ExampleShop.',
      check: value => (/^[A-Za-z0-9-]{1,63}$/.test(value) ? undefined : 'must be letters, digits and -'),
    },
    rawCards: {
      default: 'false',
      description:
        'true: card numbers that reach the gateway are sent to Adyen (needs PCI DSS and a role on the key).',
      check: yesOrNo,
    },
    multipleCaptures: {
      default: 'false',
      description: "true: Adyen's support has enabled several partial captures; false: one capture closes.",
      check: yesOrNo,
    },
  },
  secrets: {
    apiKey: { required: true, description: 'API key of the web service user.' },
    hmacKey: {
      required: true,
      description: 'HMAC key of the standard webhook, in hex.',
      check: value =>
        /^(?:[0-9A-Fa-f]{2}){16,64}$/.test(value) ? undefined : 'must be the hex text of 16 to 64 bytes',
    },
    reportApiKey: {
      required: false,
      description: 'API key of the report user: settlement details reports are then fetched by themselves.',
    },
  },
  serves: type => findAdyenMethod(type) !== undefined,
  label: labelOf,
  exponent: adyenExponent,
  lostAnswer: {
    // Notices usually arrive within seconds. 14 minutes cover Adyen's first retries and end before the engine's inquiry
    // at 15 minutes.
    noticeWithinMs: 14 * minuteMs,
    // Adyen keeps idempotency keys for seven days; the seventh is a safety margin.
    repeatWithinMs: 6 * dayMs,
    undo: true,
  },
  // Adyen advises long timeouts, because issuers are slow; 20 s is the most that the contract allows.
  timeoutMs: 20_000,
  pendingMs,
}

/**
 * Vouchers and transfers wait for the customer, debits for the bank, and modifications for Adyen's notice and its
 * retries.
 */
function pendingMs({ flow, family }: Method): number {
  if (flow === 'voucher' || flow === 'transfer') return 30 * dayMs
  return family === 'direct_debit' ? 14 * dayMs : 3 * dayMs
}

export const readTerms = ({ settings }: ProviderAccount): AdyenTerms => ({
  merchantAccount: settings.merchantAccount ?? '',
  rawCards: settings.rawCards === 'true',
  multipleCaptures: settings.multipleCaptures === 'true',
})

export function toCapabilities(method: Method, terms: AdyenTerms): Capabilities | undefined {
  const served = findAdyenMethod(method.type)
  if (served === undefined) return undefined
  const isCard = method.family === 'card'
  return {
    rawCards: isCard && terms.rawCards,
    capture: terms.multipleCaptures ? 'several' : 'one',
    partialCaptureReleasesRest: !terms.multipleCaptures,
    reversal: true,
    // Only card schemes allow changes of an authorised amount, up or down.
    partialReversal: isCard,
    increment: isCard,
    amountByTotal: true,
    refund: true,
    partialRefund: true,
    // Payouts need another contract with Adyen (Payout API).
    credit: false,
    // Charged with Adyen's token, or with an account number from our own vault.
    storedCredentials: findTokenCode(served.code) !== undefined || served.needs?.includes('account') === true,
  }
}
