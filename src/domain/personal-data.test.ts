import { expect, test } from 'vitest'
import { erasePersonalData } from '#domain/personal-data.ts'

test('personal data is removed, data needed for accounting stays', () => {
  const stored = {
    customerInfo: { merchantCustomerId: 'C-1', firstName: 'Ada', title: 'Dr', email: 'ada@shop.example' },
    shipping: { type: 'parcel', address: { lastName: 'Lovelace', city: 'London', country: 'GBR' } },
    paymentMethods: { providerR: { shippingAddress: { address: { city: 'London', postalCode: 'N1' } } } },
    order: { description: 'Books', items: [{ name: 'Notes', description: 'On the engine' }] },
    browserInfo: { ipAddress: '203.0.113.1' },
    metadata: { firstName: 'kept: it is the merchant’s own' },
    amount: { value: 100 },
    state: 'OK',
  }
  expect(erasePersonalData(stored)).toEqual({
    customerInfo: { merchantCustomerId: 'C-1' },
    shipping: { type: 'parcel', address: { country: 'GBR' } },
    paymentMethods: { providerR: { shippingAddress: { address: {} } } },
    order: { description: 'Books', items: [{ name: 'Notes', description: 'On the engine' }] },
    metadata: { firstName: 'kept: it is the merchant’s own' },
    amount: { value: 100 },
    state: 'OK',
  })
})

test('text, numbers and missing values are returned unchanged', () => {
  for (const value of ['text', 1, null, true]) expect(erasePersonalData(value)).toBe(value)
})
