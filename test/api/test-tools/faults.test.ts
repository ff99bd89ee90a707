/** /test/faults and simulationMode over HTTP: every operation fails on demand, in every way. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestClock } from '#test/support/clock.ts'
import type { TestAnswer } from '#test/support/gateway.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { done, openShop, pending, refused, type Shop } from '#test/support/shop.ts'
import { findBrokenRules } from '#test/support/simulation/invariants.ts'

let gateway: TestGateway
let shop: Shop
beforeAll(async () => {
  gateway = await startTestGateway({ clock: createTestClock() })
})
beforeEach(async () => {
  shop = await openShop(gateway)
})
afterAll(async () => {
  expect(await findBrokenRules(gateway.databaseUrl)).toEqual({})
  await gateway.stop()
})

interface Case {
  readonly operation: string
  /** Prepares a payment for the operation, and returns the function that sends the request. */
  readonly prepare: () => Promise<(more?: object, headers?: Record<string, string>) => Promise<TestAnswer>>
  readonly approved: string
}

const follow = (operation: Parameters<Shop['act']>[1], make: () => Promise<string>) => async () => {
  const payId = await make()
  return (more?: object, headers?: Record<string, string>) => shop.act(payId, operation, 100, more, headers)
}
const manual = { captureMethod: { type: 'MANUAL' } }
let credits = 0
const creditBody = () => ({
  transId: `credit-${++credits}`,
  amount: { value: 100, currency: 'EUR' },
  paymentMethods: {
    directDebit: { account: { number: 'DE89370400440532013000', accountHolderName: 'Ada Lovelace' } },
  },
})

const cases: Case[] = [
  {
    operation: 'AUTHORIZATION',
    approved: 'AUTHORIZED',
    prepare: async () => (more, headers) => shop.create('CARD', { ...manual, ...more }, headers),
  },
  {
    operation: 'CONFIRM',
    approved: 'AUTHORIZED',
    prepare: follow('confirms', async () => (await shop.create('PROVIDERR', manual)).body.payId),
  },
  { operation: 'INCREMENTAL', approved: 'OK', prepare: follow('incrementals', () => shop.authorize('CARD')) },
  { operation: 'CAPTURE', approved: 'OK', prepare: follow('captures', () => shop.authorize('CARD')) },
  { operation: 'REVERSAL', approved: 'OK', prepare: follow('reversals', () => shop.authorize('CARD')) },
  { operation: 'REFUND', approved: 'OK', prepare: follow('refunds', () => shop.sell('CARD')) },
  {
    operation: 'CREDIT',
    approved: 'OK',
    prepare: async () => (more, headers) =>
      shop.call('POST', '/payments/refunds', { ...creditBody(), ...more }, headers),
  },
]
const code = (detail: string) => expect.stringMatching(new RegExp(`^2[135]00${detail}$`))
const declined = (detail: string) => ({ status: 422, body: { status: 'FAILED', responseCode: code(detail) } })

async function settled(answer: TestAnswer): Promise<string> {
  const { operations } = await shop.read(answer.body.payId)
  return operations.find(({ xId }: { xId: string }) => xId === answer.body.xId)?.status
}

