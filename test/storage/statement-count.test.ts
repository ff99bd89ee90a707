/** Mixed traffic prepares a handful of commit statements, in any mix of batches. */
import { expect, test } from 'vitest'
import { startDatabaseProxy } from '#test/support/database/database-proxy.ts'
import { cardPayment, startTestGateway } from '#test/support/gateway.ts'
import { openIntents } from '#test/support/intents.ts'
import { planPayment } from '#test/support/plans.ts'

test('payments, refunds, intents, plans and links in parallel use at most thirteen statements', async () => {
  const direct = await startTestGateway()
  const proxy = await startDatabaseProxy(direct.databaseUrl)
  const gateway = await startTestGateway({ beside: direct, throughUrl: proxy.url })
  const intents = openIntents(gateway, gateway)
  let key = 0
  const keyed = () => ({ 'idempotency-key': `mixed-${++key}` })
  const manual = { captureMethod: { type: 'MANUAL' } }
  const scenarios: (() => Promise<unknown>)[] = [
    () => gateway.call('POST', '/payments', cardPayment()),
    () => gateway.call('POST', '/payments', cardPayment(), keyed()),
    () => gateway.call('POST', '/payments', cardPayment({ card: { number: '4000000000000002' } }), keyed()),
    async () => {
      const { body } = await gateway.call('POST', '/payments', cardPayment(manual), keyed())
      await gateway.call('PATCH', `/payments/${body.payId}`, { refNr: 'later' })
      await gateway.call('POST', `/payments/${body.payId}/captures`, {
        transId: `c-${++key}`,
        amount: { value: 400, currency: 'EUR' },
      })
      await gateway.call('POST', `/payments/${body.payId}/reversals`, {
        transId: `r-${++key}`,
        amount: { value: 600, currency: 'EUR' },
      })
    },
    () => intents.intent(),
    () => gateway.call('POST', '/payments', cardPayment(planPayment())),
    () =>
      gateway.call('POST', '/payments/links', {
        transId: `link-${++key}`,
        amount: { value: 400, currency: 'EUR' },
        urls: { return: 'https://shop.example/done', cancel: 'https://shop.example/stop' },
      }),
  ]
  try {
    // Each round sends another mix at the same moment, so that their parts meet in one batch.
    for (let mix = 1; mix < 2 ** scenarios.length; mix += 5) {
      await Promise.all(scenarios.filter((_, index) => mix & (1 << index)).map(send => send()))
    }
    expect(proxy.commitNames.size).toBeGreaterThanOrEqual(4)
    expect(proxy.commitNames.size, [...proxy.commitNames].join()).toBeLessThanOrEqual(13)
  } finally {
    await gateway.stop()
    await proxy.close()
    await direct.stop()
  }
})
