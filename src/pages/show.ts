/** Builds the view models of a payment's pages from the stored payment alone. */

import type { SitePage } from '#connectors/contract.ts'
import { memberOf, textAt } from '#domain/json.ts'
import { type Money, subtract } from '#domain/money/money.ts'
import { dayOf } from '#domain/time/calendar.ts'
import { toTransferCode } from '#domain/transfer-code.ts'
import { fill } from '#http/html.ts'
import { namedCustomer } from '#lifecycle/customer.ts'
import { openAction } from '#lifecycle/customer-step.ts'
import { lastOperation, openTry, type Payment } from '#lifecycle/payment.ts'
import { beginsPlan, lastPaymentOf, nextPaymentAfter } from '#lifecycle/plans/plan.ts'
import { receivedValue } from '#lifecycle/receive.ts'
import { allowedBrands, type KnownCard, offerFor, servedByForm, withOneCardForm } from '#methods/card-form.ts'
import type { Method } from '#methods/rows.ts'
import type { OfferedMethod } from '#operations/payments/customer-pages/offer.ts'
import { convertAgain } from '#operations/quotes/redeem-quote.ts'
import type { Assets } from '#pages/assets.ts'
import {
  type Hosted,
  isKeptAnyway,
  isSession,
  mandateOf,
  recurringTerms,
  returnUrl,
  type Stage,
} from '#pages/hosted.ts'
import { chooseLanguage } from '#pages/language.ts'
import { summarizeOrder } from '#pages/order-lines.ts'
import { dropCardNumbers } from '#pages/read-form.ts'
import type { TextKey, Texts } from '#pages/texts/en.ts'
import type { CardForm } from '#pages/views/card-form.ts'
import { labelMethod, type MethodOption, renderCheckout } from '#pages/views/checkout.ts'
import type { CurrencyOffer } from '#pages/views/currency-choice.ts'
import { type DeadEndKind, renderDeadEnd, statusOfDeadEnd } from '#pages/views/dead-end.ts'
import type { FormNotice } from '#pages/views/field.ts'
import { type InstructionName, renderInstructions } from '#pages/views/instructions.ts'
import type { PageFrame } from '#pages/views/layout.ts'
import type { InstalmentSchedule, PlanTerms } from '#pages/views/plan-terms.ts'
import { type ResultKind, renderResult } from '#pages/views/result.ts'
import { fontNames, type Theme } from '#pages/views/theme.ts'

export interface Visit {
  readonly assets: Assets
  readonly isTest: boolean
  /** The browser's Accept-Language. */
  readonly acceptLanguage: string | undefined
}

export function frameOf(hosted: Pick<Hosted, 'merchant' | 'payment'> | undefined, visit: Visit): PageFrame {
  const wanted = hosted?.payment.details.language
  return {
    language: chooseLanguage(wanted, visit.acceptLanguage),
    assets: visit.assets,
    isTest: visit.isTest,
    merchantName: hosted?.merchant.name,
    theme: hosted && themeOf(hosted),
  }
}

export const themeOf = ({ merchant: { theme } }: Pick<Hosted, 'merchant'>): Theme | undefined =>
  theme && { ...theme, font: fontNames.find(name => name === theme.font) }

export interface Rendered {
  readonly status: number
  readonly html: string
}

/** The earlier entries, as far as they may be shown again, and their errors. */
export interface FormState extends FormNotice {
  /** The choice of a currency. Null: the offer that was shown is no longer valid. */
  readonly offer?: CurrencyOffer | null
  readonly chosen?: string
  readonly entered?: Readonly<Record<string, string>>
}

export interface FormPlace {
  /** The path of the payment's page. */
  readonly base: string
  readonly state?: FormState | undefined
  /** The instalments of a method, if it is paid in parts. */
  readonly planOf: (method: Method) => InstalmentSchedule | undefined
}

