/** `vault purge`: which numbers are destroyed and which are kept, by the merchant's clock, beside a running gateway. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { purgeVault } from '#storage/vault/vault-purge.ts'
import { cardPayment, startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { chargePlan } from '#test/support/plans.ts'
import { done, openShop, type Shop } from '#test/support/shop.ts'
import { findBrokenRules, queryRows } from '#test/support/simulation/invariants.ts'

let gateway: TestGateway
let shop: Shop
beforeAll(async () => {
  gateway = await startTestGateway()
  shop = await openShop(gateway)
})
afterAll(async () => {
  expect(await findBrokenRules(gateway.databaseUrl)).toEqual({})
  await gateway.stop()
})

/** Numbers that are approved, each used once in this file. */
const numbers = {
  old: '4111111111111111',
  revived: '5555555555554444',
  recent: '4242424242424242',
  awaited: '4012888888881881',
  stored: '5105105105105100',
  again: '378282246310005',
}

const pay = async (number: string, more: object = {}) => {
  const { body } = await shop.call('POST', '/payments', cardPayment({ card: { number, ...more } }))
  return body.payId as string
}
const pseudoOf = async (payId: string): Promise<string> =>
  (await shop.read(payId)).paymentMethods.card.pseudoCardNumber
const payByPseudo = (number: string) =>
  shop.call('POST', '/payments', cardPayment({ card: { number, expiryDate: undefined } }))
const purge = (unusedFor = 'P30D', more: { dryRun?: boolean; batch?: number } = {}) =>
  purgeVault(gateway.databaseUrl, { unusedFor, dryRun: false, ...more })

test('only numbers that were unused for that long, and are not needed, are destroyed', async () => {
  const [old, revived, awaited, stored] = [
    await pay(numbers.old),
    await pay(numbers.revived),
    // Waits for its confirmation, which will need the number.
    await pay(numbers.awaited, { eventToken: 'ORDER' }),
    await pay(numbers.stored),
  ]
  // A number that any other table refers to is kept.
  await queryRows(
    gateway.databaseUrl,
    `CREATE TABLE kept_elsewhere AS SELECT merchant_id, card_id FROM payment WHERE pay_id = '${stored}'`,
  )
  const stranger = await openShop(gateway)
  const { body: theirs } = await stranger.create('CARD')
  await queryRows(
    gateway.databaseUrl,
    `UPDATE payment SET expires_at = now() + interval '60 days' WHERE pay_id = '${awaited}'`,
  )
  await queryRows(
    gateway.databaseUrl,
    `UPDATE timer SET run_at = now() + interval '60 days' WHERE pay_id = '${awaited}'`,
  )
  await shop.advance('P31D')
  const recent = await pay(numbers.recent)
  await pay(numbers.revived)
  const pseudo = Object.fromEntries(
    await Promise.all(
      Object.entries({ old, revived, awaited, stored, recent }).map(
        async ([name, payId]) => [name, await pseudoOf(payId)] as const,
      ),
    ),
  )

  expect(await purge('P30D', { dryRun: true })).toEqual({ found: 1, destroyed: 0 })
  expect((await payByPseudo(pseudo.stored ?? '')).status).toBe(200)
  expect(await purge()).toEqual({ found: 1, destroyed: 1 })
  expect(await purge()).toEqual({ found: 0, destroyed: 0 })

  const gone = await payByPseudo(pseudo.old ?? '')
  expect(gone).toMatchObject({ status: 400, body: { field: 'paymentMethods.card.number' } })
  for (const kept of ['revived', 'awaited', 'stored', 'recent'])
    expect([kept, (await payByPseudo(pseudo[kept] ?? '')).status]).toEqual([kept, 200])
  // The other merchant's clock was not moved.
  const record = await stranger.read(theirs.payId)
  const { pseudoCardNumber } = record.paymentMethods.card
  const again = await stranger.call(
    'POST',
    '/payments',
    cardPayment({ card: { number: pseudoCardNumber, expiryDate: undefined } }),
  )
  expect(again.status).toBe(200)
  // The payment still shows its masked card; nothing of the number is left.
  expect((await shop.read(old)).paymentMethods.card).toMatchObject({
    first6Digits: '411111',
    last4Digits: '1111',
    pseudoCardNumber: pseudo.old,
  })
  const rows = await queryRows<{ sealed: Buffer | null; destroyed_at: Date | null }>(
    gateway.databaseUrl,
    `SELECT sealed, destroyed_at FROM vault_card WHERE pseudo_number = '${pseudo.old}'
       AND merchant_id = '${shop.merchantId}'`,
  )
  expect(rows).toEqual([{ sealed: null, destroyed_at: expect.any(Date) }])
})

