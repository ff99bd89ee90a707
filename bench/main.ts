/**
 * `npm run bench`: the gateway's rate against bare clients on the same PostgreSQL, its latency, and its memory. A measurement, not a test: it ends with 0 unless something broke. See docs/bench.md.
 */
import { arch, cpus, platform, totalmem } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { measureBank } from '#bench/bank.ts'
import type { BareJob } from '#bench/bare-loop.ts'
import { readCaptureTransactions, readPaymentTransactions } from '#bench/bare-rows.ts'
import { type BareRuns, bareConnections, createBareRuns } from '#bench/bare-runs.ts'
import { measureBins } from '#bench/bins.ts'
import { measureConsole } from '#bench/console.ts'
import { measureCustomers } from '#bench/customers.ts'
import { measureDatabaseMemory } from '#bench/database-memory.ts'
import {
  type Line,
  ratiosOf,
  renderTable,
  type Spread,
  showRate,
  showRates,
  showRatio,
  spreadOf,
} from '#bench/figures.ts'
import { measureFind } from '#bench/find.ts'
import { type GatewayProcess, startGateway } from '#bench/gateway-process.ts'
import { createGatewayRuns, type GatewayRuns } from '#bench/gateway-runs.ts'
import { measureGrowth, usualPayments } from '#bench/growth.ts'
import { measureHostile } from '#bench/hostile.ts'
import type { LoadJob, LoadResult } from '#bench/load.ts'
import { measurePages } from '#bench/pages.ts'
import { type Peer, startPeer } from '#bench/peer.ts'
import { findPgbench, type PgbenchForm, writePgbenchScript } from '#bench/pgbench.ts'
import { measurePlans } from '#bench/plans.ts'
import { measureCells, measureProcesses } from '#bench/processes.ts'
import { measureProvider } from '#bench/provider.ts'
import { measureRace } from '#bench/race.ts'
import { measureRefunds } from '#bench/refunds.ts'
import { type Memory, readMemory } from '#bench/resources.ts'
import { openStage, type Stage, withClient } from '#bench/stage.ts'
import { type Costs, createWatch, type Measured, numberOrders } from '#bench/watch.ts'
import { measureWebhooks } from '#bench/webhooks.ts'

const partNames = [
  'a',
  'b',
  'c',
  'captures',
  'refunds',
  'race',
  'reads',
  'customers',
  'bins',
  'plans',
  'webhooks',
  'pages',
  'hostile',
  'provider',
  'bank',
  'console',
  'find',
  'processes',
  'cells',
  'database',
  'growth',
  'start',
] as const

/** Run only on request, because they take many minutes. */
const longParts: readonly Part[] = ['database', 'growth']
type Part = (typeof partNames)[number]

const help = `npm run bench -- [options]
  --seconds N    length of each measurement (5)
  --rounds N     how often each is repeated, in turns (3)
  --only PART    a (payments against bare clients), b (latency at half rate), c (memory), captures, refunds, race,
                 reads, customers, bins (look-ups and account updater), plans, webhooks, pages (the checkout), hostile (strangers),
                 provider (a provider that answers in 100 ms), bank (a batch of debits),
                 console (among a million payments), find (a page by each filter, CSV), processes (two workers against
                 one), cells (two cells against one), start;
                 only when named: database (memory of PostgreSQL under mixed traffic, five minutes), growth (10,000 to
                 1,000,000 stored payments);
                 may be given several times (all)
  --payments N   how many payments growth ends with (1000000)
  --minutes N    how long database takes (5)
  --profile DIR  have the gateway write a profile of its processor time there (slows it down)`

/** The targets: ratios to pgbench in both of its forms, and to the driver loop. */
const pgbenchRatioMin: Record<PgbenchForm, number> = { transactions: 2.0, single: 1.3 }
const driverRatioMin = 2.6
const captureRatioMin = 2.0
const readsMin = 10_000
const p50MsMax = 5
const p99MsMax = 25
const idleMbMax = 105

