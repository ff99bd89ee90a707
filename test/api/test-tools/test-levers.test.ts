/** Idempotency-Key on the tools of the test environment over HTTP; every POST and PATCH takes one. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { endpoints } from '#endpoints/index.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { openShop, refused, type Shop, urls } from '#test/support/shop.ts'

let gateway: TestGateway
let shop: Shop
let keys = 0
const newKey = () => ({ 'idempotency-key': `lever-${++keys}` })
beforeAll(async () => {
  gateway = await startTestGateway()
  shop = await openShop(gateway)
})
afterAll(() => gateway.stop())

test('every POST and PATCH but the token endpoint takes a key', () => {
  const without = endpoints.filter(({ verb, idempotent }) => /POST|PATCH/.test(verb) && !idempotent)
  expect(without.map(({ operationId }) => operationId)).toEqual(['issueToken'])
})

async function hostedPayment(): Promise<string> {
  const method = { integrationType: 'HOSTED', type: 'PROVIDERP' }
  return (await shop.create('PROVIDERP', { urls, paymentMethods: method })).body.payId
}

describe('a key on a test tool', () => {
  const fault = { operation: 'CREDIT', fault: 'decline', times: 1 }
  test.each([
    ['clock', async () => '/test/clock', { advance: 'PT1H' }, { advance: 'PT2H' }],
    ['clock beyond the life of keys', async () => '/test/clock', { advance: 'P40D' }, { advance: 'P41D' }],
    ['faults', async () => '/test/faults', fault, { ...fault, times: 2 }],
    [
      'customer-action',
      async () => `/test/payments/${await hostedPayment()}/customer-action`,
      { action: 'decline' },
      { action: 'approve' },
    ],
    [
      'sample event',
      async () => `/test/payments/${await hostedPayment()}/events`,
      { type: 'dispute.opened' },
      { type: 'dispute.won' },
    ],
  ])('200 %s: one effect, and the first answer again', async (_, makePath, body, other) => {
    const path = await makePath()
    const headers = newKey()
    const first = await shop.call('POST', path, body, headers)
    const again = await shop.call('POST', path, body, headers)
    expect(first.status).toBe(200)
    expect(again).toMatchObject({ status: 200, text: first.text })
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect(await shop.call('POST', path, other, headers)).toMatchObject(refused('20170002'))
  })

  test('200 faults: the list has the rule once', async () => {
    await shop.call('DELETE', '/test/faults')
    const headers = newKey()
    await shop.call('POST', '/test/faults', fault, headers)
    await shop.call('POST', '/test/faults', fault, headers)
    expect((await shop.call('GET', '/test/faults')).body).toEqual({ faults: [fault] })
    await shop.call('DELETE', '/test/faults')
  })

  test('200 clock: it has moved once', async () => {
    const before = Date.parse((await shop.call('GET', '/test/clock')).body.now)
    const headers = newKey()
    await shop.call('POST', '/test/clock', { advance: 'PT10H' }, headers)
    await shop.call('POST', '/test/clock', { advance: 'PT10H' }, headers)
    const after = Date.parse((await shop.call('GET', '/test/clock')).body.now)
    expect(Math.floor((after - before) / 3_600_000)).toBe(10)
  })

  test('404 does not use the key up', async () => {
    const path = `/test/payments/${'0'.repeat(32)}/customer-action`
    const headers = newKey()
    expect((await shop.call('POST', path, { action: 'approve' }, headers)).status).toBe(404)
    expect((await shop.call('POST', path, { action: 'cancel' }, headers)).status).toBe(404)
  })
})