describe.each(cases)('$operation', ({ operation, prepare, approved }) => {
  test('decline answers with 05, or with the code that was given', async () => {
    const first = await prepare()
    await shop.fail({ operation, fault: 'decline' })
    expect(await first()).toMatchObject(declined('0305'))
    const second = await prepare()
    await shop.fail({ operation, fault: 'decline', code: '62' })
    expect(await second()).toMatchObject(declined('0362'))
    const third = await prepare()
    expect(await third()).toMatchObject(done(approved))
  })

  test('a repeated request, or another one under its key, uses up no fault', async () => {
    const send = await prepare()
    const key = { 'idempotency-key': `once-${operation}` }
    const body = { transId: `once-${operation}` }
    await shop.fail({ operation, fault: 'decline', times: 2 })
    expect(await send(body, key)).toMatchObject(declined('0305'))
    expect((await send(body, key)).headers.get('idempotent-replayed')).toBe('true')
    expect(await send({ ...body, refNr: 'other' }, key)).toMatchObject(refused('20170002'))
    expect((await shop.call('GET', '/test/faults')).body.faults).toMatchObject([{ operation, times: 1 }])
  })

  test('delay slows the operation down, and it still succeeds', async () => {
    const send = await prepare()
    await shop.call('POST', '/test/faults', { operation, fault: 'delay', delayMs: 1, times: 1 })
    expect(await send()).toMatchObject(done(approved))
  })

  test.each([1, 2])('lost_request %d times arrives in the end', async times => {
    const send = await prepare()
    await shop.fail({ operation, fault: 'lost_request', times })
    expect(await send()).toMatchObject(done(approved))
    expect((await shop.call('GET', '/test/faults')).body.faults).toEqual([])
  })

  test('lost_request three times never arrives', async () => {
    const send = await prepare()
    await shop.fail({ operation, fault: 'lost_request', times: 4 })
    const lost = await send()
    expect(lost).toMatchObject(declined('0391'))
    expect((await shop.call('GET', '/test/faults')).body.faults).toMatchObject([{ times: 1 }])
    await shop.advance('P1D')
    expect(await settled(lost)).toBe('FAILED')
    expect(await shop.events(lost.body.payId)).toEqual([])
  })

  test.each(['lost_answer', 'error'])('%s is PENDING until the inquiry, told once', async fault => {
    const send = await prepare()
    await shop.fail({ operation, fault })
    const unheard = await send()
    expect(unheard).toMatchObject(pending)
    await shop.advance('PT9S')
    expect(await settled(unheard)).toBe('PENDING')
    await shop.advance('PT1S')
    expect(await settled(unheard)).toMatch(/^(OK|AUTHORIZED)$/)
    await shop.advance('PT1H')
    expect(await shop.events(unheard.body.payId)).toMatchObject([
      { xId: unheard.body.xId, responseCode: '00000000' },
    ])
  })

  test('lost_answer to a decline is PENDING, then FAILED, with one event', async () => {
    const send = await prepare()
    await shop.fail({ operation, fault: 'lost_answer' })
    const unheard = await send({ simulationMode: '0351' })
    expect(unheard).toMatchObject(pending)
    await shop.advance('PT10S')
    expect(await settled(unheard)).toBe('FAILED')
    expect(await shop.events(unheard.body.payId)).toMatchObject([
      { xId: unheard.body.xId, responseCode: code('0351') },
    ])
  })

  test.each(['0351', 'Test:0351'])('simulationMode %s declines', async simulationMode => {
    const send = await prepare()
    expect(await send({ simulationMode })).toMatchObject(declined('0351'))
  })

  test.each(['0000', 'Test:0000'])('simulationMode %s approves', async simulationMode => {
    const send = await prepare()
    expect(await send({ simulationMode })).toMatchObject(done(approved))
  })

  test('simulationMode may be any four digits', async () => {
    const send = await prepare()
    expect(await send({ simulationMode: '9999' })).toMatchObject(declined('9999'))
  })
})