export function showForm(hosted: Hosted, frame: PageFrame, { base, state = {}, planOf }: FormPlace): string {
  const { payment } = hosted
  const last = lastOperation(payment)
  const declined =
    last.state === 'FAILED' ? explainDecline(last.responseCode, frame.language.texts) : undefined
  return renderCheckout(frame, {
    order: orderOf(payment),
    methods: optionsOf(hosted, frame, { base, state, planOf }),
    chosen: shownFor(state.chosen ?? payment.method.type, hosted),
    action: base,
    hidden: [{ name: 'attempt', value: String(payment.version) }],
    cancelAction: `${base}/cancel`,
    isOnlySaving: payment.amount.value === 0,
    plan: planTerms(hosted, state),
    title: state.title,
    // Do not repeat an earlier decline while the customer is asked for something else.
    message: state.errors || state.offer ? state.message : (state.message ?? declined),
    errors: state.errors,
  })
}

/** The plan that the customer agrees to by this payment. */
function planTerms({ payment, now }: Hosted, { entered }: FormState): PlanTerms | undefined {
  const { amount, createdAt } = payment
  if (!beginsPlan(payment.details)) return undefined
  const terms = recurringTerms(payment)
  const recurring = terms ?? {}
  const today = dayOf(now)
  // A card that is only verified today is charged on the first due day.
  const due = { recurring, beganOn: today, createdAt }
  const firstCharge = amount.value > 0 ? today : (nextPaymentAfter(due, today) ?? today)
  const lastDay = lastPaymentOf(due)
  const { frequency, expiryDate, useCase } = recurring
  return {
    isScheduled: terms !== undefined,
    isFixed: frequency !== undefined && useCase === 'FIXED' && amount.value > 0,
    amount,
    frequency,
    firstCharge,
    // A plan that ends before its next due day charges once.
    lastCharge: expiryDate && (lastDay !== undefined && lastDay > firstCharge ? lastDay : firstCharge),
    end: expiryDate,
    hasConsented: entered?.planConsent === 'yes',
  }
}

/** One card form stands for all brands that it takes, so the last try may have been by another of them. */
function shownFor(type: string, { offered }: Pick<Hosted, 'offered'>): string {
  const served = servedByForm(offered)
  return served.some(({ method }) => method.type === type) ? (served[0]?.method.type ?? type) : type
}

/** One card form on a page: the general method takes every card, and brands beside each other share a form. */
function optionsOf(
  hosted: Hosted,
  frame: PageFrame,
  { state = {}, planOf }: FormPlace,
): readonly MethodOption[] {
  const { offered } = hosted
  const { texts } = frame.language
  const served = servedByForm(offered)
  const entered = dropCardNumbers(state.entered ?? {})
  return withOneCardForm(offered).map(offer => {
    const { method, form, label, account } = offer
    const isForSeveral = served.length > 1 && served.includes(offer)
    return {
      type: method.type,
      label: isForSeveral ? texts.methodCard : (label ?? labelMethod(method, texts)),
      family: method.family === 'none' ? 'card' : method.family,
      flow: shownFlow({ method, form, account }),
      instalments: planOf(method),
      card:
        form === 'card'
          ? cardForm(hosted, frame, { ...state, entered, testCards: account.connector.sandbox?.cards })
          : undefined,
      directDebit:
        form === 'account'
          ? {
              mandateReference: mandateOf(hosted).mandateId,
              isRepeated: beginsPlan(hosted.payment.details),
              creditorName: account.connector.creditor?.name,
              creditorId: account.connector.creditor?.creditorId,
              entered: {
                accountHolder: entered.accountHolder,
                iban: entered.iban,
                hasConsented: entered.consent === 'yes',
              },
            }
          : undefined,
    }
  })
}

/**
 * The offer by which this card is paid; undefined if its brand is not allowed. Only a list of allowed methods refuses
 * brands: a payment that was made for one method takes any card, and its provider decides.
 */
export const payingOffer = (
  card: KnownCard,
  { payment, offered }: Pick<Hosted, 'payment' | 'offered'>,
): OfferedMethod | undefined => (isSession(payment) ? offerFor(card, offered) : servedByForm(offered)[0])

