/** The part `webhooks`: deliveries against a bare loop, what an event adds to a commit, and how soon it is sent. */
import { type Line, percentileOf, ratiosOf, showRates, showRatio, spreadOf } from '#bench/figures.ts'
import { type Peer, startPeer } from '#bench/peer.ts'
import { type Stage, withClient } from '#bench/stage.ts'
import { concurrency } from '#bench/watch.ts'
import type { BareWebhookJob, DeliveryRate } from '#bench/webhook-bare.ts'
import type { GatewayWebhookJob, GatewayWebhookResult } from '#bench/webhook-gateway.ts'
import type { ReceiverJob, ReceiverResult } from '#bench/webhook-receiver.ts'

/** The target: 2,000 a second or half of the bare loop; a tenth more for a commit; 50 ms to the first attempt. */
const ratioMin = 0.5
const perSecondMin = 2_000
const commitRatioMax = 1.1
const firstAttemptMsMax = 50

/** 16: as the bare payments. */
const bareConnections = 16

/** 300 single events for the latency of one. */
const latencyCount = 300

export interface WebhookOptions {
  readonly seconds: number
  readonly rounds: number
  readonly stage: Stage
  /** An AUTOMATIC payment of the stage's merchant in the gateway's database. */
  readonly payId: string
  readonly say: (line: string) => void
}

interface Peers {
  readonly receiver: Peer<ReceiverJob, ReceiverResult>
  readonly gateway: Peer<GatewayWebhookJob, GatewayWebhookResult>
  readonly bare: Peer<BareWebhookJob, DeliveryRate>
}

export async function measureWebhooks(options: WebhookOptions): Promise<Line[]> {
  const peers: Peers = {
    receiver: startPeer('./webhook-receiver.ts'),
    gateway: startPeer('./webhook-gateway.ts'),
    bare: startPeer('./webhook-bare.ts'),
  }
  try {
    const { port } = await peers.receiver.run('open')
    const url = `http://127.0.0.1:${port}`
    await copySample(options)
    return [
      ...(await measureDeliveries(options, peers, url)),
      ...(await measureCommits(options, peers, url)),
      ...(await measureFirstAttempt(options, peers, url)),
    ]
  } finally {
    for (const peer of Object.values(peers)) peer.stop()
  }
}

/** The bare client's database gets the merchant and the payment that the gateway wrote. */
async function copySample({ stage, payId }: WebhookOptions): Promise<void> {
  const read = (table: string, key: string, value: string) =>
    withClient(stage.gatewayUrl, async client => {
      const { rows } = await client.query(
        `SELECT row_to_json(t)::text AS row FROM ${table} t WHERE ${key} = $1`,
        [value],
      )
      return rows.map(({ row }) => String(row))
    })
  const copies = [
    { table: 'merchant', rows: await read('merchant', 'merchant_id', stage.merchantId) },
    { table: 'payment', rows: await read('payment', 'pay_id', payId) },
    { table: 'operation', rows: await read('operation', 'pay_id', payId) },
  ]
  await withClient(stage.bareUrl, async client => {
    for (const { table, rows } of copies) {
      for (const row of rows) {
        await client.query(
          `INSERT INTO ${table} SELECT * FROM json_populate_record(NULL::${table}, $1::json) ON CONFLICT DO NOTHING`,
          [row],
        )
      }
    }
  })
}

/** As many payments like the sample with one event each, all due. */
async function fillQueue(
  databaseUrl: string,
  { payId, count, url }: { payId: string; count: number; url: string },
) {
  await withClient(databaseUrl, async client => {
    await client.query(
      `WITH made AS (INSERT INTO payment SELECT (jsonb_populate_record(p, jsonb_build_object('pay_id', gen_random_uuid(),
           'trans_id', 'queue-' || gen_random_uuid(), 'event_sequence', 1))).*
         FROM payment p, generate_series(1, $2) WHERE p.pay_id = $1 RETURNING merchant_id, pay_id, trans_id)
       INSERT INTO event (merchant_id, pay_id, sequence, event_id, x_id, body, url, created_at, due_at)
       SELECT merchant_id, pay_id, 1, gen_random_uuid(), gen_random_uuid(), json_build_object('payId', pay_id,
         'transId', trans_id, 'status', 'OK', 'responseCode', '00000000', 'responseDescription', 'Success.',
         'amount', json_build_object('value', 4999, 'currency', 'EUR'), 'creationDate', now(), 'sequence', 1),
         $3, now(), now() FROM made`,
      [payId, count, url],
    )
    await client.query('ANALYZE event')
  })
}

const jobOf = ({ stage, payId }: WebhookOptions, url: string): Omit<GatewayWebhookJob, 'kind' | 'count'> => ({
  databaseUrl: stage.gatewayUrl,
  masterKey: stage.environment.TOLLGATE_MASTER_KEY ?? '',
  merchantId: stage.merchantId,
  // As the gateway writes ids: a bare client reads them with dashes.
  payId: payId.replaceAll('-', ''),
  url,
  concurrency,
})