/** 5 s: by then the gateway has freed the memory that only its start needed. */
const idleAfterMs = 5_000
const peakMbMax = 220
const coldStartMsMax = 6_000
const warmStartMsMax = 2_000

const pgbenchClients = [16, 64] as const
const pgbenchForms: readonly PgbenchForm[] = ['transactions', 'single']

interface Options extends Numbers {
  readonly parts: ReadonlySet<Part>
  readonly profile: string | undefined
}

interface Bench extends Options {
  readonly stage: Stage
  readonly gateway: GatewayProcess
  readonly through: GatewayRuns
  readonly bare: BareRuns
  readonly pgbench: string | undefined
}

const say = (line: string): void => console.log(line)

function readOptions(): Options | undefined {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: '5' },
      rounds: { type: 'string', default: '3' },
      only: { type: 'string', multiple: true, default: [] },
      payments: { type: 'string', default: String(usualPayments) },
      minutes: { type: 'string', default: '5' },
      profile: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return undefined
  const { seconds, rounds, payments, minutes } = readNumbers(values)
  const wanted = values.only.flatMap(text => text.split(','))
  const unknown = wanted.find(name => !partNames.some(part => part === name))
  if (unknown !== undefined) throw new Error(`--only ${unknown}: must be one of ${partNames.join(', ')}`)
  const usual = partNames.filter(part => !longParts.includes(part))
  const parts = new Set(wanted.length === 0 ? usual : (wanted as Part[]))
  return { seconds, rounds, payments, minutes, parts, profile: values.profile }
}

const numberNames = ['seconds', 'rounds', 'payments', 'minutes'] as const
type Numbers = Readonly<Record<(typeof numberNames)[number], number>>

function readNumbers(values: Readonly<Record<(typeof numberNames)[number], string>>): Numbers {
  const numbers = numberNames.map(name => {
    const number = Number(values[name])
    if (!(Number.isInteger(number) && number > 0)) throw new Error(`--${name} must be a whole number above 0`)
    return [name, number] as const
  })
  return Object.fromEntries(numbers) as Numbers
}

async function main(options: Options): Promise<void> {
  const pgbench = findPgbench()
  say(
    `machine: ${platform()} ${arch()}, ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB; Node ${process.version}`,
  )
  say(`bare clients: ${pgbench ?? 'pgbench is not installed'}; driver loop with pg`)
  const stage = await openStage()
  const load = startPeer<LoadJob, LoadResult>('./load.ts')
  const bare = startPeer<BareJob, Measured>('./bare-loop.ts')
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void stage.close().finally(() => process.exit(1)))
  }
  try {
    const lines = await measureGateway(options, { stage, load, bare, pgbench })
    if (options.parts.has('webhooks')) {
      const { seconds, rounds } = options
      lines.push(
        ...(await measureWebhooks({
          seconds,
          rounds,
          stage,
          payId: await findSample(stage, 'AUTOMATIC'),
          say,
        })),
      )
    }
    if (options.parts.has('start')) lines.push(...(await measureStarts(options, stage)))
    say(`\n${renderTable(lines)}`)
  } finally {
    load.stop()
    bare.stop()
    await stage.close()
  }
}

interface Equipment {
  readonly stage: Stage
  readonly load: Peer<LoadJob, LoadResult>
  readonly bare: Peer<BareJob, Measured>
  readonly pgbench: string | undefined
}

