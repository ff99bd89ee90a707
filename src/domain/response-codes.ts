/**
 * All response codes, with their meaning and advice for the merchant. Eight characters `N MMM DDDD`: kind, module,
 * detail. Other rooms name a refusal or a family; only this file knows the digits.
 */
import { keysOf } from '#domain/json.ts'

/** What the merchant should do next. The texts are published, so they are part of the API contract. */
export type Advice =
  | 'nothing to do'
  | 'send the customer on'
  | 'wait'
  | 'retry'
  | 'other card'
  | 'other method'
  | 'correct the request'
  | 'stop'

export interface ResponseCode {
  readonly code: string
  readonly description: string
  readonly advice: Advice
}

export const success = '00000000'
/** The customer must act: follow a redirect, fill in a form, confirm. */
export const customerActionOutstanding = '60000100'
/** The provider has not decided yet, or its answer has not reached us. */
export const providerResultOutstanding = '60000200'
export const challengeOutstanding = '70000200'
export const internalFault = '40000001'
/** Results of the duplication check. */
export const orderPaid = '28001550'
export const orderPending = '28001551'
export const orderSeveral = '28001552'
const connectionFault = '40000405'

/**
 * The reasons for which the gateway refuses a request without calling a provider. The lifecycle rules decide their
 * order.
 */
export type Refusal =
  | 'METHOD_LACKS_OPERATION'
  | 'NOT_AUTHORIZED'
  | 'OUTCOME_OUTSTANDING'
  | 'NOT_OPEN'
  | 'ALREADY_CAPTURED'
  | 'ABOVE_OPEN_AMOUNT'
  | 'ABOVE_REFUNDABLE_AMOUNT'
  | 'CURRENCY_DIFFERS'
  | 'CLOSED_FOR_CAPTURE'
  | 'EXPIRED'
  | 'ALREADY_REVERSED'
  | 'CONFIRM_NOT_EXPECTED'
  | 'CLIENT_TOKEN_EXPIRED'
  | 'NOT_UPDATABLE'
  | 'NO_CONNECTOR'
  | 'SEQUENCE'
  | 'DISPUTED'
  | 'VELOCITY'
  | 'TRANS_ID_TAKEN'
  | 'KEY_REUSED'
  | 'NUMBER_INVALID'
  | 'NUMBER_UNKNOWN'
  | 'QUOTE_NOT_USABLE'
  | 'PLAN_NOT_ACTIVE'
  | 'OUTSIDE_PLAN_PERIOD'
  | 'PLAN_AMOUNT_DIFFERS'

export const refusalCodes: Readonly<Record<Refusal, string>> = {
  TRANS_ID_TAKEN: '20170001',
  KEY_REUSED: '20170002',
  CLIENT_TOKEN_EXPIRED: '20180001',
  NOT_AUTHORIZED: '20200001',
  ALREADY_CAPTURED: '20200002',
  ABOVE_OPEN_AMOUNT: '20200003',
  ABOVE_REFUNDABLE_AMOUNT: '20200004',
  CURRENCY_DIFFERS: '20200005',
  CLOSED_FOR_CAPTURE: '20200006',
  EXPIRED: '20200007',
  ALREADY_REVERSED: '20200008',
  METHOD_LACKS_OPERATION: '20200009',
  CONFIRM_NOT_EXPECTED: '20200010',
  NOT_UPDATABLE: '20200011',
  NO_CONNECTOR: '20200012',
  SEQUENCE: '20200013',
  OUTCOME_OUTSTANDING: '20200014',
  NOT_OPEN: '20200015',
  VELOCITY: '20200016',
  DISPUTED: '20200017',
  NUMBER_INVALID: '20120001',
  NUMBER_UNKNOWN: '20120002',
  QUOTE_NOT_USABLE: '28000001',
  PLAN_NOT_ACTIVE: '27000001',
  OUTSIDE_PLAN_PERIOD: '27000002',
  PLAN_AMOUNT_DIFFERS: '27000003',
}

