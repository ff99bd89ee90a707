/**
 * The published catalogue: the rows that merchants may use, filters, and the JSON of each row, which is built on first
 * use and then cached.
 */
import { strict as assert } from 'node:assert'
import { findCountryByAlpha2 } from '#domain/countries.ts'
import { allMethods, findMethod } from '#methods/catalogue.ts'
import type { Method } from '#methods/method.ts'
import type { ListedMethod, MethodFilter } from '#schemas/payment-method-list.ts'

/** Whether `POST /payments` accepts the method: only those are listed. */
export const isServed = (method: Method): boolean => findMethod(method.type) !== undefined

const servedMethods: readonly Method[] = allMethods.filter(isServed)

/** The methods that a merchant may use: all served ones, or those that the merchant has chosen. */
export const listOpenMethods = (chosen?: readonly string[]): readonly Method[] =>
  chosen === undefined ? servedMethods : servedMethods.filter(({ type }) => chosen.includes(type))

const includesCode = (codes: '*' | readonly string[], code: string | undefined): boolean =>
  code === undefined || codes === '*' || codes.includes(code)

const includesWord = <Word>(listed: readonly Word[], word: Word | undefined): boolean =>
  word === undefined || listed.includes(word)

/** The methods that meet every condition of the filter. A country may also be given as alpha-2. */
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

/** Only real methods are listed, not the placeholder for a choice that is not made yet. */
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

/** The whole answer as JSON text, joined from the cached rows. */
export const writeMethodList = (methods: readonly Method[]): string =>
  `{"totalNumberOfItems":${methods.length},"data":[${methods.map(writeMethod).join(',')}]}`
