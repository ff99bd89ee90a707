/** `key` and `audit` as scripts use them: JSON shapes, refusals, exit codes, and the audit trail afterwards. */
import { userInfo } from 'node:os'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { tollgateHere } from '#test/support/command-line.ts'
import { createTestDatabase, expectWaiting } from '#test/support/database/database.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

let database: Awaited<ReturnType<typeof createTestDatabase>>
let merchantId: string
const masterKey = Buffer.alloc(32, 5).toString('base64')
const run = (...words: string[]) =>
  tollgateHere(words, { DATABASE_URL: database.url, TOLLGATE_MASTER_KEY: masterKey })
const json = async (...words: string[]) => {
  const { code, stdout, stderr } = await run(...words, '--json')
  expect({ code, stderr }).toMatchObject({ code: 0 })
  expect(stdout).toMatch(/^[^\n]+\n$/)
  return JSON.parse(stdout)
}

beforeAll(async () => {
  database = await createTestDatabase()
  merchantId = (await json('merchant', 'create', '--name', 'Shop')).merchantId
})
afterAll(async () => {
  await database.drop()
})

test('a key is created, listed, revoked, and every act is in the audit trail', async () => {
  const words = [
    '--name',
    'Back office',
    '--scopes',
    'refunds,read',
    '--allow-from',
    '203.0.113.0/24,2001:db8::1',
  ]
  const created = await json('key', 'create', merchantId, ...words, '--expires', '2199-01-31')
  const { apiKey, ...shown } = created
  expect(shown).toEqual({
    keyId: expect.stringMatching(/^[0-9a-f]{32}$/),
    name: 'Back office',
    scopes: ['read', 'refunds'],
    allowFrom: ['203.0.113.0/24', '2001:db8::1'],
    createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
    expiresAt: '2199-01-31T00:00:00.000Z',
  })
  expect(apiKey).toContain(created.keyId)
  const unnamed = {
    keyId: expect.stringMatching(/^[0-9a-f]{32}$/),
    name: null,
    scopes: ['read', 'payments', 'refunds', 'payouts', 'test'],
    allowFrom: [],
    createdAt: expect.any(String),
  }
  expect(await json('key', 'list', merchantId)).toEqual([unnamed, shown])
  expect(await json('key', 'revoke', created.keyId)).toEqual({
    keyId: created.keyId,
    merchantId,
    revoked: true,
  })
  expect(await json('key', 'list', merchantId)).toEqual([unnamed])
  expect(await run('key', 'revoke', created.keyId)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`there is no key "${created.keyId}"`),
  })

  const trail = await json('audit', 'list')
  const common = { at: expect.stringMatching(/Z$/), actor: userInfo().username, from: 'command line' }
  const { name, scopes, allowFrom } = shown
  expect(trail).toEqual([
    {
      ...common,
      act: 'merchant.create',
      object: merchantId,
      before: null,
      after: { name: 'Shop', keyId: expect.any(String) },
    },
    {
      ...common,
      act: 'key.create',
      object: created.keyId,
      before: null,
      after: { merchantId, name, scopes, allowFrom, expiresAt: shown.expiresAt },
    },
    {
      ...common,
      act: 'key.revoke',
      object: created.keyId,
      before: { merchantId, name, scopes, allowFrom },
      after: null,
    },
  ])
  expect(JSON.stringify(trail)).not.toContain(apiKey.slice(-43))
})

test('merchant set, key rotate and webhook-secret rotate are audited with the changed values', async () => {
  await run('merchant', 'set', merchantId, '--declines-per-card', '3/PT1H', '--name', 'Shop 2')
  await run('key', 'rotate', merchantId)
  await run('webhook-secret', 'rotate', merchantId)
  const rows = (await json('audit', 'list', '--limit', '3')) as {
    act: string
    before: object
    after: object
  }[]
  expect(rows.map(({ act, before, after }) => ({ act, before, after }))).toEqual([
    {
      act: 'merchant.set',
      before: { name: 'Shop', declinesPerCard: null },
      after: { name: 'Shop 2', declinesPerCard: { count: 3, window: 'PT1H' } },
    },
    { act: 'key.rotate', before: null, after: { keyId: expect.any(String), overlapHours: 24 } },
    { act: 'webhook-secret.rotate', before: null, after: { secretId: expect.any(String), overlapHours: 24 } },
  ])
})

