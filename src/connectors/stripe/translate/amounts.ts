/**
 * Converts amounts to Stripe's smallest unit and back, in integers. For a few currencies Stripe deviates from ISO 4217.
 */
import { exponentOf } from '#domain/money/currencies.ts'
import type { Money } from '#domain/money/money.ts'

/** Stripe's ariary has no decimals, ISO's has two. */
const fewerDecimals: Readonly<Record<string, number>> = { MGA: 0 }

/** Currencies without decimals that Stripe takes with two decimals, which must be zero. */
const moreDecimals: Readonly<Record<string, number>> = { ISK: 2, UGX: 2 }

/** Units of account and funds codes, in which no payment is made. */
const notPayable: ReadonlySet<string> = new Set(['BOV', 'CHE', 'CHW', 'COU', 'MXV', 'USN', 'UYI', 'XAD'])

/** The decimals of Stripe's amounts; undefined: Stripe does not take the currency. */
function wireExponent(currency: string): number | undefined {
  const iso = exponentOf(currency)
  // No Stripe currency has four decimals.
  if (iso === undefined || iso > 3 || notPayable.has(currency)) return undefined
  return fewerDecimals[currency] ?? moreDecimals[currency] ?? iso
}

/**
 * The usable decimals of a currency. Stripe requires the last of three decimals to be zero, so only two are usable: the
 * engine refuses 1.234 KWD before anything is written.
 */
export function exponent(currency: string): number | undefined {
  const wire = wireExponent(currency)
  return wire === 3 ? 2 : wire
}

const steps = [1, 10, 100, 1000] as const

/** Undefined: Stripe cannot express this amount exactly. */
export function toStripeAmount({ value, currency }: Money): number | undefined {
  const wire = wireExponent(currency)
  const iso = exponentOf(currency)
  if (wire === undefined || iso === undefined) return undefined
  const amount = shift(value, wire - iso)
  return wire === 3 && amount !== undefined && amount % 10 !== 0 ? undefined : amount
}

/** Undefined: the amount is missing or not exact in our unit. Stripe writes currencies in lower case. */
export function fromStripeAmount(
  amount: number | undefined,
  currency: string | undefined,
): Money | undefined {
  const code = currency?.toUpperCase()
  const wire = code === undefined ? undefined : wireExponent(code)
  const iso = code === undefined ? undefined : exponentOf(code)
  if (amount === undefined || code === undefined || wire === undefined || iso === undefined) return undefined
  const value = shift(amount, iso - wire)
  return value === undefined ? undefined : { value, currency: code }
}

/** Multiplies by a power of ten; undefined if a digit would be lost. */
function shift(value: number, places: number): number | undefined {
  const step = steps[Math.abs(places)]
  if (step === undefined || !Number.isSafeInteger(value)) return undefined
  if (places >= 0) return Number.isSafeInteger(value * step) ? value * step : undefined
  return value % step === 0 ? value / step : undefined
}
