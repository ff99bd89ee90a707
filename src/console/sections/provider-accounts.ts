/**
 * A provider account as a form: the settings and secrets that its connector declares. Secrets are typed once, sealed at
 * once and never shown again; an empty field keeps the stored one.
 */
import { loadConsoleAssets } from '#console/assets.ts'
import type { MerchantPage, MerchantVisit } from '#console/context.ts'
import { renderInside, renderNotFound, seeOther } from '#console/layout.ts'
import { type Field, renderForm, renderPairs, renderProblem, renderTerminal } from '#console/views/parts.ts'
import { nameMax, readName } from '#domain/text.ts'
import { html, type Part } from '#http/html.ts'
import type { ConnectorForm, ShownAccount } from '#providers/administration.ts'
import { AccountFault, ChangedMeanwhile } from '#providers/settings.ts'

const baseOf = ({ merchant }: MerchantVisit): string => `/console/m/${merchant.merchantId}/providers`
const providersOf = (visit: MerchantVisit) => visit.deps.providersAs(visit.audit)

const settingName = (name: string): string => `set.${name}`
/** When a session ends, the sign-in keeps typed entries, except fields whose name marks them as secret. */
const secretName = (name: string): string => `secret.${name}`

const otherHint = 'One per line, name=value: labels.PROVIDERP=PayPal, types=CARD'

function accountFields(visit: MerchantVisit, connector: ConnectorForm, account?: ShownAccount): Field[] {
  const { form = {} } = visit.request
  const kept = account?.settings ?? {}
  const names = Object.keys(connector.settings)
  const others = Object.entries(kept).filter(([name]) => !names.includes(name))
  return [
    { name: 'name', label: 'Name', value: form.name ?? account?.name ?? '', required: true },
    ...Object.entries(connector.settings).map(([name, { description, default: usual, required }]): Field => {
      const key = settingName(name)
      const value = form[key] ?? kept[name] ?? ''
      const text = description.replace(/\.$/, '')
      const hint = usual === undefined ? text : `${text}; ${usual} unless given`
      return { name: key, label: name, hint, value, ...(required && !usual ? { required: true } : {}) }
    }),
    {
      name: 'others',
      label: 'Other settings',
      long: true,
      hint: otherHint,
      value: form.others ?? others.map(([name, value]) => `${name}=${value}`).join('\n'),
    },
    ...Object.entries(connector.secrets).map(([name, { description, required }]): Field => {
      const isKept = account?.secrets.includes(name) === true
      return {
        name: secretName(name),
        label: name,
        type: 'password',
        hint: `${description.replace(/\.$/, '')}${isKept ? '; empty keeps the present one' : ''}`,
        autocomplete: 'off',
        ...(required && !isKept ? { required: true } : {}),
      }
    }),
  ]
}

/** The entries in the form that the command line uses; an empty value removes the setting. */
function readEntries(visit: MerchantVisit) {
  const { form = {} } = visit.request
  const under = (prefix: string) =>
    Object.entries(form)
      .filter(([name]) => name.startsWith(prefix))
      .map(([name, value]) => [name.slice(prefix.length), value.trim()] as const)
  const others = (form.others ?? '')
    .split(/\r?\n/)
    .map(line => line.trim())
    .filter(line => line !== '')
    .map(line => {
      const at = line.indexOf('=')
      if (at < 1) throw new AccountFault(`"${line.slice(0, 100)}" must be written name=value`)
      return [line.slice(0, at).trim(), line.slice(at + 1).trim()] as const
    })
  return {
    name: (form.name ?? '').trim(),
    settings: Object.fromEntries([...under('set.'), ...others]),
    secrets: Object.fromEntries(under('secret.').filter(([, value]) => value !== '')),
  }
}

function checkName(name: string): void {
  if (readName(name) === undefined)
    throw new AccountFault(`the name must have 1 to ${nameMax} visible characters`)
}

const terminalOf = (connector: ConnectorForm, command: string): Part =>
  renderTerminal(
    [
      command,
      ...Object.entries(connector.settings).flatMap(([name, { required, default: usual }]) =>
        required && usual === undefined ? [`--set ${name}=…`] : [],
      ),
      ...Object.keys(connector.secrets).map(name => `--secret ${name}=@FILE`),
    ].join(' '),
  )

function render(visit: MerchantVisit, title: string, main: Part, problem?: string) {
  return renderInside(loadConsoleAssets(), visit, {
    title,
    main: html`${renderProblem(problem)}${main}<p><a href="${baseOf(visit)}">Back to providers and routes</a></p>`,
    merchant: visit.merchant,
    status: problem === undefined ? 200 : 422,
  })
}

