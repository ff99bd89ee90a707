/** Customers who pay by card, as tests about customers make and read them. */
import { expect } from 'vitest'
import type { AnyJson } from '#test/support/any-json.ts'
import type { Change, Shop } from '#test/support/shop.ts'

let people = 0

/** The merchant's own name of a customer, another one at each call. */
export const newName = (): string => `person-${++people}`

export const personOf = (merchantCustomerId: string, more: object = {}) => ({
  merchantCustomerId,
  firstName: 'Ada',
  lastName: 'Lovelace',
  email: 'ada@example.com',
  phone: { countryCode: '+44', number: '2079460000' },
  ...more,
})

export const address = {
  streetName: 'St James’s Square',
  city: 'London',
  postalCode: 'SW1Y 4JH',
  country: 'GBR',
}

/** The customer pays by card; returns our id of them. */
export async function payAs(shop: Shop, merchantCustomerId: string, change: Change = {}): Promise<string> {
  const { status, body, text } = await shop.create('CARD', {
    customerInfo: personOf(merchantCustomerId),
    billingAddress: { ...address, streetNumber: '12' },
    ...change,
  })
  expect(status, text).toBe(200)
  return body.customerInfo.gatewayCustomerId
}

export const methodsOf = async (shop: Shop, id: string): Promise<AnyJson> =>
  (await shop.call('GET', `/customers/${id}/paymentMethods`)).body.data
