/**
 * Due payment plans: the gateway's charges per second, against payments by request in the same round. The plans are
 * copies of one that was made through the API, and belong to a merchant of their own.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { type Line, ratiosOf, showRates, showRatio, spreadOf } from '#bench/figures.ts'
import type { GatewayProcess } from '#bench/gateway-process.ts'
import type { GatewayRuns } from '#bench/gateway-runs.ts'
import { type Stage, withClient } from '#bench/stage.ts'
import { openMerchants } from '#cells/open-merchants.ts'
import { toMasterKey } from '#vault/master-key.ts'

/** The target: one of the two must be met. */
const perSecondMin = 500
const ratioMin = 0.5

/** 2,000: ten full rounds of the worker. */
const planCount = 2_000

/** 200 ms: rarely enough not to disturb; the rate is taken from the times of the charges themselves. */
const pollMs = 200

export async function measurePlans(bench: {
  readonly stage: Stage
  readonly gateway: GatewayProcess
  readonly through: GatewayRuns
  readonly rounds: number
  readonly say: (line: string) => void
}): Promise<Line[]> {
  const { stage, gateway, through, rounds, say } = bench
  const merchant = await openMerchant(stage)
  const post = createCaller(gateway, merchant.authorization)
  await copyPlan(stage, await beginPlan(post))
  const [charges, creates]: [number[], number[]] = [[], []]
  for (let round = 1; round <= rounds; round += 1) {
    creates.push((await through.payments(`plans ${round}/${rounds} payments by request`)).perSecond)
    await makeDue(stage, merchant.merchantId)
    const perSecond = await awaitCharges(stage, merchant.merchantId, round)
    charges.push(perSecond)
    say(`plans ${round}/${rounds} due plans: ${Math.round(perSecond)}/s`)
  }
  const ratio = spreadOf(ratiosOf(charges, creates))
  return [
    {
      what: `plans, ${planCount} due at once`,
      measured: showRates(spreadOf(charges)),
      target: `≥ ${perSecondMin}/s, or the ratio`,
      met: spreadOf(charges).median >= perSecondMin || ratio.median >= ratioMin,
    },
    {
      what: '   plans charged / payments by request',
      measured: showRatio(ratio),
      target: `≥ ${ratioMin.toFixed(1)}×`,
      met: ratio.median >= ratioMin,
    },
  ]
}

async function openMerchant({ gatewayUrl, environment }: Stage) {
  const masterKey = toMasterKey(environment.TOLLGATE_MASTER_KEY ?? '', 'the key of this bench')
  const opened = await openMerchants({
    environment: 'test',
    cells: [{ number: 0, url: gatewayUrl }],
    masterKey,
  })
  try {
    const { merchantId, apiKey } = await opened.merchants.create('Plans')
    const authorization = `Basic ${Buffer.from(`${merchantId}:${apiKey}`).toString('base64')}`
    return { merchantId, authorization }
  } finally {
    await opened.close()
  }
}

type Post = (path: string, body: object) => Promise<Record<string, unknown>>

