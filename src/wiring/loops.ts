/** Starts the periodic background work of one cell; the constants say how often it runs. */
import type { CountExchange } from '#http/authentication/shared-counts.ts'
import type { OpenAudit } from '#operations/audit/access-recorder.ts'
import type { RetentionWorker } from '#operations/customers/erase-payments.ts'
import type { Engine } from '#operations/engine.ts'
import type { FormStore } from '#storage/console/forms.ts'
import type { DeliveryStore } from '#storage/events/deliveries.ts'
import type { KeyReader } from '#storage/payments/keys.ts'
import type { LimitUseStore } from '#storage/processes/limit-uses.ts'
import type { Presence } from '#storage/processes/presence.ts'
import type { DerivedKeys } from '#vault/key-ring.ts'
import type { Parts } from '#wiring/parts.ts'
import type { NoticeWork } from '#wiring/providers.ts'
import { firstPauses, type Loop, restAfter, startLoop } from '#workers/loop.ts'
import type { SettleWorker } from '#workers/settle.ts'
import type { TimerWorker } from '#workers/timers.ts'

/** 1 s: the first inquiry is due 10 s after its operation, so one second more does not matter. */
const duePauseMs = 1_000

/** 30 s: work left by a process of an older release waits 90 s anyway. */
const abandonedPauseMs = 30_000

/** 1 s: a process counts as dead after 7 s, so half of the 15 s for a take-over are left for the work itself. */
const takeOverPauseMs = 1_000

/**
 * 2 s: a new root secret invalidates the old access tokens within these 2 s plus the 5 s that a credential is cached.
 */
const rootPauseMs = 2_000

/**
 * 250 ms: including the round trip through the database, every process knows the counts of the others within a second.
 * A merchant whose requests all reach the same process is hardly ever held back until the others have reported.
 */
const countsPauseMs = 250

/** 10 min: idempotency keys live for 30 days, so a few minutes more do no harm. */
const reapPauseMs = 600_000

/** 10 s: often enough for a graph of the delivery lag. */
const lagPauseMs = 10_000

/** 1 s: the delay with which key uses are recorded and blocks of other processes are read. */
const accessPauseMs = 1_000

/**
 * A day: the newest hash of the audit trail is copied to the log, out of reach of an attacker who changes the database.
 */
const auditPauseMs = 86_400_000

export interface BackgroundWork
  extends Pick<Parts, 'logger' | 'metrics' | 'clock' | 'onEvents' | 'presence'> {
  /** The number of the cell. */
  readonly cell: number
  readonly engine: Engine
  readonly timerWorker: TimerWorker
  /** True if a test runs due timers itself. */
  readonly timersByHand: boolean
  readonly settleWorker: SettleWorker
  readonly deliveryStore: DeliveryStore
  readonly keyReader: KeyReader
  readonly quotes: { reap(): Promise<unknown> }
  readonly audit: Pick<OpenAudit, 'access' | 'store'>
  readonly retention: RetentionWorker
  readonly notices: NoticeWork
  readonly counts: CountExchange
  /** Set in cell 0 only, which holds the shared rate limits. */
  readonly limitUses: LimitUseStore | undefined
  /** Set in cell 0 only, which holds the audit trail. */
  readonly forms: Pick<FormStore, 'recordCutOff'> | undefined
  readonly keys: Pick<DerivedKeys, 'refresh'>
}

export function startLoops(work: BackgroundWork): readonly Loop[] {
  const { logger, audit } = work
  const logAuditHead = async () => {
    const { number, hash } = await audit.store.readHead()
    logger.info({ auditNumber: number, auditHash: hash }, 'the newest row of the audit trail')
  }
  void logAuditHead().catch(err =>
    logger.error({ err }, 'the audit trail could not be read; run "tollgate audit verify"'),
  )
  const loops = [...listLoops(work), loop('audit head', logAuditHead, auditPauseMs)]
  const firstMs = firstPauses(loops.map(({ pauseMs }) => pauseMs))
  return loops.map(({ component, run, pauseMs }, index) =>
    startLoop(run, {
      pauseMs,
      firstPauseMs: firstMs[index],
      onError: err => logger.error({ err, component }, 'background work failed; it will be tried again'),
    }),
  )
}

