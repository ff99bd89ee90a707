/** The lines of an order on Stripe's page, and as level 2 and 3 data of a capture. */
import type Stripe from 'stripe'
import { describe, expect, test } from 'vitest'
import { authorizationOf, followUpOf, paymentOf } from '#connectors/stripe/examples.test-support.ts'
import { toAmountDetails, toPageLines, toPaymentDetails } from '#connectors/stripe/translate/order-lines.ts'

type Item = Readonly<Record<string, unknown>>

describe('order lines on Stripe’s page', () => {
  const shown = (items: readonly Item[]) => {
    const payment = paymentOf('IDEAL', { order: { description: 'Shoes', items } })
    return toPageLines(authorizationOf('IDEAL', { payment }), 1000).map(
      ({ quantity, price_data: { unit_amount, product_data } }) => [product_data.name, quantity, unit_amount],
    )
  }
  const shoe = { name: 'Running shoe', quantity: 2, grossPrice: 400, netPrice: 336 }

  test('all lines are shown if they add up to the amount', () => {
    expect(shown([shoe, { name: 'Shipping', type: 'shipping_fee', quantity: 1, grossPrice: 200 }])).toEqual([
      ['Running shoe', 2, 400],
      ['Shipping', 1, 200],
    ])
  })

  test('a line with a discount or a fractional quantity shows its total', () => {
    const lines = [
      { ...shoe, discountAmount: 50 },
      { description: 'Silk', quantity: 2.5, grossPrice: 140, totalDiscountAmount: 50 },
    ]
    expect(shown(lines)).toEqual([
      ['2 × Running shoe', 1, 700],
      ['2.5 × Silk', 1, 300],
    ])
  })

  test.each<[string, readonly Item[]]>([
    ['add up to less', [shoe]],
    ['add up to more', [shoe, shoe]],
    [
      'count a discount as a line',
      [
        { ...shoe, grossPrice: 600 },
        { name: 'Voucher', grossPrice: -200 },
      ],
    ],
    ['have no name', [shoe, { grossPrice: 200 }]],
    ['have no price', [{ ...shoe, grossPrice: 500 }, { name: 'Gift' }]],
    [
      'have a price with a fraction of a cent',
      [
        { name: 'Thread', quantity: 0.1, grossPrice: 10_003 },
        { name: 'x', grossPrice: 0 },
      ],
    ],
    [
      'are more than Stripe allows',
      Array.from({ length: 101 }, (_, n) => ({ name: `${n}`, grossPrice: n < 100 ? 10 : 0 })),
    ],
  ])('lines that %s never change the amount: one line has it all', (_, items) =>
    expect(shown(items)).toEqual([['Shoes', 1, 1000]]),
  )

  test('prices are in Stripe’s unit', () => {
    const amount = { value: 10, currency: 'ISK' }
    const order = { items: [{ name: 'Skyr', grossPrice: 10 }] }
    const [line] = toPageLines({ amount, payment: paymentOf('IDEAL', { order }) }, 1000)
    expect(line?.price_data).toMatchObject({ currency: 'isk', unit_amount: 1000 })
  })
})

describe('order lines in the enhanced data of a card capture', () => {
  const enhancedData = {
    common: { amounts: { grossAmount: 400, netAmount: 336, taxAmount: 64 } },
    carRental: { schemeA: { billingAndInvoiceInformation: { customerReference: 'PO 4711' } } },
  }
  const shoe = { name: 'Running shoe', sku: 'SKU-1', quantity: 2, quantityUnit: 'pcs', netPrice: 118 }
  const laces = { name: 'Laces', quantity: 1, grossPrice: 139, taxAmount: 19, discountAmount: 20 }
  const captureOf = (items: readonly Item[], type = 'CARD', more = {}) =>
    followUpOf('CAPTURE', {
      payment: paymentOf(type, {
        enhancedData,
        order: { merchantReference: 'order 8', items },
        shipping: { address: { postalCode: '10115' } },
        ...more,
      }),
    })

  test('tax, lines and references are sent', () => {
    const request = captureOf([shoe, laces])
    const details: Stripe.PaymentIntentCaptureParams.AmountDetails | undefined = toAmountDetails(request)
    expect(details).toEqual({
      enforce_arithmetic_validation: false,
      tax: { total_tax_amount: 64 },
      line_items: [
        {
          ...{ product_name: 'Running shoe', product_code: 'SKU-1', unit_of_measure: 'pcs' },
          ...{ quantity: 2, unit_cost: 118 },
        },
        { product_name: 'Laces', quantity: 1, unit_cost: 120, discount_amount: 20 },
      ],
      shipping: { to_postal_code: '10115' },
    })
    const references: Stripe.PaymentIntentCaptureParams.PaymentDetails | undefined = toPaymentDetails(request)
    expect(references).toEqual({ order_reference: 'order 8', customer_reference: 'PO 4711' })
  })

  test.each<[string, readonly Item[]]>([
    ['do not add up', [shoe]],
    ['have a fractional quantity', [shoe, { ...laces, quantity: 0.5 }]],
    ['have no price without tax', [shoe, { name: 'Laces', quantity: 1, grossPrice: 100 }]],
  ])('lines that %s are left out, and the tax stays', (_, items) =>
    expect(toAmountDetails(captureOf(items))).toEqual({
      enforce_arithmetic_validation: false,
      tax: { total_tax_amount: 64 },
    }),
  )

  test('other methods, and captures without enhanced data, send no lines', () => {
    for (const request of [
      captureOf([shoe], 'PROVIDERK'),
      captureOf([shoe], 'CARD', { enhancedData: undefined }),
    ])
      expect([toAmountDetails(request), toPaymentDetails(request)]).toEqual([undefined, undefined])
  })
})