test('a card that is used again after it was destroyed is stored again, with the same pseudo number', async () => {
  const first = await pay(numbers.again)
  await shop.advance('P31D')
  expect((await purge()).destroyed).toBeGreaterThanOrEqual(1)
  const pseudo = await pseudoOf(first)
  expect((await payByPseudo(pseudo)).status).toBe(400)
  // As a process that has just started would, or this one an hour later.
  const fresh = await startTestGateway({ beside: gateway })
  const body = cardPayment({ card: { number: numbers.again } })
  const { authorization } = shop
  expect((await fresh.call('POST', '/payments', body, { authorization })).status).toBe(200)
  await fresh.stop()
  expect((await payByPseudo(pseudo)).status).toBe(200)
})

test('accounts like cards: unused ones are destroyed; those of a customer, a plan and a queued bank file stay', async () => {
  const own = await openShop(gateway)
  const debit = (number: string, more: object = {}) =>
    own.create('DIRECTDEBIT', {
      ...more,
      paymentMethods: {
        integrationType: 'DIRECT',
        type: 'DIRECTDEBIT',
        directDebit: { account: { number, accountHolderName: 'Ada Lovelace' } },
      },
    })
  const customerInfo = { merchantCustomerId: 'ada', email: 'ada@example.com' }
  expect((await debit('DE89370400440532013000', { customerInfo })).status).toBe(200)
  expect((await debit('NL91ABNA0417164300')).status).toBe(200)
  expect((await debit('GL8964710001000206')).status).toBe(200)
  // Without a customer, only the plan keeps the account.
  const credentialOnFile = {
    type: 'RECURRING',
    initialPayment: true,
    recurring: { frequency: 'YEARLY', useCase: 'FIXED' },
  }
  const { body: yearly } = await debit('DE02120300000000202051', { credentialOnFile })
  const { body: over } = await debit('DE75512108001245126199', { credentialOnFile })
  await own.call('POST', `/payment-plans/${over.paymentPlanId}/cancel`, {})
  const { body: filed } = await debit('FR1420041010050500013M02606')
  await queryRows(
    gateway.databaseUrl,
    `INSERT INTO timer (merchant_id, pay_id, x_id, kind, run_at, attempt)
     SELECT merchant_id, pay_id, x_id, 'BATCH', 'infinity', 0 FROM operation WHERE merchant_id = $1 AND x_id = $2`,
    [own.merchantId, filed.xId],
  )
  // Left behind by a deletion whose order has ended since.
  await queryRows(
    gateway.databaseUrl,
    `UPDATE vault_account SET delete_after_use_at = now() WHERE merchant_id = $1 AND pseudo_number LIKE '%0206'`,
    [own.merchantId],
  )
  await own.advance('P31D')
  await purge()
  const rows = await queryRows<{ tail: string }>(
    gateway.databaseUrl,
    `SELECT right(pseudo_number, 4) AS tail FROM vault_account WHERE merchant_id = $1 AND sealed IS NOT NULL ORDER BY 1`,
    [own.merchantId],
  )
  expect(rows).toEqual([{ tail: '2051' }, { tail: '2606' }, { tail: '3000' }])
  expect(await chargePlan(own, yearly.paymentPlanId)).toMatchObject(done('OK'))
  await queryRows(gateway.databaseUrl, `DELETE FROM timer WHERE kind = 'BATCH' AND merchant_id = $1`, [
    own.merchantId,
  ])
})

test('many are destroyed in small batches, each of which is committed', async () => {
  const many = await openShop(gateway)
  await queryRows(
    gateway.databaseUrl,
    `INSERT INTO vault_card (merchant_id, card_id, pseudo_number, key_version, sealed, created_at)
     SELECT '${many.merchantId}', gen_random_uuid(), '0' || lpad(n::text, 15, '0'), 1, '\\x00', now() - interval '500 days'
     FROM generate_series(1, 25) n`,
  )
  const steps: [number, number][] = []
  const onProgress = (destroyed: number, total: number) => void steps.push([destroyed, total])
  await purgeVault(gateway.databaseUrl, { unusedFor: 'P400D', dryRun: false, batch: 10, onProgress })
  expect(steps).toEqual([
    [10, 25],
    [20, 25],
    [25, 25],
  ])
})
