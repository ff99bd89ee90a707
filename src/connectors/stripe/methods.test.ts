/** The method map: every row is a type of our catalogue, with the capabilities that it has at Stripe. */
import { expect, test } from 'vitest'
import { methodOf } from '#connectors/stripe/examples.test-support.ts'
import { capabilitiesOf, servedTypes, stripeCode } from '#connectors/stripe/methods.ts'
import { methodTypes } from '#methods/catalogue.ts'

test('every type of the map is in the catalogue', () => {
  expect(servedTypes.filter(type => !methodTypes.includes(type))).toEqual([])
})

test('the map serves 85 types', () => {
  expect(servedTypes).toHaveLength(85)
  expect(stripeCode('PAYSAFECARD')).toBeUndefined()
  expect(stripeCode('constructor')).toBeUndefined()
})

test.each([
  ['CARD', { rawCards: true, capture: 'several', reversal: true, increment: true, refund: true }],
  ['IDEAL', { rawCards: false, capture: 'none', reversal: false, increment: false, refund: true }],
  [
    'PROVIDERK',
    { capture: 'one', partialCaptureReleasesRest: true, reversal: true, storedCredentials: true },
  ],
  ['PROVIDERM', { rawCards: false, capture: 'several' }],
  ['BOLETO', { capture: 'none', refund: false, partialRefund: false }],
  ['DIRECTDEBIT', { capture: 'none', refund: true, storedCredentials: true }],
])('%s can do what Stripe can', (type, expected) => {
  expect(capabilitiesOf(methodOf(type), true)).toMatchObject({
    ...expected,
    partialReversal: false,
    credit: false,
  })
})

test('an account without raw cards takes none, and a method that Stripe lacks is not served', () => {
  expect(capabilitiesOf(methodOf('CARD'), false)?.rawCards).toBe(false)
  expect(capabilitiesOf(methodOf('PAYSAFECARD'), true)).toBeUndefined()
})
