/**
 * Sends due messages to their receivers and records the answers. Every commit with an event wakes it; it also polls for
 * retries and for messages that other processes left. A claim is a lease: if this process dies, its messages become due
 * again.
 */
import type { MerchantId } from '#domain/ids.ts'
import type { Clock } from '#operations/engine.ts'
import { type Gate, openGate } from '#operations/merchants/gate.ts'
import type { Attempt, Claim, Delivery, DeliveryStore } from '#storage/events/deliveries.ts'
import { decideNext } from '#webhooks/schedule.ts'
import type { Sender, Sent } from '#webhooks/send.ts'
import { buildMessage } from '#webhooks/sign.ts'
import { createLanes, laneStart } from '#workers/lanes.ts'

export interface DeliveryWorker {
  /** Starts a claim, because messages may be due. Never throws. */
  wake(): void
  /**
   * Runs one round of due messages, for one merchant or for all, and waits for them and those under way; returns how
   * many there were.
   */
  runDue(merchantId?: MerchantId): Promise<number>
  /** Called at the start of a process that is alone: releases the claims of dead processes. */
  recover(): Promise<void>
  /** Waits up to 2 s for messages under way, and releases the claims of the rest. */
  stop(): Promise<void>
}

/** The owner of the secret that signs a message: the merchant, or one of its endpoints. */
export type SecretOwner = Pick<Delivery, 'merchantId' | 'endpointId'>

export interface DeliveryDeps {
  readonly store: DeliveryStore
  readonly sender: Sender
  readonly openSecret: (owner: SecretOwner, sealed: Buffer) => Uint8Array
  /** Whether deliveries to added endpoints may wait. */
  readonly mayHaveDeliveries: () => boolean
  /** Called for every message that failed for good and is sent only if it is replayed. */
  readonly onFailed: (delivery: Delivery) => void
  readonly clock: Clock
  /** A random number from 0 to 1. */
  readonly chance: () => number
  readonly onError: (error: unknown) => void
  readonly gate?: Gate | undefined
}

/** 30 s: nearly twice an attempt of 15 s and its record; after a crash a message is due again that soon. */
const leaseMs = 30_000

/**
 * 1,024 messages under way: even the smallest machine has sockets and memory for that many. No merchant has more of these
 * places than are free, so one whose receivers all hang holds half of them, two of them a third each, and so on.
 */
const inFlightMax = 1_024

/** 128: as many attempts as end while the previous ones are written, also when many receivers answer at once. */
const recordMax = 128

/** 2 s, because a stop must be short: messages without an answer by then are sent again by the next process. */
const stopPatienceMs = 2_000

/** 1,000 unsealed secrets are cached; unsealing one takes some microseconds. */
const openSecretsMax = 1_000

