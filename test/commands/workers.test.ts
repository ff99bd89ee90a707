/** Several workers behind one port: they share the traffic, a frozen one is replaced, and stopping drains. */
import { readFileSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { type Banner, borrowDataFolder, login, startServer } from '#test/support/command-line.ts'
import { afterwards, cleanUpAll } from '#test/support/database/embedded.ts'
import { cardPayment } from '#test/support/gateway.ts'

afterEach(cleanUpAll)

async function pay(banner: Banner): Promise<{ status: number; connection: string | null }> {
  const response = await fetch(`${banner.baseUrl}/payments`, {
    method: 'POST',
    headers: { authorization: login(banner), 'content-type': 'application/json' },
    body: JSON.stringify(cardPayment()),
  })
  await response.text()
  return { status: response.status, connection: response.headers.get('connection') }
}

/** Requests the URL on a connection of its own, and returns the status. */
const askAlone = (url: string): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    get(url, { agent: false }, response => resolve(response.resume().statusCode)).on('error', reject)
  })

const sumOf = (metrics: string, name: string): number =>
  [...metrics.matchAll(new RegExp(`^${name}\\{[^}]*\\} (\\d+)$`, 'gm'))].reduce(
    (sum, [, n]) => sum + Number(n),
    0,
  )

test('two workers share the traffic, one that is frozen is killed and replaced, and they serve while they drain', async () => {
  const server = startServer('node', {
    TOLLGATE_DATA: borrowDataFolder(),
    PORT: '0',
    TOLLGATE_WORKERS: '2',
    TOLLGATE_DRAIN_SECONDS: '2',
  })
  const banner = await server.ready()
  const origin = new URL(banner.baseUrl).origin
  const statuses = await Promise.all(Array.from({ length: 20 }, async () => (await pay(banner)).status))
  expect(statuses).toEqual(Array.from({ length: 20 }, () => 200))
  // Metrics do not wait for a worker that is too busy to answer at once.
  await vi.waitFor(async () => {
    const metrics = await (await fetch(`${origin}/metrics`)).text()
    expect(sumOf(metrics, 'tollgate_operation_outcomes_total')).toBe(40)
  }, 30_000)

  const workerLines = () =>
    server
      .stdout()
      .split('\n')
      .filter(line => line.includes('"operationId":"createPayment"'))
      .map(line => JSON.parse(line).worker as number)
  await vi.waitFor(() => expect(workerLines()).toHaveLength(20), 30_000)
  expect(new Set(workerLines())).toEqual(new Set([1, 2]))

  // A connection that a frozen worker was about to take goes to another one, and its metrics are not waited for.
  const [victim] = [...server.stderr().matchAll(/worker 1 runs as process (\d+)/g)].map(([, pid]) =>
    Number(pid),
  )
  process.kill(victim ?? 0, 'SIGSTOP')
  const asked = Array.from({ length: 8 }, () => askAlone(`${origin}/health/live`))
  expect(await askAlone(`${origin}/metrics`)).toBe(200)
  expect(await Promise.all(asked)).toEqual(Array.from({ length: 8 }, () => 200))
  await vi.waitFor(() => expect(server.stderr()).toContain('another one takes its place'), 30_000)
  expect(server.stderr()).toContain('worker 1 does not answer any more; it is killed')
  expect((await pay(banner)).status).toBe(200)

  server.child.kill('SIGTERM')
  await vi.waitFor(async () => expect((await fetch(`${origin}/health/ready`)).status).toBe(503), 30_000)
  expect(await pay(banner)).toEqual({ status: 200, connection: 'close' })
  expect(await server.exited).toBe(0)
})

test('workers that are all killed at once leave no client waiting and come back at the same address, also when any free port was asked for', async () => {
  const server = startServer('node', { TOLLGATE_DATA: borrowDataFolder(), PORT: '0', TOLLGATE_WORKERS: '2' })
  const banner = await server.ready()
  const [first = 0, second = 0] = [...server.stderr().matchAll(/worker \d+ runs as process (\d+)/g)].map(
    ([, pid]) => Number(pid),
  )
  // Two connections go to two workers: when one is answered, the other is at the frozen worker.
  process.kill(first, 'SIGSTOP')
  const asked = Array.from({ length: 2 }, () => askAlone(`${new URL(banner.baseUrl).origin}/health/live`))
  expect(await Promise.race(asked)).toBe(200)
  // The primary sees both ends at once.
  process.kill(server.child.pid ?? 0, 'SIGSTOP')
  for (const pid of [first, second]) {
    process.kill(pid, 'SIGKILL')
    await vi.waitFor(() => expect(readFileSync(`/proc/${pid}/stat`, 'utf8')).toContain(') Z '), 10_000)
  }
  process.kill(server.child.pid ?? 0, 'SIGCONT')
  expect(await Promise.allSettled(asked)).toMatchObject([{}, {}])
  // Refused until a worker listens again. 3 min: the first one is started twice, and on a machine with ten times the work
  // that it can do a start takes half a minute.
  await vi.waitFor(async () => expect((await pay(banner)).status).toBe(200), 180_000)
  server.child.kill('SIGTERM')
  expect(await server.exited).toBe(0)
}, 300_000)

