/**
 * The bare loop, a process of its own: a plain Node program that posts the same signed bodies with undici and writes
 * the same rows, one transaction for each.
 */
import { createHmac } from 'node:crypto'
import pg from 'pg'
import { Agent } from 'undici'
import { answerJobs } from '#bench/peer.ts'

export interface BareWebhookJob {
  readonly databaseUrl: string
  readonly url: string
  readonly connections: number
  readonly concurrency: number
}

export interface DeliveryRate {
  readonly perSecond: number
}

answerJobs<BareWebhookJob, DeliveryRate>(run)

interface Row {
  readonly merchant_id: string
  readonly pay_id: string
  readonly sequence: number
  readonly event_id: string
  readonly body: string
}

async function run({ databaseUrl, url, connections, concurrency }: BareWebhookJob): Promise<DeliveryRate> {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: connections })
  const agent = new Agent({ connections: concurrency })
  try {
    const { rows } = await pool.query<Row>(
      `SELECT merchant_id, pay_id, sequence, event_id, body::text FROM event WHERE status = 'PENDING'`,
    )
    const waiting = rows[Symbol.iterator]()
    const begun = performance.now()
    await Promise.all(
      Array.from({ length: concurrency }, async () => {
        for (const row of waiting) await record(pool, row, await post(agent, url, row))
      }),
    )
    return { perSecond: rows.length / ((performance.now() - begun) / 1000) }
  } finally {
    await agent.close()
    await pool.end()
  }
}

const secret = Buffer.alloc(32, 1)

async function post(agent: Agent, url: string, { event_id, body }: Row): Promise<number> {
  const id = event_id.replaceAll('-', '')
  const timestamp = Math.floor(Date.now() / 1000)
  const signature = createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64')
  const { statusCode, body: answer } = await agent.request({
    origin: url,
    path: '/',
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': `v1,${signature}`,
    },
    body,
  })
  await answer.dump()
  return statusCode
}

async function record(pool: pg.Pool, { merchant_id, pay_id, sequence }: Row, status: number): Promise<void> {
  const client = await pool.connect()
  const key = [merchant_id, pay_id, sequence]
  try {
    await client.query('BEGIN')
    await client.query({
      name: 'event',
      text: `UPDATE event SET status = 'DELIVERED', attempts = 1, tries = 1, due_at = NULL, leased_until = NULL
        WHERE merchant_id = $1 AND pay_id = $2 AND sequence = $3`,
      values: key,
    })
    await client.query({
      name: 'attempt',
      text: `INSERT INTO event_attempt (merchant_id, pay_id, sequence, number, at, status, duration_ms, answer)
        VALUES ($1, $2, $3, 1, now(), $4, 1, '')`,
      values: [...key, status],
    })
    await client.query('COMMIT')
  } finally {
    client.release()
  }
}
