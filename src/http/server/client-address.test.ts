import { expect, test } from 'vitest'
import { networkOf, plainAddress } from '#domain/network-address.ts'
import { createAddressList, createClientAddresses } from '#http/server/client-address.ts'

test.each<
  [name: string, proxies: number | string[], peer: string, forwarded: string | undefined, client: string]
>([
  ['no proxy is trusted', 0, '192.0.2.1', '198.51.100.7', '192.0.2.1'],
  ['one hop takes the rightmost entry', 1, '10.0.0.1', '6.6.6.6, 198.51.100.7', '198.51.100.7'],
  ['two hops take the one before', 2, '10.0.0.1', '6.6.6.6, 198.51.100.7, 10.0.0.2', '198.51.100.7'],
  ['a shorter list ends at its first entry', 5, '10.0.0.1', '198.51.100.7', '198.51.100.7'],
  ['proxies by network', ['10.0.0.0/8'], '10.0.0.1', '6.6.6.6, 198.51.100.7, 10.9.9.9', '198.51.100.7'],
  [
    'the header of a peer that is no proxy is ignored',
    ['10.0.0.0/8'],
    '192.0.2.1',
    '198.51.100.7',
    '192.0.2.1',
  ],
  ['IPv4-mapped addresses count as IPv4', ['10.0.0.1'], '::ffff:10.0.0.1', '198.51.100.7', '198.51.100.7'],
  ['IPv6 proxies', ['2001:db8::/32'], '2001:db8::1', '2001:4860::7', '2001:4860::7'],
  ['a wide IPv6 network is no IPv4 proxy', ['::1/64'], '192.0.2.1', '198.51.100.7', '192.0.2.1'],
  ['with a port', 1, '10.0.0.1', '198.51.100.7:4711', '198.51.100.7'],
  ['IPv6 with a port', 1, '10.0.0.1', '[2001:db8::7]:4711', '2001:db8::7'],
  ['an unreadable entry leaves the proxy’s address', 1, '10.0.0.1', `x${'y'.repeat(9_000)}`, '10.0.0.1'],
  ['an unreadable entry further left is ignored', 1, '10.0.0.1', '<script>, 198.51.100.7', '198.51.100.7'],
  ['an empty header', 1, '10.0.0.1', '', '10.0.0.1'],
  ['no header', 1, '10.0.0.1', undefined, '10.0.0.1'],
])('the address of the client is found where %s', (_, proxies, peer, forwarded, client) => {
  expect(createClientAddresses(proxies).find(peer, forwarded)).toBe(client)
})

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['2001:0db8::1', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['2001:db8:1:2::', '2001:db8:1:2::/64'],
  ['64:ff9b::192.0.2.1', '64:ff9b:0:0::/64'],
])('%s counts as %s', (address, network) => {
  expect(networkOf(address)).toBe(network)
})

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['::FFFF:192.0.2.1', '192.0.2.1'],
  ['::ffff:c000:201', '192.0.2.1'],
  ['0:0:0:0:0:ffff:192.0.2.1', '192.0.2.1'],
  ['2001:0DB8::0001%eth0', '2001:db8::1'],
  ['localhost', undefined],
])('%s is written %s', (address, plain) => {
  expect(plainAddress(address)).toBe(plain)
})

test.each([
  ['203.0.113.0/24', '203.0.113.9', true],
  ['203.0.113.0/24', '::ffff:203.0.113.9', true],
  ['203.0.113.9', '::ffff:cb00:7109', true],
  ['::ffff:203.0.113.9', '203.0.113.9', true],
  ['::ffff:203.0.113.0/120', '203.0.113.9', true],
  ['::ffff:203.0.113.0/120', '203.0.112.9', false],
  ['::ffff:0:0/96', '203.0.113.9', true],
  ['::ffff:0:0/96', '2001:db8::1', false],
  ['::1/64', '203.0.113.9', false],
  ['::/0', '203.0.113.9', false],
  ['::/0', '2001:db8::1', true],
  ['0.0.0.0/0', '2001:db8::1', false],
  ['2001:db8::/32', '2001:db8:ffff::1', true],
  ['2001:db8::/32', '2001:db9::1', false],
])('a list of %s allows %s: %s', (network, address, allowed) => {
  expect(createAddressList([network]).allows(address)).toBe(allowed)
})