/** The codes that do not depend on the method, in the order in which they are published. */
const fixed: readonly ResponseCode[] = [
  row(success, 'Success.', 'nothing to do'),
  row(customerActionOutstanding, 'The customer has a step to take.', 'send the customer on'),
  row(providerResultOutstanding, 'The result of the provider is outstanding.', 'wait'),
  row(challengeOutstanding, 'The customer has a 3-D Secure challenge to pass.', 'send the customer on'),
  row('20120001', 'The card number or IBAN has wrong check digits.', 'correct the request'),
  row('20120002', 'The pseudo number is not one of yours.', 'correct the request'),
  row('20170001', 'Another live payment already has this transId.', 'correct the request'),
  row('20170002', 'The Idempotency-Key was used before with another body.', 'correct the request'),
  row('20180001', 'The client token is older than 60 minutes.', 'stop'),
  row('20200001', 'The payment is not authorised.', 'stop'),
  row('20200002', 'The payment is captured already.', 'stop'),
  row('20200003', 'The amount is above what is open.', 'correct the request'),
  row('20200004', 'The amount is above what can be refunded.', 'correct the request'),
  row('20200005', 'The currency is not that of the payment.', 'correct the request'),
  row('20200006', 'The payment is closed for further captures.', 'stop'),
  row('20200007', 'It has expired.', 'stop'),
  row('20200008', 'The authorisation is reversed already.', 'stop'),
  row('20200009', 'The payment method does not support this operation.', 'stop'),
  row('20200010', 'No confirmation is expected for this payment.', 'stop'),
  row('20200011', 'The payment can no longer be updated.', 'stop'),
  row('20200012', 'No connector is configured for this payment method.', 'other method'),
  row('20200013', 'The sequence number was used before or lies above the total.', 'correct the request'),
  row('20200014', 'The outcome is not known yet: wait.', 'wait'),
  row('20200015', 'It is no longer open.', 'stop'),
  row('20200016', 'Too many declines or too much paid out in a short time; no provider was asked.', 'wait'),
  row('20200017', 'The amount is above what is neither refunded nor disputed.', 'correct the request'),
  row('27000001', 'The payment plan must be active, or for a resume paused or suspended.', 'stop'),
  row('27000002', 'The charge lies outside the period of the payment plan.', 'stop'),
  row('27000003', 'The amount is not the one of the payment plan.', 'correct the request'),
  row('28000001', 'The quote is expired, used already or not yours.', 'correct the request'),
  row('28001550', 'The same order has been paid.', 'stop'),
  row('28001551', 'A payment of the same order is outstanding.', 'wait'),
  row('28001552', 'The same order has several payments.', 'stop'),
  row(internalFault, 'Something broke on our side.', 'retry'),
  row(connectionFault, 'A connection failed.', 'retry'),
]

function row(code: string, description: string, advice: Advice): ResponseCode {
  return { code, description, advice }
}

/** The module digits, by the family of the payment's method or the part of the gateway that answers. */
const modules = {
  card: '100',
  direct_debit: '300',
  bank_redirect: '300',
  bank_transfer: '300',
  open_banking: '300',
  wallet: '400',
  mobile: '400',
  qr: '400',
  crypto: '400',
  prepaid: '400',
  gift_card: '400',
  carrier_billing: '400',
  bnpl: '500',
  instalment: '500',
  invoice: '500',
  voucher: '500',
  cash_on_delivery: '500',
  vault: '600',
  plans: '700',
  services: '800',
  /** A hosted payment whose customer has not chosen yet. */
  none: '900',
} as const

export type Speaker = keyof typeof modules
/** The families of payment methods: all speakers except parts of the gateway. */
export type MethodFamily = Exclude<Speaker, 'vault' | 'plans' | 'services' | 'none'>

export const moduleOf = (speaker: Speaker): string => modules[speaker]

/** Provider codes (field 39 of ISO 8583) that the API passes on. */
const providerCodes: Readonly<Record<string, { readonly text: string; readonly advice: Advice }>> = {
  '02': { text: 'Refer to the card issuer, special condition', advice: 'other card' },
  '04': { text: 'Pick up the card', advice: 'stop' },
  '05': { text: 'Do not honour', advice: 'other card' },
  '12': { text: 'Invalid transaction', advice: 'stop' },
  '13': { text: 'Invalid amount', advice: 'correct the request' },
  '14': { text: 'Invalid card or account number', advice: 'other card' },
  '33': { text: 'Expired card, pick up', advice: 'stop' },
  '34': { text: 'Suspected fraud, pick up', advice: 'stop' },
  '41': { text: 'Lost card', advice: 'stop' },
  '43': { text: 'Stolen card', advice: 'stop' },
  '51': { text: 'Insufficient funds', advice: 'retry' },
  '54': { text: 'Expired card', advice: 'other card' },
  '57': { text: 'Transaction not permitted to the cardholder', advice: 'other card' },
  '61': { text: 'Exceeds the withdrawal amount limit', advice: 'retry' },
  '62': { text: 'Restricted card', advice: 'other card' },
  '65': { text: 'Exceeds the withdrawal frequency limit', advice: 'retry' },
  '91': { text: 'Issuer or acquirer cannot be reached', advice: 'retry' },
  '96': { text: 'System malfunction', advice: 'retry' },
}

