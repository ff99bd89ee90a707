/** The addresses of endpoints: which are accepted, how they are stored, and why others are refused. */
import { expect, test } from 'vitest'
import { addressPolicies, readEndpointAddress } from '#webhooks/policies.ts'

test.each([
  ['https://Shop.Example:443/a', 'https://shop.example/a'],
  ['https://exämple.com/ä', 'https://xn--exmple-cua.com/%C3%A4'],
  [`https://shop.example/${'x'.repeat(2027)}`, `https://shop.example/${'x'.repeat(2027)}`],
])('%s is stored as %s', (text, address) => {
  expect(readEndpointAddress(text, addressPolicies.live)).toEqual({ address })
})

test.each([
  [`https://shop.example/${'x'.repeat(2028)}`, 'it has 2049 characters; allowed are 2048 at most'],
  // Short as typed, but too long for its column in normalised form.
  [`https://shop.example/${'ä'.repeat(700)}`, 'it has 4221 characters; allowed are 2048 at most'],
  ['http://shop.example', 'only https addresses are called in live'],
  ['https://ada:secret@shop.example', 'it must be an http or https address without credentials in it'],
  ['shop.example', 'it must be an http or https address without credentials in it'],
])('%s cannot be used: %s', (text, refusal) => {
  expect(readEndpointAddress(text, addressPolicies.live)).toEqual({ refusal })
})
