/**
 * One effect per Idempotency-Key. The operation itself stores the key, in its first commit. This file joins concurrent
 * calls, replays stored answers, and refuses a key that is reused with another body. It never decides that a call may
 * run a second time: the operation's own commit does.
 */

import type { KeyObject } from 'node:crypto'
import { canonicalJson } from '#domain/json.ts'
import { keyedHash } from '#domain/keyed-hash.ts'
import { Refusal, refuseField } from '#http/answers/refusal.ts'
import { quoteValue } from '#http/body/json-text.ts'
import type { Answer, IdempotencyKey, Verb } from '#http/endpoint.ts'
import { InvalidField, type KeyStore, KeyTaken, NotFound, type StoredKey } from '#http/server/ports.ts'
import { type Timers, wait, within } from '#http/server/timers.ts'

/** How long a second call waits for the first one's answer, by the API contract. */
const waitMs = 5_000
/** 100 ms: a call that runs in another process is polled ten times a second, at most fifty times. */
const pollMs = 100
/** Only answers with these statuses are stored under the key, by the API contract. All others leave the key free. */
const keptStatuses: readonly number[] = [200, 201, 422]

const keyForm = /^[\x21-\x7e]{1,255}$/

export function readKey(header: string | string[] | undefined): string | undefined | Refusal {
  if (header === undefined) return undefined
  const text = typeof header === 'string' ? header.trim() : ''
  // The standard defines a quoted string, but most clients send it without quotes. Both are the same key.
  const key = /^"(.*)"$/.exec(text)?.[1] ?? text
  if (keyForm.test(key)) return key
  return refuseField(
    'Idempotency-Key',
    `Idempotency-Key is ${quoteValue(text)}; allowed is 1 to 255 visible ASCII characters, with or without quotes around.`,
  )
}

/**
 * A keyed hash, although the API contract requires only a hash: the body may hold a card number, and an attacker who
 * reads the database could find the few unknown digits behind a plain hash by brute force.
 */
export const fingerprintBody = (body: unknown, fingerprintKey: KeyObject): string =>
  keyedHash(fingerprintKey, canonicalJson(body)).toString('hex')

export interface KeyRequest {
  readonly verb: Verb
  readonly path: string
  readonly key: string
  readonly body: unknown
}

export interface IdempotencyPorts {
  readonly keyStore: KeyStore
  /** Newest first. */
  readonly fingerprintKeys: () => readonly [KeyObject, ...KeyObject[]]
  readonly nowMs: () => number
  readonly timers: Timers
}

export interface Idempotency {
  /** The key with the fingerprint of its body. */
  describe(request: KeyRequest): IdempotencyKey
  /** Runs the call, or returns the answer of an earlier or concurrent call with the same key. */
  run(merchantId: string, key: IdempotencyKey, call: () => Promise<Answer>): Promise<Answer | Refusal>
}

interface Running {
  readonly fingerprint: string
  /** Never rejects. Undefined: an outcome that is not stored under the key. */
  readonly kept: Promise<Answer | undefined>
}

interface Attempt {
  readonly merchantId: string
  readonly key: IdempotencyKey
  readonly call: () => Promise<Answer>
  readonly deadlineMs: number
}

const nothing = Symbol('the first call left nothing to replay')

const isAnswer = (outcome: Answer | Refusal | typeof nothing): outcome is Answer =>
  outcome !== nothing && !(outcome instanceof Refusal)

const replay = (stored: Answer): Answer => ({
  ...stored,
  headers: { ...stored.headers, 'idempotent-replayed': 'true' },
})

/** The text reveals nothing about the first call. */
const refuseReuse = (): Refusal =>
  new Refusal('keyReused', 'This Idempotency-Key belongs to a request with another body.')

const refuseRunning = (): Refusal =>
  new Refusal('keyRunning', 'The first request with this Idempotency-Key has no answer yet. Ask again.', {
    headers: { 'retry-after': '1' },
  })

const isSameBody = (first: { readonly fingerprint: string }, key: IdempotencyKey): boolean =>
  first.fingerprint === key.fingerprint || (key.earlierFingerprints?.().includes(first.fingerprint) ?? false)

function fromStored(stored: StoredKey, key: IdempotencyKey): Answer | Refusal | undefined {
  if (!isSameBody(stored, key)) return refuseReuse()
  return stored.answer && replay(stored.answer)
}

/**
 * A call that would be refused now may have succeeded earlier, or may be at the provider in another process; then the
 * answer of that call is returned.
 */
