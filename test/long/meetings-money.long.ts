/**
 * Random money movements on the same few card payments at the same moment, in two processes: refunds of named captures,
 * raised authorisations, payouts below a limit, accepted disputes, and requests that come twice under one key. The
 * meetings of `npm test` have fewer of each.
 */
import { test } from 'vitest'
import { dayMs, hourMs } from '#test/support/clock.ts'
import { leave, meet, openScene, part, runTimers, withPayment } from '#test/support/simulation/meetings.ts'
import {
  actOnDispute,
  expectPayoutsCounted,
  limitPayouts,
  type MoneyAct,
  type MoneyScene,
  payOut,
  refundNamed,
  reserve,
  withKey,
} from '#test/support/simulation/money-acts.ts'

const seeds = Array.from({ length: 20 }, (_, at) => at + 1)
const rounds = 40

const loseAnswer: MoneyAct = async ({ random, acquirer }) =>
  acquirer.failNext(
    random.pick(['AUTHORIZATION', 'CAPTURE', 'REFUND', 'INCREMENTAL', 'REVERSAL', 'CREDIT'] as const),
    random.pick(['lost_answer', 'lost_request'] as const),
  )

const acts: readonly MoneyAct[] = [
  ...[reserve, reserve, reserve, payOut, payOut, payOut, withKey, withKey, withKey, withKey],
  ...[refundNamed, refundNamed, refundNamed, refundNamed, actOnDispute, actOnDispute, loseAnswer, loseAnswer],
  ...[runTimers, runTimers, runTimers],
  ...['captures', 'captures', 'captures', 'captures', 'incrementals', 'incrementals', 'reversals'].map(path =>
    withPayment(path, part),
  ),
  withPayment('refunds', part),
  withPayment('cancellations', () => ({})),
]

test.each(seeds)('seed %i', { timeout: 600_000 }, async seed => {
  const scene: MoneyScene = { ...(await openScene(seed)), keyed: [] }
  try {
    await limitPayouts(scene)
    await reserve(scene)
    await meet(scene, { acts, rounds, movesMs: [hourMs, hourMs, dayMs] })
    await expectPayoutsCounted(scene)
  } finally {
    await leave(scene)
  }
})