/** A connection over which nothing is ever sent. */
function hold(origin: string): Promise<Socket> {
  return new Promise(resolve => {
    const socket = connect(Number(new URL(origin).port), '127.0.0.1', () => resolve(socket))
    afterwards(() => void socket.destroy())
    // The server resets a connection that it does not take.
    socket.on('error', () => undefined).resume()
  })
}

const countIdleDrops = async (origin: string): Promise<number> => {
  const metrics = await (await fetch(`${origin}/metrics`)).text()
  return Number(
    /^tollgate_connections_dropped_total\{reason="address_idle"\} (\d+)$/m.exec(metrics)?.[1] ?? 0,
  )
}

test('one address holds no more idle connections with several workers than with one', async () => {
  const server = startServer('node', { TOLLGATE_DATA: borrowDataFolder(), PORT: '0', TOLLGATE_WORKERS: '2' })
  const banner = await server.ready()
  const { origin } = new URL(banner.baseUrl)
  // At once: idle ones end after ten seconds, and one by one a busy machine takes longer than that.
  await Promise.all(Array.from({ length: 250 }, () => hold(origin)))
  // The other 100 end later, because they are idle for too long.
  await vi.waitFor(async () => expect(await countIdleDrops(origin)).toBeGreaterThanOrEqual(150), 30_000)
})

test('a worker whose replacement cannot start: the reason is printed, and the start is retried until it succeeds', async () => {
  const folder = borrowDataFolder()
  const server = startServer('node', { TOLLGATE_DATA: folder, PORT: '0', TOLLGATE_WORKERS: '2' })
  await server.ready()
  const keyFile = join(folder, 'master.key')
  const key = readFileSync(keyFile)
  writeFileSync(keyFile, `${Buffer.alloc(32, 7).toString('base64')}\n`)
  const [, pid] = /worker 1 runs as process (\d+)/.exec(server.stderr()) ?? []
  process.kill(Number(pid), 'SIGKILL')
  await vi.waitFor(
    () => expect(server.stderr()).toMatch(/worker \d+ ended \(this database was sealed with the master key /),
    60_000,
  )
  writeFileSync(keyFile, key)
  // The last one that was started stays.
  await vi.waitFor(async () => {
    const pids = [...server.stderr().matchAll(/runs as process (\d+)/g)].map(([, number]) => Number(number))
    expect(server.stdout()).toContain(`"worker":${pids.length}`)
  }, 60_000)
  server.child.kill('SIGINT')
  expect(await server.exited).toBe(0)
})

/** Kills the first workers as soon as they are started. */
async function killStarting(server: ReturnType<typeof startServer>, count: number): Promise<void> {
  for (let worker = 1; worker <= count; worker += 1) {
    const line = new RegExp(`worker ${worker} runs as process (\\d+)`)
    await vi.waitFor(() => expect(server.stderr()).toMatch(line), { timeout: 60_000, interval: 5 })
    process.kill(Number(line.exec(server.stderr())?.[1]), 'SIGKILL')
  }
}

test('workers that are killed before the group is ready are replaced, and the server starts', async () => {
  const server = startServer('node', { TOLLGATE_DATA: borrowDataFolder(), PORT: '0', TOLLGATE_WORKERS: '2' })
  await killStarting(server, 2)
  const banner = await server.ready()
  expect((await pay(banner)).status).toBe(200)
  expect(server.stderr()).toContain('worker 1 ended (SIGKILL); another one takes its place')
})

test('when one worker after the other is killed before it is ready, the start ends and says so', async () => {
  const server = startServer('node', { TOLLGATE_DATA: borrowDataFolder(), PORT: '0', TOLLGATE_WORKERS: '2' })
  await killStarting(server, 4)
  expect(await server.exited).toBe(1)
  expect(server.stderr()).toMatch(/worker \d ended before it was ready \(SIGKILL\), as did 3 before it/)
})

test('a port that is taken is reported once', async () => {
  const taken = createServer()
  await new Promise<void>(resolve => taken.listen(0, '127.0.0.1', resolve))
  afterwards(() => void taken.close())
  const { port } = taken.address() as { port: number }
  const server = startServer('node', {
    TOLLGATE_DATA: borrowDataFolder(),
    PORT: String(port),
    TOLLGATE_WORKERS: '2',
  })
  expect(await server.exited).toBe(1)
  expect(server.stderr().match(/is taken/g)).toHaveLength(1)
  expect(server.stderr()).not.toContain('tollgate: tollgate:')
})
