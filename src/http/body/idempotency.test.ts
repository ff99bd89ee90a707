import { createSecretKey, type KeyObject } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import { Refusal } from '#http/answers/refusal.ts'
import { createIdempotency, type Idempotency, readKey } from '#http/body/idempotency.ts'
import { type Answer, answer } from '#http/endpoint.ts'
import { KeyTaken, NotFound } from '#http/server/ports.ts'
import { HandClock, settle, ToyKeyStore } from '#test/support/toy-http.ts'

describe('reading the Idempotency-Key header', () => {
  test.each<[name: string, header: string | undefined, key: string | undefined | 'refused']>([
    ['absent', undefined, undefined],
    ['bare', 'abc', 'abc'],
    ['quoted', '"abc"', 'abc'],
    ['one quote', '"', '"'],
    ['255 characters', 'x'.repeat(255), 'x'.repeat(255)],
    ['256 characters', 'x'.repeat(256), 'refused'],
    ['255 in quotes', `"${'x'.repeat(255)}"`, 'x'.repeat(255)],
    ['empty', '', 'refused'],
    ['empty quotes', '""', 'refused'],
    ['space inside', 'a b', 'refused'],
    ['not ASCII', 'ä', 'refused'],
    ['control character', 'a\tb', 'refused'],
  ])('%s', (_, header, key) => {
    const read = readKey(header)
    expect(read instanceof Refusal ? 'refused' : read).toBe(key)
    if (read instanceof Refusal) expect(read.errors[0]?.field).toBe('Idempotency-Key')
  })
})

let clock: HandClock
let store: ToyKeyStore
let idempotency: Idempotency
let calls: number
let fingerprintKeys: [KeyObject, ...KeyObject[]]

beforeEach(() => {
  clock = new HandClock()
  store = new ToyKeyStore()
  calls = 0
  fingerprintKeys = [createSecretKey(Buffer.alloc(32, 1))]
  idempotency = createIdempotency({
    keyStore: store,
    fingerprintKeys: () => fingerprintKeys,
    nowMs: clock.nowMs,
    timers: clock,
  })
})

const describeKey = (body: unknown = { a: 1 }, key = 'k') =>
  idempotency.describe({ verb: 'POST', path: '/toys', key, body })

const done = answer(200, { n: 1 })

/** An operation that stores its key first and then does the work. */
const run = (work: () => Promise<Answer>, body?: unknown) => {
  const key = describeKey(body)
  return idempotency.run('shop', key, () =>
    store.once('shop', key, () => {
      calls++
      return work()
    }),
  )
}

/** A call that the test completes itself. */
const hold = () => {
  let end: (outcome: Answer | Error) => void = () => {}
  const promise = new Promise<Answer>((resolve, reject) => {
    end = outcome => (outcome instanceof Error ? reject(outcome) : resolve(outcome))
  })
  return { promise, end }
}

const kindOf = (outcome: Answer | Refusal): string =>
  outcome instanceof Refusal
    ? outcome.kind
    : `${outcome.status}${outcome.headers?.['idempotent-replayed'] === 'true' ? ' replayed' : ''}`

test('key order and spacing do not change the fingerprint, a value does', () => {
  expect(describeKey({ a: 1, b: 2 }).fingerprint).toBe(describeKey({ b: 2, a: 1 }).fingerprint)
  expect(describeKey({ a: 1 }).fingerprint).not.toBe(describeKey({ a: 2 }).fingerprint)
})

test('the second call replays status and body without running', async () => {
  const first = await run(async () => done)
  const second = await run(async () => answer(200, { n: 2 }))
  expect([kindOf(first), kindOf(second), calls]).toEqual(['200', '200 replayed', 1])
  expect((second as Answer).json).toBe(done.json)
})

test('a decline is replayed too', async () => {
  await run(async () => answer(422, { status: 'FAILED' }))
  expect(kindOf(await run(async () => done))).toBe('422 replayed')
})

test('another body is refused, after the first call and while it runs', async () => {
  const held = hold()
  const first = run(() => held.promise)
  expect(kindOf(await run(async () => done, { a: 2 }))).toBe('keyReused')
  held.end(done)
  await first
  expect(kindOf(await run(async () => done, { a: 2 }))).toBe('keyReused')
  expect(calls).toBe(1)
})

test('a key that another process stored first is not refused because a call with another body runs here', async () => {
  const held = hold()
  // Its commit is under way, but the other process was faster.
  const wrong = idempotency.run('shop', describeKey({ a: 2 }), () => held.promise)
  const early = run(async () => done)
  const key = describeKey()
  store.rows.set(ToyKeyStore.nameOf('shop', key), { fingerprint: key.fingerprint })
  await clock.advance(100)
  const late = run(async () => done)
  store.rows.set(ToyKeyStore.nameOf('shop', key), { fingerprint: key.fingerprint, answer: done })
  await clock.advance(100)
  expect([kindOf(await early), kindOf(await late)]).toEqual(['200 replayed', '200 replayed'])
  held.end(new KeyTaken())
  expect(kindOf(await wrong)).toBe('keyReused')
  expect(calls).toBe(0)
})

test('other merchants, paths and keys are other scopes', async () => {
  await run(async () => done)
  const key = describeKey()
  const others = [
    idempotency.run('other', key, async () => done),
    idempotency.run('shop', { ...key, path: '/toys/2' }, async () => done),
    idempotency.run('shop', { ...key, verb: 'PATCH' }, async () => done),
    idempotency.run('shop', { ...key, key: 'k2' }, async () => done),
  ]
  expect((await Promise.all(others)).map(kindOf)).toEqual(['200', '200', '200', '200'])
})

