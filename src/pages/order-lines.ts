/** From the order as the shop sent it to what the page shows. Sums are shown only where they agree with the amount. */
import type { Money } from '#pages/money-text.ts'
import type { OrderSummary, SummaryLine } from '#pages/views/order-summary.ts'
import type { Order } from '#schemas/parts/order.ts'

type Item = NonNullable<Order['items']>[number]

const times = (perUnit: number | undefined, item: Item): number | undefined =>
  perUnit === undefined ? undefined : Math.round(perUnit * (item.quantity ?? 1))

const priceOf = (item: Item): number | undefined => times(item.grossPrice, item) ?? times(item.netPrice, item)
const discountOf = (item: Item): number => item.totalDiscountAmount ?? times(item.discountAmount, item) ?? 0
const taxOf = (item: Item): number => item.totalTaxAmount ?? times(item.taxAmount, item) ?? 0

/** Kinds of items that are no goods; shops write them in several ways. */
const kindOf = (item: Item): 'shipping' | 'discount' | 'goods' => {
  if (/^shipping(_fee)?$/i.test(item.type ?? '')) return 'shipping'
  return /^(discount|voucher|gift_?card)$/i.test(item.type ?? '') ? 'discount' : 'goods'
}

const toLine = (item: Item): SummaryLine => ({
  name: item.name ?? item.sku ?? item.id ?? '–',
  quantity: item.quantity,
  quantityUnit: item.quantityUnit,
  description: item.description,
  total: priceOf(item),
})

const add = (items: readonly Item[], value: (item: Item) => number): number =>
  items.reduce((sum, item) => sum + value(item), 0)

interface Sums {
  readonly subtotal: number
  readonly discount: number
  readonly shipping: number
  readonly tax: number
  readonly isTaxIncluded: boolean
}

function addUp(items: readonly Item[]): Sums {
  const of = (kind: string) => items.filter(item => kindOf(item) === kind)
  const price = (item: Item) => priceOf(item) ?? 0
  return {
    subtotal: add(of('goods'), price),
    discount: add(items, discountOf) + add(of('discount'), item => Math.abs(price(item))),
    shipping: add(of('shipping'), price),
    tax: add(items, taxOf),
    isTaxIncluded: items.every(item => item.grossPrice !== undefined || item.netPrice === undefined),
  }
}

/** A basket whose parts do not make up the amount is shown without sums: a wrong sum is worse than none. */
function agree(sums: Sums, amount: number): boolean {
  const total = sums.subtotal - sums.discount + sums.shipping + (sums.isTaxIncluded ? 0 : sums.tax)
  return Number.isSafeInteger(total) && total === amount
}

export function summarizeOrder(
  amount: Money,
  order: Order | undefined,
  linkDescription?: string,
): OrderSummary {
  const items = order?.items ?? []
  const sums = addUp(items)
  const shown = items.length > 0 && agree(sums, amount.value)
  const unlessZero = (value: number): number | undefined => (shown && value !== 0 ? value : undefined)
  const hasParts = sums.discount !== 0 || sums.shipping !== 0 || (sums.tax !== 0 && !sums.isTaxIncluded)
  const listed = shown ? items.filter(item => kindOf(item) === 'goods') : items
  return {
    amount,
    descriptions: [linkDescription, order?.description].flatMap(text => (text ? [text] : [])),
    lines: listed.map(toLine),
    subtotal: hasParts ? unlessZero(sums.subtotal) : undefined,
    discount: unlessZero(sums.discount),
    shipping: unlessZero(sums.shipping),
    tax: unlessZero(sums.tax),
    isTaxIncluded: sums.isTaxIncluded,
    reference: order?.merchantReference ?? order?.invoiceId,
  }
}
