/** The settings of a merchant, and how long personal data is kept. */
import { loadConsoleAssets } from '#console/assets.ts'
import type { MerchantPage, MerchantVisit } from '#console/context.ts'
import { renderInside, seeOther } from '#console/layout.ts'
import { renderForm, renderPairs, renderProblem, renderTerminal } from '#console/views/parts.ts'
import { addDuration } from '#domain/time/duration.ts'
import { html } from '#http/html.ts'

/** A day: anything shorter would erase data that a payment under way still needs. */
const shortestMs = 24 * 60 * 60 * 1000
const forEver = 'none'

async function showSettings(visit: MerchantVisit, problem?: string) {
  const { merchant, csrf, request } = visit
  const personalData = request.form?.personalData ?? merchant.personalDataFor ?? forEver
  const main = html`${renderProblem(problem)}${renderPairs([
    ['Merchant', merchant.name],
    ['Id', html`<code data-copy>${merchant.merchantId}</code>`],
    ['State', merchant.disabled ? 'disabled' : 'active'],
    ['Requests a second', String(merchant.requestsPerSecond)],
    ['Methods', merchant.methods?.join(', ') ?? 'all'],
    ['Webhook address', merchant.webhookUrl ?? 'none'],
    ['Pays in the card’s currency', merchant.dcc ? 'offered' : 'not offered'],
    ['Paid too late', merchant.paidLate === 'keep' ? 'the money is kept' : 'the money is given back'],
  ])}<h2>Personal data</h2><p>Names, e-mail, telephone, addresses, IP and device of payments that are older are blanked. Amounts, ids, dates, country and masked numbers stay.</p>${renderForm(
    {
      action: `/console/m/${merchant.merchantId}/settings/retention`,
      csrf,
      fields: [
        {
          name: 'personalData',
          label: 'Kept for',
          hint: 'A duration such as P2Y, a day at least; none: for ever',
          value: personalData,
          required: true,
        },
      ],
      button: 'Save',
    },
  )}${renderTerminal(`retention set ${merchant.merchantId} --personal-data ${merchant.personalDataFor ?? 'P2Y'}`)}`
  const status = problem === undefined ? 200 : 422
  return renderInside(loadConsoleAssets(), visit, { title: 'Settings', main, merchant, status })
}

async function setRetention(visit: MerchantVisit) {
  const text = (visit.request.form?.personalData ?? '').trim()
  const length = addDuration(0, text)
  if (text !== forEver && (length === undefined || length < shortestMs))
    return showSettings(
      visit,
      `${text} is no duration of a day at least; P2Y is two years, none is for ever.`,
    )
  const personalDataFor = text === forEver ? null : text.replace(',', '.')
  await visit.deps.merchantsAs(visit.audit).set(visit.merchant.merchantId, { personalDataFor })
  return seeOther(`/console/m/${visit.merchant.merchantId}/settings?done=saved`)
}

export const settingsPages: readonly MerchantPage[] = [
  { verb: 'GET', path: '/settings', act: 'retention', show: visit => showSettings(visit) },
  { verb: 'POST', path: '/settings/retention', act: 'retention', show: setRetention },
]
