/** The order. It is passed on and shown; nothing in it is added up or compared with the amount. */
import type { Static } from 'typebox'
import { maximumAmount } from '#domain/money/money.ts'
import {
  choice,
  closed,
  formatted,
  freeTextMax,
  givenUrl,
  optional,
  text,
  whole,
} from '#schemas/parts/fields.ts'
import { orderDescription } from '#schemas/parts/identifiers.ts'
import { Type } from '#schemas/parts/type.ts'

/** 500: the limit of the API contract. */
const itemsMax = 500
/** Far above any quantity, even in grams, that a shop sells at once. */
const quantityMax = 1_000_000_000
/** In hundredths of a percent, so this is 1,000 %. */
const taxRateMax = 100_000

/** Per unit and in the smallest unit. Negative for items that are discounts. */
const price = (description: string) => optional(whole(-maximumAmount, maximumAmount, description))
const label = (description: string) => optional(text(freeTextMax, description))

export const productInfo = closed(
  {
    brand: label('Brand of the product.'),
    categories: optional(
      Type.Array(Type.String({ maxLength: freeTextMax }), {
        // Deeper than any catalogue of goods.
        maxItems: 50,
        description: 'Path of categories, the widest first.',
      }),
    ),
    globalTradeItemNumber: optional(choice(['EAN', 'ISBN', 'UPC'], 'Kind of the trade item number.')),
    manufacturerPartNumber: label("The manufacturer's number of the part."),
    imageUrl: optional(givenUrl('A picture of the product.')),
    productUrl: optional(givenUrl('The page of the product.')),
  },
  { title: 'ProductInfo', description: 'More about the product of an item.' },
)

export const orderItem = closed(
  {
    id: label('Id of the item.'),
    sku: label('Stock keeping unit.'),
    name: label('Name shown to the customer.'),
    type: optional(text(64, 'Kind of item, for example physical, digital, discount, shipping_fee.')),
    quantity: optional(Type.Number({ minimum: 0, maximum: quantityMax, description: 'How many units.' })),
    quantityUnit: optional(text(32, 'What is counted, for example pcs or kg.')),
    taxRate: optional(
      Type.Number({ minimum: 0, maximum: taxRateMax, description: 'Percentage times 100: 2500 is 25 %.' }),
    ),
    netPrice: price('Price per unit without tax, before discounts.'),
    grossPrice: price('Price per unit with tax, before discounts.'),
    discountAmount: price('Discount per unit.'),
    taxAmount: price('Tax per unit.'),
    totalTaxAmount: price('Tax of all units.'),
    totalDiscountAmount: price('Discount of all units.'),
    merchantData: label("The merchant's own remark."),
    description: label('Description of the item.'),
    marketplaceSellerId: label('Id of the seller on a market place.'),
    lineNumber: optional(whole(0, quantityMax, 'Position within the order.')),
    merchantProductType: label("The merchant's own kind of product."),
    googleProductCategory: label('Category in the product taxonomy of Google.'),
    googleProductCategoryId: optional(whole(0, quantityMax, 'Number of that category.')),
    groupId: label('Groups items that belong together.'),
    taxCategory: label('Tax category.'),
    additionalDescription: label('More description.'),
    productInfo: optional(productInfo),
  },
  { title: 'OrderItem', description: 'One line of the order.' },
)

export const order = closed(
  {
    merchantReference: label("The merchant's id of the order."),
    numberOfArticles: optional(whole(0, quantityMax, 'How many articles the order holds.')),
    description: optional(orderDescription),
    creationDate: optional(formatted('date-time', 'When the order was placed.')),
    invoiceId: label('Id of the invoice.'),
    items: optional(Type.Array(orderItem, { maxItems: itemsMax, description: 'The lines of the order.' })),
  },
  { title: 'Order', description: 'What the customer buys.' },
)
export type Order = Static<typeof order>
