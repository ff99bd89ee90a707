import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { passesLuhn } from '#domain/cards/card-numbers.ts'
import { isIban } from '#domain/iban.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { openShop, type Shop } from '#test/support/shop.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

const card = '4111111111111111'
const iban = 'DE89370400440532013000'

let gateway: TestGateway
let shop: Shop
let neighbour: Shop
beforeAll(async () => {
  gateway = await startTestGateway()
  shop = await openShop(gateway)
  neighbour = await openShop(gateway)
})
afterAll(() => gateway.stop())

const exchange = (who: Shop, body: object, headers?: Record<string, string>) =>
  who.call('POST', '/services/tokenService', body, headers)

const tokenOf = async (who: Shop, type: string, number: string): Promise<string> =>
  (await exchange(who, { type, number })).body.token

describe('a card', () => {
  test('200 becomes a pseudo card number: 16 digits, first 0, the last three, wrong checksum', async () => {
    const answer = await exchange(shop, { transId: 't', type: 'CARD', number: card, expiryDate: '203012' })
    expect(answer).toMatchObject({ status: 200 })
    expect(answer.body).toEqual({
      token: expect.stringMatching(/^0[0-9]{12}111$/),
      tokenType: 'PSEUDO_CARD_NUMBER',
      last4Digits: '1111',
      brand: 'visa',
      status: 'OK',
      responseCode: '00000000',
      responseDescription: 'Success.',
    })
    expect(passesLuhn(answer.body.token)).toBe(false)
  })

  test('200 the same number gives the same token, whether a payment or the service stored it first', async () => {
    const number = '5555555555554444'
    const { body } = await shop.create('CARD', { card: { number } })
    const { pseudoCardNumber } = (await shop.read(body.payId)).paymentMethods.card
    expect(await tokenOf(shop, 'CARD', number)).toBe(pseudoCardNumber)
    expect(await tokenOf(shop, 'CARD', number)).toBe(pseudoCardNumber)
    expect(await tokenOf(shop, 'CARD', pseudoCardNumber)).toBe(pseudoCardNumber)
  })

  test('200 another merchant gets another token', async () => {
    expect(await tokenOf(neighbour, 'CARD', card)).not.toBe(await tokenOf(shop, 'CARD', card))
  })

  test('200 the token pays with the expiry date that was stored last', async () => {
    const number = '4012888888881881'
    const first = await exchange(shop, { type: 'CARD', number })
    await exchange(shop, { type: 'CARD', number, expiryDate: '203106' })
    const paid = await shop.create('CARD', {
      card: { number: first.body.token, expiryDate: undefined },
    })
    expect(paid).toMatchObject({ status: 200, body: { status: 'OK' } })
    expect((await shop.read(paid.body.payId)).paymentMethods.card).toMatchObject({
      last4Digits: '1881',
      pseudoCardNumber: first.body.token,
      expiryDate: '203106',
    })
  })
})

describe('an account', () => {
  test('200 becomes a pseudo bank account number that is no IBAN', async () => {
    const answer = await exchange(shop, { type: 'IBAN', number: iban })
    expect(answer).toMatchObject({ status: 200 })
    expect(answer.body).toEqual({
      token: expect.stringMatching(/^ZZ00[A-Z]{14}3000$/),
      tokenType: 'PSEUDO_BANK_ACCOUNT_NUMBER',
      last4Digits: '3000',
      status: 'OK',
      responseCode: '00000000',
      responseDescription: 'Success.',
    })
    expect(isIban(answer.body.token)).toBe(false)
    expect(await tokenOf(shop, 'IBAN', iban)).toBe(answer.body.token)
    expect(await tokenOf(shop, 'IBAN', answer.body.token)).toBe(answer.body.token)
    expect(await tokenOf(neighbour, 'IBAN', iban)).not.toBe(answer.body.token)
  })

  test('200 the token pays by direct debit and is paid out to', async () => {
    const number = await tokenOf(shop, 'IBAN', iban)
    const directDebit = { account: { number, accountHolderName: 'Ada Lovelace' } }
    const paid = await shop.create('DIRECTDEBIT', {
      paymentMethods: { integrationType: 'DIRECT', type: 'DIRECTDEBIT', directDebit },
    })
    expect(paid).toMatchObject({ status: 200, body: { status: 'OK' } })
    const credited = await shop.call('POST', '/payments/refunds', {
      transId: 'pay-out-by-token',
      amount: { value: 100, currency: 'EUR' },
      paymentMethods: { directDebit },
    })
    expect(credited).toMatchObject({ status: 200, body: { status: 'OK' } })
    for (const { body } of [paid, credited]) {
      expect((await shop.read(body.payId)).paymentMethods.directDebit.account).toEqual({
        last4Digits: '3000',
        pseudoBankAccountNumber: number,
        accountHolderName: 'Ada Lovelace',
      })
    }
  })

  test('422 the provider gets the IBAN behind the token', async () => {
    const number = await tokenOf(shop, 'IBAN', 'DE62370400440532013001')
    const directDebit = { account: { number, accountHolderName: 'Ada Lovelace' } }
    const paymentMethods = { integrationType: 'DIRECT', type: 'DIRECTDEBIT', directDebit }
    expect(await shop.create('DIRECTDEBIT', { paymentMethods })).toMatchObject({
      status: 422,
      body: { responseCode: '23000351' },
    })
  })

  test('400 the token of another merchant pays nothing', async () => {
    const number = await tokenOf(neighbour, 'IBAN', iban)
    const directDebit = { account: { number, accountHolderName: 'Ada Lovelace' } }
    const paymentMethods = { integrationType: 'DIRECT', type: 'DIRECTDEBIT', directDebit }
    const answer = await shop.create('DIRECTDEBIT', { paymentMethods })
    expect(answer).toMatchObject({
      status: 400,
      body: { field: 'paymentMethods.directDebit.account.number' },
    })
    expect(answer.text).not.toContain(number)
  })
})

