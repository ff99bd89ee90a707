/** Which recorded operations may be sent, after what happened to their commits. */
import { expect, test } from 'vitest'
import type { MerchantId, PayId, XId } from '#domain/ids.ts'
import { createSendings } from '#operations/payments/provider-calls/sendings.ts'
import { DatabaseSilent } from '#storage/breaker.ts'
import { type Change, CommitUnknown } from '#storage/commit/change.ts'

const xId = 'x1' as XId
const orphan = { merchantId: 'mer_1' as MerchantId, payId: 'p1' as PayId, xId }

/** Only the members that identify a sending. */
const changeOf = (written: XId) =>
  ({
    insertOperations: [{ payment: orphan, operation: { xId: written, state: 'SENT' } }],
  }) as unknown as Change

type Fate = 'written' | 'refused' | 'unknown' | 'not sent' | 'rolled back'

function openBook() {
  let now = 0
  let interruptions = 0
  let alive = true
  let fate: Fate = 'written'
  let written = 0
  const { sendings, commit } = createSendings(
    async () => {
      if (fate === 'unknown') throw new CommitUnknown(new Error('Query read timeout'))
      if (fate === 'not sent') throw new CommitUnknown(new DatabaseSilent())
      if (fate === 'rolled back') throw new Error('a broken constraint')
      written += 1
      return fate === 'written' ? { committed: true } : { committed: false, conflict: 'version_changed' }
    },
    { isAlive: () => alive, countInterruptions: () => interruptions, nowMs: () => now },
  )
  return {
    sendings,
    written: () => written,
    async commit(next: Fate, of = xId) {
      fate = next
      await commit(changeOf(of)).catch(() => undefined)
    },
    interrupt() {
      interruptions += 1
    },
    setAlive(is: boolean) {
      alive = is
    },
    move(milliseconds: number) {
      now += milliseconds
    },
  }
}

test('an operation that is written may be sent while the process is alive', async () => {
  const book = openBook()
  await book.commit('written')
  expect(book.sendings.maySend(xId)).toBe(true)
  book.setAlive(false)
  expect(book.sendings.maySend(xId)).toBe(false)
})

test('an operation that was written before an interruption may not be sent after it', async () => {
  const book = openBook()
  await book.commit('written')
  book.interrupt()
  expect(book.sendings.maySend(xId)).toBe(false)
})

test.each<[Fate, boolean]>([
  ['written', true],
  ['refused', false],
  ['unknown', false],
])('a commit lost before an interruption and then %s: may be sent is %s', async (fate, expected) => {
  const book = openBook()
  await book.commit('unknown')
  book.interrupt()
  await book.commit(fate)
  expect(book.sendings.maySend(xId)).toBe(expected)
})

test('a process whose last heartbeat is too old records no operation, because it could not send it', async () => {
  const book = openBook()
  book.setAlive(false)
  await book.commit('written')
  expect(book.written()).toBe(0)
  book.setAlive(true)
  await book.commit('written')
  expect(book.written()).toBe(1)
})

test.each<[Fate, number]>([
  ['written', 0],
  ['refused', 0],
  ['rolled back', 0],
  ['not sent', 0],
  ['unknown', 1],
])('a commit that is %s leaves %i in doubt', async (fate, count) => {
  const book = openBook()
  await book.commit(fate)
  book.move(60_000)
  expect(book.sendings.listDoubtful()).toHaveLength(count)
})

test('a doubtful operation is left to its request for 10 s; once it is listed, no request sends it', async () => {
  const book = openBook()
  await book.commit('unknown')
  book.move(9_999)
  expect(book.sendings.listDoubtful()).toEqual([])
  book.move(1)
  expect(book.sendings.listDoubtful()).toMatchObject([orphan])
  expect(book.sendings.maySend(xId)).toBe(false)
})

test('a doubtful operation that its request is sending is not listed', async () => {
  const book = openBook()
  await book.commit('unknown')
  expect(book.sendings.maySend(xId)).toBe(true)
  book.move(60_000)
  expect(book.sendings.listDoubtful()).toEqual([])
})

test('an operation that was never written is forgotten 30 s after it was first missing in the database', async () => {
  const book = openBook()
  await book.commit('unknown')
  book.move(300_000)
  book.sendings.miss(xId)
  book.move(29_999)
  book.sendings.miss(xId)
  expect(book.sendings.listDoubtful()).toHaveLength(1)
  book.move(1)
  book.sendings.miss(xId)
  expect(book.sendings.listDoubtful()).toEqual([])
})

test('an operation that was forgotten because 10,000 others are under way is not sent', async () => {
  const book = openBook()
  await book.commit('unknown')
  for (let other = 0; other < 10_000; other += 1) await book.commit('written', `other${other}` as XId)
  book.interrupt()
  expect(book.sendings.maySend(xId)).toBe(false)
})
