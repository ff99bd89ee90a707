/**
 * Measures whether anything gets slower with the number of stored payments: processor time of a payment, a capture and
 * a read, the time of a start, and the time until the operations of a killed process are settled, at sizes that grow
 * tenfold.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { type Line, spreadOf } from '#bench/figures.ts'
import { type GatewayProcess, startGateway } from '#bench/gateway-process.ts'
import type { GatewayRuns } from '#bench/gateway-runs.ts'
import { addHistory, type Samples, settleHistory } from '#bench/history.ts'
import { type Stage, withClient } from '#bench/stage.ts'
import type { Costs } from '#bench/watch.ts'
import { examine } from '#storage/doctor/doctor.ts'

/** 10,000 to 1,000,000 payments by default: ten million take two hours to write, and 60 GB. */
export const usualPayments = 1_000_000
const smallest = 10_000

/** The target: flat within a tenth. */
const growthMax = 1.1

/** 500 follow-ups: a second of work, after a second of preparation. */
const followUps = 500

/** 64 payments under way when the process is killed. */
const killedAt = 64

/** 15 s: longer than it takes to send and record them, shorter than the provider's timeout. */
const thinkMs = 15_000

/** 2 s: the processor time of a closed connection is counted a moment later, and must not count for a payment. */
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

/** Each size is ten times the previous one; the last is the requested number. */
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

/** Kills a second gateway in the middle of its work; the first one settles its operations. */
async function killAndRecover(
  stage: Stage,
  name: string,
): Promise<{ readonly startMs: number; readonly recoveryMs: number }> {
  const { pid, port, readyMs } = await startGateway({
    dataDirectory: await stage.makeFolder(name),
    environment: stage.environment,
  })
  await slowProvider(port, stage)
  const sent = Promise.allSettled(
    Array.from({ length: killedAt }, (_, index) => postPayment(port, stage, `${name}-${index}`)),
  )
  return withClient(stage.gatewayUrl, async client => {
    const countUnderWay = async () =>
      (
        await client.query(
          `SELECT 1 FROM operation WHERE state = 'SENT' AND sent_at > now() - interval '5 minutes'`,
        )
      ).rowCount
    while ((await countUnderWay()) !== killedAt) await delay(50)
    process.kill(pid, 'SIGKILL')
    const begun = performance.now()
    await sent
    while ((await countUnderWay()) !== 0) await delay(50)
    return { startMs: readyMs, recoveryMs: performance.now() - begun }
  })
}

/** Makes the provider slow for the next payments, so that all of them are under way at the same moment. */
async function slowProvider(port: number, { authorization }: Stage): Promise<void> {
  const answer = await fetch(`http://127.0.0.1:${port}/api/v2/test/faults`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ operation: 'AUTHORIZATION', fault: 'delay', delayMs: thinkMs, times: killedAt }),
  })
  if (!answer.ok) throw new Error(`the provider could not be slowed down: ${answer.status}`)
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
