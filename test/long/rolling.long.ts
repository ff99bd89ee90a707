/**
 * A release runs beside its predecessor, on the schema that the newer one has made. So the API tests of the previous release
 * (the last tag; without one, the commit before the newest migration came) run once more with its own code and with the
 * migrations of today; and both releases serve one database, where each goes on with what the other began.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { type Banner, login, makeEmptyFolder, startServer, tollgateHere } from '#test/support/command-line.ts'
import { createEmptyDatabase } from '#test/support/database/database.ts'
import { cardPayment } from '#test/support/gateway.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

const git = (...words: string[]): string =>
  execFileSync('git', words, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()

/** Throws in a clone without the history that leads there. */
function findPrevious(): string {
  const ask = (...words: string[]): string | undefined => {
    const { status, stdout } = spawnSync('git', words, { cwd: root, encoding: 'utf8' })
    return status === 0 && stdout.trim() !== '' ? stdout.trim() : undefined
  }
  const tag = ask('describe', '--tags', '--abbrev=0')
  if (tag !== undefined) return tag
  const newest = ask(
    ...['log', '-1', '--first-parent', '-m', '--diff-filter=A', '--format=%H', '--', 'migrations'],
  )
  const before = newest && ask('rev-parse', '--verify', '--quiet', `${newest}^1`)
  if (before) return before
  throw new Error(
    'this folder has no tag and no history before its newest migration, so the previous release is not known; ' +
      'use a clone with its whole history (git fetch --unshallow)',
  )
}

/** The files of the previous release. */
function checkOut(folder: string): void {
  const archive = join(folder, 'release.tar')
  git('archive', '--output', archive, findPrevious())
  execFileSync('tar', ['-xf', archive, '-C', folder])
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
}

function takeNewMigrations(folder: string): void {
  rmSync(join(folder, 'migrations'), { recursive: true })
  cpSync(join(root, 'migrations'), join(folder, 'migrations'), { recursive: true })
}

test('the previous release passes its API tests on the schema of this one', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-previous-'))
  try {
    checkOut(folder)
    takeNewMigrations(folder)
    const words = ['node_modules/vitest/vitest.mjs', 'run', '--maxWorkers=1', 'test/api']
    // Not spawnSync: while that waits, this process could not answer the test runner, which gives up after a minute.
    const child = spawn(process.execPath, words, { cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] })
    const [stdout, [status]] = await Promise.all([text(child.stdout), once(child, 'close')])
    expect(status, stdout.slice(-5_000)).toBe(0)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

interface Answer {
  readonly status: number
  readonly body: { readonly payId: string; readonly status: string }
}

async function post(
  { baseUrl, ...merchant }: Banner,
  path: string,
  body: object,
  key?: string,
): Promise<Answer> {
  const response = await fetch(`${baseUrl}${path}`, {
    method: 'POST',
    headers: {
      authorization: login(merchant),
      'content-type': 'application/json',
      ...(key === undefined ? {} : { 'idempotency-key': key }),
    },
    body: JSON.stringify(body),
  })
  return { status: response.status, body: (await response.json()) as Answer['body'] }
}

/** One release begins a payment, the other captures it, and the first refunds; a repeated request has one effect. */
async function takeTurns(first: Banner, second: Banner, name: string): Promise<void> {
  const request = cardPayment({ transId: name, captureMethod: { type: 'MANUAL' } })
  const begun = await post(first, '/payments', request, name)
  expect(begun).toMatchObject({ status: 200, body: { status: 'AUTHORIZED' } })
  expect(await post(second, '/payments', request, name)).toEqual(begun)
  const part = { transId: `${name}-part`, amount: { value: 600, currency: 'EUR' } }
  const payment = `/payments/${begun.body.payId}`
  expect(await post(second, `${payment}/captures`, part)).toMatchObject({ status: 200 })
  expect(await post(first, `${payment}/refunds`, part)).toMatchObject({ status: 200 })
  for (const { baseUrl, ...merchant } of [first, second]) {
    const url = `${baseUrl}/payments/getByPayId/${begun.body.payId}`
    const read = await (await fetch(url, { headers: { authorization: login(merchant) } })).json()
    expect(read).toMatchObject({ amount: { capturedValue: 600, refundedValue: 600 } })
  }
}

test('both releases serve one database: each goes on with what the other began', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-previous-'))
  const data = makeEmptyFolder()
  const { url, drop } = await createEmptyDatabase()
  const env = {
    ...{ DATABASE_URL: url, TOLLGATE_DATA: data, PORT: '0' },
    TOLLGATE_MASTER_KEY: randomBytes(32).toString('base64'),
  }
  checkOut(folder)
  const previous = startServer('node', env, folder)
  const before = await previous.ready()
  // It migrates while the previous one serves.
  const current = startServer('node', env)
  const after = await current.ready()
  try {
    await takeTurns(before, after, 'begun-before')
    await takeTurns(after, before, 'begun-after')
    const doctor = await tollgateHere(['doctor', '--json'], env)
    expect(JSON.parse(doctor.stdout)).toMatchObject({ healthy: true })
  } finally {
    for (const { child, exited } of [previous, current]) {
      child.kill('SIGKILL')
      await exited
    }
    await drop()
    for (const each of [folder, data]) rmSync(each, { recursive: true, force: true })
  }
})
