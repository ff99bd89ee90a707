/** `doctor` on a database with every kind of payment, intact and after deliberate damage. */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { sealChecks } from '#operations/merchants/examine-seals.ts'
import { isRanged, type PaymentKey, sliceStatement, statementsOf } from '#storage/doctor/check.ts'
import { type CheckResult, connectToExamine, examine } from '#storage/doctor/doctor.ts'
import { checks } from '#storage/doctor/payment-checks.ts'
import { wholeTableSettings } from '#storage/planner.ts'
import { makeEmptyFolder, tollgateHere } from '#test/support/command-line.ts'
import { examineDamaged } from '#test/support/database/damage.ts'
import { createTestDatabase, dismissQuestioner, type TestDatabase } from '#test/support/database/database.ts'
import { makeHistory } from '#test/support/database/doctor-history.ts'
import { masterKeyOf, startTestGateway } from '#test/support/gateway.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

let database: TestDatabase
let whileServing: readonly CheckResult[]

beforeAll(async () => {
  database = await createTestDatabase()
  const gateway = await startTestGateway({ databaseUrl: database.url })
  try {
    await makeHistory(gateway)
    whileServing = await examine(database.url)
  } finally {
    await gateway.stop()
  }
})

afterAll(() => database.drop())

const findings = (results: readonly CheckResult[]) => results.filter(({ found }) => found > 0)

test('finds nothing after every kind of payment, with the server running and without it', async () => {
  expect(findings(whileServing)).toEqual([])
  expect(findings(await examine(database.url))).toEqual([])
  expect(whileServing.map(({ name }) => name)).toEqual(checks.map(({ name }) => name))
})

test('no statement is compiled, although the database would compile it', async () => {
  const url = new URL(database.url)
  url.searchParams.set('options', '-c jit=on')
  onTestFinished(() => dismissQuestioner(url.href))
  expect(await queryRows(url.href, 'SHOW jit')).toEqual([{ jit: 'on' }])
  const clients = await connectToExamine(url.href)
  onTestFinished(async () => void (await Promise.all(clients.map(client => client.end()))))
  for (const client of clients) expect((await client.query('SHOW jit')).rows).toEqual([{ jit: 'off' }])
})

test('the history holds every status, every operation and every timer', async () => {
  const distinct = async (text: string) =>
    (await queryRows<{ x: string }>(database.url, text)).map(({ x }) => x)
  expect(await distinct('SELECT DISTINCT status AS x FROM payment ORDER BY 1')).toEqual(
    ['AUTHORIZED', 'AUTHORIZE_REQUEST', 'CAPTURE_REQUEST', 'FAILED', 'OK', 'PENDING', 'REVERSED'].toSorted(),
  )
  expect(await distinct('SELECT DISTINCT type AS x FROM operation ORDER BY 1')).toHaveLength(7)
  expect(await distinct('SELECT DISTINCT kind AS x FROM timer ORDER BY 1')).toEqual([
    'CAPTURE',
    'EXPIRE',
    'INQUIRY',
    'LAPSE',
  ])
  expect(
    await distinct('SELECT DISTINCT p.trans_id AS x FROM event JOIN payment p USING (merchant_id, pay_id)'),
  ).toEqual(expect.arrayContaining(['lapsed', 'lapsed in part', 'expired', 'settled', 'fired', 'misfired']))
})

const of = (transId: string): string => `pay_id = (SELECT pay_id FROM payment WHERE trans_id = '${transId}')`
const set = (change: string, transId: string): string =>
  `UPDATE payment SET ${change} WHERE trans_id = '${transId}'`
const setOperation = (change: string, transId: string, type: string): string =>
  `UPDATE operation SET ${change} WHERE ${of(transId)} AND type = '${type}'`
const forget = (kind: string, transId: string): string =>
  `DELETE FROM timer WHERE kind = '${kind}' AND ${of(transId)}`
const dropRules = 'ALTER TABLE payment DROP CONSTRAINT payment_rules'
const strayTimer = `INSERT INTO timer (merchant_id, pay_id, x_id, kind, run_at, attempt)
  SELECT merchant_id, pay_id, gen_random_uuid(), 'LAPSE', now(), 0 FROM payment WHERE trans_id = 'manual'`
