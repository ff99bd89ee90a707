/**
 * Two tabs, two clicks, two processes: forms sent at once, approvals against cancellations and against the deadline, a
 * merchant's change against its customer's try. Each has one effect, and the acquirer's ledger agrees.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { examine } from '#storage/doctor/doctor.ts'
import { cardEntries, type OpenPage, openPage, sendForm } from '#test/support/browser/customer-page.ts'
import { createTestClock } from '#test/support/clock.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { type Acquirer, createAcquirer } from '#test/support/providers/acquirer.ts'
import { openShop, type Shop, urls } from '#test/support/shop.ts'
import { findBrokenRules } from '#test/support/simulation/invariants.ts'

const clock = createTestClock()
let acquirer: Acquirer
let left: TestGateway
let right: TestGateway
let shop: Shop
beforeAll(async () => {
  acquirer = createAcquirer()
  const { connectors } = acquirer
  left = await startTestGateway({ connectors, clock, timersByHand: false })
  right = await startTestGateway({ connectors, clock, beside: left, timersByHand: false })
  shop = await openShop(left)
})
afterAll(async () => {
  expect(await findBrokenRules(left.databaseUrl)).toEqual({})
  expect((await examine(left.databaseUrl)).filter(({ found }) => found > 0)).toEqual([])
  await right.stop()
  await left.stop()
})

type Gates = readonly [TestGateway, TestGateway]
const through: [string, () => Gates][] = [
  ['one process', () => [left, left]],
  ['two processes', () => [left, right]],
]

const many = <T>(count: number, make: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => make(index)))

let orders = 0

async function create(type: string, more: object = {}): Promise<{ payId: string; page: string }> {
  orders += 1
  const { body } = await shop.call('POST', '/payments', {
    transId: `tab-${orders}`,
    amount: { value: 1000, currency: 'EUR' },
    urls,
    captureMethod: { type: 'MANUAL' },
    paymentMethods: { integrationType: 'HOSTED', type },
    ...more,
  })
  return { payId: body.payId, page: body._links.redirect.href }
}

const messagesOf = (payId: string) => acquirer.ledger.filter(message => message.payId === payId)
const at = (gates: Gates, index: number): TestGateway => gates[(index % 2) as 0 | 1]

/** The same page as served by the other process. */
const shownBy = ({ url, ...page }: OpenPage, gateway: TestGateway): OpenPage => ({
  ...page,
  url: url.replace(left.url, gateway.url),
})

const signedIn = () => ({ authorization: shop.authorization })

const actAt = (gateway: TestGateway, payId: string, action: string) =>
  gateway.call('POST', `/test/payments/${payId}/customer-action`, { action }, signedIn())

