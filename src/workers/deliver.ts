/**
 * Sends due messages to their receivers and records the answers. It is woken by every commit with an event, and polls
 * for retries and for messages that other processes left. A claim is a lease: if this process dies, its messages become
 * due again.
 */
import type { MerchantId } from '#domain/ids.ts'
import type { Clock } from '#operations/engine.ts'
import { type Gate, openGate } from '#operations/merchants/gate.ts'
import type { Attempt, Delivery, DeliveryStore } from '#storage/events/deliveries.ts'
import { decideNext } from '#webhooks/schedule.ts'
import type { Sender, Sent } from '#webhooks/send.ts'
import { buildMessage } from '#webhooks/sign.ts'
import { createLanes, laneStart } from '#workers/lanes.ts'

export interface DeliveryWorker {
  /** Something may be due. Never throws. */
  wake(): void
  /**
   * Runs one round of due messages, for one merchant or for all, including those under way; returns how many there
   * were.
   */
  runDue(merchantId?: MerchantId): Promise<number>
  /** At the start of a process that is alone: takes over what a dead one had claimed. */
  recover(): Promise<void>
  /** Gives messages under way a moment to end, and releases the rest. */
  stop(): Promise<void>
}

/** Whose secret signs a message: the merchant's, or that of one of its endpoints. */
export type SecretOwner = Pick<Delivery, 'merchantId' | 'endpointId'>

export interface DeliveryDeps {
  readonly store: DeliveryStore
  readonly sender: Sender
  readonly openSecret: (owner: SecretOwner, sealed: Buffer) => Uint8Array
  /** Whether anybody has added endpoints. */
  readonly hasEndpoints: () => boolean
  /** Called for every message that failed for good and is sent only if it is replayed. */
  readonly onFailed: (delivery: Delivery) => void
  readonly clock: Clock
  /** From 0 to 1. */
  readonly chance: () => number
  readonly onError: (error: unknown) => void
  readonly gate?: Gate | undefined
}

/** 30 s: an attempt of 15 s and its record fit in twice; after a crash an event is visible again that soon. */
const leaseMs = 30_000

/** 1,024 messages under way in all: the smallest machine has sockets and memory for that many. */
const inFlightMax = 1_024

/** 128 attempts share a commit at most, like payments do. */
const recordMax = 128

/** 2 s of the few that a stop may take: what has no answer by then is sent again by the next process. */
const stopPatienceMs = 2_000

/** 1,000 secrets are kept open; unsealing one takes some microseconds. */
const openSecretsMax = 1_000

export function createDeliveryWorker(deps: DeliveryDeps): DeliveryWorker {
  const { store, sender, clock, onError } = deps
  const lanes = createLanes()
  const underWay = new Map<string, { delivery: Delivery; done: Promise<void> }>()
  const attempt = createAttempts(deps)
  let stopped = false
  const isStopped = () => stopped
  const wake = createPump({ run: () => claim(), isStopped, onError })

  /** Claims as many messages as there is room for, and starts them. */
  async function claim(merchantId?: MerchantId): Promise<readonly Promise<void>[]> {
    const limit = inFlightMax - underWay.size
    if (stopped || limit <= 0) return []
    const now = new Date(clock.nowMs())
    const claimed = await store.claim({
      now,
      leaseMs,
      limit,
      lanes: lanes.list(),
      laneFree: laneStart,
      endpoints: deps.hasEndpoints(),
      merchantId,
    })
    return claimed.map(start)
  }

  function start(delivery: Delivery): Promise<void> {
    // A replay is a delivery of its own: it does not wait for an attempt that hangs.
    const name = `${delivery.eventId} ${delivery.endpointId ?? ''} ${delivery.round}`
    lanes.enter(delivery)
    // Its last attempt is stored but not fully cleaned up: the next one waits for that.
    const before = underWay.get(name)?.done ?? Promise.resolve()
    const done: Promise<void> = before
      .then(() => attempt(delivery, isStopped))
      .then(arrived => lanes.leave(delivery, arrived))
      .finally(() => {
        if (underWay.get(name)?.done === done) underWay.delete(name)
        // Its place is free, and a later event of its payment may have waited for it.
        wake()
      })
    underWay.set(name, { delivery, done })
    return done
  }

  return {
    wake,
    async runDue(merchantId) {
      await claim(merchantId)
      // Including those begun before: a caller who waits for everything that is due would otherwise have to poll.
      const begun = [...underWay.values()].filter(
        ({ delivery }) => merchantId === undefined || delivery.merchantId === merchantId,
      )
      await Promise.all(begun.map(({ done }) => done))
      return begun.length
    },
    recover: () => store.releaseAll(),
    async stop() {
      stopped = true
      const rest = [...underWay.values()]
      const ended = Promise.all(rest.map(({ done }) => done))
      await waitAtMost(ended, stopPatienceMs)
      const left = [...underWay.values()].map(({ delivery }) => delivery)
      await sender.close()
      await ended
      if (left.length > 0) await store.release(left)
    },
  }
}

async function waitAtMost(work: Promise<unknown>, milliseconds: number): Promise<void> {
  const patience = Promise.withResolvers<void>()
  const timer = setTimeout(patience.resolve, milliseconds)
  await Promise.race([work, patience.promise])
  clearTimeout(timer)
}

