/** One payment: its story as a timeline, its sums, and the acts that its state and the person's role allow. */
import { loadConsoleAssets } from '#console/assets.ts'
import {
  type Json,
  type MerchantPage,
  type MerchantVisit,
  may,
  readAnswer,
  readRefusal,
} from '#console/context.ts'
import { renderInside, seeOther } from '#console/layout.ts'
import { rowsOf } from '#console/sections/lists.ts'
import {
  pick,
  renderCurl,
  renderForm,
  renderPairs,
  showMoney,
  showState,
  showTime,
} from '#console/views/parts.ts'
import { type ConsoleAct, isWithinRefundLimit } from '#domain/console-roles.ts'
import { describe } from '#domain/response-codes.ts'
import { type Html, html, type Part } from '#pages/html.ts'

interface MoneyAct {
  readonly name: 'captures' | 'refunds' | 'reversals' | 'cancellations'
  readonly act: ConsoleAct
  readonly title: string
  readonly done: string
  /** What could still be moved; undefined: not now. */
  readonly open: (payment: Json) => number | undefined
}

const sum = (payment: Json, name: string): number => Number(pick(payment, `amount.${name}`) ?? 0)
const positive = (value: number): number | undefined => (value > 0 ? value : undefined)
const isOpen = (payment: Json): boolean => payment.status === 'AUTHORIZE_REQUEST'

const openAmount = (payment: Json): number =>
  sum(payment, 'authorizedValue') - sum(payment, 'capturedValue') - sum(payment, 'reversedValue')

const refundable = (payment: Json): number =>
  sum(payment, 'capturedValue') -
  sum(payment, 'refundedValue') -
  sum(payment, 'returnedValue') -
  sum(payment, 'disputedValue')

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

const currencyOf = (payment: Json): string => String(pick(payment, 'amount.currency') ?? '')

const addressOf = (visit: MerchantVisit, payId: string): string =>
  `/console/m/${visit.merchant.merchantId}/payments/${payId}`

async function findPayment(visit: MerchantVisit): Promise<Json | undefined> {
  const { payId = '' } = visit.request.params
  return readAnswer(
    await visit.api({ verb: 'GET', path: `/payments/getByPayId/${encodeURIComponent(payId)}` }),
  )
}

const notFound = (visit: MerchantVisit) =>
  renderInside(loadConsoleAssets(), visit, {
    title: 'Not found',
    main: html`<p>This merchant has no such payment.</p>`,
    merchant: visit.merchant,
    status: 404,
  })

interface Moment {
  readonly at: string
  readonly title: Part
  readonly detail: Part
}

function tellOperations(payment: Json): readonly Moment[] {
  const operations = (payment.operations ?? []) as Json[]
  return operations.map(operation => {
    const code = String(operation.responseCode ?? '')
    const { description, advice } = explain(code)
    return {
      at: String(operation.creationDate ?? operation.createdAt ?? ''),
      title: html`${String(operation.type)} ${showState(operation.status)} ${showMoney(operation.amount as never)}`,
      detail: html`<p>${code} ${description}</p>${advice && html`<p class="quiet">What to do: ${advice}</p>`}<p class="quiet"><code>${String(operation.xId ?? '')}</code></p>`,
    }
  })
}

function explain(code: string): { readonly description: string; readonly advice: string } {
  const { description, advice } = describe(code) as { description: string; advice?: string }
  return { description, advice: advice ?? '' }
}

async function tellEvents(visit: MerchantVisit, payId: string): Promise<readonly Moment[]> {
  const body = readAnswer(await visit.api({ verb: 'GET', path: `/events?payId=${payId}` }))
  return rowsOf(body ?? {}).map(event => ({
    at: String(event.createdAt ?? event.creationDate ?? ''),
    title: html`Event ${String(pick(event, 'payload.type') ?? pick(event, 'body.type') ?? event.type ?? '')} ${showState(event.status)}`,
    detail: html`<a href="/console/m/${visit.merchant.merchantId}/events/${String(event.id)}">Attempts and replay</a>`,
  }))
}

async function tellActs(visit: MerchantVisit, payId: string): Promise<readonly Moment[]> {
  const rows = await visit.deps.auditStore.list({ limit: 1_000 })
  return rows
    .filter(({ object }) => object === payId)
    .map(({ at, actor, act }) => ({ at: at.toISOString(), title: html`${act}`, detail: html`by ${actor}` }))
}

const renderTimeline = (moments: readonly Moment[]): Html =>
  html`<ol class="timeline">${moments
    .toSorted((a, b) => a.at.localeCompare(b.at))
    .map(
      ({ at, title, detail }) => html`<li>${showTime(at)}<div><h3>${title}</h3>${detail}</div></li>`,
    )}</ol>`

function renderSums(payment: Json): Html {
  const currency = currencyOf(payment)
  const names = [
    'authorizedValue',
    'capturedValue',
    'refundedValue',
    'reversedValue',
    'returnedValue',
    'disputedValue',
  ]
  const label = (name: string): string => name.replace('Value', '')
  const rows = names.filter(name => name === 'authorizedValue' || sum(payment, name) > 0)
  return html`<table class="sums"><caption>Where the money is</caption><tbody>${rows.map(
    name =>
      html`<tr><th scope="row">${label(name)}</th><td class="number">${showMoney({ value: sum(payment, name), currency })}</td></tr>`,
  )}<tr class="rest"><th scope="row">still open</th><td class="number">${showMoney({ value: Math.max(0, openAmount(payment)), currency })}</td></tr></tbody></table>`
}

