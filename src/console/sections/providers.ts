/** Provider accounts with their settings, and the rules that choose one of them for a payment. Secrets are never shown. */
import { loadConsoleAssets } from '#console/assets.ts'
import type { MerchantPage, MerchantVisit } from '#console/context.ts'
import { may } from '#console/context.ts'
import { renderInside, seeOther } from '#console/layout.ts'
import { sentence } from '#console/sections/provider-accounts.ts'
import {
  type Field,
  renderForm,
  renderProblem,
  renderTable,
  renderTerminal,
  type TypedColumn,
} from '#console/views/parts.ts'
import { isActiveCurrency } from '#domain/money/currencies.ts'
import { html } from '#http/html.ts'
import { findMethod } from '#methods/catalogue.ts'
import type { NewRule, ShownAccount } from '#providers/administration.ts'
import { findBrandName, findCountryCode } from '#providers/administration.ts'
import { AccountFault } from '#providers/settings.ts'
import type { RuleRecord } from '#storage/providers/accounts.ts'

const baseOf = ({ merchant }: MerchantVisit): string => `/console/m/${merchant.merchantId}/providers`
const providersOf = (visit: MerchantVisit) => visit.deps.providersAs(visit.audit)

const showSettings = (settings: ShownAccount['settings']): string =>
  Object.entries(settings)
    .map(([name, value]) => `${name}=${value}`)
    .join(', ')

const accountColumns = (visit: MerchantVisit): readonly TypedColumn<ShownAccount>[] => [
  {
    title: 'Account',
    show: ({ accountId, name }) =>
      html`<a href="${baseOf(visit)}/accounts/${accountId}" title="${name}">${name}</a><code class="under">${accountId}</code>`,
  },
  { title: 'Connector', show: ({ connector }) => connector },
  { title: 'Settings', show: ({ settings }) => showSettings(settings) },
  {
    title: 'Serves',
    show: ({ enabled }) =>
      enabled
        ? html`<span class="badge good">new payments</span>`
        : html`<span class="badge quiet">no new payments</span>`,
  },
  {
    title: 'Change',
    show: ({ accountId, enabled }) =>
      renderForm({
        action: `${baseOf(visit)}/switch`,
        csrf: visit.csrf,
        hidden: { accountId, enabled: enabled ? 'no' : 'yes' },
        button: enabled ? 'Disable' : 'Enable',
        tone: 'plain',
      }),
  },
]

const ruleColumns = (
  visit: MerchantVisit,
  accounts: readonly ShownAccount[],
): readonly TypedColumn<RuleRecord>[] => [
  { title: 'Priority', show: ({ priority }) => priority, numeric: true },
  {
    title: 'Account',
    show: ({ accountId }) => accounts.find(account => account.accountId === accountId)?.name ?? accountId,
    clip: true,
  },
  { title: 'When', show: describeRule },
  {
    title: 'Change',
    show: ({ ruleId }) =>
      may(visit, 'routes') &&
      renderForm({
        action: `${baseOf(visit)}/routes/remove`,
        csrf: visit.csrf,
        hidden: { ruleId },
        button: 'Remove',
        tone: 'danger',
      }),
  },
]

const conditions = ['types', 'brands', 'currencies', 'countries', 'amountFrom', 'amountTo'] as const

const describeRule = (rule: RuleRecord): string =>
  conditions
    .filter(name => rule[name] !== undefined && rule[name] !== null)
    .map(name => `${name}: ${String(rule[name])}`)
    .join('; ') || 'always'

/** 100: leaves room for rules before and after those without a priority. */
const usualPriority = '100'

const ruleFields = (
  form: Readonly<Record<string, string>>,
  accounts: readonly ShownAccount[],
): readonly Field[] => {
  const field = (name: string, label: string, more: Partial<Field> = {}): Field => ({
    name,
    label,
    value: form[name] ?? '',
    ...more,
  })
  return [
    field('accountId', 'Account', {
      choices: accounts.map(({ accountId }) => accountId),
      names: Object.fromEntries(accounts.map(({ accountId, name }) => [accountId, name])),
    }),
    field('types', 'Methods', { hint: 'With commas; empty: all' }),
    field('brands', 'Card brands', { hint: 'With commas; empty: all' }),
    field('currencies', 'Currencies', { hint: 'With commas; empty: all' }),
    field('countries', 'Countries', { hint: 'With commas; empty: all' }),
    field('amountFrom', 'Amount from', { hint: 'Smallest unit' }),
    field('amountTo', 'Amount to', { hint: 'Smallest unit' }),
    field('priority', 'Priority', {
      value: form.priority ?? usualPriority,
      hint: 'The lowest is tried first',
    }),
  ]
}

