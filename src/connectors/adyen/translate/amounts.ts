/**
 * Amounts at Adyen: a whole number of the smallest unit, which is not ISO's for every currency. An amount that Adyen's
 * unit cannot express exactly is refused before anything is stored, so a conversion never rounds.
 */
import { strict as assert } from 'node:assert'
import { integerAt, type Loose, textAt } from '#connectors/adyen/loose.ts'
import { exponentOf } from '#domain/money/currencies.ts'
import { exact, type Money } from '#domain/money/money.ts'

/** Where Adyen counts differently from ISO 4217, by its page of currency codes (IDR: not confirmed in a document). */
const deviations: ReadonlyMap<string, number> = new Map([
  ['CLP', 2],
  ['CVE', 0],
  ['ISK', 2],
  ['IDR', 0],
])

/** Units of account and bond currencies, which are not used for payments. */
const notPayable: ReadonlySet<string> = new Set('BOV CHE CHW CLF COU MXV USN UYI UYW XAD'.split(' '))

export const adyenExponent = (currency: string): number | undefined =>
  notPayable.has(currency) ? undefined : (deviations.get(currency) ?? exponentOf(currency))

export interface AdyenAmount {
  readonly currency: string
  readonly value: number
}

/** Undefined: the amount has no exact counterpart. */
export function tryAdyenAmount({ value, currency }: Money): AdyenAmount | undefined {
  const converted = rescale(value, exponentOf(currency), adyenExponent(currency))
  return converted === undefined ? undefined : { currency, value: converted }
}

export function toAdyenAmount(money: Money): AdyenAmount {
  const amount = tryAdyenAmount(money)
  assert(amount !== undefined, `Adyen cannot express ${money.value} ${money.currency}`)
  return amount
}

/** Undefined where the member is missing, malformed or not a whole number of our unit. */
export function fromAdyenAmount(amount: Loose | undefined): Money | undefined {
  const currency = textAt(amount, 'currency')
  const value = integerAt(amount, 'value')
  if (currency === undefined || value === undefined) return undefined
  const converted = rescale(value, adyenExponent(currency), exponentOf(currency))
  return converted === undefined ? undefined : { value: converted, currency }
}

function rescale(value: number, from: number | undefined, to: number | undefined): number | undefined {
  if (from === undefined || to === undefined) return undefined
  if (to >= from) return exact(value * 10 ** (to - from))
  const divisor = 10 ** (from - to)
  return value % divisor === 0 ? value / divisor : undefined
}
