/** One payment: its history as a timeline, its sums, and the actions that its state and the person's role allow. */

import { createHash } from 'node:crypto'
import { amountHint, amountProblem, readAmount } from '#console/amount.ts'
import { loadConsoleAssets } from '#console/assets.ts'
import { confirmationStatus, readConfirmation, renderConfirmation } from '#console/confirmation.ts'
import {
  auditInStory,
  isJson,
  type Json,
  type MerchantPage,
  type MerchantVisit,
  may,
  readAnswer,
  readOutcome,
  readRefusal,
  toRows,
  withNewKey,
} from '#console/context.ts'
import { renderInside, renderNotFound, seeOther } from '#console/layout.ts'
import {
  currencyOf,
  openAmount,
  refundable,
  renderSums,
  showMarks,
  showReceived,
  sum,
} from '#console/sections/payment-sums.ts'
import { chooseCapture, type Refunded } from '#console/sections/refunded-capture.ts'
import { renderStory } from '#console/sections/story.ts'
import { actAlone, busyProblem } from '#console/sent-forms.ts'
import {
  type Field,
  isMoney,
  type Money,
  pick,
  renderCurl,
  renderForm,
  renderPairs,
  renderProblem,
  renderProse,
  showMoney,
  showState,
  showTime,
} from '#console/views/parts.ts'
import { type ConsoleAct, isWithinRefundLimit } from '#domain/console-roles.ts'
import { maximumAmount } from '#domain/money/money.ts'
import { adviceMeanings, describe, success } from '#domain/response-codes.ts'
import { type Html, html, type Part } from '#http/html.ts'
import { formatMoney } from '#pages/money-text.ts'

interface MoneyAct {
  readonly name: 'captures' | 'refunds' | 'reversals' | 'cancellations'
  readonly act: ConsoleAct
  readonly title: string
  readonly done: string
  /** The amount that can still be moved; undefined: not possible now. */
  readonly open: (payment: Json) => number | undefined
}

const positive = (value: number): number | undefined => (value > 0 ? value : undefined)
/**
 * The payment waits for its customer: to choose a method, or to send the rest of a transfer that has arrived in part.
 */
const isOpen = (payment: Json): boolean =>
  payment.status === 'AUTHORIZE_REQUEST' ||
  (payment.status === 'PENDING' && sum(payment, 'receivedValue') > 0)

export const moneyActs: readonly MoneyAct[] = [
  {
    name: 'captures',
    act: 'capture',
    title: 'Capture',
    done: 'captured',
    open: payment => positive(openAmount(payment)),
  },
  {
    name: 'refunds',
    act: 'refund',
    title: 'Refund',
    done: 'refunded',
    open: payment => positive(refundable(payment)),
  },
  {
    name: 'reversals',
    act: 'reverse',
    title: 'Reverse',
    done: 'reversed',
    open: payment => positive(openAmount(payment)),
  },
  {
    name: 'cancellations',
    act: 'cancel',
    title: 'Cancel',
    done: 'cancelled',
    open: payment => (isOpen(payment) ? 0 : undefined),
  },
]

const addressOf = (visit: MerchantVisit, payId: string): string =>
  `/console/m/${visit.merchant.merchantId}/payments/${payId}`

async function findPayment(visit: MerchantVisit): Promise<Json | undefined> {
  const { payId = '' } = visit.request.params
  return readAnswer(
    await visit.api({ verb: 'GET', path: `/payments/getByPayId/${encodeURIComponent(payId)}` }),
  )
}

const notFound = (visit: MerchantVisit) =>
  renderNotFound(loadConsoleAssets(), visit, {
    main: html`<p>This merchant has no such payment.</p>`,
    merchant: visit.merchant,
  })

/** The result of the last operation, with the advice for its code unless no action is needed. */
function renderResult(payment: Json): Html {
  const code = String(payment.responseCode ?? '')
  const { description, advice } = describe(code)
  return html`<p class="quiet"><code>${code}</code> ${description}${code !== success && html` What to do: ${renderProse(adviceMeanings[advice])}`}</p>`
}

function showMethod(payment: Json): Part {
  const method = pick(payment, 'paymentMethods.0') ?? payment.paymentMethods
  if (!isJson(method)) return ''
  const card = Object.values(method)
    .filter(isJson)
    .find(value => 'last4Digits' in value)
  return [method.type, card?.brand, card?.last4Digits && `•••• ${String(card.last4Digits)}`]
    .filter(Boolean)
    .join(' ')
}

function showCustomer(visit: MerchantVisit, payment: Json): Part {
  const id = pick(payment, 'customerInfo.gatewayCustomerId')
  const name = String(
    pick(payment, 'customerInfo.email') ?? pick(payment, 'customerInfo.merchantCustomerId') ?? '',
  )
  return id === undefined
    ? name
    : html`<a href="/console/m/${visit.merchant.merchantId}/customers/${String(id)}">${name || String(id)}</a>`
}

