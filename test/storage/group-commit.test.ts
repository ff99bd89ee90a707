/** Group commits on a database that refuses, deadlocks or closes the connection. */
import pg from 'pg'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { MerchantId, PayId, PlanId, XId } from '#domain/ids.ts'
import { type Change, CommitUnknown } from '#storage/commit/change.ts'
import { createGroupCommit, type GroupCommit } from '#storage/commit/group-commit.ts'
import { type Database, isNeverSent, openDatabase, writerConnections } from '#storage/database.ts'
import { createTestDatabase, expectWaiting, type TestDatabase } from '#test/support/database/database.ts'
import { type DatabaseProxy, startDatabaseProxy } from '#test/support/database/database-proxy.ts'

/**
 * Every statement that drops timers reports how many, and fails with the next planned code. The counter is a sequence,
 * so that no rollback resets it.
 */
const failingDrops = `
  CREATE TABLE planned_failure (number bigint PRIMARY KEY, code text NOT NULL);
  CREATE SEQUENCE statements;
  CREATE FUNCTION fail_as_planned() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE
      statement_number bigint := nextval('statements');
      planned text := (SELECT code FROM planned_failure WHERE number = statement_number);
    BEGIN
      RAISE NOTICE '%', (SELECT count(*) FROM dropped);
      IF planned = 'end the connection' THEN PERFORM pg_terminate_backend(pg_backend_pid());
      ELSIF planned IS NOT NULL THEN RAISE EXCEPTION 'planned' USING ERRCODE = planned; END IF;
      RETURN NULL;
    END $$;
  CREATE TRIGGER fail_as_planned AFTER DELETE ON timer REFERENCING OLD TABLE AS dropped
    FOR EACH STATEMENT EXECUTE FUNCTION fail_as_planned();`

const deadlock = '40P01'
const lockTimeout = '55P03'
const ids = [1, 2, 3, 4, 5, 6, 7, 8].map(number => `00000000-0000-4000-8000-00000000000${number}`)

let file: TestDatabase
let proxy: DatabaseProxy
let database: Database
let other: pg.Client
let groupCommit: GroupCommit
/** The number of timers that each statement dropped, including failed ones. */
let dropped: number[] = []

beforeAll(async () => {
  file = await createTestDatabase()
  proxy = await startDatabaseProxy(file.url)
  other = new pg.Client({ connectionString: file.url })
  await other.connect()
  await other.query(failingDrops)
  database = openDatabase(proxy.url, () => undefined)
  database.writers.on('connect', client => {
    client.on('notice', ({ message }) => dropped.push(Number(message)))
  })
  groupCommit = createGroupCommit(database.writers)
})
afterEach(async () => {
  dropped = []
  await other.query('TRUNCATE timer, planned_failure')
  await other.query('ALTER SEQUENCE statements RESTART')
})
afterAll(async () => {
  await database.close()
  await other.end()
  await proxy.close()
  await file.drop()
})

async function prepare(codes: readonly string[] = []): Promise<void> {
  await other.query(
    `INSERT INTO timer (merchant_id, pay_id, x_id, kind, run_at, attempt)
     SELECT 'shop', id, id, 'PLAN', now(), 0 FROM unnest($1::uuid[]) id`,
    [ids],
  )
  await other.query(
    'INSERT INTO planned_failure SELECT number, code FROM unnest($1::text[]) WITH ORDINALITY planned (code, number)',
    [codes],
  )
}

const change = (...numbers: number[]): Change => ({
  dropTimers: numbers.map(number => ({
    merchantId: 'shop' as MerchantId,
    payId: ids[number - 1] as PayId,
    xId: ids[number - 1] as XId,
    kind: 'PLAN',
  })),
})

async function countTimers(): Promise<number> {
  const { rows } = await other.query<{ count: string }>('SELECT count(*) FROM timer')
  return Number(rows[0]?.count)
}

/** Makes a deadlock; returns false if PostgreSQL cancelled the other transaction instead of the commit. */
async function commitLoses(): Promise<boolean> {
  await other.query('TRUNCATE timer')
  await prepare()
  await other.query('BEGIN')
  await other.query('DELETE FROM timer WHERE pay_id = $1', [ids[1]])
  const committed = groupCommit.commit(change(1, 2))
  await expectWaiting(file.url)
  const hasLost = await other.query('DELETE FROM timer WHERE pay_id = $1', [ids[0]]).then(
    () => false,
    error => error.code === deadlock,
  )
  await other.query(hasLost ? 'ROLLBACK' : 'COMMIT')
  expect(await committed).toEqual({ committed: true })
  return !hasLost
}

test('a commit that loses a deadlock is retried, and its caller gets no error', async () => {
  // The transaction that detects the deadlock is cancelled; on a busy machine that may be the other one a few times.
  let rounds = 0
  while (!(await commitLoses())) expect(++rounds).toBeLessThan(20)
  expect(await countTimers()).toBe(6)
})

