/** payments find|show, operations export, events list|show|replay and webhook add|list|remove, as scripts use them. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { tollgate, tollgateHere } from '#test/support/command-line.ts'
import { masterKeyOf, startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { type Receiver, startReceiver } from '#test/support/receiver.ts'
import { openShop, type Shop } from '#test/support/shop.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

let gateway: TestGateway
let receiver: Receiver
let shop: Shop
let payId: string
beforeAll(async () => {
  gateway = await startTestGateway()
  receiver = await startReceiver()
  shop = await openShop(gateway)
  const metadata = { note: 'a\u009b31mb\u202e' }
  const card = { number: '4000000000000101' }
  payId = (await shop.create('CARD', { transId: 'found', card, metadata })).body.payId
  await shop.advance('PT11S')
})
afterAll(async () => {
  await receiver.close()
  await gateway.stop()
})

const env = () => ({
  DATABASE_URL: gateway.databaseUrl,
  TOLLGATE_MASTER_KEY: masterKeyOf(gateway.databaseUrl),
})

async function run(...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await tollgateHere(words, env())
  expect(code, stderr).toBe(0)
  return stdout
}

test('payments find and show print a payment and its operations', async () => {
  const found = JSON.parse(await run('payments', 'find', '--trans-id', 'found', '--json'))
  expect(found).toMatchObject([{ payId, merchantId: shop.merchantId, transId: 'found' }])
  expect(JSON.parse(await run('payments', 'find', '--amount', '1001', '--json'))).toEqual([])
  const story = await run('payments', 'show', payId)
  expect(story).toMatch(/operation AUTHORIZATION OK 10\.00 EUR 00000000/)
  expect(story).toMatch(/event payment\.captured FAILED/)
  expect(story).toMatch(/attempt not sent: neither the payment .* in \d+ ms/)
})

test.each([
  ['--last4', '12'],
  ['--email', 'nobody'],
  ['--trans-id', ''],
])('payments find %s "%s" is refused, naming the option: nothing could ever match', async (option, value) => {
  const { code, stderr } = await tollgateHere(['payments', 'find', option, value], env())
  expect([code, stderr]).toEqual([2, expect.stringContaining(option)])
})

test('payments find prints everything into a pipe before its process ends', async () => {
  const other = await openShop(gateway)
  // 50 × 15 kB: more than any pipe or socket holds for a reader that is slower than we are.
  const metadata = { note: 'x'.repeat(15_000) }
  for (let count = 0; count < 50; count += 1) await other.create('CARD', { metadata })
  const words = ['payments', 'find', '--merchant', other.merchantId, '--json']
  const { code, stdout, stderr } = await tollgate(words, env())
  expect(code, stderr).toBe(0)
  expect(JSON.parse(stdout)).toHaveLength(50)
})

test('operations export writes CSV', async () => {
  const csv = await run(
    'operations',
    'export',
    '--merchant',
    shop.merchantId,
    '--from',
    'P1D',
    '--to',
    '2199-01-01',
  )
  expect(csv.split('\r\n')).toEqual([
    expect.stringMatching(/^xId,payId/),
    expect.stringContaining(`,${payId},found,`),
    expect.stringContaining(`,${payId},found,`),
    '',
  ])
})

test.each([
  [2, ['payments', 'find', '--from', '2026-02-01', '--to', '2026-01-01'], 'must be earlier than --to'],
  [1, ['payments', 'find', '--merchant', 'nobody'], 'there is no merchant "nobody"'],
  [1, ['events', 'list', '--merchant', 'nobody'], 'there is no merchant "nobody"'],
  [1, ['operations', 'export', '--merchant', 'nobody', '--from', 'P1D', '--to', '2199-01-01'], 'no merchant'],
])('exit code %i and a sentence for %j', async (expected, words, reason) => {
  const { code, stdout, stderr } = await tollgateHere(words, env())
  expect([code, stdout, stderr]).toEqual([expected, '', expect.stringContaining(reason)])
})

async function listReplays(): Promise<readonly unknown[]> {
  const rows = JSON.parse(await run('audit', 'list', '--act', 'event.replay', '--json'))
  return rows.map(({ object, after }: { object: string; after: unknown }) => ({ object, after }))
}

test('events list, show and replay; webhook add and remove', async () => {
  const [event] = JSON.parse(await run('events', 'list', '--merchant', shop.merchantId, '--failed', '--json'))
  expect(event).toMatchObject({ payId, type: 'payment.captured', status: 'FAILED' })
  // Under the same names as in the API, so that one script reads both.
  const { body: record } = await shop.call('GET', `/events/${event.id}`)
  expect(event).toMatchObject(record)
  expect(JSON.parse(await run('events', 'show', event.id, '--json'))).toMatchObject(record)
  expect(JSON.parse(await run('payments', 'show', payId, '--json'))).toMatchObject({ events: [record] })
  // Texts of merchants must not steer the operator's terminal.
  const shown = await run('events', 'show', event.id)
  expect(shown).toContain('"note": "a\\u009b31mb\\u202e"')
  expect(shown).toMatch(/Z {2}not sent: neither the payment/)
  const added = JSON.parse(
    await run(
      'webhook',
      'add',
      shop.merchantId,
      '--url',
      receiver.url,
      '--types',
      'payment.captured',
      '--json',
    ),
  )
  expect(added).toMatchObject({
    webhookSecret: expect.stringMatching(/^whsec_/),
    types: ['payment.captured'],
  })
  await run('events', 'replay', event.id)
  expect(await listReplays()).toEqual([{ object: event.id, after: null }])
  await receiver.reached(1)
  expect(receiver.heard[0]?.headers['webhook-id']).toBe(event.id)
  expect(JSON.parse(await run('webhook', 'list', shop.merchantId, '--json'))).toMatchObject([
    { endpointId: added.endpointId },
  ])
  await run('webhook', 'remove', added.endpointId)
  expect(JSON.parse(await run('webhook', 'list', '--json'))).toEqual([])
})

test('events replay --since sends the events of all merchants again, without their keys', async () => {
  const others = [await openShop(gateway), await openShop(gateway)]
  for (const other of others) {
    await gateway.gateway.merchants.set(other.merchantId, { webhookUrl: receiver.url })
    await other.create('CARD', { card: { number: '4000000000000101' } })
    // The second hour is over by the merchant's clock alone.
    await other.advance('PT11S')
    await other.advance('PT2H')
  }
  const before = receiver.heard.length
  const [first] = others
  const ofOne = ['--merchant', first?.merchantId ?? '', '--json']
  expect(JSON.parse(await run('events', 'replay', '--since', 'PT1H', ...ofOne))).toEqual({ replayed: 0 })
  expect(JSON.parse(await run('events', 'replay', '--since', 'PT3H', ...ofOne))).toEqual({ replayed: 1 })
  // Two replays of an event that has not been sent yet are one.
  await receiver.reached(before + 1)
  await run('events', 'replay', '--since', '2020-01-01')
  await receiver.reached(before + 3)
  expect((await listReplays()).slice(-2)).toEqual([
    { object: first?.merchantId, after: { events: 1, status: null } },
    { object: 'all merchants', after: { events: 3, status: null } },
  ])
  const heard = receiver.heard.slice(before).map(({ body }) => body.merchantId)
  expect(new Set(heard)).toEqual(new Set(others.map(({ merchantId }) => merchantId)))
})

test.each([
  ['neither an id nor a time', []],
  ['both', ['019a3f6d1e2f7a3b8c4d5e6f70819203', '--since', 'PT1H']],
])('exit code 2 for events replay with %s', async (_, words) => {
  const { code, stderr } = await tollgateHere(['events', 'replay', ...words], env())
  expect([code, stderr]).toEqual([2, expect.stringContaining('the id of an event')])
})

test('payments find names the merchants whose payments it does not show in full', async () => {
  const other = await openShop(gateway)
  const words = ['payments', 'find', '--merchant', other.merchantId, '--json']
  for (let count = 0; count < 100; count += 1) await other.create('CARD')
  expect((await tollgateHere(words, env())).stderr).not.toContain('only the newest')
  await other.create('CARD')
  const { stdout, stderr } = await tollgateHere(words, env())
  expect(JSON.parse(stdout)).toHaveLength(100)
  expect(stderr).toContain(`${other.merchantId} has more of them: only the newest 100 are shown`)
})

test('exit code 2 for an unknown type of event', async () => {
  const words = ['webhook', 'add', shop.merchantId, '--url', receiver.url, '--types', 'payment.exploded']
  const { code, stderr } = await tollgateHere(words, env())
  expect([code, stderr]).toEqual([2, expect.stringContaining('payment.exploded')])
})

test('texts of a provider do not control the terminal, in a payment and in a finding of the doctor', async () => {
  const declined = await shop.create('CARD', { transId: 'told', card: { number: '4000000000000002' } })
  await queryRows(
    gateway.databaseUrl,
    `UPDATE operation SET provider = (provider::jsonb || '{"responseText":"no\\u001b[2J"}')::json WHERE pay_id = '${declined.body.payId}';
     INSERT INTO settlement_line (merchant_id, provider_account_id, settlement_id, date, type, gross, fee, net, currency,
       provider_reference) VALUES ('${shop.merchantId}', 'acc_0', 's', '2026-01-01', 'CAPTURE', 1, 0, 1, 'EUR', E'line\\x1b[2J')`,
  )
  expect(await run('payments', 'show', declined.body.payId)).toContain('(no\\u001b[2J)')
  const { stdout } = await tollgateHere(['doctor'], env())
  expect(stdout).toContain('line\\u001b[2J')
  await queryRows(gateway.databaseUrl, 'DELETE FROM settlement_line')
})
