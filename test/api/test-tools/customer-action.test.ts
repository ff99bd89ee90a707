/**
 * The customer's step, taken by the tool of the test environment: once, and never against the provider's answer. A
 * decline on our own page leaves the customer another try; anywhere else it ends the payment.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { examine } from '#storage/doctor/doctor.ts'
import { createTestClock } from '#test/support/clock.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { openShop, type Shop } from '#test/support/shop.ts'

let gateway: TestGateway
let shop: Shop

beforeAll(async () => {
  gateway = await startTestGateway({ clock: createTestClock() })
  shop = await openShop(gateway)
})
afterAll(async () => {
  expect((await examine(gateway.databaseUrl)).filter(({ found }) => found > 0)).toEqual([])
  await gateway.stop()
})

const urls = { return: 'https://shop.example/return', cancel: 'https://shop.example/cancel' }
let orders = 0

/** Creates a payment that waits for its customer; returns the answer to the merchant. */
async function create(type: string, change: object = {}, integrationType = 'HOSTED') {
  orders += 1
  const { status, body } = await shop.call('POST', '/payments', {
    transId: `customer-${orders}`,
    amount: { value: 1000, currency: 'EUR' },
    urls,
    paymentMethods: { integrationType, type },
    ...change,
  })
  expect([status, body.status]).toEqual([200, 'AUTHORIZE_REQUEST'])
  return body
}

const manual = { captureMethod: { type: 'MANUAL' } }

const act = async (payId: string, action: string) =>
  (await shop.call('POST', `/test/payments/${payId}/customer-action`, { action })).body

// Each line: what the customer does, and the status after each step.
const stories: [string[], string[]][] = [
  [['approve'], ['AUTHORIZED']],
  [['decline'], ['AUTHORIZE_REQUEST']],
  [['cancel'], ['FAILED']],
  [
    ['decline', 'approve'],
    ['AUTHORIZE_REQUEST', 'AUTHORIZED'],
  ],
  [
    ['decline', 'cancel'],
    ['AUTHORIZE_REQUEST', 'FAILED'],
  ],
  [
    ['pending', 'approve'],
    ['PENDING', 'AUTHORIZED'],
  ],
  [
    ['pending', 'cancel'],
    ['PENDING', 'FAILED'],
  ],
  [
    ['pending', 'decline', 'approve'],
    ['PENDING', 'AUTHORIZE_REQUEST', 'AUTHORIZED'],
  ],
  [
    ['approve', 'cancel'],
    ['AUTHORIZED', 'AUTHORIZED'],
  ],
  [
    ['cancel', 'approve'],
    ['FAILED', 'FAILED'],
  ],
]

describe.each(['PROVIDERK', 'PROVIDERP', 'PROVIDERZ', 'PROVIDERT', 'CARD', 'DIRECTDEBIT'])(
  'HOSTED %s',
  type => {
    test.each(stories)('200 %j: %j', async (actions, statuses) => {
      const { payId } = await create(type, manual)
      for (const [n, action] of actions.entries()) expect((await act(payId, action)).status).toBe(statuses[n])
    })
  },
)

test('200 a session is paid by the first method it offers', async () => {
  const { status, body } = await shop.call('POST', '/payments/sessions', {
    transId: 'session-1',
    amount: { value: 1000, currency: 'EUR' },
    urls,
  })
  expect([status, body.status]).toEqual([200, 'AUTHORIZE_REQUEST'])
  expect((await shop.read(body.payId)).paymentMethods).toBeUndefined()
  expect(await act(body.payId, 'approve')).toMatchObject({
    status: 'OK',
    amount: { capturedValue: 1000 },
    paymentMethods: { type: 'CARD', card: { last4Digits: '1111' } },
  })
  expect(await shop.events(body.payId)).toMatchObject([{ status: 'OK', sequence: 1 }])
})

test('422 a payment cannot be captured before the customer has paid on its page', async () => {
  const { payId } = await create('CARD', manual)
  const { status, body } = await shop.act(payId, 'captures', 1000)
  expect([status, body.responseCode]).toEqual([422, '20200001'])
})

test('a failed try is listed among the operations and sends no event, and the tenth is the last', async () => {
  const { payId } = await create('CARD')
  for (let n = 1; n <= 9; n += 1) {
    const record = await act(payId, 'decline')
    expect([record.status, record.operations.length, record.responseCode]).toEqual([
      'AUTHORIZE_REQUEST',
      n,
      '21000305',
    ])
  }
  expect(await shop.events(payId)).toEqual([])
  const record = await act(payId, 'decline')
  expect([record.status, record.operations.length]).toEqual(['FAILED', 10])
  expect(new Set(record.operations.map(({ xId }: { xId: string }) => xId)).size).toBe(10)
  expect(await shop.events(payId)).toMatchObject([{ status: 'FAILED', responseCode: '21000305' }])
})

test('a cancellation after a failed try ends the payment', async () => {
  const { payId } = await create('CARD')
  await act(payId, 'decline')
  const record = await act(payId, 'cancel')
  expect([record.status, record.responseCode, record.operations.length]).toEqual(['FAILED', '21000703', 2])
  expect(await shop.events(payId)).toMatchObject([{ status: 'FAILED', responseCode: '21000703' }])
})

// Each line: the customer's actions before the deadline of a day passed.
test.each([[[]], [['decline']], [['pending']]])('FAILED 0402 a day after %j', async actions => {
  const { payId } = await create('CARD')
  for (const action of actions) await act(payId, action)
  await shop.advance('PT23H')
  expect((await shop.read(payId)).status).not.toBe('FAILED')
  await shop.advance('PT2H')
  expect(await shop.read(payId)).toMatchObject({ status: 'FAILED', responseCode: '21000402' })
  expect(await shop.events(payId)).toMatchObject([{ status: 'FAILED', responseCode: '21000402' }])
})

