/** Administration: API keys, and the merchants themselves. Every action is audited with the person's name. */
import { loadConsoleAssets } from '#console/assets.ts'
import type { GlobalPage, MerchantPage, MerchantVisit, Visit } from '#console/context.ts'
import { may } from '#console/context.ts'
import { renderInside, seeOther } from '#console/layout.ts'
import {
  renderAway,
  renderForm,
  renderPairs,
  renderProblem,
  renderTable,
  renderTerminal,
  showTime,
  type TypedColumn,
} from '#console/views/parts.ts'
import { scopes as allScopes } from '#domain/api-key.ts'
import type { Merchant } from '#domain/merchant.ts'
import { nameMax, readName } from '#domain/text.ts'
import { html, type Part } from '#http/html.ts'
import { KeyRequestFault, readExpiry, readNetworks, readScopes } from '#operations/merchants/key-request.ts'
import type { KeyRequest } from '#operations/merchants/merchants.ts'
import type { ListedKey } from '#storage/api-keys.ts'

const administration = (visit: Visit) => visit.deps.merchantsAs(visit.audit)
const baseOf = ({ merchant }: MerchantVisit): string => `/console/m/${merchant.merchantId}`

const isAllScopes = (scopes: readonly string[]): boolean => allScopes.every(scope => scopes.includes(scope))

const keyColumns = (visit: MerchantVisit): readonly TypedColumn<ListedKey>[] => [
  {
    title: 'Key',
    show: ({ name, keyId }) =>
      html`<span class="clip" title="${name ?? ''}">${name ?? 'without a name'}</span><code class="under">${keyId}</code>`,
  },
  { title: 'Scopes', show: ({ scopes }) => (isAllScopes(scopes) ? 'all' : scopes.join(', ')) },
  { title: 'From', show: ({ allowFrom }) => allowFrom.join(', ') || 'everywhere', clip: true },
  {
    title: 'Last used',
    show: ({ lastUsedAt, lastUsedFrom }) =>
      html`${lastUsedAt ? showTime(lastUsedAt) : 'never'}${lastUsedFrom !== undefined && html`<span class="under">from ${lastUsedFrom}</span>`}`,
  },
  {
    title: 'Made and ends',
    show: ({ createdAt, expiresAt }) =>
      html`${showTime(createdAt)}<span class="under">${expiresAt ? html`until ${showTime(expiresAt)}` : 'does not end'}</span>`,
  },
  {
    title: 'End it',
    show: ({ keyId }) =>
      renderForm({
        action: `${baseOf(visit)}/keys/revoke`,
        csrf: visit.csrf,
        hidden: { keyId },
        button: 'Revoke …',
        tone: 'danger',
      }),
  },
]

async function showKeys(visit: MerchantVisit, { made, problem }: { made?: Part; problem?: string } = {}) {
  const { merchantId } = visit.merchant
  const keys = (await administration(visit).listKeys(merchantId)) ?? []
  const { name = '', scopes = '', allowFrom = '', expires = '' } = made ? {} : (visit.request.form ?? {})
  const main = html`${renderProblem(problem)}${made}${renderTable(keys, keyColumns(visit), 'No keys.', 'API keys')}<h2>New key</h2>${renderForm(
    {
      action: `${baseOf(visit)}/keys`,
      csrf: visit.csrf,
      fields: [
        { name: 'name', label: 'Name', required: true, value: name },
        {
          name: 'scopes',
          label: 'Scopes',
          hint: `With commas: ${allScopes.join(', ')}; empty: all`,
          value: scopes,
        },
        {
          name: 'allowFrom',
          label: 'Only from',
          hint: 'Addresses or networks with commas, such as 203.0.113.0/24; empty: everywhere',
          value: allowFrom,
        },
        { name: 'expires', label: 'Ends on', type: 'date', hint: 'Empty: never', value: expires },
      ],
      button: 'Make a key',
    },
  )}${renderTerminal(
    `key create ${merchantId} --name shop --scopes read,payments --allow-from 203.0.113.0/24 --expires 2027-12-31`,
    'key revoke KEY_ID',
  )}`
  const status = problem === undefined ? 200 : 422
  return renderInside(loadConsoleAssets(), visit, {
    title: 'API keys',
    main,
    merchant: visit.merchant,
    status,
  })
}

const wrongName = (name: string): string =>
  `The name has ${[...name.trim()].length} characters; allowed are 1 to ${nameMax} visible characters.`