describe('the list of faults', () => {
  const list = async () => (await shop.call('GET', '/test/faults')).body.faults

  test('shows the rules, drops those that were used, and can be cleared', async () => {
    await shop.fail({ operation: 'CAPTURE', fault: 'decline', times: 2 })
    await shop.fail({ operation: 'REFUND', fault: 'error' })
    expect(await list()).toMatchObject([
      { operation: 'CAPTURE', fault: 'decline', times: 2 },
      { operation: 'REFUND', fault: 'error', times: 1 },
    ])
    const payId = await shop.authorize('CARD')
    expect(await shop.act(payId, 'captures', 1)).toMatchObject(refused('21000305'))
    expect(await list()).toMatchObject([{ times: 1 }, { times: 1 }])
    expect(await shop.call('DELETE', '/test/faults')).toMatchObject({ status: 200, body: { faults: [] } })
    expect(await shop.act(payId, 'captures', 1)).toMatchObject(done('OK'))
  })

  test('* applies to the next operation of any kind, and rules apply in order', async () => {
    const payId = await shop.authorize('CARD')
    await shop.fail({ operation: '*', fault: 'decline', code: '61' })
    await shop.fail({ operation: 'CAPTURE', fault: 'decline', code: '62' })
    expect(await shop.act(payId, 'captures', 1)).toMatchObject(refused('21000361'))
    expect(await shop.act(payId, 'captures', 1)).toMatchObject(refused('21000362'))
    expect(await shop.act(payId, 'captures', 1)).toMatchObject(done('OK'))
  })

  test('is each merchant’s own', async () => {
    await shop.fail({ operation: '*', fault: 'decline' })
    const neighbour = await openShop(gateway)
    expect(await neighbour.create('CARD')).toMatchObject(done('OK'))
    expect(await shop.create('CARD')).toMatchObject(refused('21000305'))
  })

  test('lost requests of one operation are not those of another', async () => {
    const payId = await shop.sell('CARD')
    await shop.fail({ operation: 'CAPTURE', fault: 'lost_answer' })
    await shop.fail({ operation: 'REFUND', fault: 'lost_request', times: 3 })
    expect(await shop.act(payId, 'refunds', 1)).toMatchObject(refused('21000391'))
    expect(await list()).toMatchObject([{ operation: 'CAPTURE' }])
  })

  test('a refusal by the gateway uses up no fault', async () => {
    const payId = await shop.authorize('CARD')
    await shop.fail({ operation: 'CAPTURE', fault: 'decline' })
    await shop.act(payId, 'captures', 1001)
    expect(await list()).toHaveLength(1)
    await shop.fail({ operation: 'AUTHORIZATION', fault: 'decline' })
    const { transId } = await shop.read(payId)
    expect(await shop.create('CARD', { transId })).toMatchObject(refused('20170001'))
    expect(await list()).toHaveLength(2)
  })

  test.each([
    ['operation', { fault: 'decline', times: 1 }],
    ['operation', { operation: 'PAYOUT', fault: 'decline', times: 1 }],
    ['fault', { operation: '*', fault: 'fire', times: 1 }],
    ['code', { operation: '*', fault: 'decline', code: '5', times: 1 }],
    ['times', { operation: '*', fault: 'decline', times: 0 }],
    ['times', { operation: '*', fault: 'decline' }],
    ['delayMs', { operation: '*', fault: 'delay', delayMs: -1, times: 1 }],
    ['surprise', { operation: '*', fault: 'delay', times: 1, surprise: 1 }],
  ])('400 %s %j', async (field, rule) => {
    expect(await shop.call('POST', '/test/faults', rule)).toMatchObject({ status: 400, body: { field } })
    expect(await list()).toEqual([])
  })
})

describe('a create that waits for its confirm', () => {
  const order = { card: { eventToken: 'ORDER' } }
  async function enterOrder(): Promise<string> {
    const paymentMethods = { integrationType: 'HOSTED', type: 'CARD', ...order }
    const { body } = await shop.create('PROVIDERP', { paymentMethods })
    await shop.customer(body.payId, 'approve')
    return body.payId
  }
  const faults = async () => (await shop.call('GET', '/test/faults')).body.faults

  // Each line: what waits for its confirm, and how it gets there.
  test.each<[string, () => Promise<string>]>([
    ['a method of several steps', async () => (await shop.create('PROVIDERR')).body.payId],
    ['a card for a later order', async () => (await shop.create('CARD', order)).body.payId],
    ['a card for a later order, entered on our page', () => enterOrder()],
  ])('uses up no fault: %s', async (_, create) => {
    await shop.fail({ operation: 'AUTHORIZATION', fault: 'decline', code: '61' })
    await shop.fail({ operation: '*', fault: 'decline', code: '62' })
    const payId = await create()
    expect(await faults()).toMatchObject([{ operation: 'AUTHORIZATION' }, { operation: '*' }])
    expect(await shop.act(payId, 'confirms', 1000)).toMatchObject(declined('0362'))
    expect(await faults()).toMatchObject([{ operation: 'AUTHORIZATION' }])
  })

  test('is confirmed without the faults that were cleared in between', async () => {
    await shop.fail({ operation: '*', fault: 'decline', times: 2 })
    const { body } = await shop.create('PROVIDERR')
    await shop.call('DELETE', '/test/faults')
    expect(await shop.act(body.payId, 'confirms', 1000)).toMatchObject(done('OK'))
  })
})

