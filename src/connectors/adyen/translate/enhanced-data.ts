/**
 * Level 2 and 3 data for captures and refunds of cards, in the schemes' format. It only lowers fees, so data that does
 * not fit is left out. Adyen has no members for the other fields of a rental bill.
 */

import {
  integerAt,
  isRecord,
  type Loose,
  listAt,
  present,
  recordAt,
  textAt,
} from '#connectors/adyen/loose.ts'
import { tryAdyenAmount } from '#connectors/adyen/translate/amounts.ts'
import type { FollowUpRequest } from '#connectors/contract.ts'

export function toEnhancedSchemeData({ amount, payment }: FollowUpRequest): Loose | undefined {
  const { method, enhancedData, order, shipping } = payment
  const tax = integerAt(recordAt(recordAt(enhancedData, 'common'), 'amounts'), 'taxAmount')
  if (method.family !== 'card' || enhancedData === undefined) return undefined
  const bill = recordAt(recordAt(enhancedData, 'carRental'), 'schemeA')
  const reference = textAt(recordAt(bill, 'billingAndInvoiceInformation'), 'customerReference')
  const lines = toDetailLines(listAt(order, 'items'), amount)
  const levelTwoThree = present({
    totalTaxAmount: tax === undefined ? undefined : inAdyensUnit(tax, amount.currency),
    customerReferenceNumber: reference !== undefined && isPrintable(reference, 25) ? reference : undefined,
    itemDetailLines: lines,
    // Level 3 only.
    orderDate: lines && textAt(order, 'creationDate')?.slice(0, 10),
    destination: lines && toDestination(recordAt(shipping, 'address')),
  })
  return levelTwoThree && { levelTwoThree }
}

const inAdyensUnit = (value: number, currency: string): number | undefined =>
  tryAdyenAmount({ value, currency })?.value

/** Printable ASCII that neither starts with a space nor consists of zeros. */
const isPrintable = (text: string, length: number): boolean =>
  text.length <= length && /^(?!0+$)[!-~][ -~]*$/.test(text)

/** Level 3: all lines or none, and only if they add up to the captured or refunded amount. */
function toDetailLines(
  items: readonly unknown[],
  { value, currency }: FollowUpRequest['amount'],
): readonly Loose[] | undefined {
  const lines = items.flatMap(item => (isRecord(item) ? (toDetailLine(item, currency) ?? []) : []))
  const sum = lines.reduce((total, { totalAmount }) => total + totalAmount, 0)
  return lines.length > 0 && lines.length === items.length && sum === inAdyensUnit(value, currency)
    ? lines
    : undefined
}

function toDetailLine(item: Loose, currency: string): (Loose & { readonly totalAmount: number }) | undefined {
  const description = (textAt(item, 'name') ?? textAt(item, 'description'))?.slice(0, 26)
  const quantity = integerAt(item, 'quantity') ?? 0
  const price = integerAt(item, 'grossPrice') ?? -1
  const discount =
    integerAt(item, 'totalDiscountAmount') ?? quantity * (integerAt(item, 'discountAmount') ?? 0)
  const unitPrice = inAdyensUnit(price, currency)
  const totalAmount = inAdyensUnit(price * quantity - discount, currency)
  const discountAmount = inAdyensUnit(discount, currency)
  if (description === undefined || !isPrintable(description, 26) || !/[A-Za-z]./.test(description))
    return undefined
  if (quantity < 1 || quantity > 9999 || price < 0 || discount < 0) return undefined
  if (unitPrice === undefined || totalAmount === undefined || discountAmount === undefined || totalAmount < 0)
    return undefined
  const sku = textAt(item, 'sku') ?? textAt(item, 'id')
  const unit = textAt(item, 'quantityUnit')
  return {
    description,
    quantity,
    unitPrice,
    totalAmount,
    ...present({
      discountAmount: discountAmount > 0 ? discountAmount : undefined,
      productCode: sku !== undefined && isPrintable(sku, 12) ? sku : undefined,
      unitOfMeasure: unit !== undefined && isPrintable(unit, 3) ? unit : undefined,
    }),
  }
}

function toDestination(address: Loose | undefined): Loose | undefined {
  const fitting = (name: string, length: number): string | undefined => {
    const text = textAt(address, name)
    return text !== undefined && isPrintable(text, length) ? text : undefined
  }
  return present({
    postalCode: fitting('postalCode', 10),
    countryCode: fitting('country', 3),
    stateOrProvince: fitting('state', 3),
  })
}
