/**
 * The text of the QR code for banking apps of the euro area (EPC069-12, known as GiroCode): payee, IBAN, amount and
 * reference, one per line.
 */
import { textAt } from '#domain/json.ts'
import type { Money } from '#domain/money/money.ts'

/**
 * Undefined if the standard has no code: for other currencies, without an IBAN, or for amounts above 999,999,999.99
 * euros.
 */
export function toTransferCode(transfer: {
  readonly amount: Money
  readonly account?: unknown
  readonly reference?: unknown
}): string | undefined {
  const { value, currency } = transfer.amount
  const { account } = transfer
  const [number, accountHolderName] = [textAt(account, 'number'), textAt(account, 'accountHolderName')]
  const code = textAt(account, 'code') ?? ''
  if (currency !== 'EUR' || !number || !accountHolderName || value < 1 || value > maximumCents)
    return undefined
  const euros = `${Math.floor(value / 100)}.${String(value % 100).padStart(2, '0')}`
  const reference = typeof transfer.reference === 'string' ? transfer.reference.slice(0, referenceMax) : ''
  // Version 2 makes the BIC optional; 1 is UTF-8; SCT is a credit transfer. The empty lines are purpose and remittance id.
  return [
    'BCD',
    '002',
    '1',
    'SCT',
    code,
    accountHolderName.slice(0, nameMax),
    number.replaceAll(' ', ''),
    `EUR${euros}`,
    '',
    '',
    reference,
  ].join('\n')
}

/** The limits of the standard: 999,999,999.99 euros, 70 characters for the name, 140 for the text. */
const maximumCents = 99_999_999_999
const nameMax = 70
const referenceMax = 140
