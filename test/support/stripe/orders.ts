/** Payments at the double of Stripe as their customers and merchants see them, and the comparison of both books. */
import { expect } from 'vitest'
import type { AnyJson } from '#test/support/any-json.ts'
import type { StripeShop } from '#test/support/stripe/account.ts'

export const urls = { return: 'https://shop.example/ok', cancel: 'https://shop.example/no' }

let orders = 0

/** A payment of a new order, by a method that the customer pays on Stripe's page unless the rest says otherwise. */
export const orderBy = (type: string, more: Record<string, unknown> = {}): Record<string, unknown> => ({
  transId: `customer-${process.pid}-${++orders}`,
  amount: { value: 1000, currency: 'EUR' },
  urls,
  paymentMethods: { integrationType: 'DIRECT', type },
  ...more,
})

export const readRecord = async ({ gateway }: StripeShop, payId: string): Promise<AnyJson> =>
  (await gateway.call('GET', `/payments/getByPayId/${payId}`)).body

export type Manner = 'in order' | 'reversed' | 'twice'

/** Delivers Stripe's notices and applies them. */
export async function deliverTo(shop: StripeShop, manner?: Manner): Promise<void> {
  const statuses = await shop.double.deliver(shop.noticeUrl, manner)
  expect(new Set(statuses)).toEqual(new Set(statuses.length === 0 ? [] : [200]))
  await shop.gateway.gateway.notices.runDue()
}

export async function expectSameBooksAt(shop: StripeShop, payId: string): Promise<void> {
  const record = await readRecord(shop, payId)
  const references = record.operations.map(({ xId }: { xId: string }) => xId)
  const booked = shop.double.books.ledger().filter(({ reference }) => references.includes(reference))
  const sum = (name: 'captured' | 'refunded') => booked.reduce((total, entry) => total + entry[name], 0)
  expect([record.amount.capturedValue, record.amount.refundedValue]).toEqual([
    sum('captured'),
    sum('refunded'),
  ])
}
