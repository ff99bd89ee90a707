/**
 * `serve`: database, gateway, port, one after the other, and back in reverse when it is time. Whatever was opened is
 * closed, however far the start came.
 */
import { renderBanner } from '#commands/banner.ts'
import { forbidCoreDumps } from '#commands/core-dumps.ts'
import { type DemoMerchant, readOrCreateDemoMerchant } from '#commands/demo-merchant.ts'
import { CommandFault, describeReason } from '#commands/faults.ts'
import { findFreePort } from '#commands/free-port.ts'
import { type Lifetime, watchLifetime } from '#commands/lifetime.ts'
import { identifyNpm } from '#commands/npm-parent.ts'
import { openDatabase } from '#commands/open-database.ts'
import { releaseStartMemory } from '#commands/start-memory.ts'
import { isLoopback } from '#config/network.ts'
import type { Config } from '#config.ts'
import type { Gateway } from '#gateway.ts'

interface Closable {
  close(): Promise<void>
}

/** 14 s: one less than the 15 s after which whoever asked us to stop may use force. */
const stopDeadlineMs = 14_000

const say = (line: string) => console.error(line)

export async function serve(config: Config): Promise<void> {
  forbidCoreDumps()
  for (const warning of config.warnings) say(`warning: ${warning}`)
  const { npmScript } = config
  const lifetime = watchLifetime({
    watched: process,
    identifyParent: npmScript === undefined ? undefined : () => identifyNpm(npmScript),
    nowMs: () => performance.now(),
    every: keepLooking,
  })
  const open: Closable[] = []
  const starting = start(config, lifetime, open)
  const failure = await Promise.race([starting.then(() => lifetime.ended), lifetime.ended]).then(
    ({ fault }) => (fault === undefined ? undefined : new CommandFault(fault)),
    (error: unknown) => error,
  )
  const release = startDeadline()
  if (failure === undefined) say('Stopping: requests in flight are finished first …')
  // Interrupted in the middle, the start ends at its next step; a failure then is only the interruption's echo.
  await Promise.allSettled([starting])
  const unclosed = await closeInReverse(open)
  release()
  lifetime.release()
  if (failure !== undefined) throw failure
  if (unclosed > 0) throw new CommandFault('not everything could be closed in order; the next start recovers')
  say('Stopped.')
}

function keepLooking(milliseconds: number, look: () => void): () => void {
  const timer = setInterval(look, milliseconds).unref()
  return () => clearInterval(timer)
}

async function start(config: Config, lifetime: Lifetime, open: Closable[]): Promise<void> {
  const opening = openDatabase(config, {
    purpose: 'serve',
    onProgress: say,
    onUnexpectedExit: error => lifetime.end({ fault: error.message }),
  }).then(opened => {
    open.push(opened)
    return opened
  })
  // The code is loaded while the database starts: both take about as long.
  const [database, { createGateway, GatewayError }] = await Promise.all([opening, import('#gateway.ts')])
  if (lifetime.isEnding()) return
  const { environment, host, port, tls, trustedProxies, publicUrl, logLevel, dccMarkup } = config
  const { simulatorLatencyMs } = config
  const isReachable = !isLoopback(host) || tls !== undefined || trustedProxies !== undefined
  const loopbackWebhooks = config.loopbackWebhooks ?? !isReachable
  const gateway = await createGateway({
    environment,
    databaseUrl: database.url,
    masterKey: database.masterKey,
    listen: { host, port },
    tls: tls && { cert: tls.cert, key: tls.key.reveal() },
    trustedProxies,
    loopbackWebhooks,
    publicUrl,
    logLevel,
    dccMarkup,
    simulatorLatencyMs,
  }).catch((error: unknown) => {
    throw error instanceof GatewayError ? new CommandFault(error.message, { cause: error }) : error
  })
  open.push(gateway)
  if (gateway.weakDurability.length > 0) {
    say(`warning: a crash of the database may lose payments (${gateway.weakDurability.join(', ')})`)
  }
  const demo = await openDemo(config, gateway)
  if (lifetime.isEnding()) return
  const origin = await listen(config, gateway)
  const { place } = database
  releaseStartMemory()
  process.stdout.write(renderBanner({ environment, origin, place, demo, year: new Date().getUTCFullYear() }))
}

async function openDemo(
  { environment, dataDirectory }: Config,
  { merchants }: Gateway,
): Promise<DemoMerchant | undefined> {
  return environment === 'test' ? readOrCreateDemoMerchant(dataDirectory, merchants) : undefined
}

async function listen({ host, port, npmScript }: Config, gateway: Gateway): Promise<string> {
  try {
    return await gateway.listen()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const fault = (sentence: string) => new CommandFault(sentence, { cause: error })
    if (code === 'EADDRINUSE') {
      const free = await findFreePort(host, port + 1)
      const command = npmScript === undefined ? 'tollgate serve' : 'npm start'
      throw fault(
        free === undefined
          ? `port ${port} is taken, and so are those after it; PORT=0 ${command} takes any free one`
          : `port ${port} is taken; the next free one is ${free}: PORT=${free} ${command}`,
      )
    }
    if (code === 'EACCES') throw fault(`port ${port} is reserved for privileged users; set PORT above 1023`)
    if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
      throw fault(`HOST is "${host}", which is not an address of this machine (${code})`)
    }
    throw error
  }
}

function startDeadline(): () => void {
  const timer = setTimeout(() => {
    say(`tollgate: not everything stopped within ${stopDeadlineMs / 1000} s; leaving it behind`)
    process.exit(1)
  }, stopDeadlineMs)
  return () => clearTimeout(timer)
}

/** Returns how many could not be closed; the others are closed all the same. */
async function closeInReverse(open: readonly Closable[]): Promise<number> {
  let unclosed = 0
  for (const closable of open.toReversed()) {
    try {
      await closable.close()
    } catch (error) {
      unclosed += 1
      say(`tollgate: while stopping: ${describeReason(error)}`)
    }
  }
  return unclosed
}
