/**
 * SSRF: every known way to write, name or reach an address that is not public, through the real sender. A canary server
 * listens on all addresses of this machine and must not even see a connection.
 */
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startReceiver } from '#test/support/receiver.ts'
import { type AddressPolicy, addressPolicies } from '#webhooks/policies.ts'
import { createSender, type Sender } from '#webhooks/send.ts'

let connections = 0
let port = 0
const canaries = [createServer(), createServer()]
beforeAll(async () => {
  for (const [index, canary] of canaries.entries()) {
    canary.on('connection', socket => {
      connections += 1
      socket.destroy()
    })
    canary.listen({ port, host: index === 0 ? '0.0.0.0' : '::', ipv6Only: index === 1 })
    await once(canary, 'listening')
    port = (canary.address() as AddressInfo).port
  }
})
afterAll(async () => {
  for (const canary of canaries) canary.close()
})

/** The rules of live without "https only", so that every refusal here is because of the address. */
const strict: AddressPolicy = { httpsOnly: false, loopback: false }

async function attempt(url: string, options: Partial<Parameters<typeof createSender>[0]> = {}) {
  const sender = createSender({ policy: strict, ...options })
  try {
    return await sender.send({ url: url.replaceAll('PORT', String(port)), headers: {}, body: '{}' })
  } finally {
    await sender.close()
  }
}

const ofThisMachine = Object.values(networkInterfaces())
  .flatMap(list => list ?? [])
  .filter(({ scopeid }) => !scopeid)
  .map(({ address, family }) => (family === 'IPv6' ? `[${address}]` : address))

/** Hosts as written in URLs. */
const hosts = [
  '127.0.0.1',
  '127.1',
  '127.0.1',
  '127.127.127.127',
  '2130706433',
  '0x7f000001',
  '0x7F.0.0.1',
  '0x7f.1',
  '0177.0.0.1',
  '0177.1',
  '017700000001',
  '00000177.0.0.1',
  '127.0.0.1.',
  '127.0x0.0.1',
  '%31%32%37.0.0.1',
  '①②⑦.⓪.⓪.①',
  '１２７.０.０.１',
  '127。0。0。1',
  '127．0．0．1',
  'localhost',
  'LOCALHOST',
  'localhost.',
  'a.b.localhost',
  'ｌｏｃａｌｈｏｓｔ',
  '0',
  '0.0.0.0',
  '0x0',
  '0000.0',
  '[::]',
  '[::1]',
  '[0:0:0:0:0:0:0:1]',
  '[0000:0000:0000:0000:0000:0000:0000:0001]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[0:0:0:0:0:ffff:127.0.0.1]',
  '[::FFFF:7F00:0001]',
  '[::127.0.0.1]',
  '[::ffff:0:127.0.0.1]',
  '[64:ff9b::7f00:1]',
  '[64:ff9b::127.0.0.1]',
  '[64:ff9b:1::7f00:1]',
  '[2002:7f00:1::]',
  '[2002:7f00:0001::1]',
  '[2001:0:7f00:1::]',
  '[fe80::1]',
  '[fc00::1]',
  '[fd00:ec2::254]',
  '[fec0::1]',
  '[ff02::1]',
  '10.0.0.1',
  '10.255.255.255',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.0.1',
  '3232235777',
  '169.254.169.254',
  '0xa9fea9fe',
  '2852039166',
  '0251.0376.0251.0376',
  '[::ffff:169.254.169.254]',
  '100.64.0.1',
  '100.100.100.200',
  '192.0.0.192',
  '198.18.0.1',
  '240.0.0.1',
  '255.255.255.255',
  '224.0.0.1',
  ...ofThisMachine,
]

describe('forbidden receivers written as an address', () => {
  test('more than sixty ways to write a forbidden address are tried', () => {
    expect(new Set(hosts).size).toBeGreaterThan(60)
  })

  test.each(hosts.flatMap(host => [`http://${host}:PORT/hook`, `https://${host}:PORT/hook`]))(
    '%s is not called',
    async url => {
      const { status, answer } = await attempt(url)
      expect(answer).toMatch(/^not sent: /)
      expect(status).toBeUndefined()
      expect(connections).toBe(0)
    },
  )
})