test('audit export writes all rows, and verify finds a changed, a missing and a cut-off row', async () => {
  const exported = (await run('audit', 'export')).stdout.trimEnd().split('\n')
  const numbers = exported.map(line => JSON.parse(line).number)
  expect(numbers).toEqual(numbers.map((_, at) => at + 1))
  expect(await json('audit', 'verify')).toMatchObject({ valid: true, rows: numbers.length, faults: [] })
  const last = numbers.length
  const tamper = async (sql: string, undo: string) => {
    await queryRows(database.url, sql)
    const found = await run('audit', 'verify', '--json')
    await queryRows(database.url, undo)
    return { code: found.code, faults: JSON.parse(found.stdout).faults }
  }
  await queryRows(database.url, 'CREATE TABLE kept AS SELECT * FROM audit')
  const restore = 'INSERT INTO audit SELECT * FROM kept ON CONFLICT DO NOTHING'
  expect(
    await tamper(
      // Whoever runs the tests is the actor of their commands, whatever the name.
      "UPDATE audit SET actor = actor || '!' WHERE number = 2",
      'UPDATE audit SET actor = kept.actor FROM kept WHERE kept.number = audit.number',
    ),
  ).toEqual({ code: 1, faults: ['row 2 was changed'] })
  expect(await tamper('DELETE FROM audit WHERE number = 2', restore)).toEqual({
    code: 1,
    faults: ['1 missing: row 2'],
  })
  expect(await tamper(`DELETE FROM audit WHERE number = ${last}`, restore)).toEqual({
    code: 1,
    faults: [`the end is cut off: row ${last} missing`],
  })
  expect(
    await tamper(
      `UPDATE audit_head SET number = 1, hash = (SELECT hash FROM audit WHERE number = 1)`,
      `UPDATE audit_head SET number = ${last}, hash = (SELECT hash FROM audit WHERE number = ${last})`,
    ),
  ).toEqual({ code: 1, faults: [`${last - 1} beyond the end that was kept apart, which is 1`] })
  expect(await run('audit', 'verify')).toMatchObject({ code: 0, stdout: expect.stringContaining('Whole:') })
})

test('verify names a row whose time was moved ever so little or out of the calendar, and list still shows it', async () => {
  const before = await json('audit', 'list')
  await queryRows(database.url, 'CREATE TABLE times AS SELECT number, at FROM audit')
  for (const at of ["at + interval '1 microsecond'", "'infinity'", "'-infinity'", "'200000-01-01'"]) {
    await queryRows(database.url, `UPDATE audit SET at = ${at} WHERE number = 2`)
    const verified = await run('audit', 'verify', '--json')
    expect([at, verified.code, JSON.parse(verified.stdout).faults]).toEqual([at, 1, ['row 2 was changed']])
    expect(await json('audit', 'list')).toHaveLength(before.length)
    await queryRows(
      database.url,
      'UPDATE audit SET at = times.at FROM times WHERE times.number = audit.number AND audit.number = 2',
    )
  }
  expect(await json('audit', 'verify')).toMatchObject({ valid: true })
})

test('verify reports that the separately stored number and hash are missing, also when all rows are gone', async () => {
  await queryRows(database.url, 'CREATE TABLE rows_kept AS SELECT * FROM audit')
  await queryRows(database.url, 'CREATE TABLE head_kept AS SELECT * FROM audit_head')
  await queryRows(database.url, 'TRUNCATE audit, audit_head')
  const verified = await run('audit', 'verify', '--json')
  expect([verified.code, JSON.parse(verified.stdout)]).toEqual([
    1,
    expect.objectContaining({
      valid: false,
      rows: 0,
      faults: ['number and hash of the newest row, which are kept apart, are missing'],
    }),
  ])
  await queryRows(database.url, 'INSERT INTO audit SELECT * FROM rows_kept')
  await queryRows(database.url, 'INSERT INTO audit_head SELECT * FROM head_kept')
  expect(await json('audit', 'verify')).toMatchObject({ valid: true })
})

