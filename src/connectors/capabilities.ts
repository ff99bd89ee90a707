/** Restricts a method's row to the capabilities of an account; rules, pages and lists use the result. Pure. */
import type { Capabilities, ConnectorFacts, FieldMisfit } from '#connectors/contract.ts'
import { findCurrency } from '#domain/money/currencies.ts'
import type { Money } from '#domain/money/money.ts'
import type { Method, MethodOperation } from '#methods/rows.ts'

const abilities: Readonly<Record<MethodOperation, (can: Capabilities) => boolean>> = {
  capture: can => can.capture !== 'none',
  partial_capture: can => can.capture !== 'none',
  multi_capture: can => can.capture === 'several',
  increment: can => can.increment,
  reverse: can => can.reversal,
  refund: can => can.refund,
  partial_refund: can => can.refund && can.partialRefund,
  credit: can => can.credit,
  recurring: can => can.storedCredentials,
}

export const narrowMethod = (method: Method, can: Capabilities): Method => ({
  ...method,
  capture: can.capture === 'none' ? method.capture.filter(type => type === 'AUTOMATIC') : method.capture,
  operations: method.operations.filter(operation => abilities[operation](can)),
  reversesWholeOnly: !can.partialReversal || undefined,
  partialCaptureReleasesRest: can.partialCaptureReleasesRest || undefined,
  amountByTotal: can.amountByTotal || undefined,
})

/** The error for an amount that the provider cannot express exactly, or that is below its minimum. */
export function findAmountMisfit(facts: ConnectorFacts, amount: Money): FieldMisfit | undefined {
  const { value, currency } = amount
  const decimals = facts.exponent(currency)
  const ours = findCurrency(currency)?.exponent
  if (decimals === undefined || ours === undefined) return undefined
  const unit = decimals < ours ? 10 ** (ours - decimals) : 1
  if (value % unit !== 0) {
    const error = `is ${value}; the provider of this payment takes ${currency} in multiples of ${unit} only`
    return { field: 'amount.value', error }
  }
  const least = facts.minimum?.(currency) ?? 0
  if (value < least) {
    return {
      field: 'amount.value',
      error: `is ${value}; the provider of this payment takes ${least} ${currency} at least`,
    }
  }
  return undefined
}