describe('forbidden receivers hidden in an address', () => {
  // 203.0.113.9 is reserved for documentation, so no real host is called by mistake.
  test.each([
    'http://203.0.113.9@127.0.0.1:PORT/',
    'http://shop.example:80@127.0.0.1:PORT/',
    'http://127.0.0.1:PORT@203.0.113.9/',
    'http://203.0.113.9\\@127.0.0.1:PORT/',
    'http://127.0.0.1:PORT\\@203.0.113.9/',
    'http:127.0.0.1:PORT/',
    'http:/127.0.0.1:PORT/',
    'http:\\\\127.0.0.1:PORT/',
    '  http://127.0.0.1:PORT/  ',
    'ht\ntp://127.0.0.1:PORT/',
    'http://127.0.0.1\t:PORT/',
    'http://[::1%25lo]:PORT/',
    'http://127.0.0.1%00.example:PORT/',
    'ftp://127.0.0.1:PORT/',
    'file:///etc/hosts',
    'gopher://127.0.0.1:PORT/_x',
    'data:text/plain,x',
    'ws://127.0.0.1:PORT/',
    '//127.0.0.1:PORT/',
    '',
  ])('%j', async url => {
    expect((await attempt(url)).answer).toMatch(/^not sent: /)
    expect(connections).toBe(0)
  })
})

describe('forbidden receivers behind a name', () => {
  test.each([
    ['127.0.0.1'],
    ['::1'],
    ['10.1.2.3'],
    ['169.254.169.254'],
    ['64:ff9b::7f00:1'],
    ['::ffff:127.0.0.1'],
    ['0.0.0.0'],
    // One forbidden address among public ones is enough, in any position.
    ['8.8.8.8', '127.0.0.1'],
    ['127.0.0.1', '8.8.8.8'],
    ['2606:4700::1', '8.8.8.8', 'fd00::1'],
    ['not an address'],
  ])('%j', async (...addresses) => {
    for (const scheme of ['http', 'https']) {
      const { answer } = await attempt(`${scheme}://shop.example:PORT/`, { resolve: async () => addresses })
      expect(answer).toMatch(/^not sent: shop\.example: /)
    }
    expect(connections).toBe(0)
  })

  test('that has no address', async () => {
    expect((await attempt('http://shop.example:PORT/', { resolve: async () => [] })).answer).toMatch(
      /^no answer: /,
    )
  })

  test('that changes between two look-ups: there is only one look-up', async () => {
    const receiver = await startReceiver()
    let looks = 0
    const resolve = async () => {
      looks += 1
      // A second look-up would get another address.
      return looks === 1 ? ['127.0.0.1'] : ['10.0.0.1']
    }
    const url = receiver.url.replace('127.0.0.1', 'shop.example')
    const { status } = await attempt(url, { policy: addressPolicies.test, resolve })
    expect([status, looks]).toEqual([204, 1])
    expect(receiver.heard[0]?.headers.host).toMatch(/^shop\.example:/)
    await receiver.close()
  })

  test('that was public for an earlier connection: each new connection is checked again', async () => {
    let looks = 0
    const receiver = await startReceiver((_, response) => {
      response.writeHead(204, { connection: 'close' }).end()
      return undefined
    })
    const resolve = async () => {
      looks += 1
      return looks === 1 ? ['127.0.0.1'] : ['10.0.0.1']
    }
    const sender: Sender = createSender({ policy: addressPolicies.test, resolve })
    const message = { url: receiver.url.replace('127.0.0.1', 'shop.example'), headers: {}, body: '{}' }
    expect((await sender.send(message)).status).toBe(204)
    expect((await sender.send(message)).answer).toMatch(/^not sent: shop\.example: 10\.0\.0\.1/)
    await sender.close()
    await receiver.close()
  })
})

test('a forbidden receiver behind a redirect is not called', async () => {
  const receiver = await startReceiver((_, response) => {
    response.writeHead(302, { location: `http://127.0.0.1:${port}/` }).end()
    return undefined
  })
  expect(await attempt(receiver.url, { policy: addressPolicies.test })).toMatchObject({ status: 302 })
  expect(connections).toBe(0)
  await receiver.close()
})

test('the reason fits into its column however long the name of the receiver is', async () => {
  const { answer } = await attempt(`http://${'a.'.repeat(900)}localhost:PORT/`)
  expect(answer).toMatch(/^not sent: a\.a\./)
  expect(answer.length).toBe(1_000)
})

test('live calls https only', async () => {
  const { answer } = await attempt('http://203.0.113.9:PORT/', { policy: addressPolicies.live })
  expect(answer).toBe('not sent: only https addresses are called in live')
})

test('the canary sees allowed requests', async () => {
  await attempt('http://127.0.0.1:PORT/', { policy: addressPolicies.test })
  expect(connections).toBe(1)
})
