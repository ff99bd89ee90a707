/** Stopping: requests under way are answered, and idle connections do not delay it. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { cardPayment, startTestGateway } from '#test/support/gateway.ts'

/** Less than the 10 s after which a stop closes all connections: the test fails if the stop needs that. */
const stopMs = 8_000

test('a connection without a request is closed at once', { timeout: stopMs }, async () => {
  const gateway = await startTestGateway()
  const silent = connect(Number(new URL(gateway.url).port))
  await once(silent, 'connect')
  // A later connection, so that the earlier one has certainly been accepted.
  expect((await gateway.call('GET', '/payments/getByTransId/x')).status).toBe(404)
  const closed = once(silent.resume(), 'close')
  await gateway.stop()
  await closed
})

test('a request under way is answered first, with Connection: close', {
  timeout: stopMs,
}, async () => {
  const reached = Promise.withResolvers<void>()
  const mayGoOn = Promise.withResolvers<void>()
  const gateway = await startTestGateway({
    testCrash: point => {
      if (point !== 'afterCall') return undefined
      reached.resolve()
      return mayGoOn.promise
    },
  })
  const answer = gateway.call('POST', '/payments', cardPayment())
  await reached.promise
  const stopped = gateway.stop()
  mayGoOn.resolve()
  const { status, headers, body } = await answer
  expect({ status, connection: headers.get('connection') }).toEqual({ status: 200, connection: 'close' })
  expect(body.status).toBe('OK')
  await stopped
})