/** The text for a two-digit provider code, as `providerResponseText` shows it. */
export const providerText = (nn: string): string => providerCodes[nn]?.text ?? 'Declined'

export const declineCode = (speaker: Speaker, nn: string): string => `2${moduleOf(speaker)}03${nn}`

/** The code of a decline, from the last four digits that the connector gave. */
export const detailCode = (speaker: Speaker, nnnn: string): string => `2${moduleOf(speaker)}${nnnn}`

export const timedOutCode = (speaker: Speaker): string => `2${moduleOf(speaker)}0402`

/** The merchant cancelled a payment that its customer had not finished. */
export const withdrawnCode = (speaker: Speaker): string => `2${moduleOf(speaker)}0704`

export const cancelledCode = (speaker: Speaker): string => `2${moduleOf(speaker)}0703`

/** The request never arrived, even after all retries. The merchant gets the code of an unreachable issuer. */
export const unreachedCode = (speaker: Speaker): string => declineCode(speaker, '91')

/** The last digits of codes that say that a connection or a system failed, and not that somebody decided. */
export const technicalDetails: readonly string[] = ['0391', '0396']

/** A decline by the provider, as opposed to a request that never arrived, a cancellation or a timeout. */
export const isDecline = (code: string): boolean => !/0391$|0402$|0703$|0704$/.test(code)

const byCode: ReadonlyMap<string, ResponseCode> = new Map(fixed.map(entry => [entry.code, entry]))
const knownModules: ReadonlySet<string> = new Set(Object.values(modules))

/** Describes any code, even one made up by a simulation mode, because every stored code must be readable. */
export function describe(code: string): ResponseCode {
  return byCode.get(code) ?? describePattern(code) ?? row(code, 'Unknown response code.', 'stop')
}

function describePattern(code: string): ResponseCode | undefined {
  const [, module = '', detail = ''] = /^2([0-9]{3})([0-9]{4})$/.exec(code) ?? []
  if (!knownModules.has(module)) return undefined
  if (detail === '0402') return row(code, 'Timed out or expired.', 'retry')
  if (detail === '0703') return row(code, 'Cancelled by the customer.', 'stop')
  if (detail === '0704') return row(code, 'Cancelled by the merchant.', 'stop')
  const provider = detail.startsWith('03') ? providerCodes[detail.slice(2)] : undefined
  if (provider === undefined) return row(code, 'Declined.', 'stop')
  // A customer who does not pay by card cannot try another card.
  const advice =
    provider.advice === 'other card' && module !== modules.card ? 'other method' : provider.advice
  return row(code, `Declined: ${provider.text}.`, advice)
}

/** Each advice in one sentence, for the shop's developers. */
export const adviceMeanings: Readonly<Record<Advice, string>> = {
  'nothing to do': 'All is well.',
  'send the customer on': 'The customer has to act; send them to the address in `_links.redirect`.',
  wait: 'Do not send it again. The result comes by webhook, or can be read later.',
  retry: 'The same may succeed later: send it again, not at once and not for ever.',
  'other card': 'This card will not do it; ask the customer for another one.',
  'other method': 'This method will not do it; offer the customer another one.',
  'correct the request': 'Something in the request is wrong; the same request will always be refused.',
  stop: 'Trying again, with this request or this card, will not help and may look like fraud.',
}

/** The modules in the order of their digits, with their families or parts of the gateway. */
export function listModules(): readonly { readonly module: string; readonly speakers: readonly Speaker[] }[] {
  const speakers = keysOf(modules)
  return [...knownModules]
    .sort()
    .map(module => ({ module, speakers: speakers.filter(speaker => modules[speaker] === module) }))
}

/** The provider codes that the API passes on, sorted. */
export const listProviderCodes = (): readonly string[] => Object.keys(providerCodes).sort()

/** The whole list for the docs and the test catalogue: the fixed codes, then the patterns for each module. */
export function listResponseCodes(): readonly ResponseCode[] {
  const patterned = listModules().flatMap(({ speakers: [speaker = 'none'] }) => [
    ...listProviderCodes().map(nn => declineCode(speaker, nn)),
    timedOutCode(speaker),
    cancelledCode(speaker),
    withdrawnCode(speaker),
  ])
  return [...fixed, ...patterned.map(describe)]
}
