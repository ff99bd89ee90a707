/** Runs the real command line as its users do: as processes of their own, with data folders of their own. */
import { strict as assert } from 'node:assert'
import { type ChildProcess, fork, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  closeSync,
  constants,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { inject, vi } from 'vitest'
import { run } from '#commands/run.ts'
import { memberOf } from '#domain/json.ts'
import { identifyProcess, waitUntil } from '#storage/embedded/processes.ts'
import { copyDataFolder } from '#test/support/database/copy-folder.ts'
import { afterwards } from '#test/support/database/embedded.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** 90 s: a limit for hanging processes, far above a cold start on a busy machine. */
const patienceMs = 90_000

/** Removes variables for a gateway or npm from the environment of the person who runs the tests. */
const plainEnv = {
  ...Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(TOLLGATE_|DATABASE_URL|npm_|PORT$|HOST$)/i.test(name)),
  ),
  // No load balancer needs time to react when a test stops its server.
  TOLLGATE_DRAIN_SECONDS: '0',
}

/** For a first start, or for a database elsewhere. */
export function makeEmptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-command-'))
  // Under root the database runs as the user nobody, who must be able to enter the folder.
  chmodSync(folder, 0o711)
  return folder
}

/** With the migrated database that an earlier start has left. */
export function makeDataFolder(): string {
  const folder = makeEmptyFolder()
  copyDataFolder(inject('preparedFolder'), folder)
  return folder
}

/** The same; `cleanUpAll` kills what still runs in it, and removes it. */
export function borrowDataFolder(): string {
  const folder = makeDataFolder()
  afterwards(() => rmSync(folder, { recursive: true, force: true }))
  afterwards(() => killRest(folder))
  return folder
}

export type Env = Readonly<Record<string, string>>

/** A process whose standard output can be opened but not written, like a file on a full disk. Its errors are read. */
export function startUnheard(words: readonly string[], env: Env) {
  const out = openSync(fileURLToPath(import.meta.url), 'r')
  const child = spawn(process.execPath, ['bin/tollgate.js', ...words], {
    cwd: root,
    env: { ...plainEnv, ...env },
    stdio: ['ignore', out, 'pipe'],
  })
  closeSync(out)
  const exited = once(child, 'close').then(([code]): number | null => code)
  // The second of three pipes is not there.
  return { child, exited, stderr: text(child.stderr as Readable) }
}

export async function tollgate(words: readonly string[], env: Env) {
  const child = spawn(process.execPath, ['bin/tollgate.js', ...words], {
    cwd: root,
    env: { ...plainEnv, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number | null]>,
  ])
  return { code, stdout, stderr }
}

/**
 * The same within this process, on a running database: a tenth of the time. Tests with real processes check the exit
 * code of the process, and that it opens a database of its own.
 */
export async function tollgateHere(words: readonly string[], env: Env = {}) {
  const [stdout, stderr]: [string[], string[]] = [[], []]
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
  const spies = [
    vi.spyOn(process.stdout, 'write').mockImplementation(chunk => stdout.push(String(chunk)) > 0),
    vi.spyOn(process.stderr, 'write').mockImplementation(chunk => stderr.push(String(chunk)) > 0),
    vi.spyOn(console, 'log').mockImplementation(line => void stdout.push(`${line}\n`)),
    vi.spyOn(console, 'error').mockImplementation(line => void stderr.push(`${line}\n`)),
  ]
  try {
    return { code: await run(words), stdout: stdout.join(''), stderr: stderr.join('') }
  } finally {
    for (const spy of spies) spy.mockRestore()
    vi.unstubAllEnvs()
  }
}

export interface RunningServer {
  readonly child: ChildProcess
  readonly stdout: () => string
  readonly stderr: () => string
  /** Resolves when the whole banner has been printed; throws if the process ended instead. */
  ready(): Promise<Banner>
  /** The exit code, or the signal that ended it. */
  readonly exited: Promise<number | string>
}

export interface Banner {
  readonly baseUrl: string
  readonly merchantId: string
  readonly apiKey: string
  readonly curl: string
}

