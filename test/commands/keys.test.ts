/** `keys rotate` and `vault purge` as people run them: processes of their own, beside a server and without one. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { AnyJson } from '#test/support/any-json.ts'
import {
  type Banner,
  killRest,
  login,
  makeDataFolder,
  makeEmptyFolder,
  startServer,
  tollgate,
  tollgateHere,
} from '#test/support/command-line.ts'
import { createTestDatabase } from '#test/support/database/database.ts'
import { cardPayment } from '#test/support/gateway.ts'

let folder: string
const keyFile = () => join(folder, 'master.key')
const run = (...words: string[]) => tollgate(words, { TOLLGATE_DATA: folder })

beforeAll(async () => {
  folder = makeDataFolder()
  expect(await run('merchant', 'create', '--name', 'First')).toMatchObject({ code: 0 })
})
afterEach(() => killRest(folder))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function call({ baseUrl, ...merchant }: Banner, verb: string, path: string, body?: unknown) {
  const response = await fetch(`${baseUrl}${path}`, {
    method: verb,
    headers: { authorization: login(merchant), 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: (await response.json()) as AnyJson }
}

const payByPseudo = (banner: Banner, number: string) =>
  call(banner, 'POST', '/payments', cardPayment({ card: { number, expiryDate: undefined } }))

async function payOnce(banner: Banner): Promise<string> {
  const { body } = await call(banner, 'POST', '/payments', cardPayment())
  const { body: record } = await call(banner, 'GET', `/payments/getByPayId/${body.payId}`)
  return record.paymentMethods.card.pseudoCardNumber
}

/** Kills the command when it has reported the new key; its changes up to then stay. */
async function rotateAndKill(): Promise<void> {
  const child = spawn(process.execPath, ['bin/tollgate.js', 'keys', 'rotate'], {
    cwd: fileURLToPath(new URL('../../', import.meta.url)),
    env: { PATH: process.env.PATH, TOLLGATE_DATA: folder },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  for await (const chunk of child.stderr) {
    if (String(chunk).includes('a new master key')) child.kill('SIGKILL')
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'close')
}

test('the server keeps working through rotations of its key, even a killed one, and starts with the last key', async () => {
  const server = startServer('node', { TOLLGATE_DATA: folder, PORT: '0' })
  const banner = await server.ready()
  const pseudoNumber = await payOnce(banner)
  const first = readFileSync(keyFile(), 'utf8')
  let stopped = false
  const statuses: number[] = []
  const shop = (async () => {
    while (!stopped) {
      const { status } = await payByPseudo(banner, pseudoNumber).catch(() => ({ status: 0 }))
      statuses.push(status)
    }
  })()

  const rotated = await run('keys', 'rotate', '--json')
  expect(rotated).toMatchObject({ code: 0, stdout: expect.stringMatching(/^[^\n]+\n$/) })
  expect(JSON.parse(rotated.stdout)).toMatchObject({ finished: false, retired: [expect.any(String)] })
  expect(rotated.stderr).toContain('Backups of the database from before need the old key')
  expect(statSync(keyFile()).mode & 0o777).toBe(0o600)
  const second = readFileSync(keyFile(), 'utf8')
  expect(second.trim().split(/\s+/)).toHaveLength(1)
  expect(second).not.toBe(first)

  await rotateAndKill()
  const again = await run('keys', 'rotate')
  expect(again).toMatchObject({ code: 0, stdout: expect.stringMatching(/^master key: [0-9a-f]{16}\n/) })
  expect(readFileSync(keyFile(), 'utf8').trim().split(/\s+/)).toHaveLength(1)
  stopped = true
  await shop
  expect(statuses.length).toBeGreaterThan(0)
  expect(statuses.filter(status => status !== 200)).toEqual([])
  expect(await run('doctor')).toMatchObject({ code: 0 })
  server.child.kill('SIGTERM')
  expect(await server.exited).toBe(0)

  const next = startServer('node', { TOLLGATE_DATA: folder, PORT: '0' })
  expect((await payByPseudo(await next.ready(), pseudoNumber)).status).toBe(200)
  next.child.kill('SIGTERM')
  await next.exited

  const current = readFileSync(keyFile(), 'utf8')
  writeFileSync(keyFile(), first)
  const refused = await run('merchant', 'list')
  writeFileSync(keyFile(), current)
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('sealed with the master key') })
})

