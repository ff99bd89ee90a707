/**
 * Payment plans that are due: how many the gateway charges in a second, against payments by request in the same round. The
 * plans are copies of one that was made through the API, and belong to a merchant of their own whose clock is moved.
 */
import { type Line, ratiosOf, showRates, showRatio, spreadOf } from '#bench/figures.ts'
import type { GatewayProcess } from '#bench/gateway-process.ts'
import type { GatewayRuns } from '#bench/gateway-runs.ts'
import { type Stage, withClient } from '#bench/stage.ts'
import { openMerchants } from '#operations/open-merchants.ts'
import { toMasterKey } from '#vault/master-key.ts'

/** The issue's: either will do. */
const perSecondMin = 500
const ratioMin = 0.5

/** 5,000: some seconds of work, far within the half minute that a move of the clock may take. */
const planCount = 5_000

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
    const startedAt = performance.now()
    await post('/test/clock', { advance: 'P1D' })
    const perSecond = (planCount * 1_000) / (performance.now() - startedAt)
    await expectAllCharged(stage, merchant.merchantId, round)
    charges.push(perSecond)
    say(`plans ${round}/${rounds} due plans: ${Math.round(perSecond)}/s`)
  }
  const ratio = spreadOf(ratiosOf(charges, creates))
  return [
    {
      what: `plans, ${planCount} due at once`,
      measured: showRates(spreadOf(charges)),
      target: `≥ ${perSecondMin}/s`,
      met: spreadOf(charges).median >= perSecondMin,
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
  const opened = await openMerchants({ environment: 'test', databaseUrl: gatewayUrl, masterKey })
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

/** Nobody was forgotten, and nobody charged twice. */
async function expectAllCharged({ gatewayUrl }: Stage, merchantId: string, days: number): Promise<void> {
  const { rows } = await withClient(gatewayUrl, client =>
    client.query<{ charged: string; plans: string }>(
      `SELECT count(*) AS charged, count(DISTINCT plan_id) AS plans FROM payment
       WHERE merchant_id = $1 AND status = 'OK' AND details->'planTurn' IS NOT NULL`,
      [merchantId],
    ),
  )
  const { charged, plans } = rows[0] ?? {}
  if (Number(charged) !== planCount * days || Number(plans) !== planCount) {
    throw new Error(`${charged} charges of ${plans} plans after ${days} days of ${planCount} plans`)
  }
}
