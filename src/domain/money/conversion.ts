/**
 * Exact currency conversion: rates are decimal texts, arithmetic uses BigInt, and each result is rounded once, half up.
 * Independent of the source of rates.
 */
import { strict as assert } from 'node:assert'
import { exponentOf } from '#domain/money/currencies.ts'
import { type Money, maximumAmount } from '#domain/money/money.ts'

/** A decimal as an integer and its number of decimals. */
interface Decimal {
  readonly digits: bigint
  readonly scale: number
}

const decimalShape = /^([0-9]{1,12})(?:\.([0-9]{1,12}))?$/

/** A positive decimal such as 1.1634, without sign or exponent. */
export const isRate = (text: string): boolean => decimalShape.test(text) && !/^[0.]+$/.test(text)

function parseDecimal(text: string): Decimal {
  const [, whole = '', fraction = ''] = decimalShape.exec(text) ?? []
  assert(whole !== '', `not a decimal: ${text}`)
  return { digits: BigInt(whole + fraction), scale: fraction.length }
}

const tenTo = (power: number): bigint => 10n ** BigInt(power)

/** Rounds half up; both are positive. */
const divide = (dividend: bigint, divisor: bigint): bigint => (dividend * 2n + divisor) / (divisor * 2n)

/** Six decimals, as the API shows rates. */
const rateScale = 6

/** Units of each currency for one euro, as the central bank publishes them. */
export interface RatePair {
  readonly from: string
  readonly to: string
}

/** Units of `to` for one unit of `from`, including the markup (in percent), with six decimals. */
export function exchangeRate({ from, to }: RatePair, markupPercentage: string): string {
  const [perFrom, perTo, markup] = [parseDecimal(from), parseDecimal(to), parseDecimal(markupPercentage)]
  // to/from · (100 + markup)/100 as one fraction, so that it is rounded once.
  const dividend =
    perTo.digits * tenTo(perFrom.scale) * (100n * tenTo(markup.scale) + markup.digits) * tenTo(rateScale)
  const divisor = perFrom.digits * tenTo(perTo.scale) * 100n * tenTo(markup.scale)
  const millionths = divide(dividend, divisor)
    .toString()
    .padStart(rateScale + 1, '0')
  return `${millionths.slice(0, -rateScale)}.${millionths.slice(-rateScale)}`
}

/**
 * Converts an amount into the other currency's smallest unit, with the rate as shown, so that readers can reproduce the
 * result. Undefined if the result is zero or above the largest amount.
 */
export function convert(amount: Money, rate: string, currency: string): Money | undefined {
  const [fromExponent, toExponent] = [exponentOf(amount.currency), exponentOf(currency)]
  if (fromExponent === undefined || toExponent === undefined) return undefined
  const millionths = BigInt(rate.replace('.', ''))
  const dividend = BigInt(amount.value) * millionths * tenTo(toExponent)
  const value = divide(dividend, tenTo(rateScale) * tenTo(fromExponent))
  return value < 1n || value > BigInt(maximumAmount) ? undefined : { value: Number(value), currency }
}
