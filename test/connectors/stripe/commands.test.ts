/** `provider add` and `provider check` for an account at the double of Stripe, as an operator types them. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type CommandsHere, commandsHere } from '#test/support/command-here.ts'
import { createTestDatabase, type TestDatabase } from '#test/support/database/database.ts'
import { StripeDouble } from '#test/support/stripe/double.ts'

let database: TestDatabase
let commands: CommandsHere
let double: StripeDouble
let merchantId: string
beforeAll(async () => {
  double = await StripeDouble.start({ secretKey: 'sk_test_double', webhookSecret: 'whsec_double' })
  database = await createTestDatabase()
  commands = commandsHere(database.url, { TOLLGATE_PUBLIC_URL: 'https://pay.example' })
  merchantId = (await commands.json('merchant', 'create', '--name', 'Shop')).merchantId
})
afterAll(async () => {
  commands.remove()
  await database.drop()
  await double.stop()
})

const add = (key: string, ...more: string[]) =>
  commands.run(
    ...['provider', 'add', merchantId, '--connector', 'stripe', '--name', key, '--json'],
    ...['--set', `baseUrl=${double.origin}`],
    ...['--secret', `secretKey=@${commands.file(key, key)}`],
    ...['--secret', `webhookSecret=@${commands.file('hook', 'whsec_double')}`],
    ...more,
  )

const addedAs = async (key: string, ...more: string[]): Promise<string> => {
  const { code, stdout } = await add(key, ...more)
  expect(code).toBe(0)
  return JSON.parse(stdout).accountId
}

test('the check of an account with a correct key finds nothing wrong', async () => {
  const accountId = await addedAs('sk_test_double')
  const { findings, ok } = await commands.json('provider', 'check', accountId)
  expect(ok).toBe(true)
  expect(findings.map(({ name }: { name: string }) => name)).toEqual(
    expect.arrayContaining(['credentials', 'mode', 'version', 'notices']),
  )
})

test('the check reports a wrong key', async () => {
  const accountId = await addedAs('sk_test_wrong')
  const { code, stdout } = await commands.run('provider', 'check', accountId, '--json')
  expect(code).toBe(1)
  expect(JSON.parse(stdout)).toEqual({
    accountId,
    ok: false,
    findings: expect.arrayContaining([
      { name: 'credentials', ok: false, detail: expect.stringContaining('does not know the secret key') },
    ]),
  })
})

test.each([
  ['a publishable key', ['pk_test_1'], 'secretKey'],
  ['a key of the live mode in test', ['rk_live_1'], "secretKey is wrong: it is a key of Stripe's live mode"],
  ['a setting that is neither true nor false', ['sk_test_double', '--set', 'rawCards=yes'], 'rawCards'],
  ['a setting that Stripe does not have', ['sk_test_double', '--set', 'color=red'], 'color'],
  ['a type that Stripe does not serve', ['sk_test_double', '--set', 'types=PAYSAFECARD'], 'PAYSAFECARD'],
])('%s is refused by name', async (_, [key = '', ...more], name) => {
  const { code, stderr } = await add(key, ...more)
  expect([code, stderr.includes(name)]).toEqual([2, true])
})

test('a missing secret is refused by name', async () => {
  const { code, stderr } = await commands.run(
    ...['provider', 'add', merchantId, '--connector', 'stripe', '--name', 'x'],
    ...['--secret', `secretKey=@${commands.file('key', 'sk_test_double')}`],
  )
  expect([code, stderr.includes('webhookSecret')]).toEqual([2, true])
})

test('the script of payments runs by card number, or opens and ends a page', async () => {
  const byNumber = await addedAs('sk_test_double', '--set', 'rawCards=true')
  const { ok, findings } = await commands.json('provider', 'check', byNumber, '--payments')
  expect([ok, findings.slice(-6).map(({ name }: { name: string }) => name)]).toEqual([
    true,
    ['decline', 'authorise', 'look-up by our reference', 'capture', 'refund', 'reversal'],
  ])
  expect(double.books.ledger().map(({ captured, refunded, status }) => [captured, refunded, status])).toEqual(
    [
      [0, 0, 'requires_payment_method'],
      [400, 100, 'succeeded'],
      [0, 0, 'canceled'],
    ],
  )
  const onPage = await addedAs('sk_test_double')
  const page = await commands.json('provider', 'check', onPage, '--payments')
  expect(page.findings.slice(-2)).toMatchObject([
    { name: 'page', ok: true },
    { name: 'end of the page', ok: true },
  ])
})
