/** Several merchants that share a bank account: a statement entry belongs to one payment of one merchant. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bankSettings, testIbans } from '#test/support/bank/debits.ts'
import { statement } from '#test/support/bank/files.ts'
import { type BankStage, openBankStage, textOf } from '#test/support/bank/stage.ts'
import { openShop, type Shop } from '#test/support/shop.ts'

let stage: BankStage
interface ShopAtBank extends Shop {
  readonly accountId: string
}
let shops: readonly [ShopAtBank, ShopAtBank]
beforeAll(async () => {
  stage = await openBankStage()
  shops = [await openShopAtBank(), await openShopAtBank()]
})
afterAll(() => stage.close())

async function openShopAtBank(): Promise<ShopAtBank> {
  const shop = await openShop(stage.gateway)
  const account = ['--connector', 'bank', '--name', 'House bank', ...bankSettings]
  const { accountId } = await stage.commands.json('provider', 'add', shop.merchantId, ...account)
  return { ...shop, accountId }
}

async function order(shop: Shop, transId: string): Promise<string> {
  const { status, body, text } = await shop.call('POST', '/payments', {
    transId,
    amount: { value: 1000, currency: 'EUR' },
    paymentMethods: { integrationType: 'DIRECT', type: 'SEPACREDITTRANSFER', sepaCreditTransfer: {} },
  })
  if (status !== 200) throw new Error(text)
  return body.payId
}

const statusOf = async (shop: Shop, payId: string): Promise<string> => (await shop.read(payId)).status

const payer = { name: 'Ann', iban: testIbans.good }
const arrive = (reference: string, text: string, endToEndId?: string) =>
  stage.import(
    stage.commands.file(`${reference}.xml`, statement([{ reference, cents: 1000, text, payer, endToEndId }])),
  )

test('a transfer for an order number that two merchants have pays neither order: it is listed', async () => {
  const [one, two] = shops
  const payIds = [await order(one, 'order-1001'), await order(two, 'order-1001')] as const
  const imported = await arrive('AMBIGUOUS', 'order 1001')
  expect(imported).toMatchObject({ booked: 0, unmatched: [{ reference: 'AMBIGUOUS' }] })
  expect(await statusOf(one, payIds[0])).toBe('AUTHORIZE_REQUEST')
  expect(await statusOf(two, payIds[1])).toBe('AUTHORIZE_REQUEST')
})

test('a transfer for an order number that only one merchant has pays that order', async () => {
  const [one, two] = shops
  const [first, second] = [await order(one, 'only-one'), await order(two, 'only-two')]
  expect(await arrive('ONE', 'only one')).toMatchObject({ booked: 1, unmatched: [] })
  expect(await arrive('TWO', 'only two')).toMatchObject({ booked: 1, unmatched: [] })
  expect(await statusOf(one, first)).toBe('OK')
  expect(await statusOf(two, second)).toBe('OK')
})

test('a transfer that has paid an order of one merchant pays no order of another when its file is imported again', async () => {
  const [one, two] = shops
  const paid = await order(one, 'again-7')
  expect(await arrive('AGAIN', 'again 7')).toMatchObject({ booked: 1 })
  expect(await statusOf(one, paid)).toBe('OK')
  const later = await order(two, 'again-7')
  expect(await arrive('AGAIN', 'again 7')).toMatchObject({ booked: 0, repeated: 1, unmatched: [] })
  expect(await statusOf(two, later)).toBe('AUTHORIZE_REQUEST')
})

/** A debit in a file for the bank, and its reference there. */
async function debit(shop: ShopAtBank, transId: string): Promise<{ payId: string; endToEndId: string }> {
  const { status, body, text } = await shop.call('POST', '/payments', {
    transId,
    amount: { value: 1000, currency: 'EUR' },
    paymentMethods: {
      integrationType: 'DIRECT',
      type: 'DIRECTDEBIT',
      directDebit: {
        account: { number: testIbans.good, accountHolderName: 'Ann' },
        mandateId: `MANDATE-${transId}`,
        dateOfSignature: '01.11.2026',
      },
    },
  })
  if (status !== 200) throw new Error(text)
  const files = await stage.batch(transId, shop.accountId)
  const [, endToEndId = ''] = /<EndToEndId>(\w+)</.exec(textOf(files[0])) ?? []
  return { payId: body.payId, endToEndId }
}

test.each([
  ['the first', 0, 1],
  ['the second', 1, 0],
] as const)(
  'the booking of a debit of %s merchant does not pay an order of the other with the same number',
  async (_, by, other) => {
    const number = `debit-${by}`
    const { payId, endToEndId } = await debit(shops[by], number)
    const waiting = await order(shops[other], number)
    expect(await arrive(`BOOKED${by}`, number, endToEndId)).toMatchObject({ booked: 1, unmatched: [] })
    expect(await statusOf(shops[by], payId)).toBe('OK')
    expect(await statusOf(shops[other], waiting)).toBe('AUTHORIZE_REQUEST')
  },
)