const swapRefunds = `UPDATE operation SET details = jsonb_set(details::jsonb, '{refundOf}', to_jsonb(
    (SELECT replace(x_id::text, '-', '') FROM operation WHERE ${of('twice')} AND type = 'CAPTURE' AND amount = 400)))::json
  WHERE ${of('twice')} AND type = 'REFUND' AND amount = 500`
const shareReference = `UPDATE operation SET x_id = (SELECT x_id FROM operation WHERE ${of('manual')} AND sequence = 1)
  WHERE ${of('declined')}`
const withoutAnswer = (key: string) =>
  `UPDATE idempotency_key SET answer_status = NULL, answer_body = NULL WHERE key = '${key}'`
const sentAgo = (age: string) =>
  setOperation(
    `state = 'SENT', sent_at = now() - interval '${age}', updated_at = updated_at - interval '${age}'`,
    'unknown',
    'AUTHORIZATION',
  )
const olderBy = (age: string, transId: string, type: string) =>
  setOperation(`created_at = created_at - interval '${age}'`, transId, type)

describe('finds the damage, and nothing else', () => {
  // Each row: the damage, and the checks that find it.
  test.each<[string, string[], ...string[]]>([
    [set('amount = amount + 1', 'manual'), ['asked-amount']],
    [set('amount = amount - 1', 'partial'), ['asked-amount']],
    [set(`currency = 'USD'`, 'manual'), ['asked-currency']],
    [set(`currency = 'USD'`, 'credit'), ['asked-currency']],
    [`DELETE FROM payment_mark WHERE ${of('manual')}`, ['status-found']],
    [`UPDATE payment_mark SET status = 'FAILED' WHERE ${of('manual')}`, ['status-found']],
    [
      `UPDATE payment SET provider_account = 'acc_000000000000000000000000', connector = 'stripe' WHERE trans_id = 'manual'`,
      ['open-payment-has-account'],
    ],
    [
      `INSERT INTO payment SELECT (p).* FROM (SELECT json_populate_record(p, '{"merchant_id": "mer_gone"}') AS p FROM payment p
         WHERE trans_id = 'declined') made`,
      ['operation-numbers', 'payment-has-merchant', 'card-in-vault'],
    ],
    [`UPDATE timer SET run_at = run_at + interval '2 years' WHERE kind = 'CAPTURE'`, ['capture-timer']],
    [
      `UPDATE timer SET run_at = run_at + interval '2 years' WHERE kind = 'INQUIRY' AND ${of('unknown')}`,
      ['unanswered-asked'],
    ],
    [
      `UPDATE timer SET run_at = run_at + interval '2 years' WHERE kind = 'LAPSE' AND ${of('manual')}`,
      ['lapse-timer'],
    ],
    [
      `UPDATE timer SET run_at = run_at + interval '2 years' WHERE kind = 'EXPIRE' AND ${of('order')}`,
      ['expire-timer'],
    ],
    [
      `UPDATE timer SET run_at = run_at + interval '2 years' WHERE kind = 'CAPTURE' AND ${of('delayed')}`,
      ['capture-timer'],
    ],
    [
      `UPDATE timer SET run_at = run_at + interval '2 years' WHERE kind = 'INQUIRY' AND ${of('unknown')}`,
      ['unanswered-asked'],
    ],
    [set('authorized = authorized + 1', 'manual'), ['authorized-sum']],
    [set('authorized = authorized + 100', 'confirmed'), ['authorized-sum']],
    [setOperation(`state = 'FAILED'`, 'raised', 'INCREMENTAL'), ['authorized-sum']],
    [set('captured = captured - 1', 'partial'), ['captured-sum']],
    [set('capturing = 1', 'manual'), ['capturing-sum']],
    [set('reversed = reversed - 1', 'partly reversed'), ['reversed-sum']],
    [set('reversed = reversed + 1', 'partly reversed'), ['reversed-rest']],
    [set('reversed = 1', 'manual'), ['reversed-rest']],
    [`DELETE FROM operation WHERE ${of('partly reversed')} AND type = 'REVERSAL'`, ['reversed-rest']],
    [set('reversing = 1', 'manual'), ['reversing-sum']],
    [set('refunded = refunded + 1', 'refunded'), ['refunded-sum']],
    [set('refunding = refunding - 1', 'refunded'), ['refunding-sum']],
    [
      set('authorized = 300', 'partial'),
      ['asked-amount', 'capture-ceiling'],
      dropRules,
      setOperation('amount = 300', 'partial', 'AUTHORIZATION'),
    ],
    [
      set('captured = 700', 'refunded'),
      ['refund-ceiling', 'refund-per-capture'],
      dropRules,
      setOperation('amount = 700', 'refunded', 'CAPTURE'),
    ],
    [set('closed_for_capture = true', 'partial'), ['closed-for-capture']],
    [set('closed_for_capture = true', 'auto'), ['closed-for-capture']],
    [set('closed_for_capture = false', 'closed'), ['closed-for-capture']],
    [setOperation(`details = '{}'`, 'closed', 'CAPTURE'), ['closed-for-capture']],
    [set('capture_percent = 115', 'manual'), ['capture-percent']],
    [set(`currency = 'USD'`, 'confirmed'), ['asked-currency']],
    [swapRefunds, ['refund-per-capture']],
    [setOperation(`details = '{}'`, 'twice', 'REFUND'), ['refund-per-capture']],
    [set(`status = 'AUTHORIZED'`, 'partial'), ['status-fits-sums', 'status-found']],
    [set(`status = 'CAPTURE_REQUEST'`, 'manual'), ['status-fits-sums', 'status-found', 'capture-timer']],
    [set(`status = 'OK'`, 'manual'), ['status-fits-sums']],
    [set(`status = 'OK'`, 'lapsed'), ['status-fits-sums'], dropRules],
    [set(`status = 'REVERSED', live = false`, 'partly reversed'), ['status-fits-sums', 'status-found']],
    [set(`status = 'AUTHORIZED', live = true`, 'reversed'), ['status-fits-sums', 'status-found']],
    [set('live = true', 'declined'), ['status-fits-sums'], dropRules],
    [set(`status = 'PENDING'`, 'credit'), ['status-fits-sums', 'status-fits-operations', 'status-found']],
    [setOperation(`state = 'FAILED'`, 'unknown', 'AUTHORIZATION'), ['status-fits-operations']],
    [setOperation(`state = 'AUTHORIZE_REQUEST'`, 'declined', 'AUTHORIZATION'), ['status-fits-operations']],
    [setOperation(`state = 'FAILED'`, 'order', 'AUTHORIZATION'), ['status-fits-operations']],
    [set(`trans_id = 'manual'`, 'auto'), ['live-trans-ids'], 'DROP INDEX payment_live_by_trans_id'],
    [setOperation('sequence = 7', 'auto', 'CAPTURE'), ['operation-numbers']],
    [`DELETE FROM operation WHERE ${of('declined')}`, ['operation-numbers']],
    [shareReference, ['operation-references']],
    [forget('INQUIRY', 'unknown'), ['unanswered-asked']],
    [sentAgo('11 minutes'), ['unanswered-asked'], forget('INQUIRY', 'unknown')],
    [sentAgo('9 minutes'), [], forget('INQUIRY', 'unknown')],
    [olderBy('23 hours', 'unknown', 'AUTHORIZATION'), []],
    [olderBy('25 hours', 'unknown', 'AUTHORIZATION'), ['needs-a-person']],
    [olderBy('25 hours', 'unknown', 'AUTHORIZATION'), ['needs-a-person'], forget('INQUIRY', 'unknown')],
    [`UPDATE idempotency_key SET x_id = gen_random_uuid() WHERE key = 'order-key'`, ['key-has-operation']],
    [
      `UPDATE idempotency_key SET key = 'other' WHERE key = 'auto-key'`,
      ['key-has-operation', 'operation-has-key'],
    ],
    [`DELETE FROM idempotency_key WHERE key = 'capture-key'`, ['operation-has-key']],
    [`DELETE FROM idempotency_key WHERE key = 'capture-key'`, [], olderBy('30 days', 'partial', 'CAPTURE')],
    [withoutAnswer('capture-key'), ['key-has-answer']],
    [withoutAnswer('refund-key'), ['key-has-answer']],
    [withoutAnswer('refused-key'), ['key-has-answer']],
    [withoutAnswer('unknown-key'), [], setOperation(`state = 'SENT'`, 'unknown', 'AUTHORIZATION')],
    [set('event_sequence = event_sequence + 1', 'lapsed'), ['event-numbers']],
    [
      `UPDATE event SET sequence = 2 WHERE ${of('lapsed')}`,
      ['event-numbers', 'event-body'],
      `DELETE FROM event_attempt WHERE ${of('lapsed')}`,
      `UPDATE event SET attempts = 0, tries = 0, status = 'PENDING', due_at = now() WHERE ${of('lapsed')}`,
    ],
    [`DELETE FROM event WHERE ${of('settled')}`, ['event-numbers']],
    [
      `UPDATE event SET x_id = gen_random_uuid() WHERE ${of('lapsed')}`,
      ['event-has-operation', 'event-body'],
    ],
    [`UPDATE event SET attempts = attempts + 1 WHERE ${of('lapsed')}`, ['event-attempts']],
    [`UPDATE event SET tries = 0 WHERE ${of('lapsed')}`, ['event-attempts']],
    [`DELETE FROM event_attempt WHERE ${of('lapsed')}`, ['event-attempts']],
    [`UPDATE event_attempt SET number = 3 WHERE ${of('lapsed')}`, ['event-attempts']],
    [`UPDATE event SET status = 'DELIVERED' WHERE ${of('lapsed')}`, ['event-delivered']],
    [
      `UPDATE event SET attempts = 0, tries = 0 WHERE ${of('lapsed')}`,
      ['event-delivered'],
      `DELETE FROM event_attempt WHERE ${of('lapsed')}`,
    ],
    [
      `UPDATE webhook_secret SET expires_at = now() - interval '1 second'
       WHERE merchant_id = (SELECT merchant_id FROM payment WHERE trans_id = 'lapsed')`,
      ['webhook-secret'],
    ],
    [forget('LAPSE', 'manual'), ['lapse-timer']],
    [forget('LAPSE', 'delayed'), ['lapse-timer']],
    [forget('LAPSE', 'partial'), []],
    [forget('CAPTURE', 'delayed'), ['capture-timer']],
    [forget('EXPIRE', 'order'), ['expire-timer']],
    [strayTimer, ['timer-has-operation']],
    [
      `DELETE FROM vault_card WHERE card_id = (SELECT card_id FROM payment WHERE trans_id = 'other card')`,
      ['card-in-vault'],
    ],
    [`UPDATE payment SET account_id = gen_random_uuid() WHERE trans_id = 'other card'`, ['account-in-vault']],
    [
      `INSERT INTO dcc_quote (merchant_id, quote_id, bin, merchant_value, merchant_currency, cardholder_value,
         cardholder_currency, exchange_rate, markup_percentage, rate_source, pay_id, quoted_at, expires_at)
       SELECT merchant_id, gen_random_uuid(), '411111', 1, 'EUR', 1, 'USD', '1.000000', '3.00', 'ECB',
         gen_random_uuid(), now(), now() + interval '10 minutes' FROM payment LIMIT 1`,
      ['quote-of-its-payment'],
    ],
  ])('after %s the doctor finds %j', async (damage, expected, ...before) => {
    const found = await examineDamaged(database.url, [...before, damage])
    expect(found.map(({ name }) => name)).toEqual(expected)
    for (const { examples } of found) expect(examples[0]).toMatchObject({ merchantId: expect.any(String) })
  })
})

