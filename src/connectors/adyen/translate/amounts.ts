/**
 * Converts amounts to Adyen's smallest unit and back. For some currencies it is not that of ISO 4217. An amount that
 * cannot be expressed exactly is refused before anything is stored, so a conversion never rounds.
 */
import { strict as assert } from 'node:assert'
import { integerAt, type Loose, textAt } from '#connectors/adyen/loose.ts'
import { exponentOf } from '#domain/money/currencies.ts'
import { exact, type Money } from '#domain/money/money.ts'

/** Decimals that differ from ISO 4217, from Adyen's page of currency codes (IDR: not confirmed by a document). */
const deviations: ReadonlyMap<string, number> = new Map([
  ['CLP', 2],
  ['CVE', 0],
  ['ISK', 2],
  ['IDR', 0],
])

/** Units of account and funds codes, in which no payment is made. */
const notPayable: ReadonlySet<string> = new Set('BOV CHE CHW CLF COU MXV USN UYI UYW XAD'.split(' '))

export const adyenExponent = (currency: string): number | undefined =>
  notPayable.has(currency) ? undefined : (deviations.get(currency) ?? exponentOf(currency))

export interface AdyenAmount {
  readonly currency: string
  readonly value: number
}

/** Undefined: Adyen cannot express the amount exactly. */
export function tryAdyenAmount({ value, currency }: Money): AdyenAmount | undefined {
  const converted = rescale(value, exponentOf(currency), adyenExponent(currency))
  return converted === undefined ? undefined : { currency, value: converted }
}

export function toAdyenAmount(money: Money): AdyenAmount {
  const amount = tryAdyenAmount(money)
  assert(amount !== undefined, `Adyen cannot express ${money.value} ${money.currency}`)
  return amount
}

/** Undefined: the amount is missing, malformed or not a whole number of our unit. */
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
