import { describe, expect, test } from 'vitest'
import { refuseAddress } from '#webhooks/addresses.ts'
import { addressPolicies, choosePolicy, refuseUrl } from '#webhooks/policies.ts'

const open = [
  '1.1.1.1',
  '8.8.8.8',
  '100.63.255.255',
  '100.128.0.1',
  '172.15.0.1',
  '172.32.0.1',
  '192.167.1.1',
  '169.253.1.1',
  '198.17.0.1',
  '198.20.0.1',
  '223.255.255.255',
  '2606:4700:4700::1111',
  '2a00:1450:4001::200e',
  '2001:4860:4860::8888',
  '::ffff:8.8.8.8',
]

const closed = [
  '0.0.0.0',
  '0.1.2.3',
  '10.0.0.1',
  '10.255.255.255',
  '100.64.0.1',
  '100.127.255.255',
  '169.254.169.254',
  '100.100.100.200',
  '161.26.0.7',
  '166.8.0.1',
  '168.63.129.16',
  '::ffff:168.63.129.16',
  '192.0.0.192',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.1',
  '192.0.2.1',
  '192.88.99.1',
  '192.168.0.1',
  '198.18.0.1',
  '198.19.255.255',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '239.255.255.255',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  '::ffff:10.0.0.1',
  '::ffff:169.254.169.254',
  '::10.0.0.1',
  '::127.0.0.1',
  '64:ff9b::7f00:1',
  '64:ff9b::a00:1',
  '64:ff9b::808:808',
  '64:ff9b:1::a00:1',
  '100::1',
  '2001::1',
  '2001:2::1',
  '2001:10::1',
  '2001:20::1',
  '2001:db8::1',
  '2002:7f00:1::',
  '2002:a00:1::',
  '2002:808:808::1',
  '3ffe::1',
  '3fff::1',
  'fc00::1',
  'fd00:ec2::254',
  'fe80::1',
  'fec0::1',
  'ff02::1',
  '4000::1',
  '::ffff:0:127.0.0.1',
  '2a00:1450::5efe:a00:1',
  '2a00:1450::200:5efe:a00:1',
  'not an address',
  '',
]

const loopback = ['127.0.0.1', '127.255.255.254', '::1', '::ffff:127.0.0.1', '::ffff:7f00:1']

describe.each(['live', 'test'] as const)('in the environment %s', environment => {
  const policy = addressPolicies[environment]
  test.each(open)('webhooks may be sent to %s', address => {
    expect(refuseAddress(address, policy)).toBeUndefined()
  })
  test.each(closed)('webhooks may not be sent to %s', address => {
    expect(refuseAddress(address, policy)).toMatch(/is (not a public|no) address/)
  })
  test.each(loopback)(`loopback %s: ${environment === 'test' ? 'yes' : 'no'}`, address => {
    expect(refuseAddress(address, policy) === undefined).toBe(environment === 'test')
  })
})

describe('schemes', () => {
  test.each<['test' | 'live', string, RegExp | undefined]>([
    ['live', 'https://shop.example/hook', undefined],
    ['live', 'http://shop.example/hook', /only https/],
    ['test', 'http://shop.example/hook', undefined],
    ['test', 'https://shop.example/hook', undefined],
    ['test', 'ftp://shop.example/hook', /ftp: is not spoken/],
    ['test', 'file:///etc/passwd', /file: is not spoken/],
    ['test', 'gopher://127.0.0.1:6379/_', /gopher: is not spoken/],
    ['test', 'http://user@shop.example/', /credentials/],
    ['live', 'https://user:pass@shop.example/', /credentials/],
  ])('%s %s', (environment, url, expected) => {
    const refusal = refuseUrl(new URL(url), addressPolicies[environment])
    if (expected) expect(refusal).toMatch(expected)
    else expect(refusal).toBeUndefined()
  })
})

test.each([
  ['test', undefined, true],
  ['test', false, false],
  ['live', true, false],
] as const)(
  '%s with loopback webhooks %s sends to this machine: %s',
  (environment, loopbackWebhooks, sends) => {
    const policy = choosePolicy({ environment, loopbackWebhooks })
    expect(refuseAddress('127.0.0.1', policy) === undefined).toBe(sends)
    expect(refuseAddress('::1', policy) === undefined).toBe(sends)
  },
)
