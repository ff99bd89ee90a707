/**
 * Finding payments: a page by each filter among a million payments of one merchant against the same page among a
 * thousand, and the CSV of a merchant's operations. The payments are written by SQL, in the same shapes: each filter
 * finds as many in both, so that only the size of the pile differs.
 */
import { type Line, spreadOf } from '#bench/figures.ts'
import type { GatewayProcess } from '#bench/gateway-process.ts'
import { copyRows } from '#bench/history.ts'
import { readMemory } from '#bench/resources.ts'
import { makeBenchMerchant, type Stage, withClient } from '#bench/stage.ts'

/** The target. */
const few = 1_000
const many = 1_000_000
const ratioMax = 3
const csvRowsMin = 20_000
/** 64 MB: what a process that reads pages of half a megabyte may grow by while it does. */
const csvGrowthMbMax = 64

/** Each page is read this often, after as many uncounted reads. */
const timedPages = 40

export interface FindBench {
  readonly stage: Stage
  readonly gateway: GatewayProcess
  readonly say: (line: string) => void
}

interface Shop {
  readonly merchantId: string
  readonly authorization: string
}

/** Every filter of GET /payments, alone, with a value that a fortieth of the small pile has. */
const filters: Readonly<Record<string, string>> = {
  none: '',
  from: 'from=2026-01-01T00:00:00Z',
  to: 'to=2126-01-01T00:00:00Z',
  'status, few': 'status=FAILED',
  'status, most': 'status=OK',
  'status, several': 'status=FAILED,AUTHORIZED,REVERSED',
  type: 'type=IDEAL',
  currency: 'currency=SEK',
  'amount, exact': 'amountFrom=777&amountTo=777',
  'amount, range': 'amountFrom=770&amountTo=780',
  transId: 'transId=find-7',
  refNr: 'refNr=ref-7',
  responseCode: 'responseCode=21000351',
  email: 'email=buyer-7@example.com',
  merchantCustomerId: 'merchantCustomerId=customer-7',
  last4Digits: 'last4Digits=0007',
  'type and status': 'type=IDEAL&status=OK',
  'email and from': 'email=buyer-7@example.com&from=2026-01-01T00:00:00Z',
}

export async function measureFind({ stage, gateway, say }: FindBench): Promise<Line[]> {
  const small = await makeBenchMerchant(stage)
  const large = await makeBenchMerchant(stage)
  const origin = `http://127.0.0.1:${gateway.port}/api/v2`
  for (const [shop, count] of [
    [small, few],
    [large, many],
  ] as const) {
    await takePayment(origin, shop)
    await fill(stage.gatewayUrl, shop.merchantId, count)
  }
  const ratios: { name: string; ratio: number }[] = []
  for (const [name, query] of Object.entries(filters)) {
    const among = async (shop: Shop) => timePages(`${origin}/payments?${query}`, shop)
    const [little, much] = [await among(small), await among(large)]
    if (little.found !== much.found)
      throw new Error(`${name} finds ${little.found} among few and ${much.found} among many`)
    ratios.push({ name, ratio: much.ms / little.ms })
    say(`find, ${name}: ${little.ms.toFixed(2)} ms among ${few}, ${much.ms.toFixed(2)} ms among ${many}`)
  }
  const worst = ratios.reduce((a, b) => (a.ratio > b.ratio ? a : b))
  return [
    {
      what: `find, a page among 1,000,000 payments against 1,000, worst of ${ratios.length} filters (${worst.name})`,
      measured: `× ${worst.ratio.toFixed(2)}`,
      target: `≤ × ${ratioMax}`,
      met: worst.ratio <= ratioMax,
    },
    ...(await measureCsv({ origin, shop: large, gateway, say })),
  ]
}

async function measureCsv({
  origin,
  shop,
  gateway,
  say,
}: Omit<FindBench, 'stage'> & { origin: string; shop: Shop }): Promise<Line[]> {
  // An uncounted export first: the memory that any export needs is not the growth of a longer range.
  await readCsvExport(origin, shop)
  const before = readMemory(gateway.pid)
  const { rows, seconds } = await readCsvExport(origin, shop)
  const perSecond = rows / seconds
  const grown = readMemory(gateway.pid).residentMb - before.residentMb
  say(`find, CSV: ${rows} rows, ${Math.round(perSecond)} a second, ${grown.toFixed(0)} MB more`)
  return [
    {
      what: `      CSV of ${rows} operations`,
      measured: `${Math.round(perSecond)} rows/s`,
      target: `≥ ${csvRowsMin} rows/s`,
      met: perSecond >= csvRowsMin,
    },
    {
      what: '      memory that the gateway grew by meanwhile',
      measured: `${grown.toFixed(0)} MB`,
      target: `≤ ${csvGrowthMbMax} MB`,
      met: grown <= csvGrowthMbMax,
    },
  ]
}

const newline = 10

async function readCsvExport(
  origin: string,
  { authorization }: Shop,
): Promise<{ rows: number; seconds: number }> {
  const startedAt = performance.now()
  const { body, status } = await fetch(`${origin}/operations`, {
    headers: { authorization, accept: 'text/csv' },
  })
  if (status !== 200 || !body) throw new Error(`the CSV answered ${status}`)
  let rows = -1
  for await (const chunk of body) for (const byte of chunk) if (byte === newline) rows += 1
  return { rows, seconds: (performance.now() - startedAt) / 1000 }
}