/** With `npm start`, or directly; of another release when its folder is given. */
export function startServer(by: 'npm' | 'node', env: Env, cwd = root): RunningServer {
  const [command, words] = by === 'npm' ? ['npm', ['start']] : [process.execPath, ['bin/tollgate.js']]
  const child = spawn(command, words, {
    cwd,
    env: { ...plainEnv, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  return watchServer(child, child.stdout, child.stderr)
}

/** As an older Node does, which starts the server's own one and is connected with it. */
export function startLaunched(env: Env): RunningServer {
  const child = fork('bin/tollgate.js', {
    cwd: root,
    env: { ...plainEnv, ...env },
    execArgv: [],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  const { stdout, stderr } = child
  assert(stdout && stderr)
  return watchServer(child, stdout, stderr)
}

/** Directly, with at most that many open files. */
export function startWithOpenFiles(openFiles: number, env: Env): RunningServer {
  const child = spawn(
    'sh',
    ['-c', `ulimit -n ${openFiles}; exec "$0" "$@"`, process.execPath, 'bin/tollgate.js'],
    { cwd: root, env: { ...plainEnv, ...env }, stdio: ['ignore', 'pipe', 'pipe'] },
  )
  return watchServer(child, child.stdout, child.stderr)
}

/**
 * Directly, with both outputs in one pipe as a shell makes it (`2>&1 | reader`); Node's own pipes are sockets. Pausing
 * `reader` is a reader that has stalled.
 */
export function startIntoPipe(folder: string, env: Env): PipedServer {
  const path = join(folder, 'log-pipe')
  spawnSync('mkfifo', [path])
  const reader = new Socket({
    fd: openSync(path, constants.O_RDONLY | constants.O_NONBLOCK),
    writable: false,
  })
  const pipe = openSync(path, constants.O_WRONLY)
  const child = spawn(process.execPath, ['bin/tollgate.js'], {
    cwd: root,
    env: { ...plainEnv, TOLLGATE_DATA: folder, ...env },
    stdio: ['ignore', pipe, pipe],
  })
  child.once('exit', () => closeSync(pipe))
  return {
    ...watchServer(child, reader),
    reader,
    fillPipe() {
      fill(path)
      // Starting a process makes the inherited pipe blocking again, for all processes that share it.
      spawnSync('true', { stdio: ['ignore', pipe, pipe] })
    },
  }
}

interface PipedServer extends RunningServer {
  readonly reader: Socket
  /**
   * Fills the pipe to the last byte, so that not even a short line fits and a plain write blocks. Pause the reader
   * first.
   */
  readonly fillPipe: () => void
}

function fill(path: string): void {
  const pipe = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK)
  try {
    for (;;) writeSync(pipe, '\n')
  } catch (error) {
    if (memberOf(error, 'code') !== 'EAGAIN') throw error
  } finally {
    closeSync(pipe)
  }
}

function watchServer(child: ChildProcess, out: Readable, err?: Readable): RunningServer {
  let [stdout, stderr] = ['', '']
  out.setEncoding('utf8').on('data', chunk => {
    stdout += chunk
  })
  err?.setEncoding('utf8').on('data', chunk => {
    stderr += chunk
  })
  let ended = false
  // Resolves only when all output has been read, also that of the server that npm leaves behind.
  const exited = once(child, 'close').then(([code, signal]) => {
    ended = true
    return code ?? signal
  })
  return {
    child,
    stdout: () => stdout,
    stderr: () => stderr,
    exited,
    async ready() {
      await waitUntil(() => ended || /^Then:$[\s\S]*\n\n/m.test(stdout), patienceMs)
      if (ended || !stdout.includes('Then:')) throw new Error(`not started: ${stdout}${stderr}`)
      return readBanner(stdout)
    },
  }
}

function readBanner(stdout: string): Banner {
  const read = (name: string) => new RegExp(`^${name}: (\\S+)$`, 'm').exec(stdout)?.[1] ?? ''
  return {
    baseUrl: read('base URL'),
    merchantId: read('merchant id'),
    apiKey: read('API key'),
    curl: /^curl .*$/m.exec(stdout)?.[0] ?? '',
  }
}

export const login = ({ merchantId, apiKey }: { merchantId: string; apiKey: string }): string =>
  `Basic ${Buffer.from(`${merchantId}:${apiKey}`).toString('base64')}`

/** The processes of a running server: its own and its database's. */
export function readPids(folder: string): { server: number; database: number } {
  const server: number = JSON.parse(readFileSync(join(folder, 'owner.json'), 'utf8')).pid
  const [database] = readFileSync(join(folder, 'postgres', 'postmaster.pid'), 'utf8').split('\n')
  return { server, database: Number(database) }
}

export const isGone = (pid: number): boolean => identifyProcess(pid) === undefined

/** For tests that ended early: kills every process that still uses the folder. */
export async function killRest(folder: string): Promise<void> {
  let pids: number[]
  try {
    pids = Object.values(readPids(folder))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    throw error
  }
  for (const pid of pids.filter(pid => !isGone(pid))) process.kill(pid, 'SIGKILL')
  await waitUntil(() => pids.every(isGone), patienceMs)
}
