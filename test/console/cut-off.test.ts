/** An act of the console and its row in the audit trail are two commits: no act goes unrecorded. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createAuditStore } from '#storage/audit/audit.ts'
import { createFormStore } from '#storage/console/forms.ts'
import { type Database, openDatabase } from '#storage/database.ts'
import { type Person, signUp } from '#test/support/browser/console.ts'
import { commandsHere } from '#test/support/command-here.ts'
import { cardPayment, masterKeyOf, startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

let gateway: TestGateway
let owner: Person
let database: Database

beforeAll(async () => {
  gateway = await startTestGateway()
  owner = await signUp(gateway, { role: 'owner' })
  database = openDatabase(gateway.databaseUrl, error => expect(error).toBeUndefined())
})
afterAll(async () => {
  await database.close()
  await gateway.stop()
})

const at = (path: string) => `/console/m/${gateway.merchantId}${path}`
const query = <Row extends object>(text: string) => queryRows<Row>(gateway.databaseUrl, text)

/** Dates the forms back as if their processes had been stopped, and runs the worker that records them. */
async function findLater(): Promise<void> {
  await query(
    `UPDATE idempotency_key SET created_at = created_at - interval '6 minutes' WHERE path LIKE '/console%'`,
  )
  await createFormStore(database).recordCutOff()
}

const trailOf = (object: string) =>
  query(
    `SELECT actor, act, after FROM audit WHERE object = '${object}' AND act <> 'console.sign-in' ORDER BY number`,
  )

async function withoutTrail(act: () => Promise<void>): Promise<void> {
  await query('ALTER TABLE audit_head RENAME TO audit_head_away')
  try {
    await act()
  } finally {
    await query('ALTER TABLE audit_head_away RENAME TO audit_head')
  }
}

test('500 a refund whose row could not be written is in the audit trail and in the timeline a little later', async () => {
  const { payId } = (await gateway.call('POST', '/payments', cardPayment())).body
  const page = at(`/payments/${payId}/refunds`)
  await withoutTrail(async () => {
    expect((await owner.post(page, { amount: '300', key: 'k-cut', sure: 'yes' })).status).toBe(500)
  })
  const { body } = await gateway.call('GET', `/payments/getByPayId/${payId}`)
  expect(body.amount.refundedValue).toBe(300)
  expect(await trailOf(payId)).toEqual([])
  await findLater()
  await findLater()
  const row = { actor: owner.email, act: 'console.cut-off', after: { page, status: 'UNKNOWN' } }
  expect(await trailOf(payId)).toEqual([row])
  expect(await (await owner.get(at(`/payments/${payId}`))).text()).toMatch(
    /console\.cut-off .*UNKNOWN.*\/refunds/s,
  )
})

test('500 a key that was made without its row leaves one under the name of the merchant', async () => {
  const before = (await gateway.gateway.merchants.listKeys(gateway.merchantId))?.length ?? 0
  await withoutTrail(async () => {
    expect((await owner.post(at('/keys'), { name: 'cut off', once: 'o1' })).status).toBe(500)
  })
  expect((await gateway.gateway.merchants.listKeys(gateway.merchantId))?.length).toBe(before + 1)
  await findLater()
  const after = { page: at('/keys'), status: 'UNKNOWN' }
  expect(await trailOf(gateway.merchantId)).toContainEqual({
    actor: owner.email,
    act: 'console.cut-off',
    after,
  })
})

test('an act whose process was stopped is recorded once it cannot be under way any more; an answered one is not', async () => {
  const forms = createFormStore(database)
  const entry = (object: string) => ({ actor: 'ada', from: 'here', act: 'console.cut-off', object })
  const [stopped, answered] = ['a'.repeat(64), 'b'.repeat(64)]
  expect(await forms.claim(stopped, entry('stopped'))).toBe(true)
  expect(await forms.claim(answered, entry('answered'))).toBe(true)
  expect(await forms.claim(stopped, entry('a second click'))).toBe(false)
  await forms.answer(answered, { status: 303, body: 'sealed' })
  await forms.recordCutOff()
  expect(await trailOf('stopped')).toEqual([])
  await findLater()
  expect([await trailOf('stopped'), await trailOf('answered'), await trailOf('a second click')]).toEqual([
    [{ actor: 'ada', act: 'console.cut-off', after: null }],
    [],
    [],
  ])
})

