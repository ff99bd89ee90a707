import { test } from 'vitest'
import { examine } from '#storage/doctor.ts'
import { createTestDatabase } from '#test/support/database.ts'
import { cardPayment, startTestGateway } from '#test/support/gateway.ts'
import { queryRows } from '#test/support/invariants.ts'
test('big', async () => {
  const db = await createTestDatabase()
  const g = await startTestGateway({ databaseUrl: db.url })
  await g.call('POST', '/payments', cardPayment(), { 'idempotency-key': 'k' })
  await g.call('POST', '/payments', cardPayment({ captureMethod: { type: 'MANUAL' } }))
  await g.stop()
  const cols = async (t: string) => (await queryRows<{ c: string }>(db.url, `SELECT column_name AS c FROM information_schema.columns WHERE table_name=$1`, [t])).map(r => r.c)
  const grow = async (t: string, n: number, map: Record<string, string>) => {
    const names = await cols(t)
    await queryRows(db.url, `INSERT INTO ${t} (${names.join()}) SELECT ${names.map(c => map[c] ?? c).join()} FROM ${t}, generate_series(1, ${n}) i`)
  }
  const u = (c: string) => `md5(${c}::text || i)::uuid`
  const n = 300_000
  await grow('payment', n, { pay_id: u('pay_id'), trans_id: `trans_id || '-' || i` })
  await grow('operation', n, { pay_id: u('pay_id'), x_id: u('x_id'), key: `CASE WHEN key IS NULL THEN NULL ELSE json_build_object('verb', key->>'verb', 'path', key->>'path', 'key', 'k' || i) END` })
  await grow('idempotency_key', n, { pay_id: u('pay_id'), x_id: u('x_id'), key: `key || i` })
  await grow('timer', n, { pay_id: u('pay_id'), x_id: u('x_id') })
  console.log(await queryRows(db.url, 'SELECT (SELECT count(*) FROM payment) p, (SELECT count(*) FROM operation) o, (SELECT count(*) FROM timer) t, (SELECT count(*) FROM idempotency_key) k'))
  for (const analyzed of [false, true]) {
    if (analyzed) await queryRows(db.url, 'ANALYZE')
    let t = performance.now()
    const start = t
    const lines: string[] = []
    await examine(db.url, { onResult: r => { const now = performance.now(); lines.push(`${r.name} ${r.found} ${Math.round(now - t)} ms ${JSON.stringify(r.examples[0] ?? '')}`); t = now } })
    console.log(analyzed, lines.join('\n'), Math.round(performance.now() - start))
  }
  await db.drop()
}, 600_000)