test('shows twenty examples of many, counts all, and names no card', async () => {
  const [{ count = 0 } = {}] = await queryRows<{ count: number }>(
    database.url,
    'SELECT count(*)::int FROM payment',
  )
  const damage = 'UPDATE payment SET event_sequence = event_sequence + 5'
  const [found] = await examineDamaged(database.url, [damage])
  expect(found).toMatchObject({ name: 'event-numbers', found: count })
  expect(count).toBeGreaterThan(20)
  expect(found?.examples).toHaveLength(20)
  expect(found?.examples[0]).toEqual({
    merchantId: expect.stringMatching(/^mer_/),
    payId: expect.stringMatching(/^[0-9a-f]{32}$/),
    detail: expect.stringMatching(/^\d+ events, .* the payment knows of \d+$/),
  })
  expect(JSON.stringify(found)).not.toMatch(/411111|555555/)
})

test('finds the same in slices of a few payments, and shows the first examples of all slices', async () => {
  const copy = await createTestDatabase(database.url)
  try {
    await queryRows(copy.url, 'UPDATE payment SET event_sequence = event_sequence + 5')
    await queryRows(copy.url, `DELETE FROM timer WHERE kind = 'LAPSE'`)
    await queryRows(copy.url, swapRefunds)
    const shares: number[] = []
    const sliced = await examine(copy.url, { paymentsAtOnce: 3, onProgress: share => shares.push(share) })
    expect(sliced).toEqual(await examine(copy.url))
    expect(findings(sliced).map(({ name }) => name)).toEqual([
      'refund-per-capture',
      'event-numbers',
      'lapse-timer',
    ])
    expect(shares.at(-1)).toBe(1)
    expect(shares).toEqual(shares.toSorted((one, other) => one - other))
  } finally {
    await copy.drop()
  }
})