test.each<[words: string, sentence: string]>([
  ['key create mer_1', 'required option'],
  ['key create mer_1 --name x --scopes read,writing', '"writing" is not a scope'],
  ['key create mer_1 --name x --allow-from 10.0.0.0/33', '"10.0.0.0/33" is neither an address nor a network'],
  ['key create mer_1 --name x --allow-from here', '"here" is neither an address nor a network'],
  ['key create mer_1 --name x --expires 2020-01-01', 'It must lie in the future'],
  ['key create mer_1 --name x --expires soon', 'It must be a date'],
  ['key revoke 123', 'It must be 32 hex digits'],
  ['merchant set mer_1 --declines-per-card 0/PT1H', 'a number from 1 to 1000'],
  ['merchant set mer_1 --declines-per-address 5', 'such as 10/PT1H'],
  ['merchant set mer_1 --payout-limit 100/P1D', 'such as 100000EUR/P1D'],
  ['merchant set mer_1 --payout-limit 100XYZ/P1D', 'such as 100000EUR/P1D'],
  ['audit list --since yesterday', 'such as PT2H, a date'],
])('wrong usage is answered with one sentence: %s', async (words, sentence) => {
  const { code, stderr } = await tollgateHere(words.split(' '))
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(sentence) })
})

test('an unknown merchant is reported', async () => {
  for (const words of [
    ['key', 'create', 'mer_1', '--name', 'x'],
    ['key', 'list', 'mer_1'],
  ])
    expect(await run(...words)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('there is no merchant "mer_1"'),
    })
})

test('a person of the console needs a valid e-mail address and existing merchants', async () => {
  const add = (email: string, merchants: string) =>
    run('operator', 'add', '--email', email, '--role', 'viewer', '--merchants', merchants)
  const typo = await add('ada@example.com', `${merchantId},mer_typo`)
  expect([typo.code, typo.stderr]).toEqual([1, expect.stringContaining('there is no merchant "mer_typo"')])
  const unreadable = await add('\u001b[31m@example.com', merchantId)
  expect([unreadable.code, unreadable.stderr]).toEqual([2, expect.not.stringContaining('\u001b')])
  expect(await json('operator', 'list')).toEqual([])

  expect((await add('ada@example.com', merchantId)).code).toBe(0)
  const moved = await run('operator', 'set', '--email', 'ada@example.com', '--merchants', 'mer_typo')
  expect([moved.code, moved.stderr]).toEqual([1, expect.stringContaining('there is no merchant "mer_typo"')])
  expect(await json('operator', 'list')).toMatchObject([{ merchants: [merchantId] }])
})

test('the trail shows a person’s rights before a change or removal, and the removed endpoint', async () => {
  const email = ['--email', 'grace@example.com']
  await json('operator', 'add', ...email, '--role', 'viewer', '--merchants', merchantId)
  await json('operator', 'set', ...email, '--role', 'admin')
  await json('operator', 'remove', ...email)
  const url = 'https://books.example/events'
  const { endpointId } = await json('webhook', 'add', merchantId, '--url', url)
  await json('webhook', 'remove', endpointId)
  const lastOf = async (act: string) => (await json('audit', 'list', '--act', act, '--limit', '1'))[0]
  expect(await lastOf('operator.set')).toMatchObject({ before: { role: 'viewer' }, after: { role: 'admin' } })
  const [removed, ended] = [await lastOf('operator.remove'), await lastOf('webhook.remove')]
  expect(removed).toMatchObject({ before: { role: 'admin', merchants: [merchantId] }, after: null })
  expect(ended).toMatchObject({
    object: endpointId,
    before: { merchantId, url, kind: 'ENHANCED' },
    after: null,
  })
})

test('the trail names as changed what a command itself has changed, also after somebody was faster', async () => {
  const email = ['--email', 'edsger@example.com']
  await json('operator', 'add', ...email, '--role', 'viewer')
  const other = new pg.Client(database.url)
  await other.connect()
  const overtake = async (role: string, ...words: string[]) => {
    await other.query('BEGIN')
    await other.query("UPDATE operator SET role = $1 WHERE email = 'edsger@example.com'", [role])
    const late = json('operator', ...words)
    await expectWaiting(database.url)
    await other.query('COMMIT')
    await late
    return (await json('audit', 'list', '--limit', '1'))[0]
  }
  expect(await overtake('support', 'set', ...email, '--role', 'admin')).toMatchObject({
    ...{ act: 'operator.set', before: { role: 'support' }, after: { role: 'admin' } },
  })
  expect(await overtake('owner', 'remove', ...email)).toMatchObject({
    ...{ act: 'operator.remove', before: { role: 'owner', merchants: null, refundLimits: null } },
  })
  await other.end()
})
