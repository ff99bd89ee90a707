/**
 * The catalogue as others read it: which rows are open to merchants, which of them match a filter, and each row as it
 * is published. The text of a row is built on first use and then cached.
 */
import { strict as assert } from 'node:assert'
import { findCountryByAlpha2 } from '#domain/countries.ts'
import { allMethods, findMethod } from '#methods/catalogue.ts'
import type { Method } from '#methods/method.ts'
import type { ListedMethod, MethodFilter } from '#schemas/payment-method-list.ts'

/** Exactly what `POST /payments` accepts: a method that is listed must work. */
export const isServed = (method: Method): boolean => findMethod(method.type) !== undefined

const servedMethods: readonly Method[] = allMethods.filter(isServed)

/** The methods a merchant may use: all that are served, or those of them that the merchant has chosen. */
export const listOpenMethods = (chosen?: readonly string[]): readonly Method[] =>
  chosen === undefined ? servedMethods : servedMethods.filter(({ type }) => chosen.includes(type))

const includesCode = (codes: '*' | readonly string[], code: string | undefined): boolean =>
  code === undefined || codes === '*' || codes.includes(code)

const includesWord = <Word>(listed: readonly Word[], word: Word | undefined): boolean =>
  word === undefined || listed.includes(word)

/** The methods that meet every condition of the filter. A country may come as alpha-2, too. */
export function selectMethods(
  { currency, country, integrationType, operation, family }: MethodFilter,
  methods: readonly Method[],
): readonly Method[] {
  const alpha3 = country === undefined ? undefined : (findCountryByAlpha2(country)?.alpha3 ?? country)
  return methods.filter(
    method =>
      (family === undefined || method.family === family) &&
      includesWord(method.integration, integrationType) &&
      includesWord(method.operations, operation) &&
      includesCode(method.currencies, currency) &&
      includesCode(method.countries, alpha3),
  )
}

const toCodes = (codes: '*' | readonly string[]): string[] => (codes === '*' ? ['*'] : [...codes])

/** Only rows of real methods are listed: the placeholder for a choice not made yet is no row. */
function familyOf({ family }: Method): ListedMethod['family'] {
  assert(family !== 'none', 'the undecided method is not listed')
  return family
}

export const toListed = (method: Method): ListedMethod => ({
  type: method.type,
  key: method.key,
  name: method.label,
  family: familyOf(method),
  core: method.core,
  flow: method.flow,
  integrationTypes: [...method.integration],
  captureMethods: [...method.capture],
  operations: [...method.operations],
  currencies: toCodes(method.currencies),
  countries: toCodes(method.countries),
  authorizationDays: method.authorizationDays,
  capturePercentMax: method.capturePercentMax,
  clientTokenMinutes: method.clientTokenMinutes,
})

const written = new WeakMap<Method, string>()

function writeMethod(method: Method): string {
  const known = written.get(method)
  if (known !== undefined) return known
  const text = JSON.stringify(toListed(method))
  written.set(method, text)
  return text
}

/** The whole answer as JSON text. Hundreds of rows are joined, none is written twice. */
export const writeMethodList = (methods: readonly Method[]): string =>
  `{"totalNumberOfItems":${methods.length},"data":[${methods.map(writeMethod).join(',')}]}`
