/** Refunds through the gateway against the same two transactions in the driver loop, round by round. */
import { readRefundTransactions } from '#bench/bare-rows.ts'
import type { BareRuns } from '#bench/bare-runs.ts'
import { type Line, ratiosOf, showRates, showRatio, spreadOf } from '#bench/figures.ts'
import type { GatewayRuns } from '#bench/gateway-runs.ts'
import { type Stage, withClient } from '#bench/stage.ts'

interface Bench {
  readonly stage: Stage
  readonly through: GatewayRuns
  readonly bare: BareRuns
  readonly rounds: number
  readonly seconds: number
}

/** The target. */
const ratioMin = 2.0

/** 1,000 payments for each requested second: their preparation must not take longer than the measurement. */
const preparedPerSecond = 1_000

export async function measureRefunds(bench: Bench, lines: Line[]): Promise<void> {
  const { stage, through, bare, rounds, seconds } = bench
  const count = preparedPerSecond * seconds
  const refund = async (title: string, number: number) => {
    await through.prepare(number)
    await through.captures(`${title}, captures before`, number)
    return through.refunds(title, number)
  }
  await refund('a few refunds', 16)
  const sample = await findRefunded(stage)
  const transactions = await withClient(stage.gatewayUrl, client => readRefundTransactions(client, sample))
  const gateway: number[] = []
  const driver: number[] = []
  for (let round = 1; round <= rounds; round += 1) {
    const title = (who: string) => `refunds ${round}/${rounds} ${who}`
    gateway.push((await refund(title('gateway'), count)).perSecond)
    driver.push((await bare.driverRefunds(title('driver loop'), transactions, count)).perSecond)
  }
  const ratio = spreadOf(ratiosOf(gateway, driver))
  lines.push(
    { what: 'refunds, gateway', measured: showRates(spreadOf(gateway)) },
    { what: 'refunds, driver loop', measured: showRates(spreadOf(driver)) },
    {
      what: 'refunds, gateway / driver loop',
      measured: showRatio(ratio),
      target: `≥ ${ratioMin.toFixed(1)}×`,
      met: ratio.median >= ratioMin,
    },
  )
}

const findRefunded = (stage: Stage): Promise<string> =>
  withClient(stage.gatewayUrl, async client => {
    const text = 'SELECT pay_id FROM payment WHERE refunded > 0 ORDER BY created_at LIMIT 1'
    const { rows } = await client.query<{ pay_id: string }>(text)
    if (!rows[0]) throw new Error('no refunded payment to take as a sample')
    return rows[0].pay_id
  })