/** The sentence that names the brands, where the merchant has allowed only some; undefined where every card is taken. */
export function nameBrands(
  { payment, offered }: Pick<Hosted, 'payment' | 'offered'>,
  { language }: PageFrame,
): string | undefined {
  const names = (isSession(payment) ? allowedBrands(offered) : []).map(
    ({ method, label }) => label ?? labelMethod(method, language.texts),
  )
  const brands = new Intl.ListFormat(language.locale, { type: 'conjunction' }).format(names)
  return names.length > 0 ? fill(language.texts.cardsAccepted, { brands }) : undefined
}

/** The next step that the page announces for the method. */
function shownFlow({
  method,
  form,
  account,
}: Pick<OfferedMethod, 'method' | 'form' | 'account'>): MethodOption['flow'] {
  if (account.connector.supports(method)?.instructs) return 'transfer'
  // A card that the provider's own page asks for is paid like any other method with such a page.
  return form === 'none' && method.flow === 'direct' ? 'redirect' : method.flow
}

/** 3 years from now: long enough for a plan, as real cards are. */
const testCardYears = 3

function cardForm(
  hosted: Hosted,
  frame: PageFrame,
  { entered = {}, offer, testCards }: FormState & { readonly testCards: CardForm['testCards'] },
): CardForm {
  const { merchant, payment, remembered, now } = hosted
  const { instrument } = payment
  return {
    accepted: nameBrands(hosted, frame),
    remembered: remembered
      .filter(card => payingOffer(card, hosted))
      .map(({ methodId, brand, last4Digits, expiryDate }) => ({
        id: methodId,
        brand,
        last4Digits,
        expiryDate,
      })),
    mayBeSaved: namedCustomer(payment) !== undefined && !isKeptAnyway(payment),
    testCards: frame.isTest ? testCards?.filter(card => payingOffer(card, hosted)) : undefined,
    testExpiry: `12/${String(now.getUTCFullYear() + testCardYears).slice(2)}`,
    offer: merchant.dcc || offer ? (offer ?? null) : undefined,
    entered: {
      expiry: entered.expiry ?? toEntry(instrument?.expiryDate),
      cardholderName: entered.cardholderName ?? instrument?.cardHolderName,
      isToBeSaved: isToBeSaved(payment, entered),
      remembered: entered.remembered,
    },
  }
}

/** A known customer's card is saved unless they object; their last answer is shown again. */
const isToBeSaved = ({ own }: Payment, entered: Readonly<Record<string, string>>): boolean =>
  entered.type === undefined ? own.keepCard !== false : entered.saveCard === 'yes'

/** 202912 as people write it, so that the entry is still there when the customer returns from the bank's page. */
const toEntry = (expiryDate: string | undefined): string | undefined =>
  expiryDate && `${expiryDate.slice(4)}/${expiryDate.slice(2, 4)}`

const orderOf = (payment: Payment) =>
  summarizeOrder(payment.amount, payment.details.order, payment.details.description)

/** The page that the connector describes for the open try; undefined if it has no pages. */
export function drawSitePage(
  { payment, label, connector }: Hosted,
  { language }: PageFrame,
): SitePage | undefined {
  const waiting = openTry(payment)
  if (!waiting?.prepared.step) return undefined
  return connector?.drawPage?.({
    step: waiting.prepared.step,
    reference: waiting.xId,
    amount: payment.amount,
    methodLabel: label ?? labelMethod(payment.method, language.texts),
    language: language.tag,
  })
}

/** The part of a transfer that has not arrived yet. */
function stillDue(payment: Payment): Money {
  const { value, currency } = payment.amount
  return { value: subtract(value, Math.min(value, receivedValue(payment) ?? 0)), currency }
}