test('no check scans a range once per payment, or a whole table once per range', async () => {
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  try {
    await client.query(wholeTableSettings)
    // Tables of a few rows would always be read as a whole.
    await client.query('SET enable_seqscan = off')
    const [after, upTo] = ['1', '2'].map(digit => ({
      merchantId: `mer_${digit}`,
      payId: digit.repeat(32),
    })) as [PaymentKey, PaymentKey]
    for (const statement of statementsOf(checks).filter(isRanged)) {
      const { text, values } = sliceStatement(statement, { after, upTo })
      const { rows } = await client.query<{ 'QUERY PLAN': string }>(
        `EXPLAIN WITH clock AS (SELECT $1::timestamptz AS now) ${text}`,
        [new Date(), ...values],
      )
      const plan = rows.map(row => row['QUERY PLAN']).join('\n')
      expect([statement.names, plan]).toEqual([
        statement.names,
        expect.not.stringMatching(
          /Nested Loop[^\n]*\n[^\n]*\n[^\n]*(Group|Hash)Aggregate|Nested Loop (Left|Anti) Join/,
        ),
      ])
      expect([statement.names, plan]).toEqual([
        statement.names,
        expect.not.stringMatching(
          /Scan[^\n]* on (payment|operation|event|event_attempt)\b[^\n]*\n(?!\s*(Index|Recheck) Cond)/,
        ),
      ])
    }
  } finally {
    await client.end()
  }
})

