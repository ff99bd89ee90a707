/**
 * `npm run test:failover`: a primary and a synchronous standby, a gateway under load, kill -9 of the primary, promotion.
 * Proves that no acknowledged payment is lost, that clients see 503 and never 500, and measures the outage. Needs
 * PostgreSQL's standby tools (pg_basebackup, pg_ctl), which the embedded database does not bring; says so without them.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createConnection, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { cardPayment } from '#test/support/gateway.ts'

const needed = ['initdb', 'pg_ctl', 'pg_basebackup', 'psql', 'createdb']
const root = new URL('..', import.meta.url).pathname
const say = (line: string): void => console.log(line)

/** PostgreSQL refuses to run as root: then it runs as nobody. */
const owner = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}

function findTools(): string | undefined {
  const versions = '/usr/lib/postgresql'
  const folders = existsSync(versions) ? readdirSync(versions).map(name => join(versions, name, 'bin')) : []
  const onPath = (process.env.PATH ?? '').split(':')
  return [...folders.toSorted().toReversed(), ...onPath].find(folder =>
    needed.every(name => existsSync(join(folder, name))),
  )
}

/** The seconds of load before and after the primary dies. */
const loadSeconds = 5

/** Below those that systems give to outgoing connections, one of which may hold a port at the wrong moment. */
const ports = { primary: 15_811, standby: 15_812, proxy: 15_813 }

async function main(tools: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-failover-'))
  chmodSync(folder, 0o755)
  if (owner.uid !== undefined) chownSync(folder, owner.uid, owner.gid)
  const run = (name: string, ...words: string[]): string =>
    execFileSync(join(tools, name), words, {
      ...owner,
      cwd: folder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    })
  const proxy = await openProxy(ports.primary)
  let gateway: ChildProcess | undefined
  try {
    startPair(run, folder)
    say('primary and synchronous standby are running')
    const databaseUrl = `postgres://tollgate@127.0.0.1:${ports.proxy}/tollgate`
    const started = await startGateway(join(folder, 'gateway'), databaseUrl)
    gateway = started.child
    const load = startTraffic(started)
    await delay(loadSeconds * 1_000)
    const killedAt = performance.now()
    killPrimary(folder)
    run('pg_ctl', 'promote', '-D', join(folder, 'standby'), '-w')
    proxy.switchTo(ports.standby)
    say(`the primary was killed, the standby promoted after ${Math.round(performance.now() - killedAt)} ms`)
    await delay(loadSeconds * 1_000)
    await load.stop()
    await report(load, started, databaseUrl)
  } finally {
    gateway?.kill('SIGKILL')
    proxy.close()
    for (const name of ['primary', 'standby'])
      spawnSync(join(tools, 'pg_ctl'), ['stop', '-D', join(folder, name), '-m', 'immediate'], owner)
    rmSync(folder, { recursive: true, force: true })
  }
}

function startPair(run: (name: string, ...words: string[]) => string, folder: string): void {
  const [primary, standby] = [join(folder, 'primary'), join(folder, 'standby')]
  run('initdb', '-D', primary, '-U', 'tollgate', '-A', 'trust', '--no-instructions')
  const common = (port: number): string =>
    `-p ${port} -k ${folder} -c listen_addresses=127.0.0.1 -c max_connections=60`
  run('pg_ctl', 'start', '-D', primary, '-w', '-l', join(folder, 'primary.log'), '-o', common(ports.primary))
  run('createdb', '-h', '127.0.0.1', '-p', String(ports.primary), '-U', 'tollgate', 'tollgate')
  const source = ['-h', '127.0.0.1', '-p', String(ports.primary), '-U', 'tollgate']
  run('pg_basebackup', ...source, '-D', standby, '-R', '-X', 'stream', '-c', 'fast')
  // Once promoted it has no standby of its own for which it could wait.
  const alone = '-c synchronous_standby_names='
  run(
    'pg_ctl',
    'start',
    '-D',
    standby,
    '-w',
    '-l',
    join(folder, 'standby.log'),
    '-o',
    `${common(ports.standby)} ${alone}`,
  )
  run('psql', ...source, '-d', 'tollgate', '-c', "ALTER SYSTEM SET synchronous_standby_names = '*'")
  run('psql', ...source, '-d', 'tollgate', '-c', 'SELECT pg_reload_conf()')
}

function killPrimary(folder: string): void {
  const [pid] = readFileSync(join(folder, 'primary', 'postmaster.pid'), 'utf8').split('\n')
  process.kill(Number(pid), 'SIGKILL')
}