async function findStored(tried: Attempt, ports: IdempotencyPorts) {
  const stored = await ports.keyStore.find(tried.merchantId, tried.key)
  const answered = stored && (fromStored(stored, tried.key) ?? (await awaitStored(tried, ports)))
  return answered === nothing ? undefined : answered
}

/** Waits for the answer of a stored key, whose call runs in another process or waits to be settled. */
async function awaitStored(
  { merchantId, key, deadlineMs }: Attempt,
  { keyStore, nowMs, timers }: IdempotencyPorts,
) {
  for (;;) {
    const stored = await keyStore.find(merchantId, key)
    const answered = stored && fromStored(stored, key)
    if (answered) return answered
    if (nowMs() + pollMs > deadlineMs) return refuseRunning()
    await wait(pollMs, timers)
    // The key has expired meanwhile. The wait before keeps an inconsistency from becoming a busy loop.
    if (stored === undefined) return nothing
  }
}

/**
 * Runs the call and lets concurrent calls join it. If another process holds the key, all of them wait for its answer
 * together; otherwise each would find that out with a failed commit of its own.
 */
async function runFirst(
  scope: string,
  tried: Attempt,
  { running, ports }: { running: Map<string, Running>; ports: IdempotencyPorts },
): Promise<Answer | Refusal | typeof nothing> {
  const { key, call } = tried
  let settle: (kept: Answer | undefined) => void = () => {}
  const settled = new Promise<Answer | undefined>(resolve => {
    settle = resolve
  })
  running.set(scope, { fingerprint: key.fingerprint, kept: settled })
  let kept: Answer | undefined
  try {
    const outcome = await call().catch(error => {
      if (error instanceof KeyTaken) return awaitStored(tried, ports)
      throw error
    })
    if (isAnswer(outcome) && keptStatuses.includes(outcome.status)) kept = outcome
    return outcome
  } finally {
    running.delete(scope)
    settle(kept)
  }
}

/**
 * The call running here has another body. Only the store knows which of the two owns the key, because a call in another
 * process may have been first.
 */
async function joinOther(first: Running, tried: Attempt, ports: IdempotencyPorts) {
  const stored = await ports.keyStore.find(tried.merchantId, tried.key)
  if (stored) return fromStored(stored, tried.key) ?? awaitStored(tried, ports)
  await within(pollMs, first.kept, ports.timers)
  return nothing
}

async function joinRunning(first: Running, tried: Attempt, ports: IdempotencyPorts) {
  const { key, deadlineMs } = tried
  const { nowMs, timers } = ports
  if (!isSameBody(first, key)) return joinOther(first, tried, ports)
  const ended = await within(
    deadlineMs - nowMs(),
    first.kept.then(kept => ({ kept })),
    timers,
  )
  if (ended === undefined) return refuseRunning()
  return ended.kept ? replay(ended.kept) : nothing
}

async function attempt(tried: Attempt, running: Map<string, Running>, ports: IdempotencyPorts) {
  const { merchantId, key } = tried
  const scope = `${merchantId}\n${key.verb}\n${key.path}\n${key.key}`
  const first = running.get(scope)
  if (first) return joinRunning(first, tried, ports)
  try {
    const answered = await runFirst(scope, tried, { running, ports })
    if (!isAnswer(answered) || keptStatuses.includes(answered.status) || answered.status >= 500)
      return answered
    return (await findStored(tried, ports)) ?? answered
  } catch (error) {
    const refused = error instanceof NotFound || error instanceof InvalidField
    const stored = refused ? await findStored(tried, ports) : undefined
    if (stored === undefined) throw error
    return stored
  }
}

export function createIdempotency(ports: IdempotencyPorts): Idempotency {
  const running = new Map<string, Running>()
  return {
    describe({ verb, path, key, body }) {
      const [newest, ...older] = ports.fingerprintKeys()
      const described = { verb, path, key, fingerprint: fingerprintBody(body, newest) }
      if (older.length === 0) return described
      return { ...described, earlierFingerprints: () => older.map(used => fingerprintBody(body, used)) }
    },

    async run(merchantId, key, call) {
      const deadlineMs = ports.nowMs() + waitMs
      for (;;) {
        const outcome = await attempt({ merchantId, key, call, deadlineMs }, running, ports)
        if (outcome !== nothing) return outcome
        // The first call left the key free, so this call may now run. The deadline still applies.
        if (ports.nowMs() >= deadlineMs) return refuseRunning()
      }
    },
  }
}
