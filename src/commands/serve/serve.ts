/**
 * `serve`: opens database, gateway and port in this order, and closes them in reverse order. Everything that was opened
 * is closed, however far the start got. With several workers this process owns the database and they serve
 * (cluster.ts).
 */

import { spawnSync } from 'node:child_process'
import cluster from 'node:cluster'
import { readFileSync, writeFileSync } from 'node:fs'
import { openMerchants } from '#cells/open-merchants.ts'
import { CommandFault, describeReason } from '#commands/faults.ts'
import { type OpenDatabase, openDatabase } from '#commands/open-database.ts'
import { renderBanner } from '#commands/serve/banner.ts'
import { reportReady, startWorkers, takeWorkerRole } from '#commands/serve/cluster.ts'
import { findConsole } from '#commands/serve/console-link.ts'
import { type DemoMerchant, readOrCreateDemoMerchant } from '#commands/serve/demo-merchant.ts'
import { findFreePort } from '#commands/serve/free-port.ts'
import { type Lifetime, waitForEnd, watchLifetime } from '#commands/serve/lifetime.ts'
import { identifyNpm } from '#commands/serve/npm-parent.ts'
import { consoleOriginOf, rememberServed } from '#commands/serve/served.ts'
import { releaseStartMemory } from '#commands/serve/start-memory.ts'
import type { Config } from '#config.ts'
import { memberOf, textAt } from '#domain/json.ts'
import type { Gateway } from '#gateway.ts'
import type { MerchantAdministration } from '#operations/merchants/merchants.ts'
import { openStandardOutput, tellOperator } from '#output.ts'

interface Closable {
  close(serveForMs?: number): Promise<void>
}

/** 10 s for requests under way, plus the configured drain time; after that a supervisor may kill the process. */
const stopDeadlineMs = 10_000

export async function serve(config: Config): Promise<void> {
  forbidCoreDumps()
  if (cluster.isPrimary) for (const warning of config.warnings) tellOperator(`warning: ${warning}`)
  const { npmScript } = config
  const lifetime = watchLifetime({
    watched: process,
    identifyParent: npmScript === undefined || cluster.isWorker ? undefined : () => identifyNpm(npmScript),
    nowMs: () => performance.now(),
    every: repeatEvery,
  })
  const open: Closable[] = []
  const starting = start(config, lifetime, open)
  const { failure: thrown, ending } = await waitForEnd(starting, lifetime)
  const failure = ending.fault === undefined ? thrown : new CommandFault(ending.fault)
  const serveForMs = ending.drains ? config.drainSeconds * 1_000 : 0
  const release = startDeadline(stopDeadlineMs + serveForMs)
  if (failure === undefined && cluster.isPrimary)
    tellOperator('Stopping: requests in flight are finished first …')
  // An interrupted start ends at its next step; an error then only reflects the interruption.
  await Promise.allSettled([starting])
  const unclosed = await closeInReverse(open, serveForMs)
  release()
  lifetime.release()
  if (failure !== undefined) throw failure
  if (unclosed > 0)
    throw new CommandFault(
      'not everything could be closed in order; nothing is lost, the next start recovers',
    )
  if (cluster.isPrimary) tellOperator('Stopped.')
}

function repeatEvery(milliseconds: number, look: () => void): () => void {
  const timer = setInterval(look, milliseconds).unref()
  return () => clearInterval(timer)
}

async function start(config: Config, lifetime: Lifetime, open: Closable[]): Promise<void> {
  const opening = openDatabase(config, {
    // A worker borrows the database that its primary owns.
    purpose: cluster.isWorker ? 'command' : 'serve',
    cellsReady: cluster.isWorker,
    onProgress: tellOperator,
    onUnexpectedExit: error => lifetime.end({ fault: error.message }),
  }).then(opened => {
    open.push(opened)
    return opened
  })
  if (cluster.isPrimary && config.workers > 1) {
    return startPrimary({ config, database: await opening, lifetime, open })
  }
  // With several workers or cells there are many connections to wait for, and loading code would keep them waiting on a
  // busy machine until they time out.
  if (cluster.isWorker || config.cells > 1 || config.cellUrls.length > 0) await opening
  // The code is loaded while the database starts: both take about as long.
  const [database, { createGateway, GatewayError }] = await Promise.all([opening, import('#gateway.ts')])
  if (lifetime.isEnding()) return
  const role = takeWorkerRole()
  const gateway = await createGateway({ ...toGatewayOptions(config, database), ...role }).catch(
    (error: unknown) => {
      throw error instanceof GatewayError ? new CommandFault(error.message, { cause: error }) : error
    },
  )
  role?.serve(gateway)
  open.push(gateway)
  if (role === undefined) warnOfWeakness(gateway.weakDurability)
  const demo = role ? undefined : await openDemo(config, gateway.merchants)
  if (lifetime.isEnding()) return
  const origin = await listen(config, gateway)
  releaseStartMemory()
  if (role) reportReady({ origin, weakDurability: gateway.weakDurability, processes: gateway.processes() })
  else await greet(config, { origin, database, place: database.place, demo, open })
}

const warnOfWeakness = (weak: readonly string[]): void => {
  if (weak.length > 0) tellOperator(`warning: the database may lose payments in a crash (${weak.join(', ')})`)
}