test('with a start time it examines the payments that have changed since', async () => {
  const copy = await createTestDatabase(database.url)
  try {
    await queryRows(copy.url, set('captured = captured - 1', 'partial'))
    await queryRows(copy.url, `DELETE FROM idempotency_key WHERE key = 'capture-key'`)
    const [{ at } = {}] = await queryRows<{ at: Date }>(
      copy.url,
      `SELECT updated_at AS at FROM payment WHERE trans_id = 'partial'`,
    )
    if (!at) throw new Error('the payment is not there')
    const found = async (since: Date) => findings(await examine(copy.url, { since })).map(({ name }) => name)
    expect(await found(new Date(at.getTime() - 1))).toEqual(['captured-sum', 'operation-has-key'])
    await queryRows(copy.url, set(`updated_at = updated_at - interval '1 day'`, 'partial'))
    expect(await found(new Date(at.getTime() - 1))).toEqual([])
    expect(await found(new Date(at.getTime() + 365 * 24 * 60 * 60 * 1000))).toEqual([])
  } finally {
    await copy.drop()
  }
})

test('with a start time it finds what a changed payment shares with an older one', async () => {
  const copy = await createTestDatabase(database.url)
  try {
    await queryRows(copy.url, 'DROP INDEX payment_live_by_trans_id')
    await queryRows(copy.url, shareReference)
    await queryRows(copy.url, set(`trans_id = 'manual', updated_at = now() + interval '2 days'`, 'auto'))
    await queryRows(copy.url, set(`updated_at = now() + interval '2 days'`, 'declined'))
    const since = new Date(Date.now() + 24 * 60 * 60 * 1000)
    const found = findings(await examine(copy.url, { since }))
    expect(found.map(({ name, found }) => [name, found])).toEqual([
      ['live-trans-ids', 1],
      ['operation-references', 1],
    ])
  } finally {
    await copy.drop()
  }
})

test('operations that wait for an operator are judged by the given time', async () => {
  const now = new Date(Date.now() + 25 * 60 * 60 * 1000)
  const [found, ...others] = findings(await examine(database.url, { now }))
  expect(others).toEqual([])
  // The refund and the payment whose answers were lost.
  expect(found).toMatchObject({ name: 'needs-a-person', found: 2 })
  expect(found?.examples[0]).toMatchObject({ payId: expect.any(String), xId: expect.any(String) })
})