/** Creates a card payment that waits for its confirm, and confirms it. */
async function confirmOrder(): Promise<TestAnswer> {
  const { body } = await shop.create('CARD', { card: { eventToken: 'ORDER' } })
  return shop.act(body.payId, 'confirms', 1000)
}

describe('an AUTOMATIC payment', () => {
  test('AUTHORIZED when only its capture is declined', async () => {
    const { body, status } = await shop.create('CARD', { card: { number: '4000000000000341' } })
    expect([status, body.status]).toEqual([200, 'AUTHORIZED'])
    expect(await shop.read(body.payId)).toMatchObject({
      status: 'AUTHORIZED',
      amount: { authorizedValue: 1000, capturedValue: 0 },
      operations: [
        { type: 'AUTHORIZATION', status: 'OK' },
        { type: 'CAPTURE', status: 'FAILED' },
      ],
    })
    expect(await shop.act(body.payId, 'captures', 1000, { simulationMode: '0000' })).toMatchObject(done('OK'))
  })

  test('unknown: one inquiry each settles both halves, with one event', async () => {
    await shop.fail({ operation: 'AUTHORIZATION', fault: 'lost_answer' })
    const { body } = await shop.create('CARD')
    await shop.advance('PT10S')
    expect(await shop.read(body.payId)).toMatchObject({ status: 'OK', amount: { capturedValue: 1000 } })
    expect(await shop.events(body.payId)).toMatchObject([{ xId: body.xId, status: 'OK' }])
  })

  // Each line: a fault of captures, and the payment's status at once and after its inquiry.
  describe.each([
    ['decline', 1, 'AUTHORIZED', 'AUTHORIZED'],
    ['lost_answer', 1, 'AUTHORIZED', 'OK'],
    ['error', 1, 'AUTHORIZED', 'OK'],
    ['lost_request', 2, 'OK', 'OK'],
    ['lost_request', 3, 'AUTHORIZED', 'AUTHORIZED'],
  ])('a fault %s × %i of captures applies to its capture, too', (fault, times, now, later) => {
    test.each<[string, () => Promise<() => Promise<TestAnswer>>]>([
      ['create', async () => () => shop.create('CARD')],
      ['confirm', follow('confirms', async () => (await shop.create('PROVIDERR')).body.payId)],
      ['confirm, also if it was there at the create', async () => () => confirmOrder()],
    ])('at its %s', async (_, prepare) => {
      const approve = await prepare()
      await shop.fail({ operation: 'CAPTURE', fault, times })
      const { body, status } = await approve()
      expect([status, body.status]).toEqual([200, now])
      expect((await shop.call('GET', '/test/faults')).body).toEqual({ faults: [] })
      await shop.advance('PT10S')
      expect((await shop.read(body.payId)).status).toBe(later)
    })
  })

  test('the test card whose requests never arrive fails', async () => {
    expect(await shop.create('CARD', { card: { number: '4000000000000259' } })).toMatchObject(
      refused('21000391'),
    )
  })
})

test('400 the hundred-and-first rule; the others stay', async () => {
  const add = () => shop.call('POST', '/test/faults', { operation: '*', fault: 'decline', times: 1 })
  for (let count = 0; count < 100; count++) expect((await add()).status).toBe(200)
  expect(await add()).toMatchObject({
    status: 400,
    body: { field: 'body', error: expect.stringContaining('100') },
  })
  expect((await shop.call('GET', '/test/faults')).body.faults).toHaveLength(100)
  expect((await shop.call('DELETE', '/test/faults')).body.faults).toEqual([])
})
