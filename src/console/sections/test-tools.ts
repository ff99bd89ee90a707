/** The test environment's levers: the clock, faults, test cards, a payment with one click, and an inbox of webhooks. */
import { loadConsoleAssets } from '#console/assets.ts'
import {
  type Json,
  type MerchantPage,
  type MerchantVisit,
  readAnswer,
  readRefusal,
} from '#console/context.ts'
import { renderInside, seeOther } from '#console/layout.ts'
import { rowsOf } from '#console/sections/lists.ts'
import {
  type Column,
  pick,
  renderCurl,
  renderForm,
  renderTable,
  showState,
  showTime,
} from '#console/views/parts.ts'
import { html, type Part } from '#pages/html.ts'

const baseOf = ({ merchant }: MerchantVisit): string => `/console/m/${merchant.merchantId}`

async function showTools(visit: MerchantVisit, problem?: string) {
  const [clock, faults, catalogue, events] = await Promise.all(
    ['/test/clock', '/test/faults', '/test/catalogue', '/events'].map(async path =>
      readAnswer(await visit.api({ verb: 'GET', path })),
    ),
  )
  const base = baseOf(visit)
  const api = `${visit.deps.origin()}/api/v2`
  const main = html`${problem !== undefined && html`<p class="note bad" role="alert">${problem}</p>`}
<section><h2>First payment</h2>${renderForm({ action: `${base}/test/payment`, csrf: visit.csrf, hidden: { key: visit.deps.newId() }, button: 'Make a test payment' })}</section>
<section><h2>Clock</h2><p>It is ${showTime(clock?.now)} for this merchant.</p>${renderForm({ action: `${base}/test/clock`, csrf: visit.csrf, fields: [{ name: 'advance', label: 'Move forward by', value: 'P1D', hint: 'ISO 8601: PT2H, P1D, P1M', required: true }], button: 'Move the clock' })}${renderCurl('POST', `${api}/test/clock`, { advance: 'P1D' })}</section>
<section><h2>Faults</h2>${renderTable(rowsOf(faults ?? {}), faultColumns, 'The simulator behaves.')}${renderForm({ action: `${base}/test/faults`, csrf: visit.csrf, fields: [{ name: 'fault', label: 'Rule as JSON', value: '{"operation": "CAPTURE", "mode": "declined"}', required: true }], button: 'Add a fault' })}${renderForm({ action: `${base}/test/faults/clear`, csrf: visit.csrf, button: 'Forget all faults', tone: 'plain' })}</section>
<section><h2>Webhook inbox</h2><p class="quiet">Every event with its body, whether or not anybody receives it.</p>${renderTable(rowsOf(events ?? {}), inboxColumns(base), 'No events yet.')}</section>
<section><h2>Test cards</h2>${renderTable(cardsOf(catalogue), cardColumns, 'None.')}</section>`
  return renderInside(loadConsoleAssets(), visit, {
    title: 'Test tools',
    main,
    merchant: visit.merchant,
    status: problem === undefined ? 200 : 422,
  })
}

const faultColumns: readonly Column[] = [
  { title: 'Rule', show: row => html`<code>${JSON.stringify(row)}</code>` },
]

const inboxColumns = (base: string): readonly Column[] => [
  {
    title: 'Event',
    show: row =>
      html`<a href="${base}/events/${String(row.id)}">${String(pick(row, 'payload.type') ?? row.type ?? row.id)}</a>`,
  },
  { title: 'Status', show: row => showState(row.status) },
  { title: 'Created', show: row => showTime(row.createdAt ?? row.creationDate) },
]

const cardColumns: readonly Column[] = [
  { title: 'Number', show: row => html`<code data-copy>${String(row.number)}</code>` },
  {
    title: 'What happens',
    show: row => String(row.description ?? row.outcome ?? row.meaning ?? row.result ?? ''),
  },
]

/** The catalogue groups cards by what they show; here they are one list. */
function cardsOf(catalogue: Json | undefined): readonly Json[] {
  const found: Json[] = []
  const walk = (value: unknown): void => {
    if (Array.isArray(value)) for (const one of value) walk(one)
    else if (typeof value === 'object' && value !== null) {
      if (typeof (value as Json).number === 'string') found.push(value as Json)
      else for (const one of Object.values(value)) walk(one)
    }
  }
  walk(catalogue)
  return found.slice(0, 60)
}

async function send(
  visit: MerchantVisit,
  request: Parameters<MerchantVisit['api']>[0],
  done: { readonly act: string; readonly notice: string; readonly object?: Part },
) {
  const answer = await visit.api(request)
  if (answer.status >= 300) return showTools(visit, readRefusal(answer))
  await visit.audit({ act: done.act, object: visit.merchant.merchantId })
  return seeOther(`${baseOf(visit)}/test?done=${done.notice}`)
}

async function makePayment(visit: MerchantVisit) {
  const { key = '' } = visit.request.form ?? {}
  const body = {
    transId: `console-${key}`.slice(0, 64),
    amount: { value: 1000, currency: 'EUR' },
    paymentMethods: {
      integrationType: 'DIRECT',
      type: 'CARD',
      card: {
        number: '4111111111111111',
        expiryDate: `${new Date(visit.deps.nowMs()).getUTCFullYear() + 3}12`,
      },
    },
  }
  const answer = await visit.api({ verb: 'POST', path: '/payments', body, key: `console-${key}` })
  const payment = readAnswer(answer)
  if (!payment) return showTools(visit, readRefusal(answer))
  await visit.audit({ act: 'test.payment', object: String(payment.payId) })
  return seeOther(`${baseOf(visit)}/payments/${String(payment.payId)}?done=paid`)
}

const moveClock = (visit: MerchantVisit) =>
  send(
    visit,
    { verb: 'POST', path: '/test/clock', body: { advance: visit.request.form?.advance ?? '' } },
    { act: 'test.clock', notice: 'moved' },
  )

async function addFault(visit: MerchantVisit) {
  let body: unknown
  try {
    body = JSON.parse(visit.request.form?.fault ?? '')
  } catch {
    return showTools(visit, 'The rule must be JSON.')
  }
  return send(visit, { verb: 'POST', path: '/test/faults', body }, { act: 'test.fault', notice: 'saved' })
}

const clearFaults = (visit: MerchantVisit) =>
  send(visit, { verb: 'DELETE', path: '/test/faults' }, { act: 'test.faults.clear', notice: 'removed' })

export const testPages: readonly MerchantPage[] = [
  { verb: 'GET', path: '/test', act: 'testTools', testOnly: true, show: visit => showTools(visit) },
  { verb: 'POST', path: '/test/payment', act: 'testTools', testOnly: true, show: makePayment },
  { verb: 'POST', path: '/test/clock', act: 'testTools', testOnly: true, show: moveClock },
  { verb: 'POST', path: '/test/faults', act: 'testTools', testOnly: true, show: addFault },
  { verb: 'POST', path: '/test/faults/clear', act: 'testTools', testOnly: true, show: clearFaults },
]
