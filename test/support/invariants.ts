/**
 * What must be true of the stored rows after any history, asked in SQL and independently of the code that wrote them.
 * Each query returns the rows that break its rule.
 */
import pg from 'pg'

const rules: Readonly<Record<string, string>> = {
  'no operation is left SENT': `SELECT pay_id, x_id FROM operation WHERE state = 'SENT'`,
  'an operation has one reference of its own': `SELECT x_id FROM operation GROUP BY x_id HAVING count(*) > 1`,
  'operations are numbered without a gap': `SELECT pay_id FROM operation GROUP BY merchant_id, pay_id
    HAVING max(sequence) <> count(*) OR min(sequence) <> 1`,
  'sums are those of the operations': `SELECT p.pay_id, p.authorized, p.captured, p.capturing FROM payment p WHERE
    p.authorized <> (SELECT coalesce(sum(amount), 0) FROM operation o WHERE o.pay_id = p.pay_id
      AND o.type = 'AUTHORIZATION' AND o.state IN ('AUTHORIZED', 'OK')) OR
    p.captured <> (SELECT coalesce(sum(amount), 0) FROM operation o WHERE o.pay_id = p.pay_id
      AND o.type = 'CAPTURE' AND o.state = 'OK') OR
    p.capturing <> (SELECT coalesce(sum(amount), 0) FROM operation o WHERE o.pay_id = p.pay_id
      AND o.type = 'CAPTURE' AND o.state IN ('SENT', 'PENDING'))`,
  'the status fits the sums': `SELECT pay_id, status FROM payment WHERE amount > 0 AND
    ((status = 'OK') <> (captured > 0) OR (status = 'AUTHORIZED') <> (authorized > 0 AND captured = 0))`,
  'one live payment per transId': `SELECT trans_id FROM payment WHERE live GROUP BY merchant_id, trans_id
    HAVING count(*) > 1`,
  'what is undecided waits for an inquiry': `SELECT o.x_id FROM operation o WHERE o.state = 'PENDING' AND NOT EXISTS
    (SELECT 1 FROM timer t WHERE t.x_id = o.x_id AND t.pay_id = o.pay_id)`,
  'what is decided waits for nothing': `SELECT t.x_id FROM timer t JOIN operation o ON o.x_id = t.x_id
    AND o.pay_id = t.pay_id WHERE t.kind = 'INQUIRY' AND o.state NOT IN ('SENT', 'PENDING')`,
  'a key has its answer': `SELECT key FROM idempotency_key WHERE answer_status IS NULL`,
  'a key and its operation know each other': `SELECT k.key FROM idempotency_key k LEFT JOIN operation o
    ON o.pay_id = k.pay_id AND o.x_id = k.x_id AND o.key->>'key' = k.key AND o.key->>'path' = k.path
    WHERE k.x_id IS NOT NULL AND o.x_id IS NULL`,
  'an operation that names a key has it': `SELECT o.x_id FROM operation o WHERE o.key IS NOT NULL AND NOT EXISTS
    (SELECT 1 FROM idempotency_key k WHERE k.x_id = o.x_id AND k.key = o.key->>'key')`,
  'an operation is told of once at most': `SELECT x_id FROM event GROUP BY x_id HAVING count(*) > 1`,
  'events are numbered without a gap': `SELECT e.pay_id FROM event e JOIN payment p ON p.pay_id = e.pay_id
    GROUP BY e.pay_id, p.event_sequence HAVING max(e.sequence) <> count(*) OR p.event_sequence <> count(*)`,
}

/** The rules that are broken, with the first few rows that break them; empty when all is well. */
export async function findBrokenRules(databaseUrl: string): Promise<Record<string, unknown[]>> {
  const broken: Record<string, unknown[]> = {}
  await withClient(databaseUrl, async client => {
    for (const [rule, query] of Object.entries(rules)) {
      const { rows } = await client.query(`${query} LIMIT 3`)
      if (rows.length > 0) broken[rule] = rows
    }
  })
  return broken
}

export async function queryRows<T extends object = Record<string, unknown>>(
  databaseUrl: string,
  text: string,
  values: unknown[] = [],
): Promise<T[]> {
  return withClient(databaseUrl, async client => (await client.query(text, values)).rows as T[])
}

/** How often the merchant was or will be told about this operation. */
export async function countEvents(databaseUrl: string, xId: string): Promise<number> {
  const rows = await queryRows<{ count: string }>(databaseUrl, 'SELECT count(*) FROM event WHERE x_id = $1', [
    xId,
  ])
  return Number(rows[0]?.count)
}

async function withClient<T>(databaseUrl: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
