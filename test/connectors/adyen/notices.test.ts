/** Adyen's notices at a real gateway: its acknowledgement, forged items, and the account's check. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AdyenGateway, startAdyenGateway } from '#test/support/adyen-gateway.ts'

let shop: AdyenGateway
beforeAll(async () => {
  shop = await startAdyenGateway()
})
afterAll(() => shop.stop())

const item = (pspReference: string) => ({
  amount: { value: 1000, currency: 'EUR' },
  eventCode: 'AUTHORISATION',
  eventDate: '2026-03-01T12:00:00+01:00',
  merchantAccountCode: shop.double.checkout.merchantAccount,
  merchantReference: 'nobody knows this',
  pspReference,
  reason: '',
  success: 'true',
})

test('200 [accepted] for several items, and again when they are sent again', async () => {
  const items = [item('N1'), item('N2')]
  expect(await shop.double.notify(items)).toEqual({ status: 200, text: '[accepted]' })
  expect(await shop.double.notify(items)).toEqual({ status: 200, text: '[accepted]' })
})

test('401 when one item of several is forged, and nothing of it is kept', async () => {
  const message = shop.double.sign([item('N3'), item('N4')])
  message.notificationItems[1].NotificationRequestItem.amount.value = 1
  expect(await shop.double.post(message)).toMatchObject({ status: 401 })
  const listed = await shop.commands.json('notices', 'list')
  expect(JSON.stringify(listed)).not.toContain('N3')
})

test('the check of the account says that key and merchant account are right', async () => {
  const { code, stdout } = await shop.commands.run('provider', 'check', shop.accountId)
  expect(stdout).toContain('merchantAccount')
  expect(code).toBe(0)
})

test('the check with payments goes through decline, capture, refund and reversal', async () => {
  const { code, stdout } = await shop.commands.run('provider', 'check', shop.accountId, '--payments')
  for (const name of ['decline', 'authorise', 'capture', 'refund', 'reversal']) expect(stdout).toContain(name)
  expect(code).toBe(0)
})

test('the account shows no secret', async () => {
  const shown = await shop.commands.json('provider', 'show', shop.accountId)
  expect(shown).toMatchObject({ connector: 'adyen', settings: { rawCards: 'true' } })
  const text = JSON.stringify(shown)
  expect(text).not.toContain(shop.double.apiKey)
  expect(text).not.toContain(shop.double.hmacKey)
})