test('a key in a variable is changed by hand, in two starts', async () => {
  const database = await createTestDatabase()
  const data = makeEmptyFolder()
  const [old, made] = [Buffer.alloc(32, 1).toString('base64'), Buffer.alloc(32, 2).toString('base64')]
  const env = (key: string) => ({ TOLLGATE_DATA: data, DATABASE_URL: database.url, TOLLGATE_MASTER_KEY: key })
  try {
    const merchants = async (key: string) =>
      (await tollgateHere(['merchant', 'list', '--json'], env(key))).code
    expect(await tollgateHere(['merchant', 'create', '--name', 'x'], env(old))).toMatchObject({ code: 0 })
    expect(await tollgateHere(['keys', 'rotate'], env(old))).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('put a new key in front of the old one'),
    })
    expect(await merchants(`${made} ${old}`)).toBe(0)
    expect(await tollgateHere(['keys', 'rotate'], env(`${made} ${old}`))).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('Remove the other keys from TOLLGATE_MASTER_KEY now.'),
    })
    expect([await merchants(made), await merchants(old)]).toEqual([0, 1])
    const wrong = await tollgateHere(['merchant', 'list'], env(`${made} c2hvcnQ=`))
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('must hold 32 bytes in base64') })
  } finally {
    await database.drop()
    rmSync(data, { recursive: true, force: true })
  }
})

test('a purge first counts what it would destroy, then destroys it', async () => {
  const server = startServer('node', { TOLLGATE_DATA: folder, PORT: '0' })
  const banner = await server.ready()
  const pseudoNumber = await payOnce(banner)
  await call(banner, 'POST', '/test/clock', { advance: 'P401D' })
  const counted = await run('vault', 'purge', '--unused-for', 'P400D', '--dry-run', '--json')
  expect(JSON.parse(counted.stdout)).toEqual({ unusedFor: 'P400D', dryRun: true, found: 1, destroyed: 0 })
  const purged = await run('vault', 'purge', '--unused-for', 'P400D')
  expect(purged).toMatchObject({
    code: 0,
    stdout: 'numbers destroyed: 1\n',
    stderr: expect.stringContaining('1 of 1 numbers destroyed'),
  })
  expect((await payByPseudo(banner, pseudoNumber)).status).toBe(400)
  expect(await run('doctor')).toMatchObject({ code: 0 })
})

test.each([
  [['vault', 'purge'], "required option '--unused-for <duration>' not specified"],
  [['vault', 'purge', '--unused-for', '400'], 'It must be an ISO 8601 duration of a day at least'],
  [['vault', 'purge', '--unused-for', 'PT23H'], 'It must be an ISO 8601 duration of a day at least'],
  [['keys', 'rotate', 'mer_x'], 'too many arguments'],
])('%j is wrong usage', async (words, sentence) => {
  expect(await tollgateHere(words)).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining(sentence),
  })
})

test.each([
  [['--help'], ["change a merchant's API key", 'change the master key that seals cards and secrets']],
  [['keys', '--help'], ['For the API key of a merchant see "tollgate key"']],
  [
    ['keys', 'rotate', '--help'],
    ['Run it again if it was stopped in the middle', '--json'],
  ],
  [
    ['vault', 'purge', '--help'],
    ['--unused-for <duration>', '--dry-run', 'There is no way back'],
  ],
])('%j prints help', async (words, parts) => {
  const { code, stdout } = await tollgateHere(words)
  expect(code).toBe(0)
  for (const part of parts) expect(stdout.replace(/\s+/g, ' ')).toContain(part)
})
