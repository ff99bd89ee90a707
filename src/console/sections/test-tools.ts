/** The tools of the test environment: the clock, faults, test cards, and a payment with one click. */
import { loadConsoleAssets } from '#console/assets.ts'
import {
  auditInStory,
  type Json,
  type MerchantPage,
  type MerchantVisit,
  readAnswer,
  readOutcome,
  readRefusal,
  toRows,
} from '#console/context.ts'
import { renderInside, seeOther } from '#console/layout.ts'
import { rowsOf } from '#console/sections/lists.ts'
import {
  type Column,
  renderCurl,
  renderForm,
  renderProblem,
  renderTable,
  showTime,
} from '#console/views/parts.ts'
import { type Html, html } from '#http/html.ts'

const baseOf = ({ merchant }: MerchantVisit): string => `/console/m/${merchant.merchantId}`

async function showTools(visit: MerchantVisit, problem?: string) {
  const [clock, faults, catalogue] = await Promise.all(
    ['/test/clock', '/test/faults', '/test/catalogue'].map(async path =>
      readAnswer(await visit.api({ verb: 'GET', path })),
    ),
  )
  const main = html`${renderProblem(problem)}
${renderFirstPayment(visit)}${renderClock(visit, clock)}${renderFaults(visit, rowsOf(faults ?? {}))}
<section><h2>Webhooks</h2><p><a href="${baseOf(visit)}/inbox">Webhook inbox</a> shows every webhook with its signature, without any receiver.</p></section>
${renderNumbers('Test cards', catalogue?.cards, cardColumns)}${renderNumbers('Test accounts', catalogue?.accounts, accountColumns)}`
  return renderInside(loadConsoleAssets(), visit, {
    title: 'Test tools',
    main,
    merchant: visit.merchant,
    status: problem === undefined ? 200 : 422,
  })
}

const apiOf = ({ deps }: MerchantVisit): string => `${deps.origin()}/api/v2`

function renderFirstPayment(visit: MerchantVisit): Html {
  const key = visit.deps.newId()
  return html`<section><h2>A payment</h2>${renderForm({ action: `${baseOf(visit)}/test/payment`, csrf: visit.csrf, hidden: { key }, button: 'Make a test payment' })}${renderCurl('POST', `${apiOf(visit)}/payments`, samplePayment(visit, key), `console-${key}`)}</section>`
}

function renderClock(visit: MerchantVisit, clock: Json | undefined): Html {
  const advance = visit.request.form?.advance ?? 'P1D'
  return html`<section><h2>Clock</h2><p>It is ${showTime(clock?.now)} for this merchant.</p>${renderForm({ action: `${baseOf(visit)}/test/clock`, csrf: visit.csrf, fields: [{ name: 'advance', label: 'Move forward by', value: advance, hint: 'ISO 8601: PT2H, P1D, P1M', required: true }], button: 'Move the clock' })}${renderCurl('POST', `${apiOf(visit)}/test/clock`, { advance })}</section>`
}

const operations = ['*', 'AUTHORIZATION', 'CONFIRM', 'INCREMENTAL', 'CAPTURE', 'REVERSAL', 'REFUND', 'CREDIT']
const faultNames = ['decline', 'delay', 'lost_request', 'lost_answer', 'error']

function renderFaults(visit: MerchantVisit, faults: readonly Json[]): Html {
  const { operation = 'CAPTURE', fault = 'decline', times = '1' } = visit.request.form ?? {}
  const add = renderForm({
    action: `${baseOf(visit)}/test/faults`,
    csrf: visit.csrf,
    fields: [
      { name: 'operation', label: 'Operation', choices: operations, value: operation },
      { name: 'fault', label: 'Fault', choices: faultNames, value: fault },
      { name: 'times', label: 'How often', type: 'number', value: times, required: true },
    ],
    button: 'Add a fault',
  })
  const clear = renderForm({
    action: `${baseOf(visit)}/test/faults/clear`,
    csrf: visit.csrf,
    button: 'Forget all faults',
    tone: 'plain',
  })
  return html`<section><h2>Faults</h2>${renderTable(faults, faultColumns, 'The simulator behaves.', 'Faults')}${add}${faults.length > 0 && clear}${renderCurl('POST', `${apiOf(visit)}/test/faults`, { operation, fault, times: Number(times) })}${faults.length > 0 && renderCurl('DELETE', `${apiOf(visit)}/test/faults`)}</section>`
}

const faultColumns: readonly Column[] = [
  { title: 'Operation', show: row => String(row.operation) },
  { title: 'Fault', show: row => String(row.fault) },
  { title: 'Still', show: row => `${String(row.times)} ×`, numeric: true },
]

const cardColumns: readonly Column[] = [
  { title: 'Number', show: row => html`<code data-copy>${String(row.number)}</code>` },
  { title: 'Brand', show: row => String(row.brand ?? '') },
  { title: 'What happens', show: row => String(row.description ?? row.outcome ?? '') },
]
const accountColumns = cardColumns.filter(({ title }) => title !== 'Brand')

const renderNumbers = (title: string, numbers: unknown, columns: readonly Column[]): Html =>
  html`<section><h2>${title}</h2>${renderTable(toRows(numbers), columns, 'None.', title)}</section>`

async function send(
  visit: MerchantVisit,
  request: Parameters<MerchantVisit['api']>[0],
  done: { readonly act: string; readonly notice: string },
) {
  const answer = await visit.api(request)
  const outcome = readOutcome(answer)
  if (outcome) await visit.audit({ act: done.act, object: visit.merchant.merchantId, after: outcome })
  if (answer.status >= 300) return showTools(visit, readRefusal(answer))
  return seeOther(`${baseOf(visit)}/test?done=${done.notice}`)
}

/** The payment that one click makes. Its card is valid by the merchant's clock, which may be years ahead. */
export const samplePayment = ({ deps, merchant }: MerchantVisit, key: string) => ({
  transId: `console-${key}`.slice(0, 64),
  amount: { value: 1000, currency: 'EUR' },
  paymentMethods: {
    integrationType: 'DIRECT',
    type: 'CARD',
    card: {
      number: '4111111111111111',
      expiryDate: `${new Date(deps.nowMs() + merchant.clockOffsetMs).getUTCFullYear() + 3}12`,
    },
  },
})

async function makePayment(visit: MerchantVisit) {
  const { key = visit.deps.newId() } = visit.request.form ?? {}
  const body = samplePayment(visit, key)
  const answer = await visit.api({ verb: 'POST', path: '/payments', body, key: `console-${key}` })
  const payment = readAnswer(answer)
  const { payId = body.transId } = payment ?? {}
  const outcome = readOutcome(answer)
  if (outcome) await auditInStory(visit, { act: 'test.payment', object: String(payId), after: outcome })
  if (!payment) return showTools(visit, readRefusal(answer))
  return seeOther(`${baseOf(visit)}/payments/${String(payment.payId)}?done=paid`)
}

const moveClock = (visit: MerchantVisit) =>
  send(
    visit,
    { verb: 'POST', path: '/test/clock', body: { advance: visit.request.form?.advance ?? '' } },
    { act: 'test.clock', notice: 'moved' },
  )

async function addFault(visit: MerchantVisit) {
  const { operation = '', fault = '', times = '' } = visit.request.form ?? {}
  const body = { operation, fault, times: Number(times) }
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