async function showNew(visit: MerchantVisit, problem?: string) {
  const { connector: chosen } = { ...visit.request.query, ...visit.request.form }
  const connectors = providersOf(visit).connectors()
  const connector = connectors.find(({ name }) => name === chosen)
  if (!connector) {
    const links = connectors.map(
      ({ name }) => html`<li><a href="${baseOf(visit)}/new?connector=${name}">${name}</a></li>`,
    )
    return render(
      visit,
      'New provider account',
      html`<p>Which provider?</p><ul class="choices">${links}</ul>`,
      problem,
    )
  }
  const main = html`${renderForm({
    action: `${baseOf(visit)}/new`,
    csrf: visit.csrf,
    hidden: { connector: connector.name },
    fields: accountFields(visit, connector),
    button: 'Add the account',
    stacked: true,
  })}${terminalOf(connector, `provider add ${visit.merchant.merchantId} --connector ${connector.name} --name "Main account"`)}`
  return render(visit, `New ${connector.name} account`, main, problem)
}

async function addAccount(visit: MerchantVisit) {
  const { connector = '' } = visit.request.form ?? {}
  try {
    const { name, settings, secrets } = readEntries(visit)
    checkName(name)
    const given = Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== ''))
    const account = { connector, name, settings: given, secrets }
    const { accountId } = await providersOf(visit).add(visit.merchant.merchantId, account)
    return seeOther(`${baseOf(visit)}/accounts/${accountId}?done=saved`)
  } catch (error) {
    if (error instanceof AccountFault) return showNew(visit, sentence(error))
    throw error
  }
}

export const sentence = ({ message }: AccountFault): string =>
  `${message.charAt(0).toUpperCase()}${message.slice(1)}.`

/** Only an account of this merchant: the person may not see the others. */
async function findAccount(visit: MerchantVisit): Promise<ShownAccount | undefined> {
  const accounts = await providersOf(visit).list(visit.merchant.merchantId)
  return accounts.find(({ accountId }) => accountId === visit.request.params.id)
}

const notFound = (visit: MerchantVisit) =>
  renderNotFound(loadConsoleAssets(), visit, {
    main: html`<p>This merchant has no such account.</p>`,
    merchant: visit.merchant,
  })

async function showAccount(visit: MerchantVisit, problem?: string) {
  const account = await findAccount(visit)
  const connector = providersOf(visit)
    .connectors()
    .find(({ name }) => name === account?.connector)
  if (!account || !connector) return notFound(visit)
  const { accountId, name, noticeUrl, enabled, secrets } = account
  const main = html`${renderPairs([
    ['Account', html`<code data-copy>${accountId}</code>`],
    ['Connector', connector.name],
    ['Serves', enabled ? 'new payments' : 'no new payments'],
    ['Secrets', secrets.join(', ') || 'none'],
    ['Notices go to', html`<code data-copy>${noticeUrl}</code>`],
  ])}${renderForm({
    action: `${baseOf(visit)}/accounts/${accountId}`,
    csrf: visit.csrf,
    hidden: { version: visit.request.form?.version ?? String(account.version) },
    fields: accountFields(visit, connector, account),
    button: 'Save',
    stacked: true,
  })}${terminalOf(connector, `provider set ${accountId}`)}`
  return render(visit, `Account ${name}`, main, problem)
}

/** Without the person's entries: with those of others among them, nobody could tell which ones to keep. */
function showStored(visit: MerchantVisit) {
  const problem =
    'Somebody else has changed this account meanwhile. Nothing of yours was saved, and below is what is stored now: enter your change again.'
  return showAccount({ ...visit, request: { ...visit.request, form: undefined } }, problem)
}

async function changeAccount(visit: MerchantVisit) {
  const account = await findAccount(visit)
  if (!account) return notFound(visit)
  try {
    const { name, settings, secrets } = readEntries(visit)
    checkName(name)
    // Settings that are missing from the form were removed from it.
    const gone = Object.keys(account.settings).filter(setting => !(setting in settings))
    const edit = {
      name,
      // The form holds all settings, so saving it would undo what others have changed since it was shown.
      version: Number(visit.request.form?.version ?? account.version),
      settings: { ...settings, ...Object.fromEntries(gone.map(setting => [setting, ''])) },
    }
    await providersOf(visit).set(
      account.accountId,
      Object.keys(secrets).length === 0 ? edit : { ...edit, secrets },
    )
    return seeOther(`${baseOf(visit)}/accounts/${account.accountId}?done=saved`)
  } catch (error) {
    if (error instanceof ChangedMeanwhile) return showStored(visit)
    if (error instanceof AccountFault) return showAccount(visit, sentence(error))
    throw error
  }
}

export const providerAccountPages: readonly MerchantPage[] = [
  { verb: 'GET', path: '/providers/new', act: 'providers', show: visit => showNew(visit) },
  { verb: 'POST', path: '/providers/new', act: 'providers', show: addAccount },
  { verb: 'GET', path: '/providers/accounts/{id}', act: 'providers', show: visit => showAccount(visit) },
  { verb: 'POST', path: '/providers/accounts/{id}', act: 'providers', show: changeAccount },
]