interface Pump extends Pick<DeliveryDeps, 'onError'> {
  readonly run: () => Promise<unknown>
  readonly isStopped: () => boolean
}

/** One run at a time; a wake-up during a run, also one that fails, starts another run after it. */
export function createPump({ run, isStopped, onError }: Pump): () => void {
  let running = false
  let again = false

  async function pump(): Promise<void> {
    while (again && !isStopped()) {
      again = false
      await run().catch(onError)
    }
    // In the same turn as the look at `again`: a wake-up in between would find a run that no longer looks.
    running = false
  }

  return () => {
    again = true
    if (running || isStopped()) return
    running = true
    void pump()
  }
}

/** One attempt: sends the message and updates the delivery by the answer. Returns whether there was an answer. */
function createAttempts(
  deps: Omit<DeliveryDeps, 'hasEndpoints'>,
): (delivery: Delivery, isStopped: () => boolean) => Promise<boolean> {
  const { store, sender, clock, gate = openGate } = deps
  const record = createRecorder(store)
  const secretsOf = createSecretCache(deps.openSecret)

  async function send(delivery: Delivery): Promise<Sent> {
    const { url } = delivery
    if (url === null) return { status: undefined, answer: noAddress, retryAfter: undefined, durationMs: 0 }
    return sender.send(
      buildMessage({ ...delivery, url }, { secrets: secretsOf(delivery), nowMs: clock.nowMs() }),
    )
  }

  function conclude(delivery: Delivery, sent: Sent, at: number): Attempt {
    const { status, durationMs, answer, retryAfter } = sent
    const attempted = { status, retryAfter, tries: delivery.tries + 1 }
    // It has no receiver, however often it is tried.
    const verdict =
      delivery.url === null
        ? ({ status: 'FAILED' } as const)
        : decideNext(attempted, { chance: deps.chance(), nowMs: clock.nowMs() })
    return {
      delivery,
      at: new Date(at),
      status,
      durationMs,
      answer,
      verdict: verdict.status,
      ...(verdict.status === 'PENDING' ? { nextAt: new Date(at + verdict.pauseMs) } : {}),
    }
  }

  return async (delivery, isStopped) => {
    let arrived = false
    const away = gate(delivery.merchantId)
    try {
      if (!away) return arrived
      // In the merchant's time. Where its test clock was moved, an attempt happens when it was due: a jump of days then
      // runs the whole schedule. In real time a late attempt is late, so that our own outage uses up no retries.
      const { clockOffsetMs, dueAt } = delivery
      const at = clockOffsetMs > 0 ? dueAt.getTime() + clockOffsetMs : clock.nowMs()
      const sent = await send(delivery)
      arrived = sent.status !== undefined
      // Aborted by our own stop: it does not count as an attempt.
      if (isStopped() && !arrived) return arrived
      const attempt = conclude(delivery, sent, at)
      await record(attempt)
      if (attempt.verdict === 'FAILED') deps.onFailed(delivery)
    } catch (error) {
      // It becomes due again when its lease expires.
      deps.onError(error)
    } finally {
      away?.()
    }
    return arrived
  }
}

const noAddress =
  'not sent: neither the payment (urls.webhook) nor the merchant (tollgate merchant set … --webhook-url) names an address'

interface Waiting {
  readonly attempt: Attempt
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** Attempts that end while others are being written share the next commit. Resolves when the attempt is written. */
function createRecorder(store: DeliveryStore): (attempt: Attempt) => Promise<void> {
  let waiting: Waiting[] = []
  let writing = false

  /** One statement writes an event once: a replay's attempt and the one it overtook are written one after the other. */
  function takeBatch(): Waiting[] {
    const taken = new Map<string, Waiting>()
    const rest: Waiting[] = []
    for (const one of waiting) {
      const { eventId, endpointId = '' } = one.attempt.delivery
      const name = `${eventId} ${endpointId}`
      if (taken.size < recordMax && !taken.has(name)) taken.set(name, one)
      else rest.push(one)
    }
    waiting = rest
    return [...taken.values()]
  }

  async function write(): Promise<void> {
    while (waiting.length > 0) {
      const batch = takeBatch()
      try {
        await store.record(batch.map(({ attempt }) => attempt))
        for (const { resolve } of batch) resolve()
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    writing = false
  }

  return attempt =>
    new Promise((resolve, reject) => {
      waiting.push({ attempt, resolve, reject })
      if (writing) return
      writing = true
      // Deferred, so that attempts that end in the same turn share the commit.
      setImmediate(() => void write())
    })
}

/** The sealed bytes name the secret, so a rotation is seen with the next claim. */
function createSecretCache(
  openSecret: DeliveryDeps['openSecret'],
): (delivery: Delivery) => readonly Uint8Array[] {
  const open = new Map<string, Uint8Array>()
  return ({ merchantId, endpointId, secrets }) =>
    secrets.map(sealed => {
      const known = open.get(sealed)
      if (known) return known
      const secret = openSecret({ merchantId, endpointId }, Buffer.from(sealed, 'base64'))
      if (open.size >= openSecretsMax) open.clear()
      open.set(sealed, secret)
      return secret
    })
}
