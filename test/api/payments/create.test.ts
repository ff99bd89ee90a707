/** POST /payments over HTTP: every outcome of the simulator, and the stored fields of the request. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestClock, secondMs } from '#test/support/clock.ts'
import { basic, cardPayment, startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { countEvents, findBrokenRules } from '#test/support/simulation/invariants.ts'

const clock = createTestClock()
let gateway: TestGateway
beforeAll(async () => {
  gateway = await startTestGateway({ clock })
})
afterAll(async () => {
  expect(await findBrokenRules(gateway.databaseUrl)).toEqual({})
  await gateway.stop()
})

const create = (change?: Parameters<typeof cardPayment>[0], headers?: Record<string, string>) =>
  gateway.call('POST', '/payments', cardPayment(change), headers)
const read = (payId: string) => gateway.call('GET', `/payments/getByPayId/${payId}`)
const manual = { captureMethod: { type: 'MANUAL' } }

describe('the outcome of a new payment', () => {
  test('200 AUTOMATIC is the default and takes the money at once', async () => {
    const request = cardPayment({ refNr: 'invoice-1', metadata: { basket: 'b-1' } })
    const created = await gateway.call('POST', '/payments', request)
    expect(created).toMatchObject({
      status: 200,
      body: {
        merchantId: gateway.merchantId,
        transId: request.transId,
        refNr: 'invoice-1',
        status: 'OK',
        responseCode: '00000000',
        metadata: { basket: 'b-1' },
        paymentMethods: { card: { providerResponseCode: '00' } },
      },
    })
    expect(created.body.payId).toMatch(/^[0-9a-f]{32}$/)
    expect(created.body.xId).toMatch(/^[0-9a-f]{32}$/)
    const { body: record } = await read(created.body.payId)
    expect(record).toMatchObject({
      status: 'OK',
      amount: { value: 1000, authorizedValue: 1000, capturedValue: 1000, refundedValue: 0, reversedValue: 0 },
      operations: [
        { type: 'AUTHORIZATION', status: 'OK', xId: created.body.xId },
        { type: 'CAPTURE', status: 'OK', amount: { value: 1000, currency: 'EUR' } },
      ],
    })
    expect(record.xId).toBe(record.operations[1].xId)
  })

  test('200 MANUAL reserves only', async () => {
    const created = await create(manual)
    expect(created).toMatchObject({ status: 200, body: { status: 'AUTHORIZED', responseCode: '00000000' } })
    expect((await read(created.body.payId)).body).toMatchObject({
      status: 'AUTHORIZED',
      amount: { authorizedValue: 1000, capturedValue: 0 },
      operations: [{ type: 'AUTHORIZATION', status: 'AUTHORIZED' }],
    })
  })

  test.each([
    ['05', '4000000000000002'],
    ['51', '4000000000009995'],
    ['54', '4000000000000069'],
    ['41', '4000000000009987'],
    ['43', '4000000000009979'],
    ['96', '4000000000000119'],
  ])('422 declined with %s', async (code, number) => {
    for (const captureMethod of [{ type: 'AUTOMATIC' }, { type: 'MANUAL' }]) {
      const declined = await create({ card: { number }, captureMethod })
      expect(declined).toMatchObject({
        status: 422,
        body: {
          status: 'FAILED',
          responseCode: `210003${code}`,
          paymentMethods: {
            card: { providerResponseCode: code, providerResponseText: expect.stringMatching(/\w/) },
          },
        },
      })
      expect((await read(declined.body.payId)).body).toMatchObject({
        status: 'FAILED',
        responseCode: `210003${code}`,
        amount: { authorizedValue: 0, capturedValue: 0 },
        operations: [{ type: 'AUTHORIZATION', status: 'FAILED' }],
      })
    }
  })

  test('200 AUTHORIZED when only the capture is declined', async () => {
    const created = await create({ card: { number: '4000000000000341' } })
    expect(created).toMatchObject({ status: 200, body: { status: 'AUTHORIZED', responseCode: '00000000' } })
    expect((await read(created.body.payId)).body).toMatchObject({
      status: 'AUTHORIZED',
      responseCode: '21000305',
      amount: { authorizedValue: 1000, capturedValue: 0 },
      operations: [{ type: 'AUTHORIZATION' }, { type: 'CAPTURE', status: 'FAILED' }],
    })
  })

  test('422 21000391 when it never reaches the acquirer', async () => {
    const created = await create({ card: { number: '4000000000000259' } })
    expect(created).toMatchObject({ status: 422, body: { status: 'FAILED', responseCode: '21000391' } })
  })

  test.each([
    ['AUTOMATIC', 'OK', 1000],
    ['MANUAL', 'AUTHORIZED', 0],
  ])('200 PENDING when the answer is lost, then settled by inquiry: %s', async (type, settled, captured) => {
    const created = await create({ card: { number: '4000000000000101' }, captureMethod: { type } })
    expect(created).toMatchObject({ status: 200, body: { status: 'PENDING', responseCode: '60000200' } })
    const { payId, xId } = created.body
    expect((await read(payId)).body).toMatchObject({ status: 'PENDING', amount: { authorizedValue: 0 } })
    expect(await gateway.gateway.timerWorker.runDue()).toBe(0)
    clock.move(10 * secondMs)
    expect(await gateway.gateway.timerWorker.runDue()).toBe(1)
    expect((await read(payId)).body).toMatchObject({
      status: settled,
      responseCode: '00000000',
      amount: { authorizedValue: 1000, capturedValue: captured },
    })
    expect(await countEvents(gateway.databaseUrl, xId)).toBe(1)
    clock.move(3600 * secondMs)
    expect(await gateway.gateway.timerWorker.runDue()).toBe(0)
  })

  test('422 54 for an expired card', async () => {
    const now = new Date(clock.nowMs())
    const month = (offset: number) =>
      new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + offset, 1))
        .toISOString()
        .slice(0, 7)
        .replace('-', '')
    expect(await create({ card: { expiryDate: month(-1) } })).toMatchObject({
      status: 422,
      body: { responseCode: '21000354' },
    })
    expect((await create({ card: { expiryDate: month(0) } })).status).toBe(200)
  })

  test('200 nothing is charged to verify an account', async () => {
    const zero = { amount: { value: 0, currency: 'EUR' }, ...manual }
    expect((await create({ ...zero, card: { eventToken: 'ACCOUNT_VERIFICATION' } })).status).toBe(200)
    for (const value of [0, 1.5, '1000', -1, 1e12]) {
      const refused = await create({ ...manual, amount: { value, currency: 'EUR' } })
      expect(refused.body.error).toBe(
        `amount.value is ${JSON.stringify(value)}; allowed is a whole number of 1 to 999999999999.`,
      )
    }
  })
})

describe('simulationMode', () => {
  test.each([
    ['0000', '4000000000000002', 200, '00000000'],
    ['Test:0000', '4000000000000002', 200, '00000000'],
    ['0361', '4111111111111111', 422, '21000361'],
    ['Test:0305', '4111111111111111', 422, '21000305'],
    ['4711', '4111111111111111', 422, '21004711'],
  ])('%s on %s answers %i %s', async (simulationMode, number, status, responseCode) => {
    expect(await create({ simulationMode, card: { number } })).toMatchObject({
      status,
      body: { responseCode },
    })
  })

  test.each(['000', '00000', 'test:0000', 'Test: 0000', '', 'abcd'])('400 %j', async simulationMode => {
    expect(await create({ simulationMode })).toMatchObject({
      status: 400,
      body: { field: 'simulationMode' },
    })
  })
})

describe('transId', () => {
  test('422 20170001 while a live payment has it, and nothing is changed', async () => {
    const first = cardPayment()
    const created = await gateway.call('POST', '/payments', first)
    const second = await gateway.call('POST', '/payments', {
      ...first,
      amount: { value: 5, currency: 'USD' },
    })
    expect(second).toMatchObject({
      status: 422,
      body: { status: 'FAILED', responseCode: '20170001', transId: first.transId },
    })
    expect(second.body.payId).toBeUndefined()
    const found = await gateway.call('GET', `/payments/getByTransId/${first.transId}`)
    expect(found.body).toMatchObject({ payId: created.body.payId, amount: { value: 1000, currency: 'EUR' } })
  })

  test('422 20170001 while the first is PENDING', async () => {
    const first = cardPayment({ card: { number: '4000000000000101' } })
    await gateway.call('POST', '/payments', first)
    expect((await gateway.call('POST', '/payments', first)).body.responseCode).toBe('20170001')
  })

  test('200 a transId is free again after a failure, and finds the newest payment', async () => {
    const failed = cardPayment({ card: { number: '4000000000000002' } })
    expect((await gateway.call('POST', '/payments', failed)).status).toBe(422)
    expect((await gateway.call('POST', '/payments', failed)).status).toBe(422)
    const good = await gateway.call('POST', '/payments', cardPayment({ transId: failed.transId }))
    expect(good.status).toBe(200)
    const found = await gateway.call('GET', `/payments/getByTransId/${failed.transId}`)
    expect(found.body.payId).toBe(good.body.payId)
  })

  test('200 two merchants may use the same', async () => {
    const other = await startTestGateway({ beside: gateway, clock })
    const stranger = await other.gateway.merchants.create('Another shop')
    const request = cardPayment()
    const answers = [
      await gateway.call('POST', '/payments', request),
      await other.call('POST', '/payments', request, {
        authorization: basic(stranger.merchantId, stranger.apiKey),
      }),
    ]
    expect(answers.map(answer => answer.status)).toEqual([200, 200])
    await other.stop()
  })
})

describe('the card', () => {
  const cardOf = async (payId: string) => (await read(payId)).body.paymentMethods.card

  test('200 the record shows it masked, with its brand and a pseudo number', async () => {
    const created = await create({ card: { number: '5555555555554444', expiryDate: '203101' } })
    const answer = await read(created.body.payId)
    expect(answer.body.paymentMethods).toEqual({
      integrationType: 'DIRECT',
      type: 'CARD',
      card: {
        first6Digits: '555555',
        last4Digits: '4444',
        pseudoCardNumber: expect.stringMatching(/^0[0-9]{12}444$/),
        brand: 'mastercard',
        expiryDate: '203101',
        cardHolderName: 'Ada Lovelace',
        schemeReferenceId: expect.stringMatching(/^[0-9]{15}$/),
        providerTransactionId: expect.stringMatching(/^sim/),
      },
    })
    expect(`${created.text}${answer.text}`).not.toContain('5555555555554444')
    expect(answer.text).not.toContain('securityCode')
  })

  test.each([
    ['4111111111111111', 'visa'],
    ['2223003122003222', 'mastercard'],
    ['378282246310005', 'amex'],
    ['6011111111111117', 'discover'],
    ['3566002020360505', 'jcb'],
    ['36227206271667', 'diners'],
    ['6200000000000005', 'unionpay'],
  ])('200 %s is %s', async (number, brand) => {
    expect(await cardOf((await create({ card: { number } })).body.payId)).toMatchObject({ brand })
  })

  test('200 the same card has the same pseudo number, and it pays like the card', async () => {
    const number = '4242424242424242'
    const first = await cardOf((await create({ card: { number } })).body.payId)
    const second = await cardOf((await create({ card: { number, expiryDate: '203112' } })).body.payId)
    expect(second.pseudoCardNumber).toBe(first.pseudoCardNumber)
    const request = cardPayment()
    const {
      securityCode: _,
      expiryDate: __,
      ...card
    } = (request.paymentMethods as { card: object }).card as Record<string, unknown>
    const paid = await gateway.call('POST', '/payments', {
      ...request,
      paymentMethods: {
        integrationType: 'DIRECT',
        type: 'CARD',
        card: { ...card, number: first.pseudoCardNumber },
      },
    })
    expect(paid.status).toBe(200)
    expect(await cardOf(paid.body.payId)).toMatchObject({
      first6Digits: '424242',
      last4Digits: '4242',
      pseudoCardNumber: first.pseudoCardNumber,
      expiryDate: '203012',
    })
  })

  test('400 an unknown pseudo number, naming the field without repeating the number', async () => {
    const answer = await create({ card: { number: '0123456789012345' } })
    expect(answer).toMatchObject({ status: 400, body: { field: 'paymentMethods.card.number' } })
    expect(answer.text).not.toContain('0123456789012345')
  })

  test.each([
    ['a number that begins like a pseudo number and has a right check digit', '0100000000000009'],
    ['a pseudo number that was made without one', undefined],
  ])('400 no expiry date: %s', async (_, given) => {
    const made = { type: 'CARD', number: '4539578763621486' }
    const number = given ?? (await gateway.call('POST', '/services/tokenService', made)).body.token
    const field = 'paymentMethods.card.expiryDate'
    expect(await create({ card: { number, expiryDate: undefined } })).toMatchObject({
      status: 400,
      body: { field },
    })
    expect(await create({ card: { number } })).toMatchObject({ status: 200 })
  })

  test("400 another merchant's pseudo number is as unknown", async () => {
    const stranger = await gateway.gateway.merchants.create('A third shop')
    const { pseudoCardNumber } = await cardOf((await create()).body.payId)
    const answer = await create(
      { card: { number: pseudoCardNumber } },
      { authorization: basic(stranger.merchantId, stranger.apiKey) },
    )
    expect(answer).toMatchObject({ status: 400, body: { field: 'paymentMethods.card.number' } })
  })
})

describe('the rest of the request', () => {
  test('200 metadata comes back unchanged, the order of its keys included', async () => {
    const metadata =
      '{"zebra":[3,1,{"y":null,"x":true}],"alpha":{"b":1.5,"a":"ü€😀\\n\\"quoted\\""},"m":-9007199254740991,"":""}'
    const body = JSON.stringify(cardPayment()).replace(/\}$/, `,"metadata":${metadata}}`)
    const created = await gateway.call('POST', '/payments', body)
    expect(created.status).toBe(200)
    expect(created.text).toContain(`"metadata":${metadata}`)
    const record = await read(created.body.payId)
    expect(record.text).toContain(`"metadata":${metadata}`)
  })

  test('200 the record contains the sent fields', async () => {
    const sent = {
      refNr: 'R-77',
      language: 'de',
      order: { merchantReference: 'o-1', description: 'Two books' },
      billingAddress: { city: 'Bremen', country: 'DEU' },
      customerInfo: { merchantCustomerId: 'c-1', email: 'ada@example.com' },
      channel: 'MOTO',
      statementDescriptor: 'BOOKS',
    }
    const created = await create(sent)
    expect(created.status, created.text).toBe(200)
    expect((await read(created.body.payId)).body).toMatchObject(sent)
  })

  test('200 the parts of the amount are kept', async () => {
    const amount = { value: 1190, currency: 'EUR', taxTotal: 190, netItemTotal: 1000 }
    const created = await create({ amount })
    expect((await read(created.body.payId)).body.amount).toMatchObject({ ...amount, capturedValue: 1190 })
  })

  test('200 the largest amount, in a currency without decimals', async () => {
    const amount = { value: 999_999_999_999, currency: 'JPY' }
    const created = await create({ amount })
    expect((await read(created.body.payId)).body.amount).toMatchObject({
      ...amount,
      capturedValue: amount.value,
    })
  })

  test('400 one above the largest amount, naming it: its zeros are no card number', async () => {
    const refused = await create({ amount: { value: 1_000_000_000_000, currency: 'EUR' } })
    expect(refused).toMatchObject({ status: 400, body: { field: 'amount.value' } })
    expect(refused.body.error).toMatch(/^amount.value is 1000000000000; allowed is .* to 999999999999\.$/)
  })

  test('every answer has its trace and its version', async () => {
    const trace = '0af7651916cd43dd8448eb211c80319c'
    const answer = await create({}, { traceparent: `00-${trace}-b7ad6b7169203331-01` })
    expect(answer.headers.get('traceparent')).toMatch(new RegExp(`^00-${trace}-[0-9a-f]{16}-01$`))
    expect(answer.headers.get('x-api-version')).toBe('2.5.0')
    expect(answer.headers.get('cache-control')).toBe('no-store')
    const fresh = await create({}, { traceparent: 'nonsense' })
    expect(fresh.headers.get('traceparent')).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/)
  })
})
