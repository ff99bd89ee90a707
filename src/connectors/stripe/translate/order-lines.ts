/**
 * The lines of the merchant's order, shown on Stripe's page and sent as level 2 and 3 data of card captures. All lines
 * are sent or none, and only if they add up to the amount, so they never change the charged amount.
 */
import type { AuthorizationRequest, FollowUpRequest } from '#connectors/contract.ts'
import { toStripeAmount } from '#connectors/stripe/translate/amounts.ts'
import { toDescription } from '#connectors/stripe/translate/shopper.ts'
import { listAt, numberAt, textAt, type Wire, wireAt } from '#connectors/stripe/translate/wire.ts'

const nameOf = (item: Wire): string | undefined =>
  textAt(item, 'name') ?? textAt(item, 'description') ?? textAt(item, 'sku') ?? textAt(item, 'id')

const discountOf = (item: Wire, quantity: number): number =>
  numberAt(item, 'totalDiscountAmount') ?? quantity * (numberAt(item, 'discountAmount') ?? 0)

/** Maps all items; undefined if one cannot be expressed in Stripe's format. */
function mapAll<T>(items: readonly Wire[], map: (item: Wire) => T | undefined): readonly T[] | undefined {
  const mapped = items.map(map).filter(line => line !== undefined)
  return mapped.length > 0 && mapped.length === items.length ? mapped : undefined
}

// ── The page ──────────────────────────────────────────────────────────────────────────────────────────────────────

/** Stripe's limit. */
const pageLinesMax = 100

type PageLine = {
  readonly quantity: number
  readonly price_data: {
    readonly currency: string
    readonly unit_amount: number
    readonly product_data: { readonly name: string }
  }
}

/** The order's lines, or one line with the whole amount if there are none or they do not add up to it. */
export function toPageLines(
  { amount, payment }: Pick<AuthorizationRequest, 'amount' | 'payment'>,
  value: number,
): readonly PageLine[] {
  const items = listAt(payment.order, 'items')
  const lines =
    items.length > pageLinesMax ? undefined : mapAll(items, item => toPageLine(item, amount.currency))
  const sum = lines?.reduce((total, line) => total + line.quantity * line.price_data.unit_amount, 0)
  return lines !== undefined && sum === value
    ? lines
    : [pageLine(toDescription(payment), 1, value, amount.currency)]
}

const pageLine = (name: string, quantity: number, unitAmount: number, currency: string): PageLine => ({
  quantity,
  price_data: {
    currency: currency.toLowerCase(),
    unit_amount: unitAmount,
    product_data: { name: name.slice(0, 250) },
  },
})

/**
 * Stripe's page supports neither line discounts nor fractional quantities; such a line becomes one piece with its
 * total.
 */
function toPageLine(item: Wire, currency: string): PageLine | undefined {
  const name = nameOf(item)
  const quantity = numberAt(item, 'quantity') ?? 1
  const price = numberAt(item, 'grossPrice')
  if (name === undefined || price === undefined) return undefined
  const discount = discountOf(item, quantity)
  const isPlain = discount === 0 && Number.isInteger(quantity) && quantity >= 1
  const unit = isPlain ? price : price * quantity - discount
  const amount = Number.isInteger(unit) && unit >= 0 ? toStripeAmount({ value: unit, currency }) : undefined
  if (amount === undefined) return undefined
  return isPlain
    ? pageLine(name, quantity, amount, currency)
    : pageLine(quantity === 1 ? name : `${quantity} × ${name}`, 1, amount, currency)
}

// ── Level 2 and 3 ─────────────────────────────────────────────────────────────────────────────────────────────────

/** Stripe's limit. */
const detailLinesMax = 200

/**
 * Only for card captures with enhanced data. `enforce_arithmetic_validation: false`: if Stripe's sums differ, Stripe
 * drops the lines and still captures.
 */
export function toAmountDetails({ amount, payment }: FollowUpRequest) {
  const { enhancedData, method, order, shipping } = payment
  if (enhancedData === undefined || method.family !== 'card') return undefined
  const tax = numberAt(enhancedData, 'common', 'amounts', 'taxAmount')
  const total = tax === undefined ? undefined : inStripesUnit(tax, amount.currency)
  const lines = toDetailLines(listAt(order, 'items'), amount, tax)
  if (total === undefined && lines === undefined) return undefined
  const postalCode = textAt(wireAt(shipping, 'address'), 'postalCode')
  return {
    enforce_arithmetic_validation: false,
    tax: total === undefined ? undefined : { total_tax_amount: total },
    line_items: lines === undefined ? undefined : [...lines],
    shipping:
      lines !== undefined && postalCode !== undefined && /^[A-Za-z0-9 -]{1,10}$/.test(postalCode)
        ? { to_postal_code: postalCode }
        : undefined,
  }
}

/** The merchant's references of order and customer, which the schemes expect with the amounts. */
export function toPaymentDetails({ payment }: FollowUpRequest) {
  const { enhancedData, method, order, transId } = payment
  if (enhancedData === undefined || method.family !== 'card') return undefined
  const bill = wireAt(enhancedData, 'carRental', 'schemeA', 'billingAndInvoiceInformation')
  return {
    order_reference: textAt(order, 'merchantReference') ?? textAt(order, 'invoiceId') ?? transId,
    customer_reference: textAt(bill, 'customerReference'),
  }
}

const inStripesUnit = (value: number, currency: string): number | undefined =>
  Number.isInteger(value) && value >= 0 ? toStripeAmount({ value, currency }) : undefined

/** The lines with prices before tax; together with the tax they must add up to the captured amount. */
function toDetailLines(
  items: readonly Wire[],
  { value, currency }: FollowUpRequest['amount'],
  tax: number | undefined,
) {
  if (items.length > detailLinesMax || tax === undefined) return undefined
  const lines = mapAll(items, item => toDetailLine(item, currency))
  const sum = lines?.reduce((total, { net }) => total + net, tax)
  return sum === value ? lines?.map(({ line }) => line) : undefined
}

function toDetailLine(item: Wire, currency: string) {
  const name = nameOf(item)
  const quantity = numberAt(item, 'quantity') ?? 0
  const price = netPriceOf(item) ?? -1
  const discount = discountOf(item, quantity)
  const unitCost = inStripesUnit(price, currency)
  const discountAmount = inStripesUnit(discount, currency)
  if (name === undefined || !Number.isInteger(quantity) || quantity < 1) return undefined
  if (unitCost === undefined || discountAmount === undefined) return undefined
  const code = textAt(item, 'sku') ?? textAt(item, 'id')
  const line = {
    product_name: name,
    product_code: code !== undefined && code.length <= 12 ? code : undefined,
    quantity,
    unit_cost: unitCost,
    discount_amount: discountAmount > 0 ? discountAmount : undefined,
    unit_of_measure: textAt(item, 'quantityUnit'),
  }
  return { line, net: price * quantity - discount }
}

function netPriceOf(item: Wire): number | undefined {
  const gross = numberAt(item, 'grossPrice')
  const tax = numberAt(item, 'taxAmount')
  return numberAt(item, 'netPrice') ?? (gross === undefined || tax === undefined ? undefined : gross - tax)
}