async function measureGateway(options: Options, { stage, load, bare, pgbench }: Equipment): Promise<Line[]> {
  const { seconds, parts } = options
  if (parts.size === 1 && parts.has('start')) return []
  const gateway = await startGateway({
    dataDirectory: await stage.makeFolder('gateway'),
    environment: stage.environment,
    profileDirectory: options.profile,
  })
  try {
    const watch = createWatch({ stage, gateway, say })
    const shared = { stage, watch, takeOrders: numberOrders(), seconds }
    const bench: Bench = {
      ...options,
      stage,
      gateway,
      pgbench,
      through: createGatewayRuns({ ...shared, gateway, load }),
      bare: createBareRuns({ ...shared, bare }),
    }
    const idle = await begin(bench)
    const lines: Line[] = []
    const rates = parts.has('a') ? await measurePayments(bench, lines) : await loadOnly(bench)
    if (parts.has('b')) await measureLatency(bench, rates, lines)
    if (parts.has('captures') || parts.has('reads')) await measureOthers(bench, lines)
    if (parts.has('refunds')) await measureRefunds(bench, lines)
    if (parts.has('race')) await measureRace(bench, lines)
    if (parts.has('customers')) await measureCustomers(bench, lines)
    if (parts.has('plans')) lines.push(...(await measurePlans({ ...bench, say })))
    if (parts.has('bins')) lines.push(...(await measureBins({ ...bench, say })))
    if (parts.has('pages')) lines.push(...(await measurePages({ ...bench, say })))
    if (parts.has('hostile')) lines.push(...(await measureHostile({ stage, port: gateway.port, say })))
    if (parts.has('c')) lines.push(...describeMemory(idle, readMemory(gateway.pid)))
    say(
      `books of the gateway: ${await bench.through.audit()}; all that was acknowledged is there, all sums hold`,
    )
    say(`books of the bare clients: ${await bench.bare.audit()}; the same`)
    if (parts.has('provider')) lines.push(...(await measureProvider({ ...bench, say })))
    // The bank runs last: its debits are written straight into the tables, and must not be there when everything else
    // is counted.
    if (parts.has('bank')) lines.push(...(await measureBank({ stage: bench.stage, say })))
    if (parts.has('console')) lines.push(...(await measureConsole({ stage, gateway, say })))
    if (parts.has('find')) lines.push(...(await measureFind({ stage, gateway, say })))
    if (parts.has('processes')) lines.push(...(await measureProcesses({ ...options, stage, load, say })))
    if (parts.has('cells')) lines.push(...(await measureCells({ ...options, stage, load, say })))
    if (parts.has('database')) lines.push(...(await measureDatabaseMemory({ ...bench, say })))
    if (parts.has('growth')) lines.push(...(await measureGrowth({ ...bench, say })))
    return lines
  } finally {
    await gateway.stop()
  }
}

/** 20,000: until then a payment costs the gateway less from second to second, because Node compiles what is hot (measured). */
const warmUpPayments = 20_000

/** Makes a few requests of every kind: the samples for the bare clients, before the idle memory is read. */
async function begin({ through, gateway }: Bench): Promise<Memory> {
  const few = 16
  await through.payments('a few requests', { count: few, warmUpMs: 0, concurrency: 1 })
  await through.prepare(few)
  await through.captures('a few captures', few)
  // Idle memory is read a few seconds after the start, when the start's memory has been freed.
  await delay(idleAfterMs)
  const idle = readMemory(gateway.pid)
  say(`idle: ${Math.round(idle.residentMb)} MB resident`)
  await through.payments('warming up', { count: warmUpPayments, warmUpMs: 0 })
  return idle
}

const findSample = (stage: Stage, captureMethod: string): Promise<string> =>
  withClient(stage.gatewayUrl, async client => {
    const text = `SELECT pay_id FROM payment WHERE capture_method = $1 AND status = 'OK' ORDER BY created_at LIMIT 1`
    const { rows } = await client.query<{ pay_id: string }>(text, [captureMethod])
    if (!rows[0]) throw new Error(`no ${captureMethod} payment to take as a sample`)
    return rows[0].pay_id
  })

type Run = Measured & Costs