describe.each(through)('over %s', (_, gatesOf) => {
  test('one form sent ten times at once is one try', async () => {
    for (let round = 0; round < 10; round += 1) {
      const { payId, page } = await create('CARD')
      const form = await openPage(page)
      await many(10, index => sendForm(shownBy(form, at(gatesOf(), index)), cardEntries('4111111111111111')))
      expect(messagesOf(payId)).toMatchObject([{ operation: 'AUTHORIZATION', approved: true, amount: 1000 }])
      expect(await shop.read(payId)).toMatchObject({ status: 'AUTHORIZED', operations: [{}] })
      expect(await shop.events(payId)).toHaveLength(1)
    }
  })

  test('ten tabs with ten declined cards are one failed try, and the next form is a second try', async () => {
    const { payId, page } = await create('CARD')
    for (let tries = 1; tries <= 3; tries += 1) {
      const form = await openPage(page)
      await many(10, index => sendForm(shownBy(form, at(gatesOf(), index)), cardEntries('4000000000009995')))
      expect(messagesOf(payId)).toHaveLength(tries)
      const { status, operations } = await shop.read(payId)
      expect([status, operations.length]).toEqual(['AUTHORIZE_REQUEST', tries])
    }
    expect(await shop.events(payId)).toEqual([])
  })

  test('approve against cancel on a provider’s page: one of them', async () => {
    for (let round = 0; round < 20; round += 1) {
      const { payId } = await create('PROVIDERP')
      await many(6, index => actAt(at(gatesOf(), index), payId, index < 3 ? 'approve' : 'cancel'))
      const { status, responseCode, operations } = await shop.read(payId)
      expect(operations).toHaveLength(1)
      expect(messagesOf(payId)).toHaveLength(status === 'AUTHORIZED' ? 1 : 0)
      expect([status, responseCode]).toEqual(
        status === 'AUTHORIZED' ? ['AUTHORIZED', '00000000'] : ['FAILED', '24000703'],
      )
      expect(await shop.events(payId)).toHaveLength(1)
    }
  })

  test('approve against the deadline: paid or expired, never both', async () => {
    for (let round = 0; round < 10; round += 1) {
      const { now } = (await shop.call('GET', '/test/clock')).body
      const expirationTime = new Date(Date.parse(now) + 60_000).toISOString()
      const { payId } = await create('PROVIDERZ', { expirationTime })
      clock.move(59_999)
      const gates = gatesOf()
      await Promise.all([
        ...Array.from({ length: 4 }, (_, index) => actAt(at(gates, index), payId, 'approve')),
        (async () => clock.move(1))(),
        ...gates.map(({ gateway }) => gateway.timerWorker.runDue()),
      ])
      while ((await left.gateway.timerWorker.runDue()) > 0);
      await Promise.all(gates.map(({ gateway }) => gateway.timerWorker.finish()))
      const { status, responseCode } = await shop.read(payId)
      expect(messagesOf(payId)).toHaveLength(status === 'AUTHORIZED' ? 1 : 0)
      expect([status, responseCode]).toEqual(
        status === 'AUTHORIZED' ? ['AUTHORIZED', '00000000'] : ['FAILED', '24000402'],
      )
      expect(await shop.events(payId)).toHaveLength(1)
    }
  })

  test('a form against going back: a recorded try is sent, any other is not', async () => {
    for (let round = 0; round < 10; round += 1) {
      const { payId, page } = await create('CARD')
      const form = await openPage(page)
      const gates = gatesOf()
      await Promise.all([
        sendForm(shownBy(form, gates[0]), cardEntries('4111111111111111')),
        actAt(gates[1], payId, 'cancel'),
      ])
      const { status } = await shop.read(payId)
      expect(messagesOf(payId)).toHaveLength(status === 'AUTHORIZED' ? 1 : 0)
      expect(status).toMatch(/^(AUTHORIZED|FAILED)$/)
      expect(await shop.events(payId)).toHaveLength(1)
    }
  })

  test('a plan is cancelled while its first form is sent: paid once or not at all, and never after that', async () => {
    for (let round = 0; round < 20; round += 1) {
      const credentialOnFile = {
        type: 'RECURRING',
        initialPayment: true,
        recurring: { frequency: 'MONTHLY' },
      }
      const { payId, page } = await create('CARD', { credentialOnFile })
      const { paymentPlanId } = await shop.read(payId)
      const form = await openPage(page)
      const gates = gatesOf()
      // A declined card would leave the form open for another try.
      const number = round % 2 ? '4111111111111111' : '4000000000009995'
      await Promise.all([
        sendForm(shownBy(form, gates[0]), cardEntries(number)),
        gates[1].call('POST', `/payment-plans/${paymentPlanId}/cancel`, {}, signedIn()),
      ])
      const sent = messagesOf(payId).length
      const { status } = await shop.read(payId)
      if (status === 'AUTHORIZED') expect(sent).toBe(1)
      else expect(status).toMatch(/^(?:FAILED|AUTHORIZE_REQUEST)$/)
      const shown = await fetch(page)
      expect([shown.status, (await shown.text()).includes('name="number"')]).toEqual([410, false])
      const version = Number(form.hidden.attempt)
      for (let attempt = version; attempt < version + 4; attempt += 1)
        await sendForm({ ...form, hidden: { attempt: `${attempt}` } }, cardEntries('4111111111111111'))
      expect(messagesOf(payId)).toHaveLength(sent)
      expect((await shop.call('GET', `/payment-plans/${paymentPlanId}`)).body.status).toBe('CANCELLED')
    }
  })

  test('the amount changes while the customer decides: they pay the amount shown, or see the new one first', async () => {
    for (let round = 0; round < 20; round += 1) {
      const { payId, page } = await create('PROVIDERP')
      const step = await openPage(page)
      const gates = gatesOf()
      await Promise.all([
        sendForm(shownBy(step, gates[0]), { action: 'approve' }),
        gates[1].call(
          'PATCH',
          `/payments/${payId}`,
          { amount: { value: 9900, currency: 'EUR' } },
          signedIn(),
        ),
      ])
      const { status, amount } = await shop.read(payId)
      expect(messagesOf(payId).map(message => message.amount)).toEqual(status === 'AUTHORIZED' ? [1000] : [])
      expect([status, amount.value]).toEqual(
        status === 'AUTHORIZED' ? ['AUTHORIZED', 1000] : ['AUTHORIZE_REQUEST', 9900],
      )
    }
  })
})

test('a customer who approves late, after the deadline and before its timer, has no effect', async () => {
  const { now } = (await shop.call('GET', '/test/clock')).body
  const expirationTime = new Date(Date.parse(now) + 60_000).toISOString()
  const { payId } = await create('PROVIDERP', { expirationTime })
  clock.move(60_000)
  // The timer runs in the background as well, and may end the payment before any of them.
  for (const action of ['approve', 'decline', 'pending', 'cancel'])
    expect((await actAt(right, payId, action)).body.status).toMatch(/^(?:AUTHORIZE_REQUEST|FAILED)$/)
  expect(messagesOf(payId)).toEqual([])
  while ((await left.gateway.timerWorker.runDue()) > 0);
  // The process that has claimed the timer may still be running it.
  await expect
    .poll(() => shop.read(payId), { timeout: 20_000 })
    .toMatchObject({ status: 'FAILED', responseCode: '24000402' })
  expect(messagesOf(payId)).toEqual([])
})
