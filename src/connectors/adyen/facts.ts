/** What holds for Adyen before any account exists, and what an account can do with a method. */

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
  // 64 KiB: Adyen sends one item of a few kilobytes a message.
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
    // Notices come within seconds as a rule; this covers Adyen's first retries, and ends before the engine's inquiry
    // after 15 minutes.
    noticeWithinMs: 14 * minuteMs,
    // Adyen promises seven days for a key; the last one is a safety margin.
    repeatWithinMs: 6 * dayMs,
    undo: true,
  },
  // Adyen advises clients to wait long for issuers; the contract allows 20 s.
  timeoutMs: 20_000,
  pendingMs,
}

/** Vouchers and transfers wait for the customer, debits for the bank; modifications for Adyen's notice, which it repeats. */
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
    // Changing an authorised amount, up or down, is a feature of card schemes.
    partialReversal: isCard,
    increment: isCard,
    amountByTotal: true,
    refund: true,
    partialRefund: true,
    // Money out without a payment is another contract with Adyen (Payout API).
    credit: false,
    // By Adyen's token; or by an account number that we keep ourselves.
    storedCredentials: findTokenCode(served.code) !== undefined || served.needs?.includes('account') === true,
  }
}
