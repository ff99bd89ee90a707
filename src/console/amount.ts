/** Amounts as people type them: whole numbers are smallest units, as everywhere in the API; decimals are read as written. */
import { exponentOf, toDecimalText } from '#domain/money/currencies.ts'

/** Undefined if the text is not an amount of this currency. `1000` and `10.00` are the same in euro. */
export function readAmount(typed: string, currency: string): number | undefined {
  const text = typed.trim()
  if (/^\d{1,12}$/.test(text)) return Number(text)
  const [, whole = '', part = ''] = /^(\d{1,12})[.,](\d{1,4})$/.exec(text) ?? []
  const isExact = part !== '' && part.length === exponentOf(currency)
  return isExact && whole.length + part.length <= 12 ? Number(whole + part) : undefined
}

export const amountHint = 'Smallest unit, or with decimals: 1000 and 10.00 are the same in EUR'

/** 40: enough to recognise what was typed. */
const shownMax = 40

/** The error message: what is wrong with the typed amount, and what this currency allows. */
export function amountProblem(typed: string, currency: string): string {
  const exponent = exponentOf(currency)
  if (exponent === undefined)
    return `The currency is ${currency.slice(0, shownMax) || 'missing'}; allowed is an active ISO 4217 code such as EUR.`
  const decimals =
    exponent === 0 ? '' : ` or with ${exponent} decimals, such as ${toDecimalText(1000, currency)}`
  return `The amount is ${typed.trim().slice(0, shownMax) || 'missing'}; allowed in ${currency} is a number of at most 12 digits, in the smallest unit, such as 1000${decimals && `,${decimals}`}.`
}
