/**
 * The methods that Stripe serves, their codes, and their capabilities. Codes and capabilities are from Stripe's list of
 * payment method types.
 */
import type { Capabilities } from '#connectors/contract.ts'
import type { Method } from '#methods/rows.ts'

/** Stripe's code for each of our method types. */
const codes: Readonly<Record<string, string>> = {
  ...all(
    'card',
    'CARD VISA MASTERCARD AMERICANEXPRESS MAESTRO DINERSCLUB DISCOVER JCB UNIONPAY CARTESBANCAIRES',
  ),
  BCCARD: 'kr_card',
  DIRECTDEBIT: 'sepa_debit',
  ACHDIRECTDEBIT: 'us_bank_account',
  BACSDIRECTDEBIT: 'bacs_debit',
  BECSAUSTRALIA: 'au_becs_debit',
  BECSNEWZEALAND: 'nz_bank_account',
  PREAUTHORIZEDDEBIT: 'acss_debit',
  PAYTO: 'payto',
  PROVIDERK: 'klarna',
  PROVIDERP: 'paypal',
  // Apple Pay is a card in a wallet: Stripe's page offers it wherever it takes cards.
  PROVIDERM: 'card',
  PROVIDERZ: 'amazon_pay',
  IDEAL: 'ideal',
  BANCONTACT: 'bancontact',
  EPS: 'eps',
  PRZELEWY24: 'p24',
  BLIK: 'blik',
  FPX: 'fpx',
  KNET: 'knet',
  NETBANKINGINDIA: 'netbanking',
  TRUELAYER: 'pay_by_bank',
  TWINT: 'twint',
  ALIPAY: 'alipay',
  WECHATPAY: 'wechat_pay',
  WERO: 'wero',
  CASHAPPPAY: 'cashapp',
  REVOLUTPAY: 'revolut_pay',
  SATISPAY: 'satispay',
  SAMSUNGPAY: 'samsung_pay',
  CLICKTOPAY: 'click_to_pay',
  GRABPAY: 'grabpay',
  GCASH: 'gcash',
  GOPAY: 'gopay',
  TOUCHNGO: 'touch_n_go',
  TRUEMONEY: 'truemoney',
  KAKAOPAY: 'kakao_pay',
  NAVERPAY: 'naver_pay',
  PAYCO: 'payco',
  PAYPAY: 'paypay',
  MOMOVIETNAM: 'momo',
  LINK: 'link',
  SHOPPAY: 'shop_pay',
  SHOPEEPAY: 'shopeepay',
  OCTOPUS: 'octopus',
  BIZUM: 'bizum',
  MBWAY: 'mb_way',
  MOBILEPAY: 'mobilepay',
  VIPPS: 'vipps',
  SWISH: 'swish',
  MULTIBANCO: 'multibanco',
  BOLETO: 'boleto',
  OXXO: 'oxxo',
  KONBINI: 'konbini',
  SEVENELEVENJAPAN: 'konbini',
  PIX: 'pix',
  UPI: 'upi',
  PAYNOW: 'paynow',
  PROMPTPAY: 'promptpay',
  DUITNOWQR: 'duitnow',
  QRIS: 'qris',
  SEPACREDITTRANSFER: 'customer_balance',
  AFFIRM: 'affirm',
  AFTERPAY: 'afterpay_clearpay',
  CLEARPAY: 'afterpay_clearpay',
  ALMA: 'alma',
  SCALAPAY: 'scalapay',
  SEQURA: 'sequra',
  SUNBIT: 'sunbit',
  TAMARA: 'tamara',
  ZIP: 'zip',
  BILLIE: 'billie',
  MONDU: 'mondu',
  EDENREDBELGIUM: 'edenred',
  STOREGIFTCARD: 'gift_card',
  USDC: 'crypto',
}

function all(code: string, types: string): Record<string, string> {
  return Object.fromEntries(types.split(' ').map(type => [type, code]))
}

export const cardCode = 'card'
export const sepaDebitCode = 'sepa_debit'
export const bankTransferCode = 'customer_balance'

/** Undefined: Stripe does not serve the type. */
export const stripeCode = (type: string): string | undefined =>
  Object.hasOwn(codes, type) ? codes[type] : undefined

export const servedTypes: readonly string[] = Object.keys(codes)

/** The names that customers see if the account sets no label. */
export const labels: Readonly<Record<string, string>> = {
  PROVIDERK: 'Klarna',
  PROVIDERP: 'PayPal',
  PROVIDERM: 'Apple Pay',
  PROVIDERZ: 'Amazon Pay',
}

const setOf = (list: string): ReadonlySet<string> => new Set(list.trim().split(/\s+/))

/** Codes with separate capture: those whose options have `capture_method: manual`. */
const capturedLater = setOf(`
  card affirm afterpay_clearpay alma amazon_pay billie cashapp kakao_pay klarna kr_card link mobilepay naver_pay payco
  paypal revolut_pay samsung_pay satispay scalapay sequra sunbit
`)

/** Codes whose money cannot be sent back through Stripe. */
const notRefundable = setOf('boleto oxxo')

/** Codes for merchant-initiated payments: those whose options have `setup_future_usage: off_session`. */
const reusable = setOf(`
  card acss_debit amazon_pay au_becs_debit bacs_debit bancontact blik cashapp ideal kakao_pay klarna kr_card link
  naver_pay nz_bank_account paypal payto revolut_pay satispay sepa_debit twint upi us_bank_account
`)

/** Codes that Stripe cannot charge again: it stores the bank account behind them as a SEPA debit. */
const storedAsDebit = setOf('bancontact ideal')

/** Debits, whose disputes at Stripe are returns by the customer's bank. */
const debits = setOf('sepa_debit us_bank_account bacs_debit au_becs_debit nz_bank_account acss_debit payto')

export const canCaptureLater = (code: string): boolean => capturedLater.has(code)
export const isDebit = (code: string): boolean => debits.has(code)
/** They cannot be disputed themselves. */
export const typesStoredAsDebit: readonly string[] = Object.keys(codes).filter(type =>
  storedAsDebit.has(codes[type] ?? ''),
)
/** The code under which a method is charged again. */
export const storedCode = (code: string): string => (storedAsDebit.has(code) ? sepaDebitCode : code)
export const isReusable = (code: string): boolean => reusable.has(code)

export function capabilitiesOf(method: Method, rawCards: boolean): Capabilities | undefined {
  const code = stripeCode(method.type)
  if (code === undefined) return undefined
  const card = code === cardCode
  const refundable = !notRefundable.has(code)
  return {
    // A wallet's payload is not a card number, and Stripe accepts it only on its own page.
    rawCards: rawCards && card && method.family === 'card',
    capture: card ? 'several' : capturedLater.has(code) ? 'one' : 'none',
    partialCaptureReleasesRest: !card,
    // Stripe can cancel only the whole rest.
    partialReversal: false,
    reversal: capturedLater.has(code),
    refund: refundable,
    partialRefund: refundable,
    increment: card,
    amountByTotal: true,
    credit: false,
    storedCredentials: reusable.has(code),
  }
}