test('303 an act that is answered leaves its own row alone', async () => {
  const { payId } = (await gateway.call('POST', '/payments', cardPayment())).body
  const refund = { amount: '300', key: 'k-whole', sure: 'yes' }
  expect((await owner.post(at(`/payments/${payId}/refunds`), refund)).status).toBe(303)
  await findLater()
  expect((await trailOf(payId)).map(row => ({ ...row }))).toEqual([
    { actor: owner.email, act: 'payment.refund', after: { amount: 300, currency: 'EUR' } },
  ])
})

/** Makes the API answer 500 to every request that changes or creates a payment. */
async function withoutPayments(act: () => Promise<void>): Promise<void> {
  await query(
    `CREATE FUNCTION stop_payment() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'stopped'; END $$`,
  )
  await query(
    'CREATE TRIGGER stop BEFORE INSERT OR UPDATE ON payment FOR EACH ROW EXECUTE FUNCTION stop_payment()',
  )
  try {
    await act()
  } finally {
    await query('DROP TRIGGER stop ON payment')
    await query('DROP FUNCTION stop_payment')
  }
}

test('422 acts that the API answered with 500 are in the audit trail with an unknown outcome', async () => {
  const made = await owner.post(at('/links/new'), { amount: '1234', currency: 'EUR', key: 'k-link' })
  const link = (made.headers.get('location') ?? '').split('?')[0] ?? ''
  await withoutPayments(async () => {
    expect((await owner.post(`${link}/cancel`, { key: 'k-cancel' })).status).toBe(422)
    expect((await owner.post(at('/links/new'), { amount: '1', currency: 'EUR', key: 'lost' })).status).toBe(
      422,
    )
    expect((await owner.post(at('/test/payment'), { key: 'lost' })).status).toBe(422)
  })
  const unknown = expect.objectContaining({ status: 'UNKNOWN' })
  const actor = owner.email
  expect(await trailOf(link.split('/').at(-1) ?? '')).toContainEqual({
    actor,
    act: 'link.cancel',
    after: unknown,
  })
  expect(await trailOf('link-lost')).toEqual([{ actor, act: 'link.create', after: unknown }])
  expect(await trailOf('console-lost')).toEqual([{ actor, act: 'test.payment', after: unknown }])
})

test('a command whose row could not be written leaves one a little later; one that was refused leaves none', async () => {
  const commands = commandsHere(gateway.databaseUrl, {
    TOLLGATE_MASTER_KEY: masterKeyOf(gateway.databaseUrl),
  })
  const email = 'cut@example.com'
  const keyId = (await commands.json('key', 'create', gateway.merchantId, '--name', 'To be ended')).keyId
  await withoutTrail(async () => {
    for (const words of [
      ['operator', 'add', '--email', email, '--role', 'viewer'],
      ['key', 'revoke', keyId],
    ])
      expect([words, (await commands.run(...words)).code]).toEqual([words, 1])
    expect((await commands.run('key', 'revoke', '0'.repeat(32))).stderr).toContain('there is no key')
  })
  await findLater()
  const cutOff = (command: string) =>
    expect.objectContaining({ act: 'command.cut-off', after: { command, status: 'UNKNOWN' } })
  expect(await trailOf(email)).toEqual([cutOff('operator add')])
  expect(await trailOf(keyId)).toEqual([expect.objectContaining({ act: 'key.create' }), cutOff('key revoke')])
  expect(await trailOf('0'.repeat(32))).toEqual([])
  await commands.json('operator', 'set', '--email', email, '--role', 'support')
  await findLater()
  const again = await trailOf(email)
  expect(again).toEqual([cutOff('operator add'), expect.objectContaining({ act: 'operator.set' })])
  commands.remove()
})

test('the row of an object with characters that cannot be stored holds up no other row, and the trail stays whole', async () => {
  const { note } = createFormStore(database)
  const entry = { actor: 'ada@example.com', from: '127.0.0.1', act: 'console.cut-off' }
  await note({ ...entry, object: 'a\0b' })
  await note({ ...entry, object: `${'x'.repeat(255)}💥` })
  await findLater()
  const rows = await query(`SELECT object FROM audit WHERE actor = 'ada@example.com' ORDER BY object`)
  expect(rows).toEqual([{ object: 'a\ufffdb' }, { object: `${'x'.repeat(255)}\ufffd` }])
  expect((await createAuditStore(database).verify()).faults).toEqual([])
})
