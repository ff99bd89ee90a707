/** The gateway as a user runs it: a process of its own, logging at the usual level, reached over HTTP. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

export interface GatewayProcess {
  readonly pid: number
  readonly port: number
  /** From the start of the process to the first answer that it is ready. */
  readonly readyMs: number
  stop(): Promise<void>
}

export interface GatewayProcessOptions {
  readonly dataDirectory: string
  readonly environment: Readonly<Record<string, string>>
  /** Where to put a profile of the processor time. */
  readonly profileDirectory?: string
}

/** 60 s: ten times the slowest promised start. */
const startTimeoutMs = 60_000

/** 5 ms: fine enough for a start of half a second, rare enough not to slow it down. */
const pollMs = 5

const launcher = fileURLToPath(new URL('../bin/tollgate.js', import.meta.url))

export async function startGateway(options: GatewayProcessOptions): Promise<GatewayProcess> {
  const { dataDirectory, environment, profileDirectory } = options
  const port = await findFreePort()
  const logFile = join(dataDirectory, 'gateway.log')
  const log = openSync(logFile, 'a')
  const profiling = profileDirectory ? ['--cpu-prof', `--cpu-prof-dir=${profileDirectory}`] : []
  const begun = performance.now()
  const child = spawn(process.execPath, [...startFlags(), ...profiling, launcher, 'serve'], {
    // Only these variables: the caller's shell must not change the measurement.
    env: { PATH: process.env.PATH, TOLLGATE_DATA: dataDirectory, PORT: String(port), ...environment },
    stdio: ['ignore', log, log],
  })
  closeSync(log)
  const exited = once(child, 'exit')
  // However the bench ends, it leaves nothing running.
  const kill = () => void child.kill('SIGKILL')
  process.once('exit', kill)
  while (!(await isReady(port))) {
    if (child.exitCode !== null || performance.now() - begun > startTimeoutMs) {
      kill()
      throw new Error(`the gateway did not start: ${readFileSync(logFile, 'utf8').slice(-2000)}`)
    }
    await delay(pollMs)
  }
  const readyMs = performance.now() - begun
  if (child.pid === undefined) throw new Error('the gateway has no process')
  return {
    pid: child.pid,
    port,
    readyMs,
    async stop() {
      child.kill('SIGTERM')
      await exited
      process.off('exit', kill)
    },
  }
}

/** The flags that `npm start` gives to Node, so that what is measured is what runs. */
function startFlags(): string[] {
  const { scripts } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    scripts: { start: string }
  }
  return scripts.start.split(' ').filter(word => word.startsWith('--'))
}

async function isReady(port: number): Promise<boolean> {
  try {
    const answer = await fetch(`http://127.0.0.1:${port}/health/ready`, { headers: { connection: 'close' } })
    await answer.arrayBuffer()
    return answer.status === 200
  } catch (error) {
    // The connection is refused until the gateway listens.
    if (error instanceof TypeError) return false
    throw error
  }
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('no port is free')
  return address.port
}