describe('refused', () => {
  test.each([
    ['a card with a wrong check digit', { type: 'CARD', number: '4111111111111112' }, '20120001'],
    ['an IBAN with wrong check digits', { type: 'IBAN', number: 'DE88370400440532013000' }, '20120001'],
    ['an IBAN of a wrong length', { type: 'IBAN', number: 'DE8937040044053201300' }, '20120001'],
    ['an IBAN of no country', { type: 'IBAN', number: 'QQ89370400440532013000' }, '20120001'],
    ['a pseudo card number of nobody', { type: 'CARD', number: '0123456789012345' }, '20120002'],
    ['a pseudo account number of nobody', { type: 'IBAN', number: 'ZZ00BBBBBBBBBBBBBB3000' }, '20120002'],
  ])('422 %s', async (_, body, responseCode) => {
    const answer = await exchange(shop, body)
    expect(answer.headers.get('content-type')).toBe('application/problem+json')
    expect(answer).toMatchObject({ status: 422, body: { status: 422, responseCode } })
    expect(answer.body.traceId).toMatch(/^[0-9a-f]{32}$/)
    expect(answer.text).not.toContain(body.number)
  })

  test.each([
    ['CARD', tokenCard],
    ['IBAN', tokenAccount],
  ])("422 a token of another merchant's, %s", async (type, make) => {
    expect(await exchange(shop, { type, number: await make() })).toMatchObject({
      status: 422,
      body: { responseCode: '20120002' },
    })
  })

  test.each([
    ['type', { number: card }],
    ['number', { type: 'CARD' }],
    ['type', { type: 'PAN', number: card }],
    ['number', { type: 'CARD', number: '4111 1111 1111 1111' }],
    ['number', { type: 'CARD', number: '41111' }],
    ['number', { type: 'CARD', number: 4111111111111111 }],
    ['number', { type: 'CARD', number: iban }],
    ['number', { type: 'IBAN', number: 'de89370400440532013000' }],
    ['number', { type: 'IBAN', number: card }],
    ['expiryDate', { type: 'IBAN', number: iban, expiryDate: '203012' }],
    ['expiryDate', { type: 'CARD', number: card, expiryDate: '203013' }],
    ['cardholderName', { type: 'CARD', number: card, cardholderName: 'A' }],
    ['surprise', { type: 'CARD', number: card, surprise: 1 }],
  ])('400 names %s', async (field, body) => {
    const answer = await exchange(shop, body)
    expect(answer.headers.get('content-type')).toBe('application/problem+json')
    expect(answer).toMatchObject({ status: 400, body: { errors: { [field]: [expect.any(String)] } } })
  })
})

async function tokenCard(): Promise<string> {
  return tokenOf(neighbour, 'CARD', '4242424242424242')
}

async function tokenAccount(): Promise<string> {
  return tokenOf(neighbour, 'IBAN', 'FR1420041010050500013M02606')
}

describe('Idempotency-Key', () => {
  test('200 a repetition gets the same bytes, 422 another body gets a problem', async () => {
    const headers = { 'idempotency-key': 'token-1' }
    const first = await exchange(shop, { type: 'CARD', number: card }, headers)
    const again = await exchange(shop, { number: card, type: 'CARD' }, headers)
    expect(again).toMatchObject({ status: 200, text: first.text })
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    const other = await exchange(shop, { type: 'CARD', number: '5555555555554444' }, headers)
    expect(other).toMatchObject({ status: 422, body: { responseCode: '20170002', status: 422 } })
    expect(other.headers.get('content-type')).toBe('application/problem+json')
  })

  test('422 a refusal comes back as the same bytes and the same media type', async () => {
    const headers = { 'idempotency-key': 'token-2' }
    const first = await exchange(shop, { type: 'CARD', number: '4111111111111112' }, headers)
    const again = await exchange(shop, { type: 'CARD', number: '4111111111111112' }, headers)
    expect(again).toMatchObject({ status: 422, text: first.text })
    expect(again.headers.get('content-type')).toBe('application/problem+json')
    expect(again.headers.get('idempotent-replayed')).toBe('true')
  })
})

test('200 two cards that meet on one pseudo number get two', async () => {
  const another = await openShop(gateway)
  const first = await tokenOf(another, 'CARD', '4000000000000002')
  await queryRows(
    gateway.databaseUrl,
    'UPDATE vault_card SET pseudo_number = $2 WHERE merchant_id = $1 AND pseudo_number = $3',
    [another.merchantId, '0000000000000000', first],
  )
  expect(await tokenOf(another, 'CARD', '4000000000000002')).toBe('0000000000000000')
  const account = await tokenOf(another, 'IBAN', iban)
  // The number that the account would get anew now stands for another one.
  await queryRows(gateway.databaseUrl, `UPDATE vault_account SET account_id = $2 WHERE merchant_id = $1`, [
    another.merchantId,
    randomUUID(),
  ])
  const second = await tokenOf(another, 'IBAN', iban)
  expect(second).toMatch(/^ZZ00[A-Z]{14}3000$/)
  expect(second).not.toBe(account)
  expect(await tokenOf(another, 'IBAN', iban)).toBe(second)
})