async function showProviders(visit: MerchantVisit, problem?: string) {
  const providers = providersOf(visit)
  const { merchantId } = visit.merchant
  const [accounts, rules] = await Promise.all([providers.list(merchantId), providers.listRules(merchantId)])
  const main = html`${renderProblem(problem)}<h2>Accounts</h2>${renderTable(accounts, accountColumns(visit), 'No accounts: in test the simulator serves everything.', 'Accounts')}<p class="buttons"><a class="button" href="${baseOf(visit)}/new">New account</a> <a class="button plain" href="${baseOf(visit)}/notices">Unmatched notices</a></p>${renderTerminal(`provider add ${merchantId} --connector stripe --name "Main account" --secret secretKey=@FILE --secret webhookSecret=@FILE`, 'provider disable ACCOUNT_ID', 'provider enable ACCOUNT_ID', 'provider check ACCOUNT_ID')}
<h2>Routes</h2>${renderTable(rules, ruleColumns(visit, accounts), 'No rules: the first account that serves the method takes it.', 'Routes')}${
    may(visit, 'routes') &&
    accounts.length > 0 &&
    html`<h2>New route</h2>${renderForm({
      action: `${baseOf(visit)}/routes`,
      csrf: visit.csrf,
      fields: ruleFields(visit.request.form ?? {}, accounts),
      button: 'Add',
    })}${renderTerminal(`route add ${merchantId} --account ${accounts[0]?.accountId} --types CARD`, 'route remove RULE_ID')}`
  }`
  const status = problem === undefined ? 200 : 422
  return renderInside(loadConsoleAssets(), visit, {
    title: 'Providers and routes',
    main,
    merchant: visit.merchant,
    status,
  })
}

async function switchProvider(visit: MerchantVisit) {
  const { accountId = '', enabled } = visit.request.form ?? {}
  const providers = providersOf(visit)
  const accounts = await providers.list(visit.merchant.merchantId)
  // Only an account of this merchant: the person may not see the others.
  if (!accounts.some(account => account.accountId === accountId))
    return showProviders(visit, 'There is no such account.')
  return unlessGone(visit, 'saved', () => providers.set(accountId, { enabled: enabled === 'yes' }))
}

class WrongWord extends Error {}

const readers: Readonly<Record<string, (word: string) => string | undefined>> = {
  types: word => findMethod(word.toUpperCase())?.type,
  brands: findBrandName,
  currencies: word => (isActiveCurrency(word.toUpperCase()) ? word.toUpperCase() : undefined),
  countries: findCountryCode,
}

/** Read as on the command line: an error names an unknown word. */
function readRule(form: Readonly<Record<string, string>>): NewRule {
  const lists = Object.entries(readers).flatMap(([name, read]) => {
    const words = (form[name] ?? '')
      .split(',')
      .map(word => word.trim())
      .filter(word => word !== '')
    const found = words.map(word => {
      const known = read(word)
      if (known === undefined) throw new WrongWord(`${word} is not known among ${name}.`)
      return known
    })
    return found.length > 0 ? [[name, found] as const] : []
  })
  const numbers = ['amountFrom', 'amountTo', 'priority'].flatMap(name => {
    const text = (form[name] ?? '').trim()
    if (text === '') return []
    if (!/^\d{1,12}$/.test(text)) throw new WrongWord(`${name} must be a whole number, not ${text}.`)
    return [[name, Number(text)] as const]
  })
  const { amountFrom, amountTo, priority = Number(usualPriority) } = Object.fromEntries(numbers)
  if (amountFrom !== undefined && amountTo !== undefined && amountFrom > amountTo)
    throw new WrongWord('The amount from must not be above the amount to.')
  if (priority > 1_000_000) throw new WrongWord('The priority must be at most 1000000.')
  return {
    accountId: form.accountId ?? '',
    priority,
    ...(amountFrom === undefined ? {} : { amountFrom }),
    ...(amountTo === undefined ? {} : { amountTo }),
    ...Object.fromEntries(lists),
  }
}

async function addRoute(visit: MerchantVisit) {
  try {
    await providersOf(visit).addRule(visit.merchant.merchantId, readRule(visit.request.form ?? {}))
  } catch (error) {
    if (error instanceof WrongWord || error instanceof AccountFault)
      return showProviders(visit, error.message)
    throw error
  }
  return seeOther(`${baseOf(visit)}?done=saved`)
}

async function removeRoute(visit: MerchantVisit) {
  const { ruleId = '' } = visit.request.form ?? {}
  const own = await providersOf(visit).listRules(visit.merchant.merchantId)
  if (!own.some(rule => rule.ruleId === ruleId)) return showProviders(visit, 'There is no such rule.')
  return unlessGone(visit, 'removed', () => providersOf(visit).removeRule(ruleId))
}

/** Somebody else may remove an account or rule after it was found here. */
async function unlessGone(visit: MerchantVisit, done: string, act: () => Promise<unknown>) {
  try {
    await act()
  } catch (error) {
    if (error instanceof AccountFault) return showProviders(visit, sentence(error))
    throw error
  }
  return seeOther(`${baseOf(visit)}?done=${done}`)
}

export const providerPages: readonly MerchantPage[] = [
  { verb: 'GET', path: '/providers', act: 'providers', show: visit => showProviders(visit) },
  { verb: 'POST', path: '/providers/switch', act: 'providers', show: switchProvider },
  { verb: 'POST', path: '/providers/routes', act: 'routes', show: addRoute },
  { verb: 'POST', path: '/providers/routes/remove', act: 'routes', show: removeRoute },
]