export function createDeliveryWorker(deps: DeliveryDeps): DeliveryWorker {
  const { store, sender, clock, onError } = deps
  const places = createPlaces()
  const underWay = new Map<string, { delivery: Delivery; done: Promise<void> }>()
  const attempt = createAttempts(deps)
  let stopped = false
  const isStopped = () => stopped
  const wake = createPump({ run: () => claim(), isStopped, onError })

  /** Claims due messages for half of the free places, and starts them. */
  async function claim(merchantId?: MerchantId): Promise<void> {
    const free = places.describe()
    if (stopped || free.limit <= 0) return
    const now = new Date(clock.nowMs())
    const endpoints = deps.mayHaveDeliveries()
    const claimed = await store.claim({ now, leaseMs, ...free, endpoints, merchantId })
    for (const delivery of claimed) start(delivery)
    if (claimed.length >= free.limit) wake()
  }

  function start(delivery: Delivery): void {
    // The name includes the round, so that a replay does not wait for a hanging attempt of the previous round.
    const name = `${delivery.eventId} ${delivery.endpointId ?? ''} ${delivery.round}`
    places.enter(delivery)
    // The previous attempt of the same delivery may be recorded but not have ended here yet.
    const before = underWay.get(name)?.done ?? Promise.resolve()
    const done: Promise<void> = before
      .then(() => attempt(delivery, isStopped))
      .then(arrived => places.leave(delivery, arrived))
      .finally(() => {
        if (underWay.get(name)?.done === done) underWay.delete(name)
        // A place is free now, and a later event of the same payment may have waited for this one.
        wake()
      })
    underWay.set(name, { delivery, done })
  }

  return {
    wake,
    async runDue(merchantId) {
      await claim(merchantId)
      // Includes messages that were begun earlier; otherwise a caller who waits for all due messages would have to
      // poll.
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

/** Rounded up, so that the last place is taken too. */
const halfOf = (places: number): number => Math.ceil(places / 2)

/** The lanes, and how many places each merchant has; it may take more until it has as many as are free. */
function createPlaces() {
  const lanes = createLanes()
  const held = new Map<MerchantId, number>()
  let free = inFlightMax
  return {
    enter(delivery: Delivery): void {
      const { merchantId } = delivery
      lanes.enter(delivery)
      held.set(merchantId, (held.get(merchantId) ?? 0) + 1)
      free -= 1
    },
    leave(delivery: Delivery, arrived: boolean | undefined): void {
      const { merchantId } = delivery
      lanes.leave(delivery, arrived)
      const left = (held.get(merchantId) ?? 0) - 1
      if (left > 0) held.set(merchantId, left)
      else held.delete(merchantId)
      free += 1
    },
    /** A claim fills half of the free places at most. The rest is for the next one, which knows what each merchant has by then. */
    describe(): Pick<Claim, 'limit' | 'lanes' | 'laneFree' | 'merchants' | 'merchantFree'> {
      const limit = halfOf(free)
      const rest = [...held].map(([id, count]) => [id, Math.max(halfOf(free - count), 0)] as const)
      return {
        limit,
        lanes: lanes.list(),
        laneFree: laneStart,
        merchants: new Map(rest),
        merchantFree: limit,
      }
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

/** Runs one at a time. A wake-up during a run starts another run after it, even if the first one fails. */
export function createPump({ run, isStopped, onError }: Pump): () => void {
  let running = false
  let again = false

  async function pump(): Promise<void> {
    while (again && !isStopped()) {
      again = false
      await run().catch(onError)
    }
    // Synchronously after the check of `again`: a wake-up in between would be lost, because it would see `running`.
    running = false
  }

  return () => {
    again = true
    if (running || isStopped()) return
    running = true
    void pump()
  }
}

/**
 * Makes the function for one attempt: it sends the message, records the result, and returns whether there was an
 * answer. Undefined: nothing was sent, because the merchant is in another cell or being moved.
 */
function createAttempts(
  deps: Omit<DeliveryDeps, 'mayHaveDeliveries'>,
): (delivery: Delivery, isStopped: () => boolean) => Promise<boolean | undefined> {
  const { store, sender, clock, gate = openGate } = deps
  const record = createRecorder(store)
  const secretsOf = createSecretCache(deps.openSecret)

  async function send(delivery: Delivery): Promise<Sent> {
    const { url, endpointId } = delivery
    if (url === null) {
      const answer = endpointId === undefined ? noAddress : removedEndpoint
      return { status: undefined, answer, retryAfter: undefined, durationMs: 0 }
    }
    return sender.send(
      buildMessage({ ...delivery, url }, { secrets: secretsOf(delivery), nowMs: clock.nowMs() }),
    )
  }

  function conclude(delivery: Delivery, sent: Sent, at: number): Attempt {
    const { status, durationMs, answer, retryAfter } = sent
    const attempted = { status, retryAfter, tries: delivery.tries + 1 }
    // Without an address a retry is pointless.
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
    if (!away) return undefined
    try {
      // The time of the attempt, in the merchant's time. With a moved test clock it is the time when the attempt was
      // due, so that a jump of days runs the whole schedule. In real time it is now, so that an outage of ours uses up
      // no retries.
      const { clockOffsetMs, dueAt } = delivery
      const at = clockOffsetMs > 0 ? dueAt.getTime() + clockOffsetMs : clock.nowMs()
      const sent = await send(delivery)
      arrived = sent.status !== undefined
      // Aborted because we stop: this does not count as an attempt.
      if (isStopped() && !arrived) return arrived
      const attempt = conclude(delivery, sent, at)
      await record(attempt)
      if (attempt.verdict === 'FAILED') deps.onFailed(delivery)
    } catch (error) {
      // The message becomes due again when its lease expires.
      deps.onError(error)
    } finally {
      away()
    }
    return arrived
  }
}

const noAddress =
  'not sent: neither the payment (urls.webhook) nor the merchant (tollgate merchant set … --webhook-url) names an address'

const removedEndpoint = 'not sent: the endpoint has been removed'

interface Waiting {
  readonly attempt: Attempt
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/**
 * Records attempts in batches: those that end during a commit share the next one. Resolves when the attempt is written.
 */
function createRecorder(store: DeliveryStore): (attempt: Attempt) => Promise<void> {
  let waiting: Waiting[] = []
  let writing = false

  /**
   * A batch holds a delivery once: the attempt of a replay and that of the previous round are written in separate
   * commits.
   */
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

/** Caches unsealed secrets by their sealed bytes, so that a rotated secret is used from the next claim on. */
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
