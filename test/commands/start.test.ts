/** Starting and stopping as a user does, with npm, signals, crashes and taken ports. */
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { get } from 'node:https'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { waitUntil } from '#storage/embedded/processes.ts'
import { makeCertificate } from '#test/support/certificate.ts'
import {
  type Banner,
  isGone,
  killRest,
  login,
  makeDataFolder,
  makeEmptyFolder,
  readPids,
  startLaunched,
  startServer,
  startUnheard,
  tollgate,
} from '#test/support/command-line.ts'
import { createTestDatabase } from '#test/support/database/database.ts'
import { findFreePort } from '#test/support/free-port.ts'

let folder: string
const settings = () => ({ TOLLGATE_DATA: folder, PORT: '0' })

beforeAll(() => {
  folder = makeEmptyFolder()
})
afterEach(() => killRest(folder))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** 15 s: the documented limit. */
const stopMs = 15_000

const expectGone = async (pids: readonly number[]) =>
  expect(await waitUntil(() => pids.every(isGone), stopMs)).toBe(true)

let transId = 0

/** The request that the printed line makes when a shell runs it. */
async function payAsPrinted({ curl }: Banner): Promise<{ payId: string; status: string }> {
  const [, user = '', type = '', body = '', url = ''] =
    /^curl -s -w '\\n' -u (\S+) -H 'Content-Type: (\S+)' -d '(.*)' (\S+)$/.exec(curl) ?? []
  const [merchantId = '', apiKey = ''] = user.split(':')
  transId += 1
  const answer = await fetch(url, {
    method: 'POST',
    headers: { Authorization: login({ merchantId, apiKey }), 'Content-Type': type },
    body: body.replace("'$(date +%s)'", String(transId)),
  })
  expect(answer.status).toBe(200)
  return (await answer.json()) as { payId: string; status: string }
}

async function readPayment(banner: Banner, payId: string): Promise<unknown> {
  const url = `${banner.baseUrl}/payments/getByPayId/${payId}`
  return (await fetch(url, { headers: { Authorization: login(banner) } })).json()
}

test('npm start on an empty folder prints a payment to paste, which works and survives stops and crashes', async () => {
  const cold = startServer('npm', settings())
  const banner = await cold.ready()
  expect(banner.baseUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/api\/v2$/)
  expect(cold.stdout()).toContain(`API reference: ${banner.baseUrl.replace('/api/v2', '/docs')}`)
  const setUp = /^console: (http:\/\/localhost:\d+\/console\/setup\/\S+)$/m.exec(cold.stdout())?.[1] ?? ''
  expect(await (await fetch(setUp)).text()).toContain('owner@localhost, owner')
  expect(cold.stdout()).toContain(`data: ${folder}`)
  expect(cold.stderr()).toContain(`Starting the database in ${folder}`)
  const first = await payAsPrinted(banner)
  expect(first.status).toBe('OK')
  const { server, database } = readPids(folder)
  cold.child.kill('SIGTERM')
  await cold.exited
  await expectGone([server, database])
  expect(cold.stderr()).toContain('Stopped.')

  const warm = startServer('npm', settings())
  const again = await warm.ready()
  expect(again).toMatchObject({ merchantId: banner.merchantId, apiKey: banner.apiKey })
  expect(await readPayment(again, first.payId)).toMatchObject({ payId: first.payId, status: 'OK' })
  const second = await payAsPrinted(again)
  process.kill(readPids(folder).server, 'SIGKILL')
  await warm.exited

  const recovered = startServer('node', settings())
  const third = await recovered.ready()
  expect(await readPayment(third, first.payId)).toMatchObject({ payId: first.payId, status: 'OK' })
  expect(await readPayment(third, second.payId)).toMatchObject({ payId: second.payId, status: 'OK' })
  recovered.child.kill('SIGINT')
  expect(await recovered.exited).toBe(0)
  await expectGone(Object.values({ server: recovered.child.pid ?? 0, database }))
  const listed = await tollgate(['merchant', 'list', '--json'], settings())
  expect(JSON.parse(listed.stdout)).toHaveLength(1)
})

test('kill -9 of npm stops the server and its database', async () => {
  const { child, ready } = startServer('npm', settings())
  await ready()
  const { server, database } = readPids(folder)
  child.kill('SIGKILL')
  await expectGone([server, database])
})

test('kill -9 of the older Node that started the server: the next start takes over at once', async () => {
  const launched = startLaunched({ ...settings(), TOLLGATE_DRAIN_SECONDS: '5' })
  const { merchantId } = await launched.ready()
  launched.child.disconnect()
  const next = startServer('node', settings())
  expect(await next.ready()).toMatchObject({ merchantId })
  next.child.kill('SIGINT')
  expect(await next.exited).toBe(0)
})

test('a server whose log cannot be written works and stops as usual; a command then ends with 1', async () => {
  const port = String(await findFreePort())
  const { child, stderr, exited } = startUnheard(['serve'], { ...settings(), PORT: port })
  const isReady = async () => (await fetch(`http://127.0.0.1:${port}/health/ready`)).status === 200
  await waitUntil(() => isReady().catch(() => false), 90_000)
  await fetch(`http://127.0.0.1:${port}/nothing`)
  expect(await isReady()).toBe(true)
  const command = startUnheard(['merchant', 'list'], settings())
  expect([await command.exited, await command.stderr]).toEqual([
    1,
    expect.stringMatching(/^tollgate: not everything could be printed: E\w+.*\n$/),
  ])
  child.kill('SIGTERM')
  expect(await exited).toBe(0)
  expect(await stderr).toContain('tollgate: the log cannot be written')
})

