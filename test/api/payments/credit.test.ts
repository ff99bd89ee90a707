/** POST /payments/refunds over HTTP: money out to a card or an account without a payment behind it. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestClock } from '#test/support/clock.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { type Change, done, openShop, pending, refused, type Shop } from '#test/support/shop.ts'
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

const card = {
  number: '4111111111111111',
  cardholderName: 'Ada Lovelace',
  expiryDate: '203012',
  brand: 'visa',
}
const account = { number: 'DE89370400440532013000', accountHolderName: 'Ada Lovelace' }
const toCard = (change: object = {}) => ({ card: { ...card, ...change } })
const toAccount = (change: object = {}) => ({ directDebit: { account: { ...account, ...change } } })

let credits = 0
const credit = (paymentMethods: object, change: Change = {}, headers?: Record<string, string>) =>
  shop.call(
    'POST',
    '/payments/refunds',
    { transId: `credit-${++credits}`, amount: { value: 700, currency: 'EUR' }, paymentMethods, ...change },
    headers,
  )

describe('payouts', () => {
  test('200 to a card, with an approval code', async () => {
    const paid = await credit(toCard(), { refNr: 'g-1', metadata: { why: 'goodwill' } })
    expect(paid).toMatchObject(done('OK'))
    expect(paid.body).toMatchObject({ refNr: 'g-1', metadata: { why: 'goodwill' } })
    expect(paid.body.paymentMethods).toEqual({
      card: {
        providerResponseCode: '00',
        providerTransactionId: expect.stringMatching(/^sim/),
        providerApprovalCode: expect.any(Number),
      },
    })
    const record = await shop.read(paid.body.payId)
    expect(record).toMatchObject({
      status: 'OK',
      refNr: 'g-1',
      metadata: { why: 'goodwill' },
      amount: { value: 700, authorizedValue: 0, capturedValue: 0, refundedValue: 700, reversedValue: 0 },
      paymentMethods: { type: 'CARD', card: { first6Digits: '411111', last4Digits: '1111' } },
    })
    expect(record.operations).toMatchObject([{ type: 'CREDIT', status: 'OK', amount: { value: 700 } }])
    expect(JSON.stringify(record)).not.toContain(card.number)
  })

  test('200 to a card by its pseudo number', async () => {
    const first = await credit(toCard())
    const { pseudoCardNumber } = (await shop.read(first.body.payId)).paymentMethods.card
    expect(await credit(toCard({ number: pseudoCardNumber }))).toMatchObject(done('OK'))
  })

  test('200 to an account', async () => {
    const paid = await credit(toAccount({ code: 'COBADEFFXXX', bankName: 'Bank' }))
    expect(paid).toMatchObject(done('OK'))
    const record = await shop.read(paid.body.payId)
    expect(record).toMatchObject({
      status: 'OK',
      amount: { refundedValue: 700 },
      paymentMethods: { type: 'DIRECTDEBIT' },
    })
    expect(JSON.stringify(record)).not.toContain(account.number)
  })

  test('200 with everything the contract names', async () => {
    const more = {
      billingAddress: { firstName: 'Ada', lastName: 'Lovelace', country: 'GBR' },
      shipping: { address: { firstName: 'Ada', phone: { countryCode: '+44', number: '2071234567' } } },
      statementDescriptor: 'GOODWILL',
      customerInfo: { email: 'ada@example.org' },
      browserInfo: { acceptHeaders: 'text/html', ipAddres: '192.0.2.1', sessionId: 's-1' },
    }
    const winnings = toCard({
      securityCode: '123',
      paymentOfWinnings: true,
      paymentData: {
        senderData: {
          accountNumber: 'DE89370400440532013000',
          name: 'Casino',
          countryCode: '276',
          transactionMethod: 'CREDIT',
          accountType: 'IBAN',
        },
        recipientData: { name: 'Ada' },
      },
    })
    const paid = await credit(winnings, more)
    expect(paid).toMatchObject(done('OK'))
    expect(await shop.read(paid.body.payId)).toMatchObject(more)
  })

  test.each([
    ['a card', toCard({ number: '4000000000009995' }), '21000351'],
    ['an account', toAccount({ number: 'DE62370400440532013001' }), '23000351'],
    ['a card past its date', toCard({ expiryDate: '202001' }), '21000354'],
  ])('422 %s that declines leaves a FAILED payment', async (_, target, code) => {
    const declined = await credit(target)
    expect(declined).toMatchObject(refused(code))
    expect(await shop.read(declined.body.payId)).toMatchObject({
      status: 'FAILED',
      amount: { refundedValue: 0 },
      operations: [{ type: 'CREDIT', status: 'FAILED' }],
    })
    // The transId is free again.
    expect(await credit(toCard(), { transId: declined.body.transId })).toMatchObject(done('OK'))
  })

  test('422 simulationMode decides', async () => {
    expect(await credit(toAccount(), { simulationMode: '0357' })).toMatchObject(refused('23000357'))
    const approved = await credit(toCard({ number: '4000000000009995' }), { simulationMode: '0000' })
    expect(approved).toMatchObject(done('OK'))
  })

  test.each(['lost_answer', 'error'])('PENDING after %s, settled once by the clock', async fault => {
    await shop.fail({ operation: 'CREDIT', fault })
    const unheard = await credit(toAccount())
    expect(unheard).toMatchObject(pending)
    expect(await shop.read(unheard.body.payId)).toMatchObject({
      status: 'PENDING',
      amount: { refundedValue: 0 },
    })
    await shop.advance('PT10S')
    expect(await shop.read(unheard.body.payId)).toMatchObject({
      status: 'OK',
      amount: { refundedValue: 700 },
    })
    expect(await shop.events(unheard.body.payId)).toMatchObject([{ xId: unheard.body.xId, status: 'OK' }])
  })

  test('an unreached request is sent again twice, then FAILED', async () => {
    await shop.fail({ operation: 'CREDIT', fault: 'lost_request', times: 2 })
    expect(await credit(toCard())).toMatchObject(done('OK'))
    await shop.fail({ operation: 'CREDIT', fault: 'lost_request', times: 3 })
    expect(await credit(toCard())).toMatchObject(refused('21000391'))
  })
})

describe('the transId', () => {
  test('20170001 of a live payment, of a live credit, and of a credit for a payment', async () => {
    const paid = await credit(toCard())
    const { transId } = paid.body
    const again = await credit(toCard(), { transId })
    expect(again).toMatchObject(refused('20170001'))
    expect(again.body).not.toHaveProperty('payId')
    expect(await shop.create('CARD', { transId })).toMatchObject(refused('20170001'))
    const bought = await shop.create('CARD')
    expect(await credit(toAccount(), { transId: bought.body.transId })).toMatchObject(refused('20170001'))
  })

  test('20170001 also while the first is unknown', async () => {
    await shop.fail({ operation: 'CREDIT', fault: 'lost_answer' })
    const { transId } = (await credit(toCard())).body
    expect(await credit(toCard(), { transId })).toMatchObject(refused('20170001'))
  })
})

describe('nothing follows a credit', () => {
  test.each([
    ['captures', '20200001'],
    ['reversals', '20200001'],
    ['incrementals', '20200001'],
    ['refunds', '20200004'],
    ['confirms', '20200010'],
  ] as const)('a credit refuses %s with %s', async (operation, code) => {
    const { payId } = (await credit(toCard())).body
    expect(await shop.act(payId, operation, 1)).toMatchObject(refused(code))
    expect((await shop.read(payId)).operations).toHaveLength(1)
  })

  test('a credit does not lapse', async () => {
    const { payId } = (await credit(toCard())).body
    await shop.advance('P60D')
    expect(await shop.read(payId)).toMatchObject({ status: 'OK', amount: { refundedValue: 700 } })
    expect(await shop.events(payId)).toEqual([])
  })
})

describe('bad requests, as problem details', () => {
  test.each([
    ['paymentMethods', { paymentMethods: undefined }],
    ['paymentMethods', { paymentMethods: {} }],
    ['paymentMethods', { paymentMethods: { ...toCard(), ...toAccount() } }],
    ['paymentMethods.providerK', { paymentMethods: { providerK: {} } }],
    ['paymentMethods.card.number', { paymentMethods: toCard({ number: undefined }) }],
    ['paymentMethods.card.number', { paymentMethods: toCard({ number: '4111111111111112' }) }],
    ['paymentMethods.card.number', { paymentMethods: toCard({ number: '0123456789012345' }) }],
    ['paymentMethods.card.cardholderName', { paymentMethods: toCard({ cardholderName: undefined }) }],
    ['paymentMethods.card.expiryDate', { paymentMethods: toCard({ expiryDate: undefined }) }],
    ['paymentMethods.card.brand', { paymentMethods: toCard({ brand: undefined }) }],
    ['paymentMethods.directDebit.account', { paymentMethods: { directDebit: {} } }],
    ['paymentMethods.directDebit.account.number', { paymentMethods: toAccount({ number: 'DE00' }) }],
    [
      'paymentMethods.directDebit.account.accountHolderName',
      { paymentMethods: toAccount({ accountHolderName: undefined }) },
    ],
    ['customerInfo.email', { customerInfo: { firstName: 'Ada' } }],
    ['browserInfo.ipAddress', { browserInfo: { ipAddress: '192.0.2.1' } }],
    ['amount.currency', { amount: { value: 700, currency: 'XXX' } }],
    ['transId', { transId: undefined }],
    ['order', { order: {} }],
  ])('400 %s %#', async (field, change) => {
    const answer = await credit(toCard(), change)
    expect(answer).toMatchObject({ status: 400, body: { status: 400, traceId: expect.any(String) } })
    expect(Object.keys(answer.body.errors)).toContain(field)
    expect(answer.text).not.toContain('4111111111111')
  })
})

test('400 a currency that the account’s method lacks', async () => {
  const answer = await credit(toAccount(), { amount: { value: 700, currency: 'USD' } })
  expect(answer).toMatchObject({ status: 400, body: { errors: { 'amount.currency': [expect.any(String)] } } })
})