test('a serialisation failure is retried, and its caller gets no error', async () => {
  await prepare(['40001', deadlock])
  expect(await groupCommit.commit(change(1))).toEqual({ committed: true })
  expect(dropped).toEqual([1, 1, 1])
  expect(await countTimers()).toBe(7)
})

/** One commit that waits for a lock until the returned function is called. */
async function blockOne(commits: GroupCommit): Promise<() => Promise<void>> {
  await other.query('BEGIN')
  await other.query('SELECT FROM timer WHERE pay_id = $1 FOR UPDATE', [ids[0]])
  const blocked = commits.commit(change(1))
  await expectWaiting(file.url)
  return async () => {
    await other.query('COMMIT')
    expect(await blocked).toEqual({ committed: true })
  }
}

test('changes that arrive while a batch is written share the next one', async () => {
  await prepare()
  const commits = createGroupCommit(database.writers, { patienceMs: 60_000 })
  const release = await blockOne(commits)
  const others: Promise<unknown>[] = []
  for (const number of [2, 3, 4]) {
    others.push(commits.commit(change(number)))
    await new Promise(setImmediate)
    await new Promise(setImmediate)
  }
  await release()
  expect(await Promise.all(others)).toEqual([2, 3, 4].map(() => ({ committed: true })))
  expect(dropped).toEqual([1, 3])
})

test('a full batch is written beside another one, without waiting for it', async () => {
  await prepare()
  const commits = createGroupCommit(database.writers, { patienceMs: 60_000 })
  const release = await blockOne(commits)
  const drops = Array.from({ length: 32 }, (_, index) => commits.commit(change(2 + (index % 7))))
  expect(await Promise.all(drops)).toEqual(drops.map(() => ({ committed: true })))
  await release()
})

test('fewer changes wait for the batch under way, until they fill one', async () => {
  await prepare()
  const sizes: number[] = []
  const commits = createGroupCommit(database.writers, {
    patienceMs: 60_000,
    onBatch: size => sizes.push(size),
  })
  const release = await blockOne(commits)
  const commit = (index: number) => commits.commit(change(2 + (index % 7)))
  const waiting = Array.from({ length: 31 }, (_, index) => commit(index))
  await new Promise(resolve => setImmediate(resolve))
  expect(sizes).toEqual([1])
  const last = commit(31)
  expect(sizes).toEqual([1, 32])
  await Promise.all([...waiting, last])
  await release()
})

test('a full batch is sent before the event loop turns to the next request', async () => {
  await prepare()
  const sizes: number[] = []
  const commits = createGroupCommit(database.writers, { onBatch: size => sizes.push(size) })
  const drops = Array.from({ length: 36 }, (_, index) => commits.commit(change(1 + (index % 8))))
  expect(sizes).toEqual([32])
  expect(await Promise.all(drops)).toEqual(drops.map(() => ({ committed: true })))
  expect(sizes).toEqual([32, 4])
})

test('a batch that waits for a lock does not hold up other changes for long', async () => {
  await prepare()
  const release = await blockOne(groupCommit)
  expect(await groupCommit.commit(change(2))).toEqual({ committed: true })
  await release()
  expect(dropped).toEqual([1, 1])
})

test('a batch that fails is split in halves until the rest succeeds', async () => {
  await prepare([deadlock, deadlock])
  const committed = await Promise.all(ids.map((_, index) => groupCommit.commit(change(index + 1))))
  expect(committed).toEqual(ids.map(() => ({ committed: true })))
  expect(dropped).toEqual([8, 4, 2, 2, 4])
  expect(await countTimers()).toBe(0)
})

test('after a lock that is not given in time, each change is written by itself, so that one waits for that lock', async () => {
  await prepare([lockTimeout])
  const committed = await Promise.all(ids.map((_, index) => groupCommit.commit(change(index + 1))))
  expect(committed).toEqual(ids.map(() => ({ committed: true })))
  expect(dropped).toEqual([8, 1, 1, 1, 1, 1, 1, 1, 1])
})

