/**
 * Whether anything gets slower with the number of payments that are stored: processor time of a payment, a capture and a
 * read, the time of a start, and the time until what a killed process left is settled, at sizes that grow tenfold.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { type Line, spreadOf } from '#bench/figures.ts'
import { type GatewayProcess, startGateway } from '#bench/gateway-process.ts'
import type { GatewayRuns } from '#bench/gateway-runs.ts'
import { addHistory, type Samples, settleHistory } from '#bench/history.ts'
import { type Stage, withClient } from '#bench/stage.ts'
import type { Costs } from '#bench/watch.ts'
import { examine } from '#storage/doctor/doctor.ts'

/** 10,000 to 1,000,000 payments unless asked for more: ten million take an hour to write, and 70 GB. */
export const usualPayments = 1_000_000
const smallest = 10_000

/** The target: flat within a tenth. */
const growthMax = 1.1

/** 500 follow-ups: a second of work, after a second of preparation. */
const followUps = 500

/** 64 payments are sent at once to the process that is killed. */
const paymentsAtOnce = 64

/** 20 kills: the simulator answers within milliseconds, so a kill may come when all is settled already. */
const killsMax = 20

/** 2 s: the processor time of a connection that has ended is counted a moment later, and is not to be a payment's. */
const settledMs = 2_000

export interface GrowthBench {
  readonly stage: Stage
  readonly gateway: GatewayProcess
  readonly through: GatewayRuns
  readonly rounds: number
  readonly payments: number
  readonly say: (line: string) => void
}

interface Figures {
  readonly payments: number
  readonly captures: number
  readonly reads: number
  readonly startMs: number
  readonly recoveryMs: number
  readonly doctorMs: number
}

export async function measureGrowth(bench: GrowthBench): Promise<Line[]> {
  const { stage, payments, say } = bench
  const samples = await makeSamples(bench)
  const all: { readonly size: number; readonly figures: Figures }[] = []
  let stored = 0
  for (const size of sizesUpTo(payments)) {
    await withClient(stage.gatewayUrl, async client => {
      await addHistory(client, samples, { from: stored + 1, to: size, total: payments })
      await settleHistory(client)
    })
    stored = size
    await delay(settledMs)
    all.push({ size, figures: await measureAt(size, bench) })
    say(`growth, at ${size.toLocaleString('en-GB')} payments: ${JSON.stringify(all.at(-1)?.figures)}`)
  }
  return describeGrowth(all)
}

/** Ten times as many each, and in the end as many as are asked for. */
function sizesUpTo(payments: number): readonly number[] {
  const sizes: number[] = []
  for (let size = smallest; size < payments; size *= 10) sizes.push(size)
  return [...sizes, payments]
}

function describeGrowth(all: readonly { readonly size: number; readonly figures: Figures }[]): Line[] {
  const [first, last] = [all[0]?.figures, all.at(-1)?.figures]
  if (!first || !last) throw new Error('nothing was measured')
  const sizes = `from ${smallest.toLocaleString('en-GB')} to ${all.at(-1)?.size.toLocaleString('en-GB')} payments`
  const line = (what: string, of: keyof Figures, unit: string): Line => {
    const ratio = last[of] / first[of]
    return {
      what: `growth, ${what}, ${sizes}`,
      measured: `${ratio.toFixed(2)}× (${Math.round(first[of])} → ${Math.round(last[of])} ${unit})`,
      target: `≤ ${growthMax}×`,
      met: ratio <= growthMax,
    }
  }
  return [
    line('processor time of a payment', 'payments', 'µs'),
    line('of a capture', 'captures', 'µs'),
    line('of a read', 'reads', 'µs'),
    line('start', 'startMs', 'ms'),
    line('recovery after kill -9', 'recoveryMs', 'ms'),
    {
      what: `growth, the doctor, ${sizes}`,
      measured: `${Math.round(first.doctorMs)} → ${Math.round(last.doctorMs)} ms`,
    },
  ]
}

const sumOf = ({ gatewayUs, postgresUs }: Costs): number => gatewayUs + postgresUs