/** The rule says what it must be; the form has several fields. */
function readEnd(expires: string, nowMs: number): Date {
  try {
    return readExpiry(expires, nowMs)
  } catch (error) {
    if (!(error instanceof KeyRequestFault)) throw error
    throw new KeyRequestFault(`The end is ${expires.slice(0, 40)}. ${error.message}`)
  }
}

/** The key that the form requests; throws an error about what is wrong. */
function readKeyRequest({ request, deps }: MerchantVisit): KeyRequest {
  const { name = '', scopes = '', allowFrom = '', expires = '' } = request.form ?? {}
  const given = readName(name)
  if (given === undefined) throw new KeyRequestFault(wrongName(name))
  return {
    name: given,
    scopes: scopes.trim() === '' ? allScopes : readScopes(scopes),
    allowFrom: allowFrom.trim() === '' ? [] : readNetworks(allowFrom),
    ...(expires === '' ? {} : { expiresAt: readEnd(expires, deps.nowMs()) }),
  }
}

async function makeKey(visit: MerchantVisit) {
  try {
    const created = await administration(visit).createKey(visit.merchant.merchantId, readKeyRequest(visit))
    const made =
      created &&
      html`<p class="note good" role="status">The key is shown this once: <code data-copy>${created.apiKey}</code></p>`
    return showKeys(visit, made ? { made } : {})
  } catch (error) {
    if (error instanceof KeyRequestFault) return showKeys(visit, { problem: error.message })
    throw error
  }
}

async function revokeKey(visit: MerchantVisit) {
  const { keyId = '' } = visit.request.form ?? {}
  const keys = (await administration(visit).listKeys(visit.merchant.merchantId)) ?? []
  // Only a key of this merchant: the person may not see the others.
  const key = keys.find(one => one.keyId === keyId)
  if (!key) return showKeys(visit, { problem: 'There is no such key, or it was revoked before.' })
  if (visit.request.form?.sure !== 'yes') {
    const main = html`<p>Revoke ${key.name ?? 'the key without a name'} (<code>${keyId}</code>)? Whoever uses it is refused within seconds, and there is no way back.</p>${renderForm(
      {
        action: `${baseOf(visit)}/keys/revoke`,
        csrf: visit.csrf,
        hidden: { keyId, sure: 'yes' },
        button: 'Yes, revoke',
        tone: 'danger',
      },
    )}<p><a href="${baseOf(visit)}/keys">No, go back</a></p>${renderTerminal(`key revoke ${keyId}`)}`
    return renderInside(loadConsoleAssets(), visit, { title: 'Revoke a key', main, merchant: visit.merchant })
  }
  await administration(visit).revokeKey(keyId)
  return seeOther(`${baseOf(visit)}/keys?done=removed`)
}

const merchantColumns: readonly TypedColumn<Merchant>[] = [
  {
    title: 'Merchant',
    show: ({ merchantId, name }) => html`<a href="/console/m/${merchantId}">${name}</a>`,
  },
  { title: 'Id', show: ({ merchantId }) => html`<code>${merchantId}</code>` },
  {
    title: 'State',
    show: ({ disabled }) =>
      disabled
        ? html`<span class="badge quiet">disabled</span>`
        : html`<span class="badge good">active</span>`,
  },
]

async function showMerchants(visit: Visit, problem?: string) {
  const main = html`${renderProblem(problem)}${renderAway(visit.deps.cellsAway())}${renderTable(visit.merchants, merchantColumns, 'No merchants that you may see.', 'Merchants')}${
    may(visit, 'merchants') && visit.operator.merchants === undefined
      ? html`<h2>New merchant</h2>${renderForm({ action: '/console/merchants', csrf: visit.csrf, fields: [{ name: 'name', label: 'Name', required: true, value: visit.request.form?.name ?? '' }], button: 'Make a merchant' })}${renderTerminal('merchant create --name "My shop"')}`
      : ''
  }`
  const status = problem === undefined ? 200 : 422
  return renderInside(loadConsoleAssets(), visit, { title: 'Merchants', main, status })
}

async function makeMerchant(visit: Visit) {
  if (visit.operator.merchants !== undefined) return seeOther('/console/merchants')
  const { name = '' } = visit.request.form ?? {}
  const given = readName(name)
  if (given === undefined) return showMerchants(visit, wrongName(name))
  const { merchantId, apiKey, webhookSecret } = await administration(visit).create(given)
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
  { verb: 'GET', path: '/merchants', act: 'read', show: visit => showMerchants(visit) },
  { verb: 'POST', path: '/merchants', act: 'merchants', show: makeMerchant },
]