async function takePayment(origin: string, { authorization }: Shop): Promise<void> {
  const card = { number: '4111111111111111', expiryDate: '209912', cardholderName: 'Ada Lovelace' }
  const response = await fetch(`${origin}/payments`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({
      transId: 'sample',
      refNr: 'sample',
      amount: { value: 1, currency: 'EUR' },
      customerInfo: { email: 'sample@example.com', merchantCustomerId: 'sample' },
      paymentMethods: { integrationType: 'DIRECT', type: 'CARD', card },
    }),
  })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`the sample payment was answered ${response.status}: ${text}`)
}

/**
 * Payments like the sample, a millisecond apart, the newest now. Of each kind that a filter looks for there are 25,
 * spread over the whole pile; the others differ in the filtered values.
 */
async function fill(databaseUrl: string, merchantId: string, count: number): Promise<void> {
  const every = count / 25
  const rare = (offset: number): string => `c.n % ${every} = ${offset}`
  await withClient(databaseUrl, async client => {
    await client.query(
      `CREATE TEMP TABLE copies AS SELECT n, gen_random_uuid() AS pay_id,
         date_trunc('milliseconds', now()) - (${count} - n) * interval '1 millisecond' AS at
       FROM generate_series(1, ${count}) n`,
    )
    await client.query(
      'CREATE TEMP TABLE sample AS SELECT * FROM payment WHERE merchant_id = $1 ORDER BY created_at LIMIT 1',
      [merchantId],
    )
    const status = `CASE WHEN ${rare(1)} THEN 'FAILED' WHEN ${rare(2)} THEN 'AUTHORIZED' WHEN ${rare(3)} THEN 'REVERSED' ELSE t.status END`
    const code = `CASE WHEN ${rare(1)} THEN '21000351' ELSE '00000000' END`
    const held = `CASE WHEN ${rare(1)} THEN 0 ELSE t.authorized END`
    const named = `jsonb_build_object('email', 'Buyer-' || c.n % ${every} || '@example.com',
      'merchantCustomerId', 'customer-' || c.n % ${every})`
    await copyRows(client, {
      table: 'payment',
      from: 'sample t, copies c',
      given: {
        pay_id: 'c.pay_id',
        trans_id: `'find-' || c.n`,
        ref_nr: `'ref-' || c.n % ${every}`,
        amount: `CASE WHEN ${rare(7)} THEN 777 ELSE 10000 + c.n % 5000 END`,
        currency: `CASE WHEN ${rare(7)} THEN 'SEK' ELSE 'EUR' END`,
        method: `CASE WHEN ${rare(7)} THEN 'IDEAL' ELSE t.method END`,
        status,
        live: `NOT (${rare(1)} OR ${rare(3)})`,
        authorized: held,
        captured: held,
        details: `(t.details::jsonb || jsonb_build_object('customerInfo', ${named}))::json`,
        instrument: `(t.instrument::jsonb || jsonb_build_object('last4Digits',
        CASE WHEN ${rare(7)} THEN '0007' ELSE '1111' END))::json`,
        email: `'Buyer-' || c.n % ${every} || '@example.com'`,
        merchant_customer: `'customer-' || c.n % ${every}`,
        last_digits: `CASE WHEN ${rare(7)} THEN '0007' ELSE '1111' END`,
        created_at: 'c.at',
        updated_at: 'c.at',
      },
    })
    await copyRows(client, {
      table: 'operation',
      from: 'operation t JOIN sample s USING (merchant_id, pay_id), copies c',
      given: {
        pay_id: 'c.pay_id',
        x_id: 'gen_random_uuid()',
        response_code: code,
        created_at: 'c.at',
        updated_at: 'c.at',
      },
    })
    await client.query(
      `INSERT INTO payment_mark (merchant_id, pay_id, created_at, status, response_code)
       SELECT $1, c.pay_id, c.at, CASE WHEN ${rare(1)} THEN 'FAILED' WHEN ${rare(2)} THEN 'AUTHORIZED' ELSE 'REVERSED' END, ${code}
       FROM copies c WHERE ${rare(1)} OR ${rare(2)} OR ${rare(3)}`,
      [merchantId],
    )
    await client.query('VACUUM ANALYZE payment')
    await client.query('VACUUM ANALYZE operation')
    await client.query('VACUUM ANALYZE payment_mark')
  })
}

/** The median time of a page read to its end, after as many uncounted reads. */
async function timePages(url: string, { authorization }: Shop): Promise<{ ms: number; found: number }> {
  const times: number[] = []
  let found = 0
  for (let turn = 0; turn < 2 * timedPages; turn += 1) {
    const startedAt = performance.now()
    const response = await fetch(url, { headers: { authorization } })
    const text = await response.text()
    if (response.status !== 200) throw new Error(`${url} answered ${response.status}: ${text}`)
    if (turn >= timedPages) times.push(performance.now() - startedAt)
    found = (JSON.parse(text) as { data: unknown[] }).data.length
  }
  return { ms: spreadOf(times).median, found }
}