interface BackgroundLoop {
  /** Its name in the log. */
  readonly component: string
  readonly run: () => Promise<unknown>
  readonly pauseMs: number
}

const loop = (component: string, run: BackgroundLoop['run'], pauseMs: number): BackgroundLoop => ({
  component,
  run,
  pauseMs,
})

function listLoops(work: BackgroundWork): readonly BackgroundLoop[] {
  const { metrics, clock, onEvents, presence, engine, timerWorker, settleWorker, limitUses, forms } = work
  // Another process may have added an endpoint or replayed an event, and no commit here would show it.
  const pollEvents = async () => {
    await engine.endpoints.load()
    onEvents()
  }
  const measureLag = async () =>
    metrics.setWebhookLag(work.cell, await work.deliveryStore.readLagSeconds(new Date(clock.nowMs())))
  return [
    loop('root secret', () => work.keys.refresh(), rootPauseMs),
    loop('velocity', () => engine.velocity.refresh(), accessPauseMs),
    loop('reap velocity', () => engine.velocity.reap(), reapPauseMs),
    loop('retention', () => work.retention.run(), reapPauseMs),
    loop('key uses', () => work.audit.access.flush(), accessPauseMs),
    ...(work.timersByHand ? [] : [loop('timers', async () => timerWorker.wake(), duePauseMs)]),
    loop('settle', () => settleWorker.recoverAbandoned(), abandonedPauseMs),
    loop('doubtful commits', () => settleWorker.settleDoubtful(), duePauseMs),
    loop('take over', () => takeOver(presence, settleWorker, work.deliveryStore), takeOverPauseMs),
    ...(limitUses
      ? [
          loop('shared limits', () => exchangeCounts(work, limitUses), countsPauseMs),
          loop('reap limit uses', () => limitUses.reap(), lagPauseMs),
        ]
      : []),
    ...(forms ? [loop('acts that were cut off', () => forms.recordCutOff(), abandonedPauseMs)] : []),
    loop('reap keys', () => work.keyReader.reap(), reapPauseMs),
    loop('delete unused numbers', () => engine.customers.deleteUnused(), reapPauseMs),
    loop('reap quotes', () => work.quotes.reap(), reapPauseMs),
    loop('reap one-time cards', () => engine.oneTimeCards.reap(), lagPauseMs),
    loop('deliver', pollEvents, duePauseMs),
    loop('webhook lag', measureLag, lagPauseMs),
    loop('apply notices', async () => work.notices.wake(), duePauseMs),
    loop('expire notices', () => work.notices.expire(), reapPauseMs),
    loop('match settlements', () => work.notices.matchSettlements(), reapPauseMs),
    loop(
      'settlement differences',
      restAfter(() => work.notices.measureDifferences(), performance.now.bind(performance)),
      lagPauseMs,
    ),
  ]
}

/** Settles the operations of processes whose heartbeat has stopped. If two processes do so at once, nothing changes. */
async function takeOver(
  presence: Presence,
  settleWorker: SettleWorker,
  deliveries: Pick<DeliveryStore, 'releaseOf'>,
): Promise<void> {
  const dead = await presence.findDead()
  if (dead.length === 0) return
  await deliveries.releaseOf(dead)
  if (await settleWorker.takeOver(dead)) await presence.forget(dead)
}

/** Publishes this process's counts and reads those of the others. A process that is alone drops its counts. */
async function exchangeCounts({ counts, presence }: BackgroundWork, limitUses: LimitUseStore): Promise<void> {
  const others = presence.others()
  const uses = counts.take(others + 1)
  if (others === 0) return
  if (uses.length > 0) await limitUses.publish(presence.process, uses)
  counts.give(await limitUses.read(presence.process))
}