export function showInstructions(hosted: Hosted, frame: PageFrame): string {
  const { payment, label } = hosted
  const { texts } = frame.language
  const waiting = openTry(payment)
  const action = waiting && openAction(waiting)
  const shown = action?.type === 'instructions' ? action.instructions : undefined
  // In live mode the customer pays at a till or a bank.
  const testAction = frame.isTest && action?.type === 'instructions' ? action.testUrl : undefined
  const sitePage = testAction === undefined ? undefined : drawSitePage(hosted, frame)
  const fields = waiting?.provider?.fields
  const account = memberOf(fields, 'account')
  const paymentReference = textAt(fields, 'paymentReference')
  const entry = (name: InstructionName, value: string | undefined) =>
    value === undefined ? [] : [{ name, value }]
  const amount = stillDue(payment)
  return renderInstructions(frame, {
    amount,
    total: payment.amount,
    methodLabel: label ?? labelMethod(payment.method, texts),
    kind: shown?.qrCode !== undefined ? 'qr' : payment.method.flow === 'transfer' ? 'transfer' : 'voucher',
    entries: [
      ...entry('recipient', textAt(account, 'accountHolderName')),
      ...entry('iban', textAt(account, 'number')),
      ...entry('bic', textAt(account, 'code')),
      ...entry('bank', textAt(account, 'bankName')),
      ...entry('entity', shown?.entity),
      ...entry('reference', paymentReference),
      ...entry('paymentCode', shown?.barcode),
    ],
    deadline: payment.expiresAt?.toISOString(),
    qrText: shown?.qrCode ?? toTransferCode({ amount, account, reference: paymentReference }),
    returnUrl: returnUrl(hosted),
    siteForm: sitePage && testAction !== undefined ? { ...sitePage, action: testAction } : undefined,
  })
}

/** The amount that the customer pays: in their own currency if they chose that. */
export const amountOf = ({ instrument, amount }: Payment): Money =>
  convertAgain(instrument?.dcc, amount)?.cardholderAmount ?? amount

const results: Readonly<Partial<Record<Stage, ResultKind>>> = {
  waiting: 'pending',
  paid: 'paid',
  failed: 'failed',
  cancelled: 'cancelled',
}

/** The result or current state, right after the customer's last step. */
export function showResult(hosted: Hosted, frame: PageFrame, stage: Stage): string {
  const { payment, label } = hosted
  const kind = results[stage]
  if (kind === undefined) return showDeadEnd(frame, stage === 'tooManyTries' ? stage : 'expired', hosted).html
  return renderResult(frame, {
    kind,
    amount: amountOf(payment),
    methodLabel: label ?? labelMethod(payment.method, frame.language.texts),
    reference: payment.transId,
    date: payment.updatedAt.toISOString(),
    returnUrl: returnUrl(hosted),
    isSentBack: (kind === 'failed' || kind === 'cancelled') && hasArrived(payment),
  })
}

/** Whether a transfer, or a part of it, has come for this payment. */
const hasArrived = (payment: Payment): boolean => (receivedValue(payment) ?? 0) > 0

export const showDeadEnd = (
  frame: PageFrame,
  kind: DeadEndKind,
  hosted?: Pick<Hosted, 'payment' | 'now'>,
  retryUrl?: string,
): Rendered => ({
  status: statusOfDeadEnd(kind),
  html: renderDeadEnd(frame, {
    kind,
    returnUrl: hosted && returnUrl(hosted),
    retryUrl,
    isSentBack: kind === 'expired' && hosted !== undefined && hasArrived(hosted.payment),
  }),
})

/** By the last four digits of the response code. Lost, stolen and suspected cards deliberately get the same text. */
const declineTexts: Readonly<Record<string, TextKey>> = {
  '0314': 'declinedNumber',
  '0333': 'declinedExpired',
  '0351': 'declinedFunds',
  '0354': 'declinedExpired',
  '0361': 'declinedLimit',
  '0365': 'declinedLimit',
  '0391': 'declinedUnreachable',
  '0396': 'declinedUnreachable',
  '0703': 'declinedCancelled',
}

/** The text after a decline: enough to choose the next step, nothing that helps the holder of a stolen card. */
export function explainDecline(responseCode: string, texts: Texts): string {
  const detail = responseCode.slice(-4)
  return texts[Object.hasOwn(declineTexts, detail) ? (declineTexts[detail] ?? 'declined') : 'declined']
}
