/** payments create|capture|refund, logs tail and open, against a running gateway. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { tollgate, tollgateHere } from '#test/support/command-line.ts'
import { masterKeyOf, startTestGateway, type TestGateway } from '#test/support/gateway.ts'

let gateway: TestGateway
let folder: string
beforeAll(async () => {
  gateway = await startTestGateway()
  folder = await mkdtemp(join(tmpdir(), 'tollgate-trying-'))
})
afterAll(async () => {
  await gateway.stop()
  await rm(folder, { recursive: true })
})

const env = () => ({
  TOLLGATE_DATA: folder,
  DATABASE_URL: gateway.databaseUrl,
  TOLLGATE_MASTER_KEY: masterKeyOf(gateway.databaseUrl),
  TOLLGATE_API: `${gateway.url}/api/v2`,
  TOLLGATE_MERCHANT: gateway.merchantId,
  TOLLGATE_KEY: gateway.apiKey,
})
const run = (...words: string[]) => tollgateHere(words, env())

test('a payment is made, captured in part, refunded in full, and seen in the log', async () => {
  const made = await run(
    'payments',
    'create',
    '--amount',
    '4999',
    '--manual',
    '--trans-id',
    'tried',
    '--json',
  )
  expect(made.code, made.stderr).toBe(0)
  const { payId, status } = JSON.parse(made.stdout)
  expect(status).toBe('AUTHORIZED')
  const captured = await tollgate(['payments', 'capture', payId, '--amount', '3000'], env())
  expect(captured.stdout).toMatch(/^OK {2}30\.00 EUR /)
  // A pipe gets no colours.
  expect(captured.stdout).not.toContain('\u001b')
  const refunded = await run('payments', 'refund', payId, '--json')
  expect(JSON.parse(refunded.stdout)).toMatchObject({ payId, status: 'OK' })
  const again = await run('payments', 'refund', payId)
  expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('payments show')])
  const { body } = await gateway.call('GET', `/payments/getByPayId/${payId}`)
  expect(body.amount).toMatchObject({ capturedValue: 3000, refundedValue: 3000 })
  const log = await run('logs', 'tail', '--since', 'PT5M', '--count', '3', '--json')
  const lines = log.stdout.trim().split('\n')
  expect(lines.map(line => JSON.parse(line).type)).toEqual(['AUTHORIZATION', 'CAPTURE', 'REFUND'])
})

test('the log ends when its reader has gone', async () => {
  const before = process.stdout.listenerCount('error')
  const tail = run('logs', 'tail')
  await vi.waitFor(() => expect(process.stdout.listenerCount('error')).toBe(before + 1), 30_000)
  process.stdout.emit('error', new Error('write EPIPE'))
  expect(await tail).toMatchObject({ code: 0 })
})

test.each(['', '/'])('the address of the gateway with %j in place of /api/v2 is completed', async path => {
  const created = await run('payments', 'create', '--api', `${gateway.url}${path}`)
  expect(created).toMatchObject({ code: 0, stdout: expect.stringMatching(/^OK {2}10.00 EUR/) })
})

test('a decline is printed with its advice, and ends with 1', async () => {
  const declined = await run('payments', 'create', '--card', '4000000000000002')
  expect(declined.code).toBe(1)
  expect(declined.stdout).toMatch(/^FAILED/)
  expect(declined.stderr).toMatch(/^tollgate: Declined/m)
})

test.each([
  ['an amount that is none', ['payments', 'create', '--amount', '12.34'], 2, 'smallest unit'],
  ['a currency that is none', ['payments', 'create', '--currency', 'XXY'], 2, 'ISO 4217'],
  ['an id that is none', ['payments', 'capture', 'abc'], 1, 'payments find'],
  ['a payment of nobody', ['payments', 'refund', '0'.repeat(32)], 1, '--merchant'],
])('%s is refused with the next step', async (_, words, code, sentence) => {
  const refused = await run(...words)
  expect([refused.code, refused.stderr]).toEqual([code, expect.stringContaining(sentence)])
})

test('open finds the console of the running gateway, and says what to do if none runs', async () => {
  const none = await run('open', '--json')
  expect([none.code, none.stderr]).toEqual([1, expect.stringContaining('npm start')])
  const note = { origin: 'http://127.0.0.1:45678', pid: process.pid }
  await writeFile(join(folder, 'served.json'), JSON.stringify(note))
  const opened = await run('open', '--json')
  expect(JSON.parse(opened.stdout).address).toMatch(/^http:\/\/localhost:45678\/console/)
  const apart = { ...note, console: 'http://localhost:45679' }
  await writeFile(join(folder, 'served.json'), JSON.stringify(apart))
  expect(JSON.parse((await run('open', '--json')).stdout).address).toMatch(
    /^http:\/\/localhost:45679\/console/,
  )
  await writeFile(join(folder, 'served.json'), JSON.stringify({ ...note, console: null }))
  const off = await run('open', '--json')
  expect([off.code, off.stderr]).toEqual([1, expect.stringContaining('switched off')])
})
