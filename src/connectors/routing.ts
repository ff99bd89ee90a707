/**
 * Routing: which accounts may take a payment, and in which order. The first account gets the payment; the next one is
 * used only if the first was certainly not reached. Pure.
 */
import type { AccountQuestion } from '#connectors/directory.ts'
import { findCardBrand } from '#domain/cards/card-brands.ts'
import { findCountryByAlpha2, findCountryByAlpha3 } from '#domain/countries.ts'
import { maximumAmount } from '#domain/money/money.ts'
import { formOf } from '#methods/offer.ts'
import type { Method } from '#methods/rows.ts'

/** What routing needs to know about an enabled account. */
export interface RoutableAccount {
  readonly accountId?: string
  /** Whether the account takes payments with this method in this currency. */
  serves(method: Method, currency: string): boolean
}

/** An absent condition matches every payment. Amounts are inclusive, in the smallest unit. */
export interface RouteRule {
  readonly accountId: string
  readonly types?: readonly string[]
  readonly brands?: readonly string[]
  readonly currencies?: readonly string[]
  readonly countries?: readonly string[]
  readonly amountFrom?: number
  readonly amountTo?: number
  readonly priority: number
}

/**
 * The accounts of every matching rule, the lowest priority number first. A payment that no rule matches goes to the
 * enabled accounts in the order in which they were added.
 */
export function route<Account extends RoutableAccount>(
  question: AccountQuestion,
  accounts: readonly Account[],
  rules: readonly RouteRule[],
): readonly Account[] {
  const able = accounts.filter(account => account.serves(question.method, question.amount.currency))
  const matching = rules
    .filter(rule => matches(rule, question))
    .sort((a, b) => a.priority - b.priority)
    .map(({ accountId }) => accountId)
  if (matching.length === 0) return able
  const byId = new Map(able.map(account => [account.accountId, account]))
  return [...new Set(matching)].flatMap(accountId => byId.get(accountId) ?? [])
}

/** A rule for certain brands or countries does not match a payment whose brand or country is unknown. */
export function matches(rule: RouteRule, { method, brand, amount, country }: AccountQuestion): boolean {
  return (
    holds(rule.types, method.type) &&
    holds(rule.brands, brand && toBrandName(brand)) &&
    holds(rule.currencies, amount.currency) &&
    holds(rule.countries, country && toCountryCode(country)) &&
    amount.value >= (rule.amountFrom ?? 0) &&
    amount.value <= (rule.amountTo ?? Number.MAX_SAFE_INTEGER)
  )
}

/** What is known of a payment before it is made: its method, and what the list of methods was asked for. */
export interface EarlyQuestion {
  readonly method: Method
  readonly currency?: string
  readonly country?: string
}

/**
 * The accounts to which some payment by this method can go: if every such payment matches one rule or another, those of
 * the rules that can match, otherwise all accounts.
 */
export function reachable<Account extends RoutableAccount>(
  question: EarlyQuestion,
  accounts: readonly Account[],
  rules: readonly RouteRule[],
): readonly Account[] {
  const { method, currency } = question
  const able = currency === undefined ? accounts : accounts.filter(each => each.serves(method, currency))
  const possible = rules
    .filter(rule => canMatch(rule, question))
    .sort((first, second) => first.priority - second.priority)
  if (!everyPaymentMatches(possible, question)) return able
  const byId = new Map(able.map(account => [account.accountId, account]))
  return [...new Set(possible.map(({ accountId }) => accountId))].flatMap(
    accountId => byId.get(accountId) ?? [],
  )
}

function canMatch(rule: RouteRule, { method, currency, country }: EarlyQuestion): boolean {
  const currencies = currency === undefined ? method.currencies : [currency]
  return (
    holds(rule.types, method.type) &&
    // Only a card has a brand.
    (rule.brands === undefined || formOf(method) === 'card') &&
    (currencies === '*' || currencies.some(each => holds(rule.currencies, each))) &&
    (country === undefined || holds(rule.countries, toCountryCode(country)))
  )
}

/**
 * Whether the rules leave no payment over. The brand of a card may be unknown, and a country that was not asked for too,
 * so rules that name one do not count.
 */
function everyPaymentMatches(
  possible: readonly RouteRule[],
  { method, currency, country }: EarlyQuestion,
): boolean {
  const sure = possible.filter(
    ({ brands, countries }) => brands === undefined && (countries === undefined || country !== undefined),
  )
  const asked = currency === undefined ? method.currencies : [currency]
  // Rules without a currency must do for a method that takes every currency.
  const currencies = asked === '*' ? [undefined] : asked
  return currencies.every(each => coverAllAmounts(sure.filter(rule => holds(rule.currencies, each))))
}

function coverAllAmounts(rules: readonly RouteRule[]): boolean {
  const byStart = rules
    .map(({ amountFrom = 0, amountTo = maximumAmount }) => ({ amountFrom, amountTo }))
    .sort((first, second) => first.amountFrom - second.amountFrom)
  let covered = 0
  for (const { amountFrom, amountTo } of byStart)
    if (amountFrom <= covered + 1) covered = Math.max(covered, amountTo)
  return covered >= maximumAmount
}

const holds = (list: readonly string[] | undefined, value: string | undefined): boolean =>
  list === undefined || (value !== undefined && list.includes(value))

/** The canonical spelling of a brand; undefined: there is no such brand. */
export const findBrandName = (text: string): string | undefined => findCardBrand(text)?.brand

/** The two-letter code for a two- or three-letter country code; undefined: there is no such country. */
export const findCountryCode = (text: string): string | undefined =>
  (findCountryByAlpha2(text.toUpperCase()) ?? findCountryByAlpha3(text.toUpperCase()))?.alpha2

const toBrandName = (text: string): string => findBrandName(text) ?? text

const toCountryCode = (text: string): string => findCountryCode(text) ?? text
