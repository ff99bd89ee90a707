/** What all endpoints of customers have in common, and the customer that their examples show. */
export const customerEndpoint = {
  tag: 'Customers',
  version: '2.5.0',
  access: 'customer',
  idempotent: false,
  dialect: 'customer',
} as const

/** The example of `createPayment` that creates the customer. */
export const createdBy = 'createPayment 4'

export const itemExample = {
  id: '019a3f6b2c5f7b2c9d3e4f5a6b7c8d9e',
  merchantCustomerId: 'customer-4711',
  firstName: 'Ada',
  lastName: 'Lovelace',
  email: 'ada@example.com',
  phone: { countryCode: '+44', number: '2079460000' },
  scope: 'MERCHANT',
  createdAt: '2026-11-15T12:00:00.013',
  updatedAt: '2026-11-15T12:00:00.013',
}

export const detailExample = {
  ...itemExample,
  billingAddress: { streetName: 'St James’s Square', city: 'London', postalCode: 'SW1Y 4JH', country: 'GBR' },
  lastUsedAt: '2026-11-15T12:00:00.013',
}

export const methodExample = {
  id: '019a3f6b2c607c3d8e4f5a6b7c8d9e0f',
  type: 'CARD',
  last4Digits: '1111',
  pseudoCardNumber: '0482913605728111',
  cardHolderName: 'Ada Lovelace',
  brand: 'visa',
  expiryDate: '203012',
  createdAt: '2026-11-15T12:00:00.013',
  updatedAt: '2026-11-15T12:00:00.013',
  lastUsedAt: '2026-11-15T12:00:00.013',
}