async function measurePayments(bench: Bench, lines: Line[]): Promise<number[]> {
  const { stage, through, bare, rounds, pgbench } = bench
  const sample = await findSample(stage, 'AUTOMATIC')
  const transactions = await withClient(stage.gatewayUrl, client => readPaymentTransactions(client, sample))
  const folder = await stage.makeFolder('pgbench')
  const scriptOf = (form: PgbenchForm) => `${folder}/${form}.sql`
  const contests = pgbench
    ? pgbenchForms.flatMap(form => pgbenchClients.map(clients => ({ form, clients, runs: [] as Run[] })))
    : []
  for (const form of pgbenchForms) await writePgbenchScript(scriptOf(form), transactions, form)
  const gateway: Run[] = []
  const driver: Run[] = []
  for (let round = 1; round <= rounds; round += 1) {
    const title = (who: string) => `a ${round}/${rounds} ${who}`
    gateway.push(await through.payments(title('gateway')))
    for (const { form, clients, runs } of contests) {
      const options = { script: scriptOf(form), transactions, clients }
      runs.push(await bare.pgbenchPayments(title(`pgbench ${form} ${clients}`), options))
    }
    driver.push(await bare.driverPayments(title('driver loop'), transactions))
  }
  lines.push(...describeRuns('a  card payments, gateway', gateway, true))
  for (const form of pgbenchForms) {
    const [best] = contests
      .filter(contest => contest.form === form)
      .sort((one, other) => ratesOf(other.runs).median - ratesOf(one.runs).median)
    const name = form === 'single' ? 'pgbench, single statements' : 'pgbench'
    if (best)
      lines.push(
        ...compareRuns(gateway, best.runs, `${name} (${best.clients} clients)`, pgbenchRatioMin[form]),
      )
  }
  lines.push(...compareRuns(gateway, driver, `driver loop (pg, pool ${bareConnections})`, driverRatioMin))
  return gateway.map(run => run.perSecond)
}

const ratesOf = (runs: readonly Run[]): Spread => spreadOf(runs.map(run => run.perSecond))

function describeRuns(what: string, runs: readonly Run[], withGateway = false): Line[] {
  const cost = (name: string, values: number[]) => `${name} ${Math.round(spreadOf(values).median)} µs`
  const ofGateway = withGateway
    ? [
        cost(
          'gateway',
          runs.map(run => run.gatewayUs),
        ),
      ]
    : []
  const ofPostgres = cost(
    'PostgreSQL',
    runs.map(run => run.postgresUs),
  )
  return [
    { what, measured: showRates(ratesOf(runs)) },
    { what: '     processor time of each', measured: [...ofGateway, ofPostgres].join(', ') },
  ]
}

function compareRuns(ours: readonly Run[], theirs: readonly Run[], name: string, ratioMin: number): Line[] {
  const perSecond = (runs: readonly Run[]) => runs.map(run => run.perSecond)
  const ratio = spreadOf(ratiosOf(perSecond(ours), perSecond(theirs)))
  return [
    ...describeRuns(`   card payments, ${name}`, theirs),
    {
      what: `   gateway / ${name}`,
      measured: showRatio(ratio),
      target: `≥ ${ratioMin.toFixed(1)}×`,
      met: ratio.median >= ratioMin,
    },
  ]
}

/** For the parts that need a gateway under load, or its highest rate, but no comparison. */
async function loadOnly({ through, parts, rounds }: Bench): Promise<number[]> {
  const rates: number[] = []
  if (!parts.has('b') && !parts.has('c')) return rates
  for (let round = 1; round <= rounds; round += 1) {
    rates.push((await through.payments(`load ${round}/${rounds} gateway`)).perSecond)
  }
  return rates
}

async function measureLatency({ through, rounds }: Bench, rates: number[], lines: Line[]): Promise<void> {
  const arrivalsPerSecond = spreadOf(rates).median / 2
  const results: LoadResult[] = []
  for (let round = 1; round <= rounds; round += 1) {
    results.push(await through.payments(`b ${round}/${rounds} open loop`, { arrivalsPerSecond }))
  }
  const show = (values: number[]) => {
    const { median, min, max } = spreadOf(values)
    return `${median.toFixed(1)} ms (${min.toFixed(1)}–${max.toFixed(1)})`
  }
  const at = `at half rate (${showRate(arrivalsPerSecond)}/s)`
  const line = (what: string, values: number[], max: number): Line => ({
    what: `${what} ${at}`,
    measured: show(values),
    target: `≤ ${max} ms`,
    met: spreadOf(values).median <= max,
  })
  lines.push(
    line(
      'b  p50',
      results.map(result => result.p50Ms),
      p50MsMax,
    ),
    line(
      '   p99',
      results.map(result => result.p99Ms),
      p99MsMax,
    ),
  )
}

