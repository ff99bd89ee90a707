/** The addresses of endpoints: which are accepted, how they are stored, and why others are refused. */
import { expect, test } from 'vitest'
import { webAddressForm } from '#domain/text.ts'
import { readEndpointAddress } from '#webhooks/addresses.ts'
import { addressPolicies } from '#webhooks/policies.ts'

test.each([
  ['https://Shop.Example:443/a', 'https://shop.example/a'],
  ['https://exämple.com/ä', 'https://xn--exmple-cua.com/%C3%A4'],
  [`https://shop.example/${'x'.repeat(2027)}`, `https://shop.example/${'x'.repeat(2027)}`],
  ['https://8.8.8.8/hook', 'https://8.8.8.8/hook'],
  // A name may lead elsewhere tomorrow: it is judged at each delivery.
  ['https://no-such-name.invalid/', 'https://no-such-name.invalid/'],
  ['https://intranet/', 'https://intranet/'],
])('%s is stored as %s', (text, address) => {
  expect(readEndpointAddress(text, addressPolicies.live)).toEqual({ address })
})

test.each([
  [`https://shop.example/${'x'.repeat(2028)}`, 'it has 2049 characters; allowed are 2048 at most'],
  // Short as typed, but too long for its column in normalised form.
  [`https://shop.example/${'ä'.repeat(700)}`, 'it has 4221 characters; allowed are 2048 at most'],
  ['http://shop.example', 'only https addresses are called in live'],
  ['https://ada:secret@shop.example', `it must be an ${webAddressForm}`],
  ['https://shop_1.example', `it must be an ${webAddressForm}`],
  ['shop.example', `it must be an ${webAddressForm}`],
  // Addresses to which live never sends.
  ['https://127.0.0.1/hook', '127.0.0.1 is not a public address (loopback)'],
  ['https://0x7f.1/hook', '127.0.0.1 is not a public address (loopback)'],
  ['https://10.1.2.3/hook', '10.1.2.3 is not a public address (private)'],
  ['https://[::1]/hook', '::1 is not a public address (loopback)'],
  ['https://[::ffff:10.1.2.3]/hook', '::ffff:a01:203 is not a public address (private)'],
  ['https://169.254.169.254/', '169.254.169.254 is not a public address (linkLocal)'],
  ['https://localhost/hook', 'localhost is this machine, and live reports to public addresses only'],
  ['https://Shop.Localhost./', 'shop.localhost. is this machine, and live reports to public addresses only'],
])('%s cannot be used: %s', (text, refusal) => {
  expect(readEndpointAddress(text, addressPolicies.live)).toEqual({ refusal })
})

test.each(['http://127.0.0.1:9/', 'http://10.1.2.3/', 'http://localhost:9/'])('test takes %s', address => {
  expect(readEndpointAddress(address, addressPolicies.test)).toEqual({ address })
})
