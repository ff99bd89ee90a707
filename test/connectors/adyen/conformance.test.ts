/** The suite that every connector passes, with Adyen's connector and its double. */
import { afterAll, beforeAll, test } from 'vitest'
import { describeConnector } from '#connectors/conformance.ts'
import { adyenStage } from '#test/support/adyen/stage.ts'
import type { OpenStage } from '#test/support/providers/conformance-stage.ts'

let stage: OpenStage
beforeAll(async () => {
  stage = await adyenStage()
})
afterAll(() => stage.close())

describeConnector({ name: 'adyen', sendsNotices: true }, () => stage, test)
