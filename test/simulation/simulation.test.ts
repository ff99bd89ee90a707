/**
 * The whole slice under bad luck, judged by an auditor who knows only what the merchant heard and what the acquirer took.
 * A failing seed prints its diary; put it alone into `seeds` to see it again.
 */
import { expect, test } from 'vitest'
import { simulate } from '#test/simulation/world.ts'
import { inLongRun } from '#test/support/size.ts'

const seeds = Array.from({ length: inLongRun(6, 100) }, (_, index) => index + 1)
const steps = inLongRun(50, 200)

test.each(seeds)('seed %i', async seed => {
  const { findings, brokenRules, diary } = await simulate(seed, steps)
  const told = `seed ${seed}, ${steps} steps\n${diary.join('\n')}`
  expect(findings, told).toEqual([])
  expect(brokenRules, told).toEqual({})
})
