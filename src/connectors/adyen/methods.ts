/**
 * The methods that Adyen serves, their codes in Checkout v72, and the data that they need: with it a payment goes to
 * `/payments`, without it to Adyen's hosted page, which asks the customer.
 */

/** Data that `/payments` requires for some methods. */
export type Need =
  | 'name'
  | 'email'
  | 'phone'
  | 'country'
  | 'billing'
  | 'items'
  | 'taxId'
  | 'account'
  | 'wallet'

export interface AdyenMethod {
  /** `paymentMethod.type`, and the name in `allowedPaymentMethods`. */
  readonly code: string
  /** The data that `/payments` requires. Absent: the method is served on Adyen's page only. */
  readonly needs?: readonly Need[]
  /** Members of `paymentMethod` that repeat customer data. */
  readonly details?: readonly ('firstName' | 'lastName' | 'shopperEmail' | 'telephoneNumber')[]
}

/** A method for `/payments` if the given data is present, otherwise for Adyen's page. */
const direct = (code: string, ...needs: Need[]): AdyenMethod => ({ code, needs })
const page = (code: string): AdyenMethod => ({ code })

const doku = (code: string): AdyenMethod => ({
  code,
  needs: ['name', 'email'],
  details: ['firstName', 'lastName', 'shopperEmail'],
})
const econtext = (code: string): AdyenMethod => ({
  code,
  needs: ['name', 'email', 'phone'],
  details: ['firstName', 'lastName', 'shopperEmail', 'telephoneNumber'],
})

/** Types of single banks that share one code; the customer chooses the bank on Adyen's page. */
const banks = (code: string, types: string): [string, AdyenMethod][] =>
  types
    .trim()
    .split(/\s+/)
    .map(type => [type, page(code)])

const cardTypes = `
  CARD VISA MASTERCARD AMERICANEXPRESS MAESTRO DINERSCLUB DISCOVER JCB UNIONPAY CARTESBANCAIRES DANKORT ELO HIPERCARD
`

/** Methods whose payment is a redirect and needs no further data. */
const redirects = `
  PROVIDERP-paypal IDEAL-ideal TRUSTLY-trustly KNET-knet BENEFIT-benefit OMANNET-omannet NAPS-naps IRIS-iris
  BCCARD-kcp_creditcard TWINT-twint ALIPAY-alipay ALIPAYHK-alipay_hk ALIPAYPLUS-alipay_plus WERO-wero GRABPAY-grabpay_SG
  GCASH-gcash MAYA-paymaya_wallet DANA-dana GOPAY-gopay_wallet TOUCHNGO-touchngo TRUEMONEY-truemoney KAKAOPAY-kakaopay
  NAVERPAY-kcp_naverpay PAYCO-kcp_payco PAYPAY-paypay RAKUTENPAY-rakutenpay MOMOVIETNAM-momo_wallet PAYMEHSBC-payme
  PAYTM-paytm BIZUM-bizum MOBILEPAY-mobilepay PAYSAFECARD-paysafecard TRUELAYER-paybybank
`

/** Methods answered with instructions to show: a QR code, a voucher or a bank account. */
const instructed = `
  WECHATPAY-wechatpayQR SWISH-swish MULTIBANCO-multibanco FAWRY-fawry PIX-pix PAYNOW-paynow PROMPTPAY-promptpay
  DUITNOWQR-duitnow SEPACREDITTRANSFER-bankTransfer_IBAN
`

/** Methods that require a card, a code, a bank, a wallet token or documents that our requests do not contain. */
const onPage = `
  MADA-mada BANCONTACT-bcmc BLIK-blik EPS-eps PRZELEWY24-onlineBanking_PL FPX-molpay_ebanking_fpx_MY PSE-pse_payulatam
  NETBANKINGINDIA-onlinebanking_IN ACHDIRECTDEBIT-ach BACSDIRECTDEBIT-directdebit_GB BECSAUSTRALIA-directdebit_AU
  PREAUTHORIZEDDEBIT-eft_directdebit_CA PAYTO-payto PROVIDERR-ratepay PROVIDERZ-amazonpay CASHAPPPAY-cashapp
  SAMSUNGPAY-samsungpay CLICKTOPAY-clicktopay UPI-upi_collect ALMA-alma ATOME-atome PAYPO-paypo RIVERTY-riverty
  SCALAPAY-scalapay_3x WALLEY-walley RATEPAY-ratepay ONEY-facilypay_3x STOREGIFTCARD-giftcard ZIP-zip
`

const pairs = (table: string, row: (code: string) => AdyenMethod): [string, AdyenMethod][] =>
  table
    .trim()
    .split(/\s+/)
    .map(entry => {
      const [type = '', code = ''] = entry.split('-')
      return [type, row(code)]
    })

