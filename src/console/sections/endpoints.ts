/** A merchant's webhook endpoints: adding and removing them, and a new secret for one. Secrets are shown once. */
import { loadConsoleAssets } from '#console/assets.ts'
import type { MerchantPage, MerchantVisit } from '#console/context.ts'
import { renderInside, seeOther } from '#console/layout.ts'
import {
  renderForm,
  renderPairs,
  renderProblem,
  renderTable,
  renderTerminal,
  showTime,
  type TypedColumn,
} from '#console/views/parts.ts'
import { eventTypeNames, isEventType } from '#domain/event-types.ts'
import { html, type Part } from '#http/html.ts'
import type { WebhookEndpoint } from '#storage/events/endpoints.ts'
import { readEndpointAddress } from '#webhooks/addresses.ts'
import { addressPolicies } from '#webhooks/policies.ts'

const baseOf = ({ merchant }: MerchantVisit): string => `/console/m/${merchant.merchantId}/endpoints`
const endpointsOf = (visit: MerchantVisit) => visit.deps.merchantsAs(visit.audit).endpoints

/** 24 hours: a day to reconfigure the receiver. */
const overlapHours = 24

const columnsOf = (visit: MerchantVisit): readonly TypedColumn<WebhookEndpoint>[] => [
  {
    title: 'Address',
    show: ({ url, endpointId }) =>
      html`<span class="clip" title="${url}">${url}</span><code class="under">${endpointId}</code>`,
  },
  { title: 'Types', show: ({ types }) => types?.join(', ') ?? 'all' },
  { title: 'Body', show: ({ kind }) => kind },
  { title: 'Added', show: ({ createdAt }) => showTime(createdAt) },
  {
    title: 'Change',
    show: ({ endpointId }) =>
      html`<div class="acts">${renderForm({ action: `${baseOf(visit)}/rotate`, csrf: visit.csrf, hidden: { endpointId }, button: 'New secret', tone: 'plain' })}${renderForm({ action: `${baseOf(visit)}/remove`, csrf: visit.csrf, hidden: { endpointId }, button: 'Remove', tone: 'danger' })}</div>`,
  },
]

async function showEndpoints(
  visit: MerchantVisit,
  { notice, problem }: { notice?: Part; problem?: string } = {},
) {
  const { merchant, csrf, request } = visit
  const endpoints = await endpointsOf(visit).list(merchant.merchantId)
  const { url = '', types = '', kind = 'ENHANCED' } = request.form ?? {}
  const main = html`${renderProblem(problem)}${notice}<h2>Address of the merchant</h2>${renderPairs([
    ['Address', merchant.webhookUrl ?? 'none'],
    ['Body', merchant.webhookKind],
  ])}<p class="quiet">It hears results that no request was answered with, unless a payment names another address.</p>
<h2>Added endpoints</h2>${renderTable(endpoints, columnsOf(visit), 'No endpoint was added. An added endpoint hears of every result.', 'Added endpoints')}
<h2>New endpoint</h2>${renderForm({
    action: baseOf(visit),
    csrf,
    fields: [
      { name: 'url', label: 'Address', value: url, wide: true, required: true },
      { name: 'types', label: 'Types', hint: 'With commas; empty: all', value: types },
      { name: 'kind', label: 'Body', choices: ['ENHANCED', 'BASIC'], value: kind },
    ],
    button: 'Add',
  })}<details><summary>All types</summary><p>${eventTypeNames.join(', ')}</p></details>${renderTerminal(
    `webhook add ${merchant.merchantId} --url https://shop.example/webhooks`,
    'webhook rotate-secret ENDPOINT_ID',
    'webhook remove ENDPOINT_ID',
  )}`
  const status = problem === undefined ? 200 : 422
  return renderInside(loadConsoleAssets(), visit, { title: 'Webhook endpoints', main, merchant, status })
}

/** 100: enough of an address to know it again; the whole one stays in its field. */
const shownMax = 100

async function addEndpoint(visit: MerchantVisit) {
  const { url = '', types = '', kind } = visit.request.form ?? {}
  const wanted = types
    .split(',')
    .map(type => type.trim())
    .filter(type => type !== '')
  const known = wanted.filter(isEventType)
  const unknown = wanted.find(type => !isEventType(type))
  const read = readEndpointAddress(url, addressPolicies[visit.deps.environment])
  if ('refusal' in read) {
    const problem = `The address ${url.slice(0, shownMax)} cannot be used: ${read.refusal}.`
    return showEndpoints(visit, { problem })
  }
  if (unknown !== undefined)
    return showEndpoints(visit, { problem: `${unknown} is no type of event; the list is below.` })
  const added = await endpointsOf(visit).add({
    merchantId: visit.merchant.merchantId,
    url: read.address,
    kind: kind === 'BASIC' ? 'BASIC' : 'ENHANCED',
    ...(known.length > 0 ? { types: known } : {}),
  })
  return showEndpoints(visit, { notice: added && showSecret(added.webhookSecret) })
}

const showSecret = (secret: string): Part =>
  html`<p class="note good" role="status">The secret is shown this once: <code data-copy>${secret}</code></p>`

/** Only an endpoint of this merchant: the person may not see the others. */
async function findOwn(visit: MerchantVisit): Promise<string | undefined> {
  const { endpointId } = visit.request.form ?? {}
  const own = await endpointsOf(visit).list(visit.merchant.merchantId)
  return own.find(endpoint => endpoint.endpointId === endpointId)?.endpointId
}

async function removeEndpoint(visit: MerchantVisit) {
  const endpointId = await findOwn(visit)
  if (endpointId === undefined) return showEndpoints(visit, { problem: 'There is no such endpoint.' })
  await endpointsOf(visit).remove(endpointId)
  return seeOther(`${baseOf(visit)}?done=removed`)
}

async function rotateSecret(visit: MerchantVisit) {
  const endpointId = await findOwn(visit)
  const secret = endpointId && (await endpointsOf(visit).rotateSecret(endpointId, overlapHours))
  if (!secret) return showEndpoints(visit, { problem: 'There is no such endpoint.' })
  return showEndpoints(visit, {
    notice: html`${showSecret(secret)}<p>The old one stays good for ${overlapHours} hours.</p>`,
  })
}

export const endpointPages: readonly MerchantPage[] = [
  { verb: 'GET', path: '/endpoints', act: 'webhooks', show: visit => showEndpoints(visit) },
  { verb: 'POST', path: '/endpoints', act: 'webhooks', show: addEndpoint },
  { verb: 'POST', path: '/endpoints/remove', act: 'webhooks', show: removeEndpoint },
  { verb: 'POST', path: '/endpoints/rotate', act: 'webhooks', show: rotateSecret },
]
