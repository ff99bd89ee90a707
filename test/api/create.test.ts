import { afterAll, beforeAll, expect, test } from 'vitest'
import { cardPayment, startTestGateway, type TestGateway } from '#test/support/gateway.ts'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startTestGateway()
})
afterAll(() => gateway?.stop())

test('200 a card is charged at once', async () => {
  const created = await gateway.call('POST', '/payments', cardPayment())
  console.log(gateway.logged.join('')); expect(created).toMatchObject({ status: 200, body: { status: 'OK', responseCode: '00000000' } })
  console.log(gateway.logged.join(''))
  const found = await gateway.call('GET', `/payments/getByPayId/${created.body.payId}`)
  console.log(JSON.stringify(found.body, null, 1))
})