const methods: ReadonlyMap<string, AdyenMethod> = new Map<string, AdyenMethod>([
  // With a card number and `rawCards` the connector uses `/payments` instead of the page.
  ...banks('scheme', cardTypes),
  ...pairs(redirects, code => direct(code)),
  ...pairs(instructed, code => direct(code)),
  ...pairs(onPage, page),
  ['DIRECTDEBIT', direct('sepadirectdebit', 'account')],
  ['PROVIDERM', direct('applepay', 'wallet')],
  ['PROVIDERK', direct('klarna', 'country', 'items')],
  ['AFFIRM', direct('affirm', 'name', 'email', 'phone', 'billing')],
  ['AFTERPAY', direct('afterpaytouch', 'name', 'email', 'billing', 'items')],
  ['CLEARPAY', direct('clearpay', 'name', 'email', 'billing', 'items')],
  ['BOLETO', direct('boletobancario', 'name', 'taxId', 'billing')],
  ['OXXO', direct('oxxo', 'name', 'email')],
  ['MBWAY', { code: 'mbway', needs: ['email', 'phone'], details: ['shopperEmail', 'telephoneNumber'] }],
  ['VIPPS', { code: 'vipps', needs: ['phone'], details: ['telephoneNumber'] }],
  ['OVO', doku('doku_ovo')],
  ['ALFAMART', doku('doku_alfamart')],
  ['INDOMARET', doku('doku_indomaret')],
  ['VABCA', doku('doku_bca_va')],
  ['VABNI', doku('doku_bni_va')],
  ['VABRI', doku('doku_bri_va')],
  ['VAMANDIRI', doku('doku_mandiri_va')],
  ['VACIMBNIAGA', doku('doku_cimb_va')],
  ['VADANAMON', doku('doku_danamon_va')],
  ['VAPERMATA', doku('doku_permata_lite_atm')],
  ['KONBINI', econtext('econtext_stores')],
  ['SEVENELEVENJAPAN', econtext('econtext_seven_eleven')],
  ['PAYEASY', econtext('econtext_atm')],
  ...banks(
    'onlineBanking_PL',
    `MTRANSFERPOLAND PLACEZIPKO PLACEZINTELIGO PEKAO24PRZELEW PLACEZING SANTANDERPOLAND PLACEZALIOR
     BNPPARIBASPOLAND MILLENNIUMPOLAND CREDITAGRICOLEPOLAND NESTPRZELEW CITIHANDLOWY VELOBANK BOSBANK PLUSBANK
     BANKISPOLDZIELCZE`,
  ),
  ...banks(
    'ebanking_FI',
    `NORDEAFINLAND OPPOHJOLA DANSKEBANKFINLAND SPANKKI ALANDSBANKEN SAASTOPANKKI OMASAASTOPANKKI POPPANKKI AKTIA`,
  ),
  ...banks('onlineBanking_CZ', 'PLATBA24 MOJEPLATBA'),
  ...banks('onlineBanking_SK', 'TATRAPAY SPOROPAY VUBEPLATBY'),
  ...banks(
    'molpay_ebanking_fpx_MY',
    `FPXMAYBANK2U FPXCIMB FPXPUBLICBANK FPXRHB FPXHONGLEONG FPXAMBANK FPXBANKISLAM FPXBANKRAKYAT FPXBANKMUAMALAT
     FPXBSN FPXAFFINBANK FPXALLIANCEBANK FPXAGROBANK FPXHSBC FPXOCBC FPXSTANDARDCHARTERED FPXUOB`,
  ),
  ...banks(
    'onlinebanking_IN',
    'NETBANKINGSBI NETBANKINGHDFC NETBANKINGICICI NETBANKINGAXIS NETBANKINGKOTAK NETBANKINGPNB',
  ),
])

export const adyenTypes: readonly string[] = [...methods.keys()]

export const findAdyenMethod = (type: string): AdyenMethod | undefined => methods.get(type)

/** The codes with which stored methods are charged. Cards of Apple Pay and Bancontact are stored as plain cards. */
const tokenCodes: ReadonlyMap<string, string> = new Map([
  ...'scheme paypal klarna twint cashapp paypay alipay_plus grabpay_SG gcash paymaya_wallet dana'
    .concat(' truemoney kakaopay momo_wallet')
    .split(' ')
    .map((code): [string, string] => [code, code]),
  ['applepay', 'scheme'],
  ['bcmc', 'scheme'],
])

/** Undefined: Adyen does not store this method for later payments. */
export const findTokenCode = (code: string): string | undefined => tokenCodes.get(code)

/** `paymentMethod` in notices about debits, whose chargebacks are returns by the bank. */
const debitCodes: ReadonlySet<string> = new Set([
  'sepadirectdebit',
  'ach',
  'directdebit_GB',
  'directdebit_AU',
  'eft_directdebit_CA',
])

export const isDebitCode = (code: string | undefined): boolean => code !== undefined && debitCodes.has(code)

/** The names that customers see for our neutral method types. */
const labels: Readonly<Record<string, string>> = {
  PROVIDERK: 'Klarna',
  PROVIDERP: 'PayPal',
  PROVIDERM: 'Apple Pay',
  PROVIDERR: 'Ratepay',
  PROVIDERZ: 'Amazon Pay',
}

export const labelOf = (type: string): string | undefined => labels[type]