test('a taken port is named, with the next free one and the command to use it', async () => {
  const holder = createServer().listen(0, '127.0.0.1')
  await once(holder, 'listening')
  const { port } = holder.address() as AddressInfo
  for (const by of ['npm', 'node'] as const) {
    const refused = startServer(by, { ...settings(), PORT: String(port) })
    expect(await refused.exited).toBe(1)
    const command = by === 'npm' ? 'npm start' : 'tollgate serve'
    const [, free = ''] =
      new RegExp(
        `^tollgate: port ${port} is taken; the next free one is (\\d+): PORT=\\1 ${command}$`,
        'm',
      ).exec(refused.stderr()) ?? []
    expect(Number(free)).toBeGreaterThan(port)
    expect(refused.stderr()).not.toMatch(/\n {4}at /)
    expect(existsSync(join(folder, 'owner.json'))).toBe(false)
  }
  holder.close()
})

test('a taken port of the console ends the start: the link that makes the first owner must not lead to a stranger', async () => {
  const holder = createServer().listen(0, '127.0.0.1')
  await once(holder, 'listening')
  const { port } = holder.address() as AddressInfo
  const refused = startServer('node', { ...settings(), TOLLGATE_CONSOLE_PORT: String(port) })
  expect(await refused.exited).toBe(1)
  expect(refused.stderr()).toContain(
    `tollgate: port ${port} is taken; set TOLLGATE_CONSOLE_PORT to another one\n`,
  )
  holder.close()
})

test('a second server on the same folder is refused, and the first keeps serving', async () => {
  const first = startServer('node', settings())
  const { baseUrl } = await first.ready()
  const second = startServer('node', settings())
  expect(await second.exited).toBe(1)
  expect(second.stderr()).toContain(`Tollgate already runs on ${folder} (process ${first.child.pid})`)
  expect((await fetch(new URL('/health/ready', baseUrl))).status).toBe(200)
})

test('a signal during the start stops it, too', async () => {
  const { child, exited, stderr } = startServer('node', settings())
  expect(await waitUntil(() => stderr().includes('Starting the database'), 30_000)).toBe(true)
  child.kill('SIGTERM')
  expect(await exited).toBe(0)
  expect(stderr()).toContain('Stopped.')
  expect(existsSync(join(folder, 'owner.json'))).toBe(false)
})

test('the server ends when its database ends, with a line that says so', async () => {
  const { exited, ready, stderr } = startServer('node', settings())
  await ready()
  process.kill(readPids(folder).database, 'SIGKILL')
  expect(await exited).toBe(1)
  expect(stderr()).toContain('tollgate: The embedded PostgreSQL ended unexpectedly')
  expect(stderr()).not.toMatch(/\n {4}at /)
})

test('DATABASE_URL keeps the demo merchant too, and makes another for another database', async () => {
  const databases = [await createTestDatabase(), await createTestDatabase()]
  const data = makeEmptyFolder()
  const merchants: string[] = []
  for (const database of [databases[0], databases[0], databases[1]]) {
    const server = startServer('node', { TOLLGATE_DATA: data, DATABASE_URL: database?.url ?? '', PORT: '0' })
    const banner = await server.ready()
    expect(await payAsPrinted(banner)).toMatchObject({ status: 'OK' })
    merchants.push(banner.merchantId)
    server.child.kill('SIGTERM')
    expect(await server.exited).toBe(0)
    expect(server.stderr()).toContain('warning: the database may lose payments in a crash')
  }
  expect(merchants[1]).toBe(merchants[0])
  expect(merchants[2]).not.toBe(merchants[0])
  expect(JSON.parse(readFileSync(join(data, 'demo.json'), 'utf8')).merchantId).toBe(merchants[2])
  for (const database of databases) await database.drop()
  rmSync(data, { recursive: true })
})

test('live over TLS has no demo merchant, and its merchants are made by the command', async () => {
  const data = makeDataFolder()
  const { cert, key } = makeCertificate()
  writeFileSync(join(data, 'cert.pem'), cert)
  writeFileSync(join(data, 'key.pem'), key)
  const env = {
    TOLLGATE_ENVIRONMENT: 'live',
    TOLLGATE_MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
    TOLLGATE_TLS_CERT: join(data, 'cert.pem'),
    TOLLGATE_TLS_KEY: join(data, 'key.pem'),
    TOLLGATE_DATA: data,
    HOST: '0.0.0.0',
    PORT: '0',
  }
  const server = startServer('node', env)
  const { baseUrl, merchantId } = await server.ready()
  expect(merchantId).toBe('')
  expect(existsSync(join(data, 'demo.json'))).toBe(false)
  const port = new URL(baseUrl).port
  const [answer] = await once(get(`https://127.0.0.1:${port}/health/ready`, { ca: cert }), 'response')
  expect(answer.statusCode).toBe(200)
  expect(await json(answer)).toBeTypeOf('object')
  const created = await tollgate(['merchant', 'create', '--name', 'Shop', '--json'], env)
  expect(JSON.parse(created.stdout).apiKey).toMatch(/^tg_live_/)
  server.child.kill('SIGTERM')
  expect([await server.exited, server.stderr()]).toEqual([0, expect.stringContaining('Stopped.')])
  rmSync(data, { recursive: true })
})
