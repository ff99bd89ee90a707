/** What admins steer: API keys, and the merchants themselves. Every act is audited by name. */
import { loadConsoleAssets } from '#console/assets.ts'
import type { GlobalPage, MerchantPage, MerchantVisit, Visit } from '#console/context.ts'
import { may } from '#console/context.ts'
import { renderInside, seeOther } from '#console/layout.ts'
import {
  type Column,
  renderForm,
  renderPairs,
  renderTable,
  renderTerminal,
  showTime,
} from '#console/views/parts.ts'
import { scopes as allScopes } from '#domain/api-key.ts'
import { html, type Part } from '#http/html.ts'

const administration = (visit: Visit) => visit.deps.merchantsAs(visit.audit)
const baseOf = ({ merchant }: MerchantVisit): string => `/console/m/${merchant.merchantId}`

async function showKeys(visit: MerchantVisit, made?: Part) {
  const keys = (await administration(visit).listKeys(visit.merchant.merchantId)) ?? []
  const columns: readonly Column[] = [
    { title: 'Key', show: row => html`<code>${String(row.keyId)}</code>` },
    { title: 'Name', show: row => String(row.name ?? '(unnamed)') },
    { title: 'Scopes', show: row => ((row.scopes ?? []) as string[]).join(', ') },
    { title: 'Made', show: row => showTime(row.createdAt) },
    { title: 'Last used', show: row => showTime(row.lastUsedAt) },
    { title: 'Ends', show: row => showTime(row.expiresAt) },
    {
      title: 'End it',
      show: row =>
        renderForm({
          action: `${baseOf(visit)}/keys/revoke`,
          csrf: visit.csrf,
          hidden: { keyId: String(row.keyId) },
          button: 'Revoke',
          tone: 'danger',
        }),
    },
  ]
  const main = html`${made}${renderTable(keys as never, columns, 'No keys.')}<h2>New key</h2>${renderForm({
    action: `${baseOf(visit)}/keys`,
    csrf: visit.csrf,
    fields: [
      { name: 'name', label: 'Name', required: true },
      {
        name: 'scopes',
        label: 'Scopes',
        hint: `With commas: ${allScopes.join(', ')}; empty: all`,
      },
    ],
    button: 'Make a key',
  })}${renderTerminal(
    `key create ${visit.merchant.merchantId} --name shop --scopes read,payments`,
    'key revoke KEY_ID',
  )}`
  return renderInside(loadConsoleAssets(), visit, { title: 'API keys', main, merchant: visit.merchant })
}

async function makeKey(visit: MerchantVisit) {
  const { name = '', scopes = '' } = visit.request.form ?? {}
  const wanted = scopes
    .split(',')
    .map(scope => scope.trim())
    .filter(scope => scope !== '')
  const chosen = allScopes.filter(scope => wanted.includes(scope))
  const unknown = wanted.find(scope => !allScopes.some(known => known === scope))
  if (name.trim() === '' || unknown !== undefined) {
    const problem =
      unknown === undefined
        ? 'Give the key a name.'
        : `${unknown} is not a scope; allowed are ${allScopes.join(', ')}.`
    return { ...(await showKeys(visit, html`<p class="note bad" role="alert">${problem}</p>`)), status: 422 }
  }
  const created = await administration(visit).createKey(visit.merchant.merchantId, {
    name: name.trim().slice(0, 128),
    scopes: chosen.length > 0 ? chosen : allScopes,
    allowFrom: [],
  })
  const shown =
    created &&
    html`<p class="note good" role="status">The key is shown this once: <code data-copy>${created.apiKey}</code></p>`
  return showKeys(visit, shown)
}

async function revokeKey(visit: MerchantVisit) {
  const { keyId = '' } = visit.request.form ?? {}
  const keys = (await administration(visit).listKeys(visit.merchant.merchantId)) ?? []
  // Only a key of this merchant: the person may not see the others.
  if (keys.some(key => key.keyId === keyId)) await administration(visit).revokeKey(keyId)
  return seeOther(`${baseOf(visit)}/keys?done=removed`)
}

async function showMerchants(visit: Visit) {
  const columns: readonly Column[] = [
    {
      title: 'Merchant',
      show: row => html`<a href="/console/m/${String(row.merchantId)}">${String(row.name)}</a>`,
    },
    { title: 'Id', show: row => html`<code>${String(row.merchantId)}</code>` },
    { title: 'State', show: row => (row.disabled ? 'disabled' : 'active') },
  ]
  const main = html`${renderTable(visit.merchants as never, columns, 'No merchants that you may see.')}${
    may(visit, 'merchants') && visit.operator.merchants === undefined
      ? html`<h2>New merchant</h2>${renderForm({ action: '/console/merchants', csrf: visit.csrf, fields: [{ name: 'name', label: 'Name', required: true }], button: 'Make a merchant' })}${renderTerminal('merchant create --name "My shop"')}`
      : ''
  }`
  return renderInside(loadConsoleAssets(), visit, { title: 'Merchants', main })
}

async function makeMerchant(visit: Visit) {
  const { name = '' } = visit.request.form ?? {}
  if (name.trim() === '' || visit.operator.merchants !== undefined) return seeOther('/console/merchants')
  const { merchantId, apiKey, webhookSecret } = await administration(visit).create(name.trim().slice(0, 128))
  const main = html`<p class="note good" role="status">These are shown this once.</p>${renderPairs([
    ['merchant id', html`<code data-copy>${merchantId}</code>`],
    ['API key', html`<code data-copy>${apiKey}</code>`],
    ['webhook secret', html`<code data-copy>${webhookSecret}</code>`],
  ])}<p><a href="/console/m/${merchantId}">Go to ${name}</a></p>`
  return renderInside(loadConsoleAssets(), visit, { title: 'New merchant', main })
}

export const administrationPages: readonly MerchantPage[] = [
  { verb: 'GET', path: '/keys', act: 'keys', show: visit => showKeys(visit) },
  { verb: 'POST', path: '/keys', act: 'keys', show: makeKey },
  { verb: 'POST', path: '/keys/revoke', act: 'keys', show: revokeKey },
]

export const merchantListPages: readonly GlobalPage[] = [
  { verb: 'GET', path: '/merchants', act: 'read', show: showMerchants },
  { verb: 'POST', path: '/merchants', act: 'merchants', show: makeMerchant },
]