async function measureDeliveries(options: WebhookOptions, peers: Peers, url: string): Promise<Line[]> {
  const { rounds, seconds, stage, payId, say } = options
  const count = perSecondMin * seconds
  const ours: number[] = []
  const theirs: number[] = []
  for (let round = 1; round <= rounds; round += 1) {
    await fillQueue(stage.gatewayUrl, { payId, count, url })
    const { perSecond } = await peers.gateway.run({ kind: 'deliver', count, ...jobOf(options, url) })
    await expectAllReceived(peers, count)
    await fillQueue(stage.bareUrl, { payId, count, url })
    const bareJob = { databaseUrl: stage.bareUrl, url, connections: bareConnections, concurrency }
    const bare = await peers.bare.run(bareJob)
    await expectAllReceived(peers, count)
    ours.push(perSecond)
    theirs.push(bare.perSecond)
    say(
      `webhooks ${round}/${rounds} gateway ${Math.round(perSecond)}/s, bare undici loop ${Math.round(bare.perSecond)}/s`,
    )
  }
  const ratio = spreadOf(ratiosOf(ours, theirs))
  const rate = spreadOf(ours)
  return [
    { what: 'webhooks, deliveries by the gateway', measured: showRates(rate) },
    { what: '   bare undici loop, same rows', measured: showRates(spreadOf(theirs)) },
    {
      what: '   gateway / bare loop',
      measured: showRatio(ratio),
      target: `≥ ${ratioMin.toFixed(1)}×, or ≥ ${perSecondMin}/s`,
      met: ratio.median >= ratioMin || rate.median >= perSecondMin,
    },
  ]
}

async function expectAllReceived({ receiver }: Peers, count: number): Promise<void> {
  const heard = await receiver.run('arrivals')
  if (heard.count !== count) throw new Error(`${heard.count} webhooks arrived of ${count}`)
}

/** 1: with many at once the median is the length of a queue and no longer the time of a commit. */
const oneAtOnce = 1

async function measureCommits(options: WebhookOptions, peers: Peers, url: string): Promise<Line[]> {
  const { rounds, seconds, say, stage } = options
  const shared = { ...jobOf(options, url), kind: 'commits' as const, databaseUrl: stage.bareUrl }
  const times: number[] = []
  const rates: number[] = []
  for (let round = 1; round <= rounds; round += 1) {
    const alone = { ...shared, count: 100 * seconds, concurrency: oneAtOnce }
    const many = { ...shared, count: 500 * seconds }
    const [plain, told] = [
      await peers.gateway.run(alone),
      await peers.gateway.run({ ...alone, withEvent: true }),
    ]
    const [rate, toldRate] = [
      await peers.gateway.run(many),
      await peers.gateway.run({ ...many, withEvent: true }),
    ]
    times.push((told.commitMs ?? Number.NaN) / (plain.commitMs ?? Number.NaN))
    rates.push(rate.perSecond / toldRate.perSecond)
    const show = (result: GatewayWebhookResult) => `${result.commitMs?.toFixed(2)} ms`
    say(`webhooks ${round}/${rounds} commits of a payment: ${show(plain)}, with an event ${show(told)}`)
    say(
      `webhooks ${round}/${rounds} at ${concurrency}: ${Math.round(rate.perSecond)}/s, ${Math.round(toldRate.perSecond)}/s`,
    )
  }
  const ratio = spreadOf(times)
  return [
    {
      what: 'commits of a payment, with an event / without',
      measured: showRatio(ratio),
      target: `≤ ${commitRatioMax}×`,
      met: ratio.median <= commitRatioMax,
    },
    {
      what: `   the same by throughput, ${concurrency} at once, storage alone`,
      measured: showRatio(spreadOf(rates)),
    },
  ]
}

async function measureFirstAttempt(options: WebhookOptions, peers: Peers, url: string): Promise<Line[]> {
  await peers.receiver.run('arrivals')
  const { committed } = await peers.gateway.run({
    kind: 'latency',
    count: latencyCount,
    ...jobOf(options, url),
  })
  const { arrivals } = await peers.receiver.run('arrivals')
  const waits = Float64Array.from(
    Object.entries(committed).map(([id, at]) => (arrivals[id] ?? Number.POSITIVE_INFINITY) - at),
  ).sort()
  const p50 = percentileOf(waits, 0.5)
  const show = (share: number) => `${percentileOf(waits, share).toFixed(1)} ms`
  return [
    {
      what: 'first attempt after its commit, p50',
      measured: show(0.5),
      target: `≤ ${firstAttemptMsMax} ms`,
      met: p50 <= firstAttemptMsMax,
    },
    { what: '   p99', measured: show(0.99) },
  ]
}
