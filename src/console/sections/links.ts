/** Payment links: making one, and one with its address to copy and as a QR code to show. */
import { renderSVG } from 'uqr'
import { amountHint, amountProblem, readAmount } from '#console/amount.ts'
import { loadConsoleAssets } from '#console/assets.ts'
import {
  type MerchantPage,
  type MerchantVisit,
  may,
  readAnswer,
  readOutcome,
  readRefusal,
  withNewKey,
} from '#console/context.ts'
import { renderInside, renderNotFound, seeOther } from '#console/layout.ts'
import {
  pick,
  renderCurl,
  renderForm,
  renderPairs,
  renderProblem,
  showMoney,
  showState,
  showTime,
} from '#console/views/parts.ts'
import { type Html, html, raw } from '#http/html.ts'

const baseOf = ({ merchant }: MerchantVisit): string => `/console/m/${merchant.merchantId}`
const apiOf = ({ deps }: MerchantVisit): string => `${deps.origin()}/api/v2`

interface LinkForm {
  readonly amount: string
  readonly currency: string
  readonly description: string
  readonly key: string
}

const readForm = ({ request, deps }: MerchantVisit): LinkForm => {
  const { amount = '', currency = 'EUR', description = '', key = deps.newId() } = request.form ?? {}
  return { amount, currency, description, key }
}

const toBody = ({ amount, currency, description, key }: LinkForm) => ({
  transId: `link-${key}`.slice(0, 64),
  amount: { value: readAmount(amount, currency) ?? 0, currency },
  ...(description === '' ? {} : { description }),
})

async function showLinkForm(visit: MerchantVisit, problem?: string) {
  const form = readForm(visit)
  const { amount, currency, description, key } = form
  const main = html`${renderProblem(problem)}${renderForm({
    action: `${baseOf(visit)}/links/new`,
    csrf: visit.csrf,
    hidden: { key },
    fields: [
      {
        name: 'amount',
        label: 'Amount',
        hint: amountHint,
        value: amount,
        required: true,
      },
      { name: 'currency', label: 'Currency', value: currency, required: true },
      { name: 'description', label: 'What it is for', value: description },
    ],
    button: 'Make a link',
  })}${renderCurl('POST', `${apiOf(visit)}/payments/links`, toBody({ ...form, amount: amount || '1000' }), `console-${key}`)}`
  const status = problem === undefined ? 200 : 422
  return renderInside(loadConsoleAssets(), visit, {
    title: 'New link',
    main,
    merchant: visit.merchant,
    status,
  })
}

/** Creates the link with the same endpoint that shops use. */
async function makeLink(visit: MerchantVisit) {
  const form = readForm(visit)
  if (readAmount(form.amount, form.currency) === undefined)
    return showLinkForm(visit, amountProblem(form.amount, form.currency))
  const body = toBody(form)
  const answer = await visit.api({
    verb: 'POST',
    path: '/payments/links',
    body,
    key: `console-${form.key}`,
  })
  const made = readAnswer(answer)
  const { id = body.transId } = made ?? {}
  const outcome = readOutcome(answer)
  if (outcome) await visit.audit({ act: 'link.create', object: String(id), after: { ...body, ...outcome } })
  if (!made) return showLinkForm(withNewKey(visit, answer), readRefusal(answer))
  return seeOther(`${baseOf(visit)}/links/${String(id)}?done=${answer.isReplay ? 'once' : 'saved'}`)
}

async function showLink(visit: MerchantVisit, problem?: string) {
  const { id = '' } = visit.request.params
  const path = `/payments/links/${encodeURIComponent(id)}`
  const link = readAnswer(await visit.api({ verb: 'GET', path }))
  if (!link) {
    const main = html`<p>This merchant has no such link.</p>`
    return renderNotFound(loadConsoleAssets(), visit, { main, merchant: visit.merchant })
  }
  const address = String(pick(link, '_links.redirect.href') ?? '')
  const isActive = link.status === 'ACTIVE'
  const main = html`${renderProblem(problem)}${renderPairs([
    ['Status', showState(link.status)],
    ['Amount', showMoney(link.amount)],
    ['For', String(link.description ?? '')],
    ['Expires', showTime(link.expirationTime)],
    ['Payment', html`<a href="${baseOf(visit)}/payments/${String(link.payId)}">${String(link.transId)}</a>`],
  ])}${
    isActive &&
    html`<h2>Send it</h2><p class="address"><code data-copy>${address}</code></p><div class="qr">${raw(renderSVG(address))}</div>${
      may(visit, 'links') && renderCancel(visit, id, String(link.payId))
    }`
  }${renderCurl('GET', `${apiOf(visit)}${path}`)}`
  const status = problem === undefined ? 200 : 422
  return renderInside(loadConsoleAssets(), visit, {
    title: `Link ${String(link.transId)}`,
    main,
    merchant: visit.merchant,
    status,
  })
}

function renderCancel(visit: MerchantVisit, id: string, payId: string): Html {
  const key = visit.deps.newId()
  return html`<div class="panel">${renderForm({
    action: `${baseOf(visit)}/links/${id}/cancel`,
    csrf: visit.csrf,
    hidden: { key, payId },
    button: 'Cancel the link',
    tone: 'danger',
  })}${renderCurl('POST', `${apiOf(visit)}/payments/${payId}/cancellations`, { reason: 'Cancelled in the console' }, `console-${key}`)}</div>`
}

async function cancelLink(visit: MerchantVisit) {
  const { id = '' } = visit.request.params
  const link = readAnswer(await visit.api({ verb: 'GET', path: `/payments/links/${encodeURIComponent(id)}` }))
  if (!link) return showLink(visit)
  const answer = await visit.api({
    verb: 'POST',
    path: `/payments/${String(link.payId)}/cancellations`,
    body: { reason: 'Cancelled in the console' },
    key: `console-${visit.request.form?.key ?? visit.deps.newId()}`,
  })
  const outcome = readOutcome(answer)
  if (outcome) await visit.audit({ act: 'link.cancel', object: id, after: outcome })
  if (answer.status >= 300) return showLink(visit, readRefusal(answer))
  return seeOther(`${baseOf(visit)}/links/${id}?done=${answer.isReplay ? 'once' : 'cancelled'}`)
}

export const linkPages: readonly MerchantPage[] = [
  { verb: 'GET', path: '/links/new', act: 'links', show: visit => showLinkForm(visit) },
  { verb: 'POST', path: '/links/new', act: 'links', show: makeLink },
  { verb: 'GET', path: '/links/{id}', act: 'read', show: visit => showLink(visit) },
  { verb: 'POST', path: '/links/{id}/cancel', act: 'links', show: cancelLink },
]