const createCaller =
  ({ port }: GatewayProcess, authorization: string): Post =>
  async (path, body) => {
    const response = await fetch(`http://127.0.0.1:${port}/api/v2${path}`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const text = await response.text()
    if (response.status !== 200) throw new Error(`${path} answered ${response.status}: ${text}`)
    return JSON.parse(text) as Record<string, unknown>
  }

async function beginPlan(post: Post): Promise<string> {
  const { paymentPlanId } = await post('/payments', {
    transId: 'plan-0',
    amount: { value: 999, currency: 'EUR' },
    customerInfo: { merchantCustomerId: 'bench', email: 'ada@shop.example' },
    credentialOnFile: {
      type: 'RECURRING',
      initialPayment: true,
      recurring: { frequency: 'DAILY', useCase: 'FIXED', autoCharge: true },
    },
    paymentMethods: {
      integrationType: 'DIRECT',
      type: 'CARD',
      card: { number: '4111111111111111', expiryDate: '209912', cardholderName: 'Ada Lovelace' },
    },
  })
  return String(paymentPlanId)
}

/** The plan, its initial payment with both operations, and its timer, under new ids. */
async function copyPlan({ gatewayUrl }: Stage, planId: string): Promise<void> {
  await withClient(gatewayUrl, async client => {
    await client.query(
      `CREATE TEMP TABLE copies AS SELECT n, gen_random_uuid() AS pay_id, gen_random_uuid() AS plan_id
       FROM generate_series(1, ${planCount - 1}) n`,
    )
    const copy = (table: string, from: string, ids: string) =>
      client.query(
        `INSERT INTO ${table} SELECT (jsonb_populate_record(NULL::${table}, to_jsonb(t) || jsonb_build_object(${ids}))).*
         FROM copies c CROSS JOIN ${table} t JOIN payment_plan p ON p.plan_id = $1 AND ${from}`,
        [planId],
      )
    const ofInitial = 't.merchant_id = p.merchant_id AND t.pay_id = p.initial_pay_id'
    await copy('payment', ofInitial, `'pay_id', c.pay_id, 'plan_id', c.plan_id, 'trans_id', 'plan-' || c.n`)
    await copy('operation', ofInitial, `'pay_id', c.pay_id, 'x_id', gen_random_uuid()`)
    await copy('timer', `${ofInitial} AND t.kind = 'PLAN'`, `'pay_id', c.pay_id, 'x_id', c.plan_id`)
    await copy('payment_plan', 't.plan_id = p.plan_id', `'plan_id', c.plan_id, 'initial_pay_id', c.pay_id`)
    await client.query('VACUUM ANALYZE payment_plan')
  })
}

/** All of them become due at this moment, as at midnight. */
async function makeDue({ gatewayUrl }: Stage, merchantId: string): Promise<void> {
  await withClient(gatewayUrl, client =>
    client.query(
      `WITH due AS (UPDATE payment_plan SET next_payment_date = (now() AT TIME ZONE 'UTC')::date WHERE merchant_id = $1)
       UPDATE timer SET run_at = now() WHERE merchant_id = $1 AND kind = 'PLAN'`,
      [merchantId],
    ),
  )
}

interface Charged {
  readonly charged: string
  readonly plans: string
  readonly seconds: string
}

/**
 * Waits until the worker has charged all plans, and returns the rate per second. Checks that each is charged exactly
 * once.
 */
async function awaitCharges({ gatewayUrl }: Stage, merchantId: string, round: number): Promise<number> {
  return withClient(gatewayUrl, async client => {
    for (;;) {
      await delay(pollMs)
      // A cheap query while the worker runs: counting all charges of all rounds would take its processor time away.
      const { rows: open } = await client.query(
        `SELECT 1 FROM payment_plan WHERE merchant_id = $1
           AND (next_payment_date <= (now() AT TIME ZONE 'UTC')::date OR charging_pay_id IS NOT NULL) LIMIT 1`,
        [merchantId],
      )
      if (open.length > 0) continue
      const { rows } = await client.query<Charged>(
        `SELECT count(*) FILTER (WHERE number <= ${planCount}) AS charged, count(DISTINCT plan_id) AS plans,
           extract(epoch FROM max(sent_at) FILTER (WHERE number <= ${planCount})
             - min(sent_at) FILTER (WHERE number <= ${planCount})) AS seconds
         FROM (SELECT p.plan_id, o.sent_at, row_number() OVER (ORDER BY o.sent_at DESC) AS number,
             count(*) OVER () AS made
           FROM payment p JOIN operation o ON o.merchant_id = p.merchant_id AND o.pay_id = p.pay_id AND o.sequence = 1
           WHERE p.merchant_id = $1 AND p.status = 'OK' AND p.details->'planTurn' IS NOT NULL) charges
         WHERE made >= $2`,
        [merchantId, planCount * round],
      )
      const { charged, plans, seconds } = rows[0] ?? { charged: '0', plans: '0', seconds: '0' }
      if (Number(charged) === 0) continue
      if (Number(charged) !== planCount || Number(plans) !== planCount) {
        throw new Error(`${charged} charges of ${plans} plans in a round of ${planCount}`)
      }
      return planCount / Number(seconds)
    }
  })
}
