/** The customer's browser, for 3-D Secure and fraud checks. */
import type { Static } from 'typebox'
import { closed, flag, formatted, freeTextMax, optional, text, when, whole } from '#schemas/parts/fields.ts'

/** 2048: the longest browser header that EMV 3-D Secure supports. */
const acceptHeaders = optional(text(2048, "The browser's Accept header."))
/** 45: the longest IPv6 address, which ends with an IPv4 one. */
const address = text(45, "The browser's IP address.")
/** 999,999: six digits, EMV 3-D Secure's limit for a screen. */
const pixelsMax = 999_999

/** Members that are known only if the browser runs scripts. */
const knownByScript = ['javaEnabled', 'colorDepth', 'screenHeight', 'screenWidth', 'timeZoneOffset']

export const browserInfo = closed(
  {
    acceptHeaders,
    ipAddress: optional(address),
    javaEnabled: optional(flag('Whether Java runs. Needed when JavaScript does.')),
    javaScriptEnabled: optional(flag('Whether JavaScript runs.')),
    language: optional(formatted('bcp47', 'Language of the browser.', { maxLength: 35 })),
    colorDepth: optional(whole(1, 64, 'Bits per pixel. Needed when JavaScript runs.')),
    screenHeight: optional(whole(0, pixelsMax, 'Height in pixels. Needed when JavaScript runs.')),
    screenWidth: optional(whole(0, pixelsMax, 'Width in pixels. Needed when JavaScript runs.')),
    timeZoneOffset: optional(
      text(5, 'Minutes between UTC and local time. Needed when JavaScript runs.', {
        pattern: '^[+-]?[0-9]{1,4}$',
      }),
    ),
    userAgent: optional(text(2048, "The browser's User-Agent header.")),
  },
  {
    title: 'BrowserInfo',
    description: "The customer's browser.",
    // The empty schemas repeat the names, because a strict validator requires a declaration of every required name.
    ...when(
      { properties: { javaScriptEnabled: { const: true } }, required: ['javaScriptEnabled'] },
      { properties: Object.fromEntries(knownByScript.map(name => [name, {}])), required: knownByScript },
    ),
  },
)
export type BrowserInfo = Static<typeof browserInfo>

/** For a refund without reference, where the API contract spells the address differently. */
export const refundBrowserInfo = closed(
  {
    acceptHeaders,
    ipAddres: optional(address),
    sessionId: optional(text(freeTextMax, "The session in the merchant's shop.")),
  },
  { title: 'RefundBrowserInfo', description: "The customer's browser, as refunds know it." },
)
