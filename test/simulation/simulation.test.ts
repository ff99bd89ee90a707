/**
 * The whole gateway under random faults, judged by an auditor who knows only the merchant's answers and the acquirer's
 * ledger. A failing seed prints its history; put it alone into `seeds` to reproduce it.
 */
import { expect, test } from 'vitest'
import { type Movement, simulate } from '#test/simulation/world.ts'
import { inLongRun } from '#test/support/simulation/size.ts'

const seeds = Array.from({ length: inLongRun(6, 100) }, (_, index) => index + 1)
const steps = inLongRun(50, 200)

const total: Record<Movement, number> = { captured: 0, reversed: 0, refunded: 0, returned: 0, disputed: 0 }

test.each(seeds)('the auditor finds no difference after the random steps of seed %i', async seed => {
  const { findings, brokenRules, diary, moved } = await simulate(seed, steps)
  for (const way of Object.keys(total) as Movement[]) total[way] += moved[way]
  const told = `seed ${seed}, ${steps} steps\n${diary.join('\n')}`
  expect(findings, told).toEqual([])
  expect(brokenRules, told).toEqual({})
})

test('all seeds together moved money in every direction', () => {
  for (const [way, sum] of Object.entries(total)) expect(sum, way).toBeGreaterThan(0)
})
