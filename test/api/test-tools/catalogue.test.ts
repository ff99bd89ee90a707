import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { methodPayment } from '#test/support/shop.ts'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startTestGateway({ requestsPerSecond: 1_000_000 })
})
afterAll(() => gateway.stop())

interface Listed {
  readonly number: string
  readonly brand: string
  readonly outcome: string
  readonly threeDs?: string
}

test('200 the catalogue of test data has all its parts', async () => {
  const { status, body } = await gateway.call('GET', '/test/catalogue')
  expect(status).toBe(200)
  expect(Object.keys(body)).toEqual([
    'cards',
    'accounts',
    'amounts',
    'simulationModes',
    'responseCodes',
    'bins',
  ])
  expect(body.cards[0]).toEqual(
    expect.objectContaining({
      number: expect.any(String),
      brand: 'visa',
      outcome: expect.any(String),
      description: expect.any(String),
    }),
  )
  expect(body.responseCodes).toContainEqual({
    code: '21000351',
    description: 'Declined: Insufficient funds.',
    advice: 'retry',
  })
})

test('401 without credentials, 400 with a parameter', async () => {
  expect((await gateway.call('GET', '/test/catalogue', undefined, { authorization: '' })).status).toBe(401)
  expect((await gateway.call('GET', '/test/catalogue?page=1')).status).toBe(400)
})

/** Translates the answer to a payment to the catalogue's terms. */
function read({ status, body }: { status: number; body: { status: string; responseCode: string } }): string {
  if (status === 422) return `declined ${body.responseCode.slice(-2)}`
  return body.status === 'PENDING' ? 'unknown' : 'approved'
}

test('200 every card does what the catalogue says, and its payment has that brand', async () => {
  const { cards } = (await gateway.call('GET', '/test/catalogue')).body as { cards: Listed[] }
  // Cards with 3-D Secure are tested with its flow.
  const plain = cards.filter(card => card.threeDs === undefined)
  const wrong: unknown[] = []
  for (const { number, brand, outcome } of plain) {
    const request = methodPayment('CARD')
    const created = await gateway.call('POST', '/payments', {
      ...request,
      captureMethod: { type: 'MANUAL' },
      paymentMethods: {
        integrationType: 'DIRECT',
        type: 'CARD',
        card: { number, expiryDate: '203012', brand },
      },
    })
    const { body } = await gateway.call('GET', `/payments/getByPayId/${created.body.payId}`)
    const shown = body.paymentMethods.card.brand
    if (!outcome.startsWith(read(created)) || shown !== brand)
      wrong.push({ number, outcome, brand, got: created.body, shown })
  }
  expect(plain.length).toBeGreaterThan(20)
  expect(wrong).toEqual([])
})

test('422 every such amount declines with its own code, for any operation; neighbouring amounts do not', async () => {
  const { amounts } = (await gateway.call('GET', '/test/catalogue')).body as {
    amounts: { value: number; outcome: string }[]
  }
  const post = (path: string, value: number, body: object) =>
    gateway.call('POST', path, { ...body, amount: { value, currency: 'EUR' } })
  const pay = (value: number, type: string, more: object = {}) =>
    post('/payments', value, { ...methodPayment('CARD'), captureMethod: { type }, ...more })
  expect(amounts).toHaveLength(18)
  for (const { value, outcome } of amounts) {
    expect(read(await pay(value, 'AUTOMATIC'))).toBe(outcome)
    expect(read(await pay(value, 'MANUAL', { simulationMode: '0000' }))).toBe('approved')
  }
  expect(read(await pay(99_990_300, 'AUTOMATIC'))).toBe('approved')
  expect(read(await pay(99_990_400, 'AUTOMATIC'))).toBe('approved')
  const { payId } = (await pay(200_000_000, 'MANUAL')).body
  const follow = (path: string, value: number) =>
    post(`/payments/${payId}/${path}`, value, { transId: 'step' })
  for (const path of ['incrementals', 'reversals', 'captures'])
    expect(read(await follow(path, 99_990_361))).toBe('declined 61')
  expect(read(await follow('captures', 200_000_000))).toBe('approved')
  expect(read(await follow('refunds', 99_990_361))).toBe('declined 61')
  expect(read(await follow('refunds', 99_990_360))).toBe('approved')
})

test('422 every simulation mode except 0000 declines with its own digits', async () => {
  const { simulationModes } = (await gateway.call('GET', '/test/catalogue')).body as {
    simulationModes: { mode: string }[]
  }
  for (const { mode } of simulationModes) {
    const simulationMode = mode === 'nnnn' ? '1234' : mode
    const { status, body } = await gateway.call('POST', '/payments', {
      ...methodPayment('CARD'),
      simulationMode,
    })
    expect({ status, code: body.responseCode }).toEqual(
      mode === '0000' ? { status: 200, code: '00000000' } : { status: 422, code: `2100${simulationMode}` },
    )
  }
})
