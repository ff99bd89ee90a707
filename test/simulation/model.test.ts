/**
 * Random histories over HTTP against books kept by the test: after every step the answer's code, and of every payment
 * the status and all sums, must be the ones of the books. Seeds are fixed; a failure prints the shortest history found.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ActAsCustomer, CreateHosted, history } from '#test/simulation/model.ts'
import { createTestClock } from '#test/support/clock.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { openShop } from '#test/support/shop.ts'
import { findBrokenRules } from '#test/support/simulation/invariants.ts'
import { inLongRun } from '#test/support/simulation/size.ts'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startTestGateway({ clock: createTestClock() })
})
afterAll(async () => {
  expect(await findBrokenRules(gateway.databaseUrl)).toEqual({})
  await gateway.stop()
})

const begin = async () => {
  const shop = await openShop(gateway)
  return () => ({ model: { payments: [], now: 0, requests: 0 }, real: shop })
}

/** A fixed history, because random ones rarely decline a payment so often. */
test('the gateway and the books agree about a customer who is declined up to the limit, and once more', async () => {
  const decline = new ActAsCustomer({ which: 0, action: 'decline', luck: 'approved', times: 7 })
  const created = new CreateHosted({ type: 'CARD', capture: 'MANUAL', amount: 1000 })
  await fc.asyncModelRun(await begin(), [created, decline, decline])
})

test.each([1, 2, 3])('the gateway and the books agree, seed %d', async seed => {
  await fc.assert(
    fc.asyncProperty(history, async commands => {
      await fc.asyncModelRun(await begin(), commands)
    }),
    // Histories per seed; in the short run a failure is shortened for 30 s at most.
    { seed, numRuns: inLongRun(1, 50), interruptAfterTimeLimit: inLongRun(30_000, 600_000), verbose: 0 },
  )
})
