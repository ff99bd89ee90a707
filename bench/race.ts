/**
 * 10,000 captures at once on one payment, against as many captures of as many payments. Of those on one payment only
 * the first 50 are accepted and the others refused; the measurement shows that waiting for each other costs them
 * little.
 */
import { type Line, showRates, spreadOf } from '#bench/figures.ts'
import type { GatewayRuns } from '#bench/gateway-runs.ts'

interface Bench {
  readonly through: GatewayRuns
  readonly rounds: number
}

const captures = 10_000

/** The target: the race takes at most three times as long. */
const slowerMax = 3

export async function measureRace({ through, rounds }: Bench, lines: Line[]): Promise<void> {
  const apart: number[] = []
  const racing: number[] = []
  for (let round = 1; round <= rounds; round += 1) {
    await through.prepare(captures)
    const many = await through.captures(`race ${round}/${rounds} one capture each of many payments`, captures)
    const one = await through.race(`race ${round}/${rounds} all on one payment`, captures)
    apart.push(many.perSecond)
    racing.push(one.perSecond)
  }
  // The factor by which the same number takes longer.
  const longer = spreadOf(apart.map((rate, round) => rate / (racing[round] ?? Number.NaN)))
  lines.push(
    { what: 'captures, each on its own payment', measured: showRates(spreadOf(apart)) },
    { what: 'captures, all on one payment', measured: showRates(spreadOf(racing)) },
    {
      what: '   time on one / on many',
      measured: `${longer.median.toFixed(2)}× (${longer.min.toFixed(2)}–${longer.max.toFixed(2)})`,
      target: `≤ ${slowerMax.toFixed(1)}×`,
      met: longer.median <= slowerMax,
    },
  )
}
