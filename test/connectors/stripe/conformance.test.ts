/** The suite that every connector passes, against the double of Stripe. */
import { afterAll, beforeAll, test } from 'vitest'
import { describeConnector } from '#connectors/conformance.ts'
import type { OpenStage } from '#test/support/providers/conformance-stage.ts'
import { stripeStage } from '#test/support/stripe/stage.ts'

let stage: OpenStage
beforeAll(async () => {
  stage = await stripeStage()
})
afterAll(() => stage.close())

describeConnector({ name: 'stripe', sendsNotices: true }, () => stage, test)