function showProviderId(payment: Json): Part {
  const ids = toRows(payment.operations).map(({ providerTransactionId }) => providerTransactionId)
  const first = ids.find(id => id !== undefined)
  return first === undefined ? '' : html`<code data-copy>${String(first)}</code>`
}

/** The payment, or an operation on it, still waits for its customer, its provider or the bank. */
const isWaiting = ({ status, operations }: Json): boolean =>
  ['AUTHORIZE_REQUEST', 'PENDING', 'CAPTURE_REQUEST'].includes(String(status)) ||
  toRows(operations).some(operation => operation.status === 'PENDING')

/** 5 s: people watch the screen and wait. */
const refreshSeconds = 5

/** Changes as soon as anything that the page shows has changed. */
const versionOf = (payment: Json, story: Html): string =>
  createHash('sha256').update(JSON.stringify(payment)).update(story.text).digest('base64url').slice(0, 16)

async function showPayment(visit: MerchantVisit) {
  const payment = await findPayment(visit)
  if (!payment) return notFound(visit)
  const payId = String(payment.payId)
  const base = addressOf(visit, payId)
  const buttons = moneyActs.filter(act => may(visit, act.act) && act.open(payment) !== undefined)
  const { provider } = payment
  const story = await renderStory(visit, payment)
  const main = html`<div class="headline" data-refresh="${isWaiting(payment) ? refreshSeconds : ''}" data-version="${versionOf(payment, story)}"><p class="amount">${showMoney(payment.amount)} ${showState(payment.status)}${showMarks(payment)}</p>${renderResult(payment)}<p class="buttons">${buttons.map(
    act =>
      html`<a class="button${act.name === 'captures' ? '' : ' plain'}" href="${base}/${act.name}">${act.title}</a> `,
  )}</p></div>${renderPairs([
    ['transId', String(payment.transId ?? '')],
    ['refNr', String(payment.refNr ?? '')],
    ['payId', html`<code data-copy>${payId}</code>`],
    ['Method', showMethod(payment)],
    ['Customer', showCustomer(visit, payment)],
    ['Provider', isJson(provider) ? `${String(provider.connector)} (${String(provider.account)})` : ''],
    ["Provider's id", showProviderId(payment)],
    ['Received by transfer', showReceived(payment)],
    ['Created', showTime(payment.creationDate)],
  ])}
<div class="columns"><section><h2>Where the money is</h2>${renderSums(payment)}</section><section><h2>Story</h2>${story}</section></div>
${renderCurl('GET', `${visit.deps.origin()}/api/v2/payments/getByPayId/${payId}`)}`
  return renderInside(loadConsoleAssets(), visit, {
    title: `Payment ${String(payment.transId)}`,
    main,
    merchant: visit.merchant,
  })
}

const underWay = (payment: Json): string =>
  toRows(payment.operations)
    .filter(({ type, status, amount }) => status === 'PENDING' && type !== 'AUTHORIZATION' && isMoney(amount))
    .map(
      ({ type, amount }) =>
        ` A ${String(type).toLowerCase()} of ${isMoney(amount) ? formatMoney(amount, 'en') : ''} is under way.`,
    )
    .join('')

/**
 * The question names the sums that the act depends on, so that another person's act in the meantime changes the
 * question.
 */
function questionOf(act: MoneyAct, payment: Json, value: number, { said }: Refunded): string {
  const money = (amount: number): string =>
    formatMoney({ value: amount, currency: currencyOf(payment) }, 'en')
  if (act.name === 'cancellations') {
    const arrived = sum(payment, 'receivedValue')
    return `Cancel this payment?${arrived > 0 ? ` ${money(arrived)} has arrived and goes back.` : ''}`
  }
  return `${act.title} ${money(value)}${said}? ${money(act.open(payment) ?? 0)} can be ${act.done}.${underWay(payment)}`
}

const refundedBy = (act: MoneyAct, payment: Json, form: Readonly<Record<string, string | undefined>>) =>
  act.name === 'refunds' ? chooseCapture(payment, form.capture) : { fields: [], said: '', body: {} }

