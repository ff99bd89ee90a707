/**
 * The list of customers: its first page and one far down, against reading one customer by its id, all through the API.
 * The customers are written by SQL, because making a hundred thousand payments is not part of the measurement.
 */
import { type Line, ratiosOf, showRates, showRatio, spreadOf } from '#bench/figures.ts'
import type { GatewayRuns } from '#bench/gateway-runs.ts'
import { type Stage, withClient } from '#bench/stage.ts'

/** The target. */
const customerCount = 100_000
const deepPage = 5_000
const slowdownMax = 3

/** 1,000 ids to read by turns: more than anybody's cache line, few enough for one message to the load generator. */
const sampled = 1_000

export async function measureCustomers(
  { stage, through, rounds }: { stage: Stage; through: GatewayRuns; rounds: number },
  lines: Line[],
): Promise<void> {
  const ids = await populate(stage)
  const kinds = {
    single: ids.map(id => `/customers/${id}`),
    first: ['/customers?page=1'],
    deep: [`/customers?page=${deepPage}`],
  }
  // The first list after so many inserts counts them all and splits the block; this happens once, not per page.
  await through.gets('customers, first list', kinds.first, { count: 1, warmUpMs: 0, concurrency: 1 })
  const rates: Record<keyof typeof kinds, number[]> = { single: [], first: [], deep: [] }
  for (let round = 1; round <= rounds; round += 1) {
    for (const kind of ['single', 'first', 'deep'] as const) {
      const { perSecond } = await through.gets(`customers ${round}/${rounds} ${kind}`, kinds[kind])
      rates[kind].push(perSecond)
    }
  }
  lines.push({
    what: `customers, one of ${customerCount} by id`,
    measured: showRates(spreadOf(rates.single)),
  })
  for (const [kind, page] of [
    ['first', 1],
    ['deep', deepPage],
  ] as const) {
    const ratio = spreadOf(ratiosOf(rates.single, rates[kind]))
    lines.push({ what: `customers, page ${page}`, measured: showRates(spreadOf(rates[kind])) })
    lines.push({
      what: `   time of page ${page} / one by id`,
      measured: showRatio(ratio),
      target: `≤ ${slowdownMax}×`,
      met: ratio.median <= slowdownMax,
    })
  }
}

/**
 * Writes customers as payments would have: an open block, and customers one after the other. Returns some of their ids.
 */
function populate({ gatewayUrl, merchantId }: Stage): Promise<string[]> {
  return withClient(gatewayUrl, async client => {
    await client.query(
      `WITH block AS (INSERT INTO customer_block (merchant_id, first_at, older) VALUES ($1, to_timestamp(0), 0)
         ON CONFLICT DO NOTHING)
       INSERT INTO customer_order (merchant_id, open_at) VALUES ($1, to_timestamp(0)) ON CONFLICT DO NOTHING`,
      [merchantId],
    )
    await client.query(
      `INSERT INTO customer (merchant_id, customer_id, merchant_customer_id, first_name, last_name, email, phone_country,
         phone_number, billing_address, last_used_at, created_at, updated_at, version)
       SELECT $1, gen_random_uuid(), 'bench-' || n, 'Ada', 'Lovelace', 'ada' || n || '@shop.example', '+49',
         (30000000 + n)::text, '{"city": "Hamburg", "country": "DEU"}', at, at, at, 1
       FROM generate_series(1, $2::integer) n, LATERAL (SELECT now() + n * interval '1 millisecond' AS at) t`,
      [merchantId, customerCount],
    )
    await client.query('VACUUM ANALYZE customer')
    const { rows } = await client.query<{ customer_id: string }>(
      'SELECT customer_id FROM customer WHERE merchant_id = $1 ORDER BY customer_id LIMIT $2',
      [merchantId, sampled],
    )
    return rows.map(row => row.customer_id.replaceAll('-', ''))
  })
}
