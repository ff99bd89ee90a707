/**
 * The suite that every connector passes, with Adyen's connector and its double. All modifications go the same way at Adyen, so
 * the orders of notices and the gaps in which a process dies are tried with authorisations and captures.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { conformanceCases } from '#connectors/conformance.ts'
import { adyenStage } from '#test/support/adyen-stage.ts'
import type { OpenStage } from '#test/support/conformance-stage.ts'

let stage: OpenStage
beforeAll(async () => {
  stage = await adyenStage()
})
afterAll(() => stage.close())

const isTried = (name: string): boolean =>
  /^(AUTHORIZATION|CAPTURE):/.test(name) || !/notices|dies (afterRecord|afterSettle)/.test(name)

const cases = conformanceCases({ sendsNotices: true }).filter(({ name }) => isTried(name))

test.each(cases)('$name', ({ run }) => run(stage))

test('after all of it the doctor finds nothing', async () => expect(await stage.broken()).toEqual([]))