/** 1,000 payments for each requested second: their preparation must not take longer than the measurement. */
const preparedPerSecond = 1_000

async function measureOthers(bench: Bench, lines: Line[]): Promise<void> {
  const { stage, through, bare, rounds, parts, seconds } = bench
  const count = preparedPerSecond * seconds
  const sample = await findSample(stage, 'MANUAL')
  const transactions = await withClient(stage.gatewayUrl, client => readCaptureTransactions(client, sample))
  const [gateway, driver, reads]: number[][] = [[], [], []]
  for (let round = 1; round <= rounds; round += 1) {
    await through.prepare(count)
    if (parts.has('reads')) reads?.push((await through.reads(`reads ${round}/${rounds} gateway`)).perSecond)
    if (!parts.has('captures')) continue
    const title = (who: string) => `captures ${round}/${rounds} ${who}`
    gateway?.push((await through.captures(title('gateway'), count)).perSecond)
    driver?.push((await bare.driverCaptures(title('driver loop'), transactions, count)).perSecond)
  }
  if (parts.has('captures')) {
    lines.push({ what: 'captures, gateway', measured: showRates(spreadOf(gateway ?? [])) })
    lines.push({ what: 'captures, driver loop', measured: showRates(spreadOf(driver ?? [])) })
    const ratio = spreadOf(ratiosOf(gateway ?? [], driver ?? []))
    lines.push({
      what: 'captures, gateway / driver loop',
      measured: showRatio(ratio),
      target: `≥ ${captureRatioMin.toFixed(1)}×`,
      met: ratio.median >= captureRatioMin,
    })
  }
  if (parts.has('reads')) {
    const rates = spreadOf(reads ?? [])
    lines.push({
      what: 'reads (getByPayId)',
      measured: showRates(rates),
      target: `≥ ${showRate(readsMin)}/s`,
      met: rates.median >= readsMin,
    })
  }
}

function describeMemory(idle: Memory, loaded: Memory): Line[] {
  const line = (what: string, megabytes: number, max: number): Line => ({
    what,
    measured: `${Math.round(megabytes)} MB`,
    target: `≤ ${max} MB`,
    met: megabytes <= max,
  })
  const peak = loaded.peakMb === undefined ? 'after load (no peak on this system)' : 'peak under load'
  return [
    line('c  resident memory, idle', idle.residentMb, idleMbMax),
    line(`   resident memory, ${peak}`, loaded.peakMb ?? loaded.residentMb, peakMbMax),
  ]
}

/** With the embedded database, as `npm start` does it: first in an empty folder, then in the same again. */
async function measureStarts({ rounds }: Options, stage: Stage): Promise<Line[]> {
  const times = { cold: [] as number[], warm: [] as number[] }
  for (let round = 1; round <= rounds; round += 1) {
    const dataDirectory = await stage.makeFolder(`start-${round}`)
    for (const kind of ['cold', 'warm'] as const) {
      const gateway = await startGateway({ dataDirectory, environment: {} })
      await gateway.stop()
      times[kind].push(gateway.readyMs)
      say(`start ${round}/${rounds} ${kind}: ${Math.round(gateway.readyMs)} ms to ready`)
    }
  }
  const line = (what: string, values: number[], max: number): Line => {
    const { median, min, max: most } = spreadOf(values)
    const measured = `${Math.round(median)} ms (${Math.round(min)}–${Math.round(most)})`
    return { what, measured, target: `< ${max} ms`, met: median < max }
  }
  return [
    line('start, cold (empty folder)', times.cold, coldStartMsMax),
    line('start, warm', times.warm, warmStartMsMax),
  ]
}

try {
  const options = readOptions()
  if (options) await main(options)
  else say(help)
} catch (error) {
  console.error(error)
  process.exit(1)
}
