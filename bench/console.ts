/** The console: one page with 50 payments of a merchant that has a million, and the search for one of them. */
import { type Line, spreadOf } from '#bench/figures.ts'
import type { GatewayProcess } from '#bench/gateway-process.ts'
import { type Stage, withClient } from '#bench/stage.ts'
import { cookieName } from '#console/outside.ts'
import { withPeople } from '#console/people.ts'
import { toMasterKey } from '#vault/master-key.ts'

/** The target. */
const payments = 1_000_000
const pageMsMax = 30

/** The newest payments, which a page shows, get their operations, too. */
const shown = 1_000
/** 100 pages one after the other: enough for a median, without a queue. */
const timedPages = 100

export interface ConsoleBench {
  readonly stage: Stage
  readonly gateway: GatewayProcess
  readonly say: (line: string) => void
}

export async function measureConsole({ stage, gateway, say }: ConsoleBench): Promise<Line[]> {
  await fill(stage)
  const cookie = await signIn(stage)
  const origin = `http://127.0.0.1:${gateway.port}`
  const list = await timePages(`${origin}/console/m/${stage.merchantId}/payments?limit=50`, cookie)
  const search = await timePages(`${origin}/console/search?q=console-${payments - 7}`, cookie)
  say(`console: a page ${list.toFixed(1)} ms, a search ${search.toFixed(1)} ms`)
  const judge = (what: string, measured: number): Line => ({
    what,
    measured: `${measured.toFixed(1)} ms`,
    target: `≤ ${pageMsMax} ms`,
    met: measured <= pageMsMax,
  })
  return [
    judge('console, 50 rows among 1,000,000 payments, p50', list),
    judge('         a search among them, p50', search),
  ]
}

/** Payments like the newest one, a millisecond apart, all in the future: they are the newest. */
async function fill({ gatewayUrl, merchantId }: Stage): Promise<void> {
  await withClient(gatewayUrl, async client => {
    await client.query(
      `CREATE TEMP TABLE copies AS SELECT n, gen_random_uuid() AS pay_id, now() + n * interval '1 millisecond' AS at
       FROM generate_series(1, ${payments}) n`,
    )
    await client.query(
      `CREATE TEMP TABLE sample AS SELECT * FROM payment WHERE merchant_id = $1 AND status = 'OK'
       ORDER BY created_at DESC LIMIT 1`,
      [merchantId],
    )
    const copy = async (table: string, from: string, given: Readonly<Record<string, string>>) => {
      const { rows } = await client.query<{ name: string }>(
        `SELECT attname AS name FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped
           AND attgenerated = ''`,
        [table],
      )
      const names = rows.map(({ name }) => name)
      const values = names.map(name => given[name] ?? `t.${name}`)
      await client.query(
        `INSERT INTO ${table} (${names.join(', ')}) SELECT ${values.join(', ')} FROM ${from}`,
      )
    }
    await copy('payment', 'sample t, copies c', {
      pay_id: 'c.pay_id',
      trans_id: `'console-' || c.n`,
      amount: 't.amount + c.n % 1000',
      created_at: 'c.at',
    })
    await copy(
      'operation',
      `operation t JOIN sample s USING (merchant_id, pay_id), copies c WHERE c.n > ${payments - shown}`,
      { pay_id: 'c.pay_id', x_id: 'gen_random_uuid()' },
    )
    await client.query('VACUUM ANALYZE payment')
  })
}

/** Creates a session directly, because signing in is not part of the measurement. */
async function signIn({ gatewayUrl, environment }: Stage): Promise<string> {
  const masterKey = toMasterKey(environment.TOLLGATE_MASTER_KEY ?? '', 'the bench')
  const email = 'bench@example.com'
  const token = await withPeople({ databaseUrl: gatewayUrl, masterKey }, async (people, store) => {
    await people.add({ email, role: 'viewer' })
    const person = await store.findByEmail(email)
    if (!person) throw new Error('the person of the bench was not added')
    return people.startSession(person.operatorId, { address: '127.0.0.1', browser: 'bench' })
  })
  return `${cookieName}=${token}`
}

/** The median time of a page read to its end, after as many uncounted reads. */
async function timePages(url: string, cookie: string): Promise<number> {
  const times: number[] = []
  for (let turn = 0; turn < 2 * timedPages; turn += 1) {
    const startedAt = performance.now()
    const answer = await fetch(url, { headers: { cookie }, redirect: 'manual' })
    await answer.arrayBuffer()
    if (answer.status !== 200) throw new Error(`${url} answered ${answer.status}`)
    if (turn >= timedPages) times.push(performance.now() - startedAt)
  }
  return spreadOf(times).median
}
