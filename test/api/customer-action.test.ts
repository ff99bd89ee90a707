/** The customer's step, taken by the lever of the test environment: once, and never against the provider's answer. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { examine } from '#storage/doctor.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'

let gateway: TestGateway

beforeAll(async () => {
  gateway = await startTestGateway()
})
afterAll(() => gateway.stop())

let orders = 0

/** A payment that waits for its customer; returns its payId. */
async function create(): Promise<string> {
  orders += 1
  const { status, body } = await gateway.call('POST', '/payments', {
    transId: `customer-${orders}`,
    amount: { value: 1000, currency: 'EUR' },
    captureMethod: { type: 'MANUAL' },
    urls: { return: 'https://shop.example/return', cancel: 'https://shop.example/cancel' },
    paymentMethods: { integrationType: 'HOSTED', type: 'PROVIDERK' },
  })
  expect([status, body.status]).toEqual([200, 'AUTHORIZE_REQUEST'])
  return body.payId
}

const act = async (payId: string, action: string) =>
  (await gateway.call('POST', `/test/payments/${payId}/customer-action`, { action })).body

// Each line: what the customer does, and the status after each step.
test.each([
  [['approve'], ['AUTHORIZED']],
  [['decline'], ['FAILED']],
  [['cancel'], ['FAILED']],
  [
    ['pending', 'approve'],
    ['PENDING', 'AUTHORIZED'],
  ],
  [
    ['pending', 'cancel'],
    ['PENDING', 'FAILED'],
  ],
  [
    ['pending', 'decline'],
    ['PENDING', 'FAILED'],
  ],
  [
    ['approve', 'cancel'],
    ['AUTHORIZED', 'AUTHORIZED'],
  ],
  [
    ['cancel', 'approve'],
    ['FAILED', 'FAILED'],
  ],
])('200 %j: %j', async (actions, statuses) => {
  const payId = await create()
  for (const [n, action] of actions.entries()) expect((await act(payId, action)).status).toBe(statuses[n])
})

test('200 what was approved without our hearing of it cannot be cancelled, declined or approved again', async () => {
  const payId = await create()
  await gateway.call('POST', '/test/faults', { operation: 'AUTHORIZATION', fault: 'lost_answer', times: 1 })
  expect((await act(payId, 'approve')).status).toBe('PENDING')
  for (const action of ['cancel', 'decline', 'approve', 'pending']) {
    expect((await act(payId, action)).status).toBe('PENDING')
  }
  await gateway.call('POST', '/test/clock', { advance: 'PT1M' })
  const { body } = await gateway.call('GET', `/payments/getByPayId/${payId}`)
  expect(body).toMatchObject({ status: 'AUTHORIZED', operations: [{ status: 'AUTHORIZED' }] })
  expect((await examine(gateway.databaseUrl)).filter(({ found }) => found > 0)).toEqual([])
})