async function measureAt(size: number, { stage, through, rounds }: GrowthBench): Promise<Figures> {
  const costs = { payments: [] as number[], captures: [] as number[], reads: [] as number[] }
  const times = { start: [] as number[], recovery: [] as number[] }
  for (let round = 1; round <= rounds; round += 1) {
    const title = (what: string) => `growth ${size} ${round}/${rounds} ${what}`
    costs.payments.push(sumOf(await through.payments(title('payments'))))
    await through.prepare(followUps)
    costs.reads.push(sumOf(await through.reads(title('reads'))))
    costs.captures.push(sumOf(await through.captures(title('captures'), followUps)))
    const { startMs, recoveryMs } = await killAndRecover(stage, `growth-${size}-${round}`)
    times.start.push(startMs)
    times.recovery.push(recoveryMs)
  }
  const begun = performance.now()
  const found = (await examine(stage.gatewayUrl)).filter(check => check.found > 0)
  if (found.length > 0) throw new Error(`the doctor found ${found.map(({ name }) => name).join(', ')}`)
  return {
    payments: spreadOf(costs.payments).median,
    captures: spreadOf(costs.captures).median,
    reads: spreadOf(costs.reads).median,
    startMs: spreadOf(times.start).median,
    recoveryMs: spreadOf(times.recovery).median,
    doctorMs: performance.now() - begun,
  }
}

/** A second gateway that is killed in the middle of its work; the first one settles what it left. */
async function killAndRecover(
  stage: Stage,
  name: string,
): Promise<{ readonly startMs: number; readonly recoveryMs: number }> {
  return withClient(stage.gatewayUrl, async client => {
    const isUnderWay = async () =>
      (
        await client.query(
          `SELECT 1 FROM operation WHERE state = 'SENT' AND sent_at > now() - interval '5 minutes' LIMIT 1`,
        )
      ).rowCount !== 0
    for (let attempt = 1; attempt <= killsMax; attempt += 1) {
      const { readyMs, killedAt, answered } = await killUnderWay(stage, `${name}-${attempt}`, isUnderWay)
      // What is answered in spite of all was committed before the kill, so that nothing is left to recover.
      if (answered === paymentsAtOnce || !(await isUnderWay())) continue
      while (await isUnderWay()) await delay(50)
      return { startMs: readyMs, recoveryMs: performance.now() - killedAt }
    }
    throw new Error(`nothing was left to recover after ${killsMax} kills`)
  })
}

async function killUnderWay(
  stage: Stage,
  name: string,
  isUnderWay: () => Promise<boolean>,
): Promise<{ readonly readyMs: number; readonly killedAt: number; readonly answered: number }> {
  const { pid, port, readyMs } = await startGateway({
    dataDirectory: await stage.makeFolder(name),
    environment: stage.environment,
  })
  const sent = Array.from({ length: paymentsAtOnce }, (_, index) =>
    postPayment(port, stage, `${name}-${index}`),
  )
  let isOver = false
  const settled = Promise.allSettled(sent).finally(() => {
    isOver = true
  })
  while (!(isOver || (await isUnderWay()))) await delay(1)
  process.kill(pid, 'SIGKILL')
  const killedAt = performance.now()
  const answered = (await settled).filter(({ status }) => status === 'fulfilled').length
  return { readyMs, killedAt, answered }
}

async function postPayment(
  port: number,
  { authorization }: Stage,
  transId: string,
  key?: string,
): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${port}/api/v2/payments`, {
    method: 'POST',
    headers: {
      authorization,
      'content-type': 'application/json',
      ...(key === undefined ? {} : { 'idempotency-key': key }),
    },
    body: JSON.stringify({
      transId,
      amount: { value: 1234, currency: 'EUR' },
      captureMethod: { type: 'AUTOMATIC' },
      paymentMethods: {
        integrationType: 'DIRECT',
        type: 'CARD',
        card: {
          number: '4111111111111111',
          expiryDate: '203012',
          cardholderName: 'Ada Lovelace',
          securityCode: '123',
        },
      },
    }),
  })
  const { payId, status } = (await answer.json()) as { payId?: string; status?: string }
  if (payId === undefined || status !== 'OK') throw new Error(`a sample was answered with ${answer.status}`)
  return payId
}

async function makeSamples({ stage, gateway: { port } }: GrowthBench): Promise<Samples> {
  const paid = await postPayment(port, stage, 'history-sample-1', 'history-sample-1')
  const refunded = await postPayment(port, stage, 'history-sample-2', 'history-sample-2')
  const answer = await fetch(`http://127.0.0.1:${port}/api/v2/payments/${refunded}/refunds`, {
    method: 'POST',
    headers: { authorization: stage.authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ transId: 'history-refund', amount: { value: 1234, currency: 'EUR' } }),
  })
  if (!answer.ok) throw new Error(`a sample could not be refunded: ${answer.status}`)
  return { merchantId: stage.merchantId, paid, refunded }
}