test('changes whose locks are not given in time fail, and leave the other connections to the others', async () => {
  await prepare()
  const url = new URL(file.url)
  url.searchParams.set('options', '-c lock_timeout=50')
  const hasty = openDatabase(url.href, () => undefined)
  let connections = 0
  hasty.writers.on('connect', () => connections++)
  await other.query('BEGIN')
  await other.query('SELECT FROM timer WHERE pay_id = ANY ($1::uuid[]) FOR UPDATE', [ids.slice(0, 6)])
  const { commit } = createGroupCommit(hasty.writers)
  const [first, ...more] = await Promise.allSettled(ids.map((_, index) => commit(change(index + 1))))
  await other.query('ROLLBACK')
  expect([first, ...more.slice(0, 5)]).toMatchObject(Array(6).fill({ reason: { code: lockTimeout } }))
  expect(more.slice(5).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled'])
  // The driver ends the connection of the batch, because its statement failed.
  expect(connections).toBe(2)
  const { rows } = await hasty.writers.query('SHOW lock_timeout')
  expect(rows).toEqual([{ lock_timeout: '50ms' }])
  await hasty.close()
})

test('once the connection is lost, the other changes of a batch without its lock are not sent', async () => {
  await prepare([lockTimeout, 'end the connection'])
  const failed = await Promise.allSettled(ids.map((_, index) => groupCommit.commit(change(index + 1))))
  expect(failed).toMatchObject(ids.map(() => ({ reason: expect.any(CommitUnknown) })))
  const isUnsent = failed.map(one => one.status === 'rejected' && isNeverSent(one.reason.cause))
  expect(isUnsent).toEqual(ids.map((_, index) => index > 0))
  expect(await countTimers()).toBe(8)
})

test('a connection that falls silent while changes are written one by one is not used again', async () => {
  await prepare([lockTimeout])
  const impatient = openDatabase(proxy.url, () => undefined, { silenceMs: 500 })
  const { commit } = createGroupCommit(impatient.writers)
  proxy.freezeWithCommit(1)
  const failed = await Promise.allSettled(ids.map((_, index) => commit(change(index + 1))))
  expect(failed).toMatchObject(ids.map(() => ({ reason: expect.any(CommitUnknown) })))
  await expect.poll(() => impatient.writers.totalCount).toBe(0)
  proxy.thaw()
  await impatient.close()
})

test('a commit that keeps losing deadlocks fails with the error, and was certainly not written', async () => {
  await prepare(Array.from({ length: 20 }, () => deadlock))
  const failure = await groupCommit.commit(change(1)).catch((error: unknown) => error)
  expect(failure).toMatchObject({ code: deadlock })
  expect(failure).not.toBeInstanceOf(CommitUnknown)
  expect(dropped).toHaveLength(6)
  expect(await countTimers()).toBe(8)
})

test.each(['end the connection', '08006'])(
  '%s: the outcome is unknown, and the commit is not retried',
  async code => {
    await prepare([code])
    await expect(groupCommit.commit(change(1))).rejects.toBeInstanceOf(CommitUnknown)
    const { rows } = await other.query<{ next: string }>("SELECT nextval('statements') AS next")
    expect(Number(rows[0]?.next)).toBe(2)
  },
)

test.each([
  ['before', 8],
  ['after', 7],
] as const)('a line cut %s the commit leaves its outcome open', async (moment, left) => {
  await prepare()
  proxy.cutNextCommit(moment)
  await expect(groupCommit.commit(change(1))).rejects.toBeInstanceOf(CommitUnknown)
  expect(await countTimers()).toBe(left)
})

test('any other error of a change fails only that change', async () => {
  await prepare(['23514'])
  await expect(groupCommit.commit(change(1))).rejects.toMatchObject({ code: '23514' })
  expect(dropped).toEqual([1])
})

test('a value that no column can hold fails its own change and no other of its batch', async () => {
  await prepare()
  const wrong: Change = {
    setTimers: [
      {
        merchantId: 'shop' as MerchantId,
        payId: ids[0] as PayId,
        xId: ids[0] as XId,
        kind: 'PLAN',
        runAt: new Date(Number.NaN),
        attempt: 0,
      },
    ],
  }
  const results = await Promise.allSettled([change(1), wrong, change(2)].map(one => groupCommit.commit(one)))
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(results[1]).toMatchObject({ reason: { code: '22P03' } })
  expect(await countTimers()).toBe(ids.length - 2)
})

const merchantId = 'mer_0000000000000001' as MerchantId
const moveOf = (planId = ''): Change => ({
  movePlan: { merchantId, planId: planId as PlanId, nextPaymentDate: undefined, now: new Date() },
})

test('two changes to one plan never share a statement, which would write only one of them', async () => {
  const batches: number[] = []
  const { commit } = createGroupCommit(database.writers, { onBatch: changes => void batches.push(changes) })
  const [one, another] = ids
  await Promise.all([moveOf(one), moveOf(one), moveOf(another)].map(commit))
  expect(batches).toEqual([2, 1])
})

test('many changes to one plan do not hold up other changes', async () => {
  await prepare()
  const batches: number[] = []
  const { commit } = createGroupCommit(database.writers, {
    patienceMs: 60_000,
    onBatch: changes => void batches.push(changes),
  })
  const busy = Array.from({ length: 32 }, () => moveOf(ids[0]))
  const others = ids.map((_, index) => change(index + 1))
  await Promise.all([...busy, ...others].map(commit))
  // A change to the plan may already be waiting on every connection. Each batch holds one of them, and the first
  // batches also hold all other changes.
  const first = batches.slice(0, writerConnections + 1)
  expect(first.reduce((sum, size) => sum + size - 1, 0)).toBe(others.length)
  expect(await countTimers()).toBe(0)
})
