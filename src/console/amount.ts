/** Amounts as people type them: whole numbers are smallest units, as everywhere in the API; decimals are read as written. */
import { exponentOf } from '#domain/currencies.ts'

/** Undefined: not an amount of this currency. `1000` and `10.00` are the same in euro. */
export function readAmount(typed: string, currency: string): number | undefined {
  const text = typed.trim()
  if (/^\d{1,12}$/.test(text)) return Number(text)
  const [, whole = '', part = ''] = /^(\d{1,12})[.,](\d{1,4})$/.exec(text) ?? []
  const isExact = part !== '' && part.length === exponentOf(currency)
  return isExact && whole.length + part.length <= 12 ? Number(whole + part) : undefined
}

export const amountHint = 'Smallest unit, or with decimals: 1000 and 10.00 are the same in EUR'

export const amountProblem =
  'The amount must be a whole number in the smallest unit, such as 1000, or have all decimals of the currency, such as 10.00.'
