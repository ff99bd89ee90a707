/** A reader of the log that stops reading: payments continue, lines are buffered, and the server stops as usual. */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { Agent, get } from 'node:http'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, test, vi } from 'vitest'
import {
  type Banner,
  borrowDataFolder,
  login,
  type RunningServer,
  startIntoPipe,
  startServer,
} from '#test/support/command-line.ts'
import { cleanUpAll } from '#test/support/database/embedded.ts'
import { cardPayment } from '#test/support/gateway.ts'

afterEach(cleanUpAll)

async function pay(banner: Banner): Promise<number> {
  const response = await fetch(`${banner.baseUrl}/payments`, {
    method: 'POST',
    headers: { authorization: login(banner), 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify(cardPayment()),
  })
  await response.text()
  return response.status
}

/** Each leaves a line of some 200 bytes: together more than twice what a pipe, and what a socket holds. */
const pipeLines = 800
const socketLines = 3_000

async function fillLog({ baseUrl }: Banner, lineCount: number): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 20 })
  const ask = (): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      get(new URL('/nothing', baseUrl), { agent }, response => resolve(response.resume().statusCode)).on(
        'error',
        reject,
      )
    })
  const statuses = await Promise.all(Array.from({ length: lineCount }, ask))
  agent.destroy()
  expect(new Set(statuses)).toEqual(new Set([404]))
}

const isReady = async ({ baseUrl }: Banner): Promise<boolean> =>
  (await fetch(new URL('/health/ready', baseUrl))).status === 200

/** The lines of the requests that filled the log; throws when a line is not whole. */
const readLines = (server: RunningServer): readonly { readonly status: number; readonly time: string }[] =>
  server
    .stdout()
    .split('\n')
    .filter(line => line.startsWith('{'))
    .map(line => JSON.parse(line))
    .filter(({ status }) => status === 404)

test('a server whose output is a socket serves while nobody reads it, and the lines arrive later, whole and in order', async () => {
  const server = startServer('node', { TOLLGATE_DATA: borrowDataFolder(), PORT: '0' })
  const banner = await server.ready()
  server.child.stdout?.pause()
  await fillLog(banner, socketLines)
  expect([await isReady(banner), await pay(banner)]).toEqual([true, 200])
  server.child.stdout?.resume()
  await vi.waitFor(() => expect(server.stdout()).toContain('"operationId":"createPayment"'), 30_000)
  const times = readLines(server).map(({ time }) => time)
  expect(times).toHaveLength(socketLines)
  expect(times).toEqual(times.toSorted())
  server.child.kill('SIGTERM')
  expect(await server.exited).toBe(0)
})

const listChildren = (pid: number): readonly number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number)

test('workers whose pipe nobody reads serve, are replaced when they die, and stop', async () => {
  const server = startIntoPipe(borrowDataFolder(), { PORT: '0', TOLLGATE_WORKERS: '2' })
  const banner = await server.ready()
  const primary = server.child.pid ?? 0
  const workers = [...server.stdout().matchAll(/^worker \d runs as process (\d+)$/gm)].map(([, pid]) =>
    Number(pid),
  )
  expect(workers).toHaveLength(2)
  const others = listChildren(primary).filter(pid => !workers.includes(pid))
  server.reader.pause()
  await fillLog(banner, pipeLines)
  expect([await isReady(banner), await pay(banner)]).toEqual([true, 200])
  server.fillPipe()
  // Starting another process makes the pipe that it inherits a blocking one again.
  process.kill(workers[0] ?? 0, 'SIGKILL')
  const findNew = () => listChildren(primary).filter(pid => ![...workers, ...others].includes(pid))
  await vi.waitFor(() => expect(findNew()).toHaveLength(1), 30_000)
  process.kill(workers[1] ?? 0, 'SIGKILL')
  await vi.waitFor(() => expect(findNew()).toHaveLength(2), 30_000)
  await vi.waitFor(async () => expect(await pay(banner)).toBe(200), 90_000)
  server.child.kill('SIGTERM')
  server.child.once('exit', () => server.reader.resume())
  expect(await server.exited).toBe(0)
}, 180_000)

test('a server whose pipe nobody reads ends when its database has gone', async () => {
  const folder = borrowDataFolder()
  const server = startIntoPipe(folder, { PORT: '0' })
  const banner = await server.ready()
  server.reader.pause()
  await fillLog(banner, pipeLines)
  server.fillPipe()
  process.kill(
    Number(readFileSync(join(folder, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0]),
    'SIGKILL',
  )
  server.child.once('exit', () => server.reader.resume())
  expect(await server.exited).toBe(1)
})

const logs = `import { createLogger } from '#http/telemetry/log.ts'
  const logger = createLogger({ level: 'info' })
  const write = number => logger.info({ count: number, reason: 'x'.repeat(100) }, 'one of many')
  const end = number => logger.error({ count: number }, 'the last one')`
const tells = `import { tellOperator } from '#output.ts'
  const lines = []
  const write = number => lines.push(JSON.stringify({ count: number, reason: 'x'.repeat(100) }))
  const end = number => {
    write(number)
    tellOperator(lines.join('\\n'))
  }`

test.each([
  ['log', 'process.exit', logs, 'process.exit()'],
  ['log', 'an error that nobody caught', logs, "throw new Error('broken')"],
  ['words', 'process.exit', tells, 'process.exit()'],
] as const)(
  'the %s of a process that ends by %s arrives whole, also more than a pipe holds',
  async (what, _, write, ending) => {
    const program = `${write}
    for (let number = 0; number < 5_000; number += 1) write(number)
    end(5_000)
    ${ending}`
    const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
      cwd: fileURLToPath(new URL('../../', import.meta.url)),
      stdio: ['ignore', what === 'log' ? 'pipe' : 'ignore', what === 'log' ? 'ignore' : 'pipe'],
    })
    const lines = (await text((child.stdout ?? child.stderr) as Readable)).trimEnd().split('\n')
    expect(lines.map(line => JSON.parse(line).count)).toEqual([...Array(5_001).keys()])
  },
)
