import { afterAll, beforeAll, expect, test } from 'vitest'
import { paymentRecord } from '#schemas/payment-record.ts'
import { compileCheck } from '#test/support/docs/check-schema.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { openShop, type Shop } from '#test/support/shop.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

let gateway: TestGateway
let shop: Shop
beforeAll(async () => {
  gateway = await startTestGateway()
  shop = await openShop(gateway)
})
afterAll(() => gateway.stop())

const iban = 'DE89370400440532013000'
const account = {
  number: iban,
  accountHolderName: 'Ada Lovelace',
  code: 'COBADEFFXXX',
  bankName: 'Test Bank',
}
const mandate = { mandateId: 'M-2026/1', dateOfSignature: '01.11.2026' }

const pay = (directDebit: object, more: object = {}) =>
  shop.create('DIRECTDEBIT', {
    paymentMethods: { integrationType: 'DIRECT', type: 'DIRECTDEBIT', directDebit },
    ...more,
  })

test('200 the record shows the account masked, its bank and the mandate', async () => {
  const { body } = await pay({ account, ...mandate })
  const record = await shop.call('GET', `/payments/getByPayId/${body.payId}`)
  expect(record.body.paymentMethods.directDebit).toEqual({
    account: {
      last4Digits: '3000',
      pseudoBankAccountNumber: expect.stringMatching(/^ZZ00[A-Z]{14}3000$/),
      accountHolderName: 'Ada Lovelace',
      code: 'COBADEFFXXX',
      bankName: 'Test Bank',
    },
    ...mandate,
    providerTransactionId: expect.any(String),
  })
  expect(record.text).not.toContain(iban.slice(4, -4))
  expect(compileCheck(paymentRecord)(record.body)).toEqual([])
})

test('200 the vault stores the account once, however often it pays', async () => {
  const pseudo = async () => {
    const { body } = await pay({ account })
    return (await shop.read(body.payId)).paymentMethods.directDebit.account.pseudoBankAccountNumber
  }
  const numbers = new Set(await Promise.all([pseudo(), pseudo(), pseudo(), pseudo()]))
  expect(numbers.size).toBe(1)
  const rows = await queryRows<{ sealed: Buffer }>(
    gateway.databaseUrl,
    'SELECT sealed FROM vault_account WHERE merchant_id = $1',
    [shop.merchantId],
  )
  expect(rows).toHaveLength(1)
  expect(rows[0]?.sealed.includes(iban)).toBe(false)
})

test('422 a declined payment shows its account all the same', async () => {
  const { status, body } = await pay({ account: { ...account, number: 'DE62370400440532013001' } })
  expect(status).toBe(422)
  expect((await shop.read(body.payId)).paymentMethods.directDebit.account.last4Digits).toBe('3001')
})

test.each(['DE89370400440532013001', 'de89370400440532013000', 'ZZ00AAAAAAAAAAAAAA3000', 'ZZ00BBBB3000', ''])(
  '400 %j is no account',
  async number => {
    const answer = await pay({ account: { ...account, number } })
    expect(answer).toMatchObject({
      status: 400,
      body: { field: 'paymentMethods.directDebit.account.number' },
    })
  },
)

test('400 a destroyed account cannot pay, and is stored again with its IBAN', async () => {
  const { body } = await pay({ account: { ...account, number: 'NL91ABNA0417164300' } })
  const read = async (payId: string) => (await shop.read(payId)).paymentMethods.directDebit.account
  const { pseudoBankAccountNumber } = await read(body.payId)
  await queryRows(
    gateway.databaseUrl,
    'UPDATE vault_account SET sealed = NULL, destroyed_at = now() WHERE pseudo_number = $1',
    [pseudoBankAccountNumber],
  )
  const byPseudo = { account: { ...account, number: pseudoBankAccountNumber } }
  expect((await pay(byPseudo)).status).toBe(400)
  expect((await pay({ account: { ...account, number: 'NL91ABNA0417164300' } })).status).toBe(200)
  expect((await pay(byPseudo)).status).toBe(200)
})