test('a wallet that is to be confirmed waits for its merchant after its customer', async () => {
  const { payId } = await create('PROVIDERP', {
    paymentMethods: { integrationType: 'HOSTED', type: 'PROVIDERP', providerP: { confirm: true } },
  })
  expect((await shop.act(payId, 'confirms', 1000)).body.responseCode).toBe('20200010')
  await act(payId, 'pending')
  expect((await act(payId, 'approve')).status).toBe('AUTHORIZE_REQUEST')
  const { status, body } = await shop.act(payId, 'confirms', 900)
  expect([status, body.status]).toEqual([200, 'OK'])
  expect((await shop.read(payId)).amount).toMatchObject({ authorizedValue: 900, capturedValue: 900 })
})

describe('DIRECT', () => {
  const card = (number: string, more: object = {}) => ({
    paymentMethods: {
      integrationType: 'DIRECT',
      type: 'CARD',
      card: { number, expiryDate: '203012', securityCode: '123', ...more },
    },
  })

  test('200 a challenge is announced, passed and recorded', async () => {
    const created = await create('CARD', card('4000002760003184'))
    expect(created).toMatchObject({
      responseCode: '70000200',
      _links: { redirect: { href: expect.stringMatching(/^http.*\/pay\/[\w-]{80,}$/), type: 'text/html' } },
    })
    expect(created._links.redirect.href).not.toContain(created.payId)
    expect(await act(created.payId, 'approve')).toMatchObject({
      status: 'OK',
      paymentMethods: { card: { threeDsData: { transStatus: 'Y', eci: '05' }, last4Digits: '3184' } },
    })
  })

  test('a failed challenge ends the payment: there is no page for another try', async () => {
    const { payId } = await create('CARD', card('4000002760003184'))
    expect(await act(payId, 'decline')).toMatchObject({
      status: 'FAILED',
      responseCode: '21000305',
      paymentMethods: { card: { threeDsData: { transStatus: 'N' } } },
    })
  })

  // Each line: the request's terms, and the result for a card that would be challenged.
  test.each<[string, object, string]>([
    ['no 3-D Secure wanted', card('4000002760003184', { threeDsPolicy: { skip: true } }), 'OK'],
    ['by telephone', { channel: 'MOTO', ...card('4000002760003184') }, 'OK'],
    [
      'authenticated elsewhere',
      card('4000002760003184', { threeDsData: { transStatus: 'Y', eci: '05', authenticationValue: 'AAAB' } }),
      'OK',
    ],
    [
      'a challenge for any card',
      card('4111111111111111', { threeDsPolicy: { challengePreference: 'MANDATE_CHALLENGE' } }),
      'AUTHORIZE_REQUEST',
    ],
    ['frictionless', card('4000003800000446'), 'OK'],
  ])('200 %s: %s', async (_, change, expected) => {
    orders += 1
    const { status, body } = await shop.call('POST', '/payments', {
      transId: `customer-${orders}`,
      amount: { value: 1000, currency: 'EUR' },
      urls,
      ...change,
    })
    expect([status, body.status]).toEqual([200, expected])
    expect(JSON.stringify(await shop.read(body.payId))).not.toContain('AAAB')
  })

  test('400 a challenge needs a return address', async () => {
    const { status, body } = await shop.call('POST', '/payments', {
      transId: 'no-way-back',
      amount: { value: 1000, currency: 'EUR' },
      ...card('4000002760003184'),
    })
    expect([status, body.field]).toEqual([400, 'urls'])
  })

  // Each line: a method, its currency, and the instructions for its customer.
  test.each([
    ['BOLETO', 'BRL', { paymentReference: expect.stringMatching(/^\d{3} \d{3} \d{3}$/) }],
    [
      'SEPACREDITTRANSFER',
      'EUR',
      {
        paymentReference: expect.stringMatching(/^\d{3} \d{3} \d{3}$/),
        account: { number: expect.stringMatching(/^DE\d{20}$/) },
        qrCode: expect.stringMatching(/^BCD\n002\n1\nSCT\n.*\n.*\nDE\d{20}\nEUR10\.00\n/),
      },
    ],
    ['PIX', 'BRL', { qrCode: expect.stringMatching(/^http.*\/pay\//) }],
    ['IDEAL', 'EUR', {}],
  ])('200 %s in %s', async (type, currency, told) => {
    const created = await create(type, { amount: { value: 1000, currency } }, 'DIRECT')
    expect(created._links.redirect.type).toBe('text/html')
    expect(Object.values(created.paymentMethods ?? { none: {} })).toMatchObject([told])
    expect((await act(created.payId, 'approve')).status).toBe('OK')
  })
})

test('200 a payment whose approval was lost on the way to us cannot be cancelled, declined or approved again', async () => {
  const { payId } = await create('PROVIDERK', manual)
  await shop.fail({ operation: 'AUTHORIZATION', fault: 'lost_answer' })
  // A late step: its inquiries are counted from the step, not from the creation.
  await shop.advance('PT20H')
  expect((await act(payId, 'approve')).status).toBe('PENDING')
  for (const action of ['cancel', 'decline', 'approve', 'pending']) {
    expect((await act(payId, action)).status).toBe('PENDING')
  }
  await shop.advance('PT9S')
  expect((await shop.read(payId)).status).toBe('PENDING')
  await shop.advance('PT2S')
  expect(await shop.read(payId)).toMatchObject({
    status: 'AUTHORIZED',
    operations: [{ status: 'AUTHORIZED' }],
  })
})