/** The form of an action, with a key of its own: submitted twice, it takes effect once. */
async function askAct(visit: MerchantVisit, act: MoneyAct, problem?: string) {
  const payment = await findPayment(visit)
  if (!payment) return notFound(visit)
  const currency = currencyOf(payment)
  const address = `${addressOf(visit, String(payment.payId))}/${act.name}`
  const { form = {}, verb } = visit.request
  const refunded = refundedBy(act, payment, form)
  const open = Math.min(act.open(payment) ?? 0, refunded.value ?? maximumAmount)
  const { amount: typed = open > 0 ? String(open) : '', key = visit.deps.newId() } = form
  const isSure = verb === 'POST' && problem === undefined
  const amount = String(readAmount(typed, currency) ?? typed)
  const entries = { ...form, amount, key }
  const question = isSure ? questionOf(act, payment, Number(amount), refunded) : ''
  const main = html`${renderProblem(problem)}${
    isSure
      ? renderConfirmation({
          question,
          warning:
            act.name === 'cancellations'
              ? 'The customer can no longer pay, and this cannot be undone.'
              : 'This moves money and cannot be undone here.',
          action: address,
          csrf: visit.csrf,
          entries,
          button: `Yes, ${act.title.toLowerCase()}`,
        })
      : renderForm({
          action: address,
          csrf: visit.csrf,
          hidden: { key },
          fields: act.name === 'cancellations' ? [] : [amountField(currency, typed), ...refunded.fields],
          button: `${act.title} …`,
        })
  }<p><a href="${addressOf(visit, String(payment.payId))}">Back to the payment</a></p>${renderCurl(
    'POST',
    `${visit.deps.origin()}/api/v2/payments/${String(payment.payId)}/${act.name}`,
    { ...toBody(act, { transId: `console-${key}`.slice(0, 64), amount, currency }), ...refunded.body },
    `console-${key}`,
  )}`
  return renderInside(loadConsoleAssets(), visit, {
    title: `${act.title} ${String(payment.transId)}`,
    main,
    merchant: visit.merchant,
    status: problem === undefined ? confirmationStatus(isSure ? form : {}, question) : 422,
  })
}

const amountField = (currency: string, value: string): Field => ({
  name: 'amount',
  label: `Amount in ${currency}`,
  hint: amountHint,
  value,
  required: true,
})

function toBody(
  act: MoneyAct,
  { transId, amount, currency }: { transId: string; amount: string; currency: string },
) {
  if (act.name === 'cancellations') return { reason: 'Cancelled in the console' }
  return { transId, amount: { value: Number(amount), currency } }
}

const limitProblem = (amount: Money, limits: readonly string[] = []): string =>
  `The refund is ${formatMoney(amount, 'en')}; your refund limit is ${limits.join(', ')}, in the smallest unit. Ask an admin for more.`

async function doAct(visit: MerchantVisit, act: MoneyAct) {
  const { form = {} } = visit.request
  const { amount: typed = '0', key = '' } = form
  const payment = await findPayment(visit)
  if (!payment) return notFound(visit)
  const currency = currencyOf(payment)
  const value = act.name === 'cancellations' ? 0 : readAmount(typed, currency)
  if (value === undefined) return askAct(visit, act, amountProblem(typed, currency))
  const amount = String(value)
  if (act.act === 'refund' && visit.operator.role === 'support') {
    const { refundLimits } = visit.operator
    if (!isWithinRefundLimit(refundLimits, { value, currency }))
      return askAct(visit, act, limitProblem({ value, currency }, refundLimits))
  }
  const refunded = refundedBy(act, payment, form)
  if (readConfirmation(form, questionOf(act, payment, value, refunded)) !== 'given') return askAct(visit, act)
  const payId = String(payment.payId)
  const answer = await visit.api({
    verb: 'POST',
    path: `/payments/${payId}/${act.name}`,
    body: { ...toBody(act, { transId: `console-${key}`.slice(0, 64), amount, currency }), ...refunded.body },
    key: `console-${key}`,
  })
  const outcome = readOutcome(answer)
  const after = { amount: value, currency, ...outcome }
  if (outcome) await auditInStory(visit, { act: `payment.${act.act}`, object: payId, after })
  if (answer.status >= 300) return askAct(withNewKey(visit, answer), act, readRefusal(answer))
  const isPending = readAnswer(answer)?.status === 'PENDING'
  const done = answer.isReplay ? 'once' : act.done
  return seeOther(`${addressOf(visit, payId)}?done=${isPending ? 'pending' : done}`)
}

async function doActAlone(visit: MerchantVisit, act: MoneyAct) {
  const { form = {}, params } = visit.request
  if (form.sure !== 'yes') return doAct(visit, act)
  const done = await actAlone(visit, params.payId ?? '', () => doAct(visit, act))
  return done ?? askAct(visit, act, busyProblem)
}

export const paymentPages: readonly MerchantPage[] = [
  { verb: 'GET', path: '/payments/{payId}', act: 'read', show: showPayment },
  ...moneyActs.flatMap(act => [
    {
      verb: 'GET',
      path: `/payments/{payId}/${act.name}`,
      act: act.act,
      show: (visit: MerchantVisit) => askAct(visit, act),
    } as const,
    {
      verb: 'POST',
      path: `/payments/{payId}/${act.name}`,
      act: act.act,
      show: (visit: MerchantVisit) => doActAlone(visit, act),
    } as const,
  ]),
]