async function showPayment(visit: MerchantVisit) {
  const payment = await findPayment(visit)
  if (!payment) return notFound(visit)
  const payId = String(payment.payId)
  const base = addressOf(visit, payId)
  const buttons = moneyActs.filter(act => may(visit, act.act) && act.open(payment) !== undefined)
  const moments = [
    ...tellOperations(payment),
    ...(await tellEvents(visit, payId)),
    ...(await tellActs(visit, payId)),
  ]
  const provider = payment.provider as Json | undefined
  const main = html`<div data-refresh="${payment.status === 'PENDING' ? '5' : ''}">${renderPairs([
    ['Status', showState(payment.status)],
    ['Amount', showMoney(payment.amount as never)],
    ['transId', String(payment.transId ?? '')],
    ['refNr', String(payment.refNr ?? '')],
    ['payId', html`<code data-copy>${payId}</code>`],
    ['Method', String(pick(payment, 'paymentMethods.0.type') ?? pick(payment, 'paymentMethods.type') ?? '')],
    ['Provider', provider ? `${String(provider.connector)} (${String(provider.account)})` : ''],
    ['Created', showTime(payment.creationDate)],
  ])}</div>
<p class="buttons">${buttons.map(act => html`<a class="button" href="${base}/${act.name}">${act.title}</a> `)}</p>
<div class="columns"><section><h2>Sums</h2>${renderSums(payment)}</section><section><h2>Story</h2>${renderTimeline(moments)}</section></div>
${renderCurl('GET', `${visit.deps.origin()}/api/v2/payments/getByPayId/${payId}`)}`
  return renderInside(loadConsoleAssets(), visit, {
    title: `Payment ${String(payment.transId)}`,
    main,
    merchant: visit.merchant,
  })
}

/** The form of an act, with a key of its own: sent twice, it acts once. */
async function askAct(visit: MerchantVisit, act: MoneyAct, problem?: string) {
  const payment = await findPayment(visit)
  if (!payment) return notFound(visit)
  const open = act.open(payment)
  const currency = currencyOf(payment)
  const address = `${addressOf(visit, String(payment.payId))}/${act.name}`
  const { amount = String(open ?? ''), key = visit.deps.newId() } = visit.request.form ?? {}
  const isSure = visit.request.verb === 'POST' && problem === undefined
  const shown = showMoney({ value: Number(amount), currency })
  const main = html`${problem !== undefined && html`<p class="note bad" role="alert">${problem}</p>`}${
    isSure
      ? html`<p>${act.title} ${act.name === 'cancellations' ? 'this payment' : shown}? This moves money and cannot be undone here.</p>${renderForm({ action: address, csrf: visit.csrf, hidden: { amount, key, sure: 'yes' }, button: `Yes, ${act.title.toLowerCase()}`, tone: 'danger' })}`
      : renderForm({
          action: address,
          csrf: visit.csrf,
          hidden: { key },
          fields:
            act.name === 'cancellations'
              ? []
              : [
                  {
                    name: 'amount',
                    label: `Amount in the smallest unit of ${currency}`,
                    value: amount,
                    required: true,
                  },
                ],
          button: `${act.title} …`,
        })
  }<p><a href="${addressOf(visit, String(payment.payId))}">Back to the payment</a></p>${renderCurl(
    'POST',
    `${visit.deps.origin()}/api/v2/payments/${String(payment.payId)}/${act.name}`,
    toBody(act, { transId: `console-${key}`, amount, currency }),
  )}`
  return renderInside(loadConsoleAssets(), visit, {
    title: `${act.title} ${String(payment.transId)}`,
    main,
    merchant: visit.merchant,
    status: problem === undefined ? 200 : 422,
  })
}

function toBody(
  act: MoneyAct,
  { transId, amount, currency }: { transId: string; amount: string; currency: string },
) {
  if (act.name === 'cancellations') return { reason: 'Cancelled in the console' }
  return { transId, amount: { value: Number(amount), currency } }
}

async function doAct(visit: MerchantVisit, act: MoneyAct) {
  const { amount = '0', key = '', sure } = visit.request.form ?? {}
  const payment = await findPayment(visit)
  if (!payment) return notFound(visit)
  const currency = currencyOf(payment)
  if (act.name !== 'cancellations' && !/^\d{1,12}$/.test(amount))
    return askAct(
      visit,
      act,
      'The amount must be a whole number in the smallest unit, such as 1000 for 10.00.',
    )
  if (act.act === 'refund' && visit.operator.role === 'support') {
    const isAllowed = isWithinRefundLimit(visit.operator.refundLimits, { value: Number(amount), currency })
    if (!isAllowed) return askAct(visit, act, 'This is above your refund limit; ask an admin.')
  }
  if (sure !== 'yes') return askAct(visit, act)
  const payId = String(payment.payId)
  const answer = await visit.api({
    verb: 'POST',
    path: `/payments/${payId}/${act.name}`,
    body: toBody(act, { transId: `console-${key}`.slice(0, 64), amount, currency }),
    key: `console-${key}`,
  })
  if (answer.status >= 300) return askAct(visit, act, readRefusal(answer))
  await visit.audit({ act: `payment.${act.act}`, object: payId, after: { amount: Number(amount), currency } })
  const isPending = readAnswer(answer)?.status === 'PENDING'
  return seeOther(`${addressOf(visit, payId)}?done=${isPending ? 'pending' : act.done}`)
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
      show: (visit: MerchantVisit) => doAct(visit, act),
    } as const,
  ]),
]
