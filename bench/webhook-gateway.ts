/**
 * A gateway inside a process of the bench's own, so that its commits can be timed from within: delivers waiting events,
 * commits payments with and without an event, and records the times of commits whose events the receiver then gets.
 */
import { randomUUIDv7 } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { spreadOf } from '#bench/figures.ts'
import { answerJobs } from '#bench/peer.ts'
import type { MerchantId, PayId, XId } from '#domain/ids.ts'
import { providerResultOutstanding } from '#domain/response-codes.ts'
import { createGateway, type Gateway } from '#gateway.ts'
import { raiseEvent } from '#lifecycle/event.ts'
import { lastOperation, noSums, type Payment } from '#lifecycle/payment.ts'
import { type Change, type EventRow, writesBetween } from '#storage/commit/change.ts'
import { createGroupCommit, type GroupCommit } from '#storage/commit/group-commit.ts'
import { openDatabase } from '#storage/database.ts'
import { createPaymentReader } from '#storage/payments/payments.ts'
import { toMasterKey } from '#vault/master-key.ts'

export interface GatewayWebhookJob {
  readonly kind: 'deliver' | 'commits' | 'latency'
  readonly databaseUrl: string
  readonly masterKey: string
  readonly merchantId: string
  /** A payment whose like is committed. */
  readonly payId: string
  readonly url: string
  readonly count: number
  readonly concurrency: number
  readonly withEvent?: boolean
}

export interface GatewayWebhookResult {
  readonly perSecond: number
  /** Median time of both commits of a payment. */
  readonly commitMs?: number
  /** When each event was committed, by id, in milliseconds since 1970. */
  readonly committed: Readonly<Record<string, number>>
}

answerJobs<GatewayWebhookJob, GatewayWebhookResult>(async job => {
  if (job.kind === 'deliver') return { perSecond: await deliver(job), committed: {} }
  if (job.kind === 'commits') return { ...(await measureCommits(job)), committed: {} }
  return { perSecond: 0, committed: await commitOneByOne(job) }
})

const newId = (): string => randomUUIDv7().replaceAll('-', '')
const now = (): number => performance.timeOrigin + performance.now()

const openGateway = ({ databaseUrl, masterKey }: GatewayWebhookJob): Promise<Gateway> =>
  createGateway({
    environment: 'test',
    databaseUrl,
    masterKey: toMasterKey(masterKey, 'the key of this bench'),
    logLevel: 'warn',
  })

/** 20 ms: fine enough for runs of seconds. */
const pollMs = 20

/** From the first claim to the last record. */
async function deliver(job: GatewayWebhookJob): Promise<number> {
  const gateway = await openGateway(job)
  const database = openDatabase(job.databaseUrl, error => console.error(error))
  const countWaiting = async (): Promise<number> => {
    const text = 'SELECT count(*) AS waiting FROM event WHERE due_at IS NOT NULL'
    return (await database.readers.query<{ waiting: number }>(text)).rows[0]?.waiting ?? 0
  }
  try {
    const waiting = await countWaiting()
    const begun = performance.now()
    gateway.deliveryWorker.wake()
    while ((await countWaiting()) > 0) await delay(pollMs)
    return waiting / ((performance.now() - begun) / 1000)
  } finally {
    await database.close()
    await gateway.close()
  }
}

/** A payment like the sample, with ids of its own. */
function copyOf(sample: Payment): Payment {
  const payId = newId() as PayId
  const operations = sample.operations.map(operation => ({
    ...operation,
    xId: newId() as XId,
    key: undefined,
  }))
  // Without its card: the vault of this database may not have it, and the measurement is about the event beside the
  // payment.
  const card = { instrument: undefined }
  return { ...sample, ...card, payId, transId: `hook-${payId}`, operations, eventSequence: 0, version: 2 }
}

/** As it was stored before the simulator, which answers at once, approved it and captured in the same step. */
function beforeAnswer(approved: Payment): Payment {
  const [first] = approved.operations
  if (!first) throw new Error('the sample has no operation')
  const sent = {
    ...first,
    state: 'SENT',
    responseCode: providerResultOutstanding,
    provider: undefined,
  } as const
  return { ...approved, status: 'PENDING', sums: noSums, operations: [sent], version: 1 }
}

function answered(
  before: Payment,
  approved: Payment,
  { withEvent, url }: GatewayWebhookJob,
): { change: Change; event?: EventRow } {
  if (!withEvent) return { change: writesBetween(before, approved) }
  const capture = lastOperation(approved)
  const raised = raiseEvent(approved, { type: 'payment.captured', xId: capture.xId, operation: capture })
  const { merchantId, payId } = approved
  const event = {
    ...raised.event,
    merchantId,
    payId,
    eventId: newId(),
    url,
    owed: true,
    createdAt: new Date(),
  }
  return { change: { ...writesBetween(before, raised.payment), events: [event] }, event }
}

const insertOf = (payment: Payment): Change => ({
  insertPayment: payment,
  insertOperations: payment.operations.map(operation => ({ payment, operation })),
})

async function commitPayment(
  { commit }: GroupCommit,
  sample: Payment,
  job: GatewayWebhookJob,
): Promise<EventRow | undefined> {
  const approved = copyOf(sample)
  const before = beforeAnswer(approved)
  const { change, event } = answered(before, approved, job)
  for (const next of [insertOf(before), change]) {
    const committed = await commit(next)
    if (!committed.committed) throw new Error(`not committed: ${committed.conflict}`)
  }
  return event
}

/** Both commits of each payment, the second with an event or without. Nothing is delivered meanwhile. */
async function measureCommits(job: GatewayWebhookJob): Promise<{ perSecond: number; commitMs: number }> {
  const database = openDatabase(job.databaseUrl, error => console.error(error))
  try {
    const sample = await readSample(job, createPaymentReader(database))
    const group = createGroupCommit(database.writers)
    let left = job.count
    const times: number[] = []
    const begun = performance.now()
    await Promise.all(
      Array.from({ length: job.concurrency }, async () => {
        while (left > 0) {
          left -= 1
          const started = performance.now()
          await commitPayment(group, sample, job)
          times.push(performance.now() - started)
        }
      }),
    )
    const perSecond = job.count / ((performance.now() - begun) / 1000)
    return { perSecond, commitMs: spreadOf(times).median }
  } finally {
    await database.close()
  }
}

async function readSample(
  { merchantId, payId }: GatewayWebhookJob,
  payments: ReturnType<typeof createPaymentReader>,
): Promise<Payment> {
  const sample = await payments.byPayId(merchantId as MerchantId, payId as PayId)
  if (!sample) throw new Error('the sample is not there')
  return sample
}

/** 10 ms between two of them: each is alone. */
const pauseMs = 10

async function commitOneByOne(job: GatewayWebhookJob): Promise<Record<string, number>> {
  const gateway = await openGateway(job)
  try {
    const sample = await readSample(job, gateway.engine.payments)
    const committed: Record<string, number> = {}
    for (let made = 0; made < job.count; made += 1) {
      const event = await commitPayment(gateway.engine, sample, { ...job, withEvent: true })
      if (event) committed[event.eventId] = now()
      await delay(pauseMs)
    }
    while ((await gateway.deliveryWorker.runDue()) > 0);
    return committed
  } finally {
    await gateway.close()
  }
}
