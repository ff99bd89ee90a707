/**
 * The conformance suite, run with the simulator and with a double that is deliberately unlike it. Both pass without a
 * special case in the engine, which proves that a connector needs changes in its own folder only.
 */
import { afterAll, beforeAll, describe, test } from 'vitest'
import { describeConnector } from '#connectors/conformance.ts'
import { lateStage, type OpenStage, simulatorStage } from '#test/support/providers/conformance-stage.ts'

describe.each([
  ['simulator', false, simulatorStage],
  ['notices only', true, lateStage],
] as const)('%s', (name, sendsNotices, open) => {
  let stage: OpenStage
  beforeAll(async () => {
    stage = await open()
  })
  afterAll(() => stage.close())

  describeConnector({ name, sendsNotices }, () => stage, test)
})