interface Started {
  readonly origin: string
  readonly database: OpenDatabase
  readonly place: string
  readonly demo?: DemoMerchant | undefined
  readonly open: Closable[]
}

async function greet(config: Config, { origin, database, place, demo, open }: Started): Promise<void> {
  const forget = rememberServed(config, origin)
  open.push({ close: async () => forget() })
  const { environment } = config
  const console = await findConsole(config, database, consoleOriginOf(config, origin))
  const year = new Date().getUTCFullYear()
  openStandardOutput().write(renderBanner({ environment, origin, place, demo, console, year }))
}

interface Primary {
  readonly config: Config
  readonly database: OpenDatabase
  readonly lifetime: Lifetime
  readonly open: Closable[]
}

/** Owns the database, keeps the workers running and greets once all of them listen. */
async function startPrimary({ config, database, lifetime, open }: Primary): Promise<void> {
  const { environment, workers } = config
  if (lifetime.isEnding()) return
  const { merchants, close } = await openMerchants({
    environment,
    cells: database.cells,
    masterKey: database.masterKey,
  })
  const demo = await openDemo(config, merchants).finally(close)
  if (lifetime.isEnding()) return
  const group = startWorkers(workers, tellOperator)
  open.push(group)
  const { origin, weakDurability } = await group.ready
  warnOfWeakness(weakDurability)
  await greet(config, { origin, database, place: `${database.place} (${workers} workers)`, demo, open })
}

function toGatewayOptions(config: Config, database: OpenDatabase) {
  const { environment, host, port, tls, trustedProxies, publicUrl, logLevel, dccMarkup } = config
  const { simulatorLatencyMs } = config
  return {
    environment,
    databaseUrl: database.url,
    cells: database.cells.slice(1),
    findCells: database.listCells,
    masterKey: database.masterKey,
    listen: { host, port },
    tls: tls && {
      ...{ cert: tls.cert, key: tls.key.reveal() },
      readAgain: () => ({
        cert: readFileSync(tls.files.cert, 'utf8'),
        key: readFileSync(tls.files.key, 'utf8'),
      }),
    },
    trustedProxies,
    loopbackWebhooks: config.loopbackWebhooks,
    securityContact: config.securityContact,
    publicUrl,
    logLevel,
    dccMarkup,
    simulatorLatencyMs,
    console: config.console,
    consolePort: config.consolePort,
    workers: config.workers,
  }
}

async function openDemo(
  { environment, dataDirectory }: Config,
  merchants: MerchantAdministration,
): Promise<DemoMerchant | undefined> {
  return environment === 'test' ? readOrCreateDemoMerchant(dataDirectory, merchants) : undefined
}

async function listen(config: Config, gateway: Gateway): Promise<string> {
  const { host, port, consolePort, npmScript } = config
  try {
    return await gateway.listen()
  } catch (error) {
    const code = textAt(error, 'code')
    const fault = (sentence: string) => new CommandFault(sentence, { cause: error })
    const isConsole = consolePort !== undefined && memberOf(error, 'port') === consolePort
    if (code === 'EADDRINUSE' && isConsole)
      throw fault(`port ${consolePort} is taken; set TOLLGATE_CONSOLE_PORT to another one`)
    if (code === 'EADDRINUSE') {
      const free = await findFreePort(host, port + 1)
      const command = npmScript === undefined ? 'tollgate serve' : 'npm start'
      throw fault(
        free === undefined
          ? `port ${port} is taken, and so are those after it; PORT=0 ${command} takes any free one`
          : `port ${port} is taken; the next free one is ${free}: PORT=${free} ${command}`,
      )
    }
    if (code === 'EACCES') {
      const [reserved, name] = isConsole ? [consolePort, 'TOLLGATE_CONSOLE_PORT'] : [port, 'PORT']
      throw fault(`port ${reserved} is reserved for privileged users; set ${name} above 1023`)
    }
    if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
      throw fault(`HOST is "${host}", which is not an address of this machine (${code})`)
    }
    throw error
  }
}

function startDeadline(milliseconds: number): () => void {
  const timer = setTimeout(() => {
    tellOperator(
      `tollgate: not everything stopped within ${milliseconds / 1000} s; the process ends without it, and the next start recovers`,
    )
    process.exit(1)
  }, milliseconds)
  return () => clearTimeout(timer)
}

/** Returns how many could not be closed; the others are closed all the same. */
async function closeInReverse(open: readonly Closable[], serveForMs: number): Promise<number> {
  let unclosed = 0
  for (const closable of open.toReversed()) {
    try {
      await closable.close(serveForMs)
    } catch (error) {
      unclosed += 1
      tellOperator(`tollgate: an error while stopping: ${describeReason(error)}`)
    }
  }
  return unclosed
}

/**
 * A core dump would write keys and card numbers to the disk in clear text, so core dumps of this process are disabled.
 * Node cannot lower its own limit, so `prlimit` does; where that is missing, the contents of a dump are filtered out
 * instead.
 */
export function forbidCoreDumps(): void {
  if (process.platform !== 'linux') return
  try {
    // Inherited by the database that we start.
    writeFileSync('/proc/self/coredump_filter', '0')
  } catch {
    // A kernel without core dumps, or a /proc that may not be written to.
  }
  spawnSync('prlimit', [`--pid=${process.pid}`, '--core=0:0'], { stdio: 'ignore' })
}