test('concurrent calls join before the handler is called', async () => {
  const held = hold()
  const all = [run(() => held.promise), run(() => held.promise), run(() => held.promise)]
  await settle()
  expect(calls).toBe(1)
  held.end(done)
  expect((await Promise.all(all)).map(kindOf)).toEqual(['200', '200 replayed', '200 replayed'])
  expect(clock.waiting).toBe(0)
})

test('after 5 s without an answer the second call gets 409 with Retry-After', async () => {
  const held = hold()
  const first = run(() => held.promise)
  const second = run(async () => done)
  await clock.advance(4_999)
  expect(clock.waiting).toBe(1)
  await clock.advance(1)
  const outcome = await second
  expect(kindOf(outcome)).toBe('keyRunning')
  expect((outcome as Refusal).headers).toEqual({ 'retry-after': '1' })
  held.end(done)
  expect(kindOf(await first)).toBe('200')
})

test('if the first call leaves the key free, a waiting call runs', async () => {
  const held = hold()
  const key = describeKey()
  const first = idempotency.run('shop', key, () => held.promise)
  const second = idempotency.run('shop', key, async () => done)
  held.end(new Error('the database went away'))
  await expect(first).rejects.toThrow('went away')
  expect(kindOf(await second)).toBe('200')
})

test.each([400, 404, 409])('an answer with %i leaves the key free', async status => {
  const key = describeKey()
  expect(kindOf(await idempotency.run('shop', key, async () => answer(status, {})))).toBe(String(status))
  expect(kindOf(await idempotency.run('shop', key, async () => done))).toBe('200')
})

test('a call that would now be refused replays its stored answer', async () => {
  await run(async () => done)
  const again = idempotency.run('shop', describeKey(), async () => Promise.reject(new NotFound()))
  expect(kindOf(await again)).toBe('200 replayed')
})

test('a refusal without a stored key is returned unchanged', async () => {
  const again = idempotency.run('shop', describeKey(), async () => Promise.reject(new NotFound()))
  await expect(again).rejects.toBeInstanceOf(NotFound)
})

test('the answer of a call in another process is polled until it exists', async () => {
  const key = describeKey()
  const name = ToyKeyStore.nameOf('shop', key)
  store.rows.set(name, { fingerprint: key.fingerprint })
  const waiting = run(async () => done)
  await clock.advance(1_000)
  store.rows.set(name, { fingerprint: key.fingerprint, answer: done })
  await clock.advance(100)
  expect(kindOf(await waiting)).toBe('200 replayed')
  expect(calls).toBe(0)
})

test('a call that would be refused here waits for the answer of the first one in another process', async () => {
  const key = describeKey()
  const name = ToyKeyStore.nameOf('shop', key)
  store.rows.set(name, { fingerprint: key.fingerprint })
  const waiting = idempotency.run('shop', key, () => Promise.reject(new NotFound()))
  await clock.advance(1_000)
  store.rows.set(name, { fingerprint: key.fingerprint, answer: done })
  await clock.advance(100)
  expect(kindOf(await waiting)).toBe('200 replayed')
})

test('calls that joined a call wait with it if another process holds the key, and do not run themselves', async () => {
  const key = describeKey()
  const name = ToyKeyStore.nameOf('shop', key)
  store.rows.set(name, { fingerprint: key.fingerprint })
  let tried = 0
  const waiting = Array.from({ length: 10 }, () =>
    idempotency.run('shop', key, () => {
      tried++
      return Promise.reject(new KeyTaken())
    }),
  )
  await clock.advance(1_000)
  store.rows.set(name, { fingerprint: key.fingerprint, answer: done })
  await clock.advance(100)
  expect((await Promise.all(waiting)).map(kindOf)).toEqual(Array(10).fill('200 replayed'))
  expect(tried).toBe(1)
})

test('a call in another process that never answers: 409 after 5 s, and the call is not run here', async () => {
  const key = describeKey()
  store.rows.set(ToyKeyStore.nameOf('shop', key), { fingerprint: key.fingerprint })
  const waiting = run(async () => done)
  await clock.advance(5_000)
  expect(kindOf(await waiting)).toBe('keyRunning')
  expect(calls).toBe(0)
})

test('a key that another process has used with another body is refused', async () => {
  const key = describeKey({ a: 2 })
  store.rows.set(ToyKeyStore.nameOf('shop', key), { fingerprint: key.fingerprint, answer: done })
  expect(kindOf(await run(async () => done))).toBe('keyReused')
})

test('a key reported as taken that is not in the store ends in 409, not in a loop', async () => {
  const waiting = idempotency.run('shop', describeKey(), () => Promise.reject(new KeyTaken()))
  await clock.advance(6_000)
  expect(kindOf(await waiting)).toBe('keyRunning')
})

test('after a change of the root secret the same body still matches, and another one does not', async () => {
  await run(async () => done)
  fingerprintKeys = [createSecretKey(Buffer.alloc(32, 2)), ...fingerprintKeys]
  expect(kindOf(await run(async () => done))).toBe('200 replayed')
  expect(kindOf(await run(async () => done, { a: 2 }))).toBe('keyReused')
  expect(calls).toBe(1)
})
