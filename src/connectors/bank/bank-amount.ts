/** Amounts as banks write them, `1234.5`, into whole numbers of the smallest unit. Never through a fraction. */
import { BankFileError, type XmlNode } from '#connectors/bank/xml-records.ts'
import { exponentOf } from '#domain/currencies.ts'
import type { Money } from '#domain/money.ts'

export function readAmount(node: XmlNode | undefined, where: string): Money {
  const currency = node?.attributes.Ccy ?? ''
  const digits = exponentOf(currency)
  if (!node || digits === undefined)
    throw new BankFileError(`has an amount without a known currency in ${where}`)
  const [, whole, fraction = ''] = /^([0-9]{1,13})(?:\.([0-9]{0,9}))?$/.exec(node.text) ?? []
  if (whole === undefined)
    throw new BankFileError(`has an amount that is no number in ${where}: ${node.text.slice(0, 30)}`)
  if (fraction.length > digits)
    throw new BankFileError(
      `has an amount with ${fraction.length} decimals in ${where}: ${node.text}; ${currency} has ${digits}`,
    )
  return { value: Number(whole + fraction.padEnd(digits, '0')), currency }
}