/** Replaces HAProxy: one address that forwards to the current primary. */
async function openProxy(first: number) {
  let target = first
  const sockets = new Set<Socket>()
  const server = createServer(client => {
    const upstream = createConnection(target, '127.0.0.1')
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => socket.destroy())
      socket.on('close', () => {
        sockets.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
    client.pipe(upstream).pipe(client)
  })
  await new Promise<void>(resolve => server.listen(ports.proxy, '127.0.0.1', resolve))
  return {
    switchTo(port: number) {
      target = port
      for (const socket of sockets) socket.destroy()
    },
    close() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

interface Started {
  readonly child: ChildProcess
  readonly baseUrl: string
  readonly authorization: string
  readonly data: string
}

async function startGateway(data: string, databaseUrl: string): Promise<Started> {
  const env = {
    ...process.env,
    TOLLGATE_DATA: data,
    DATABASE_URL: databaseUrl,
    PORT: '0',
    TOLLGATE_DRAIN_SECONDS: '0',
  }
  const child = spawn(process.execPath, ['bin/tollgate.js', 'serve'], {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  child.stdout?.setEncoding('utf8').on('data', chunk => {
    text += chunk
  })
  const read = (name: string): string | undefined => new RegExp(`^${name}: (\\S+)$`, 'm').exec(text)?.[1]
  for (let waited = 0; read('webhook secret') === undefined; waited += 1) {
    if (waited > 600 || child.exitCode !== null) throw new Error(`the gateway did not start: ${text}`)
    await delay(100)
  }
  const login = Buffer.from(`${read('merchant id')}:${read('API key')}`).toString('base64')
  return { child, baseUrl: read('base URL') ?? '', authorization: `Basic ${login}`, data }
}

interface Traffic {
  readonly acknowledged: string[]
  readonly unheard: { readonly body: unknown; readonly key: string }[]
  readonly statuses: Map<number, number>
  /** Milliseconds between two successes, the longest. */
  outageMs: number
  stop(): Promise<void>
}

async function send({ baseUrl, authorization }: Started, body: unknown, key: string) {
  const headers = { authorization, 'content-type': 'application/json', 'idempotency-key': key }
  const response = await fetch(`${baseUrl}/payments`, { method: 'POST', headers, body: JSON.stringify(body) })
  const answer = (await response.json()) as { payId?: string }
  return { status: response.status, payId: answer.payId }
}

function startTraffic(started: Started): Traffic {
  let stopped = false
  let made = 0
  let lastSuccess = performance.now()
  const traffic: Traffic = {
    acknowledged: [],
    unheard: [],
    statuses: new Map(),
    outageMs: 0,
    async stop() {
      stopped = true
      await Promise.all(callers)
    },
  }
  const callers = Array.from({ length: 8 }, async () => {
    while (!stopped) {
      const key = `failover-${++made}`
      const body = cardPayment({ transId: key })
      const { status, payId } = await send(started, body, key).catch(() => ({ status: 0, payId: undefined }))
      traffic.statuses.set(status, (traffic.statuses.get(status) ?? 0) + 1)
      if (status === 200 && payId) {
        traffic.acknowledged.push(payId)
        traffic.outageMs = Math.max(traffic.outageMs, performance.now() - lastSuccess)
        lastSuccess = performance.now()
      } else {
        traffic.unheard.push({ body, key })
        await delay(200)
      }
    }
  })
  return traffic
}

/** Asynchronous, because the proxy to the database runs in this process and must not be blocked. */
async function examine(env: NodeJS.ProcessEnv): Promise<{ healthy: boolean; said: string }> {
  const child = spawn(process.execPath, ['bin/tollgate.js', 'doctor'], { cwd: root, env })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', text => {
      said += text
    })
  const [code] = await once(child, 'close')
  return { healthy: code === 0, said }
}

async function report(load: Traffic, started: Started, databaseUrl: string): Promise<void> {
  const { baseUrl, authorization, data } = started
  let lost = 0
  for (const payId of load.acknowledged) {
    const response = await fetch(`${baseUrl}/payments/getByPayId/${payId}`, { headers: { authorization } })
    if (response.status !== 200) lost += 1
  }
  for (const { body, key } of load.unheard) {
    const { status } = await send(started, body, key)
    if (status !== 200 && status !== 422) throw new Error(`a repetition with its key was answered ${status}`)
  }
  const env = { ...process.env, TOLLGATE_DATA: data, DATABASE_URL: databaseUrl }
  const doctor = await examine(env)
  const statuses = [...load.statuses].map(
    ([status, count]) => `${count} × ${status === 0 ? 'no answer' : status}`,
  )
  say(
    `acknowledged ${load.acknowledged.length}, lost ${lost}; outage ${Math.round(load.outageMs)} ms; answers: ${statuses.join(', ')}`,
  )
  say(`doctor: ${doctor.healthy ? 'healthy' : doctor.said}`)
  if (lost > 0 || !doctor.healthy || (load.statuses.get(500) ?? 0) > 0)
    throw new Error('the failover was not clean')
}

const tools = findTools()
if (tools === undefined) {
  say(
    `PostgreSQL's standby tools are not installed: ${needed.join(', ')} (on Debian: apt-get install postgresql)`,
  )
  process.exitCode = 2
} else {
  await main(tools)
}