/** What only the command can check, because it has the master key; test/doctor/vault.test.ts damages it. */
const keyChecks = [
  'root-secret-opens',
  'data-key-opens',
  'webhook-secret-opens',
  'provider-secret-opens',
  'operator-code-opens',
  ...sealChecks.map(({ name }) => name),
  'audit-chain',
]

describe('the command', () => {
  const folder = makeEmptyFolder()
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const doctor = (url: string, ...words: string[]) =>
    tollgateHere(['doctor', ...words], {
      TOLLGATE_DATA: folder,
      DATABASE_URL: url,
      TOLLGATE_MASTER_KEY: masterKeyOf(database.url),
    })

  test('exits with 0 and a line for every check if there is no fault', async () => {
    const { code, stdout } = await doctor(database.url)
    expect(code).toBe(0)
    const lines = stdout.trim().split('\n')
    const ofRows = checks.map(({ name, sentence }) => `ok     ${name}: ${sentence}`)
    const ofKeys = keyChecks.map(name => expect.stringContaining(`ok     ${name}: `))
    expect(lines.slice(0, -1)).toEqual([...ofRows, ...ofKeys])
    expect(lines.at(-1)).toBe(`Healthy: ${checks.length + keyChecks.length} checks found nothing.`)
    const json = await doctor(database.url, '--json')
    expect(json.code).toBe(0)
    expect(json.stdout).toMatch(/^[^\n]*\n$/)
    expect(JSON.parse(json.stdout)).toMatchObject({
      healthy: true,
      checks: [...checks, ...keyChecks].map(() => ({ found: 0 })),
    })
  })

  test.each(['file', 'variable'] as const)(
    'warns while two master keys are in the %s, because a change was not finished',
    async source => {
      const keys = `${Buffer.alloc(32, 7).toString('base64')} ${masterKeyOf(database.url)}`
      const file = join(folder, 'two.key')
      writeFileSync(file, `${keys.replace(' ', '\n')}\n`, { mode: 0o600 })
      const { code, stdout, stderr } = await tollgateHere(['doctor'], {
        TOLLGATE_DATA: folder,
        DATABASE_URL: database.url,
        ...(source === 'file' ? { TOLLGATE_MASTER_KEY_FILE: file } : { TOLLGATE_MASTER_KEY: keys }),
      })
      expect([code, stdout]).toEqual([0, expect.stringContaining('Healthy')])
      const named = source === 'file' ? file : 'TOLLGATE_MASTER_KEY'
      expect(stderr).toContain(
        `warning: ${named} holds 2 master keys: a change was not finished; run keys rotate`,
      )
    },
  )

  test('without the master key exits with 1 and names every check that was not made', async () => {
    const bare = makeEmptyFolder()
    try {
      const { code, stdout, stderr } = await tollgateHere(['doctor'], {
        TOLLGATE_DATA: bare,
        DATABASE_URL: database.url,
      })
      const needKey = keyChecks.filter(name => name !== 'audit-chain')
      const total = checks.length + keyChecks.length
      expect([code, stderr]).toEqual([
        1,
        expect.stringContaining(
          `${needKey.length} of ${total} checks were not made: the master key that sealed`,
        ),
      ])
      const skipped = stdout.split('\n').filter(line => line.startsWith('SKIP'))
      expect(skipped.map(line => line.split(/[ :]+/)[1])).toEqual(needKey)
      expect(stdout).not.toMatch(/^FOUND/m)
      expect(stdout).toContain('ok     audit-chain')
    } finally {
      rmSync(bare, { recursive: true, force: true })
    }
  })

  test('exits with 1 and says where each fault is', async () => {
    const copy = await createTestDatabase(database.url)
    try {
      await queryRows(copy.url, set('captured = captured - 1', 'partial'))
      const { code, stdout, stderr } = await doctor(copy.url)
      expect([code, stderr]).toEqual([
        1,
        expect.stringContaining(`tollgate: 1 of ${checks.length + keyChecks.length} checks found`),
      ])
      expect(stdout).toMatch(
        /^FOUND {2}captured-sum: .*\n {9}merchant mer_\w+, payId \w{32}: captured is 399, the operations make 400$/m,
      )
      const json = await doctor(copy.url, '--json')
      expect(json.code).toBe(1)
      const told = JSON.parse(json.stdout)
      expect(told.healthy).toBe(false)
      expect(findings(told.checks)).toMatchObject([{ name: 'captured-sum', found: 1, examples: [{}] }])
    } finally {
      await copy.drop()
    }
  })
})
