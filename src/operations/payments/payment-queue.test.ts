import { expect, test } from 'vitest'
import { paymentOf } from '#lifecycle/example-payment.test-support.ts'
import type { Payment } from '#lifecycle/payment.ts'
import { createPaymentQueue, reconnectDelaysMs } from '#operations/payments/payment-queue.ts'
import { CommitUnknown } from '#storage/commit/change.ts'
import type { PaymentReader } from '#storage/payments/payments.ts'

/** A database with one payment, and the queue of one of the processes that work on it. */
function openStore(first: Payment) {
  let stored = first
  let answer = { promise: Promise.resolve() }
  let reads = 0
  let isAway = false
  let waitedMs = 0
  const payments: Pick<PaymentReader, 'byPayId'> = {
    byPayId: async () => {
      reads += 1
      return stored
    },
  }
  const queue = createPaymentQueue({
    payments: { ...payments, byTransId: async () => undefined },
    async waitMs(milliseconds) {
      waitedMs += milliseconds
    },
    async commit({ updatePayment }) {
      if (isAway) throw new CommitUnknown(new Error('the database is away'))
      if (!updatePayment) return { committed: true }
      if (updatePayment.expectedVersion !== stored.version)
        return { committed: false, conflict: 'version_changed' }
      stored = updatePayment.payment
      // The answer is on its way, and other processes may write in the meantime.
      await answer.promise
      return { committed: true }
    },
  })
  return {
    queue,
    reads: () => reads,
    /** For how long steps have waited for the database. */
    waitedMs: () => waitedMs,
    loseDatabase() {
      isAway = true
    },
    /** Commits are stored, but answered only when the returned function is called. */
    holdAnswers() {
      const { promise, resolve } = Promise.withResolvers<void>()
      answer = { promise }
      return resolve
    },
    /** Another process changes the payment. */
    change: (next: Partial<Payment>) => {
      stored = { ...stored, ...next, version: stored.version + 1 }
    },
  }
}

test.each([
  ['nothing is written', {}],
  ['only its key is written', { alongside: { keyAnswer: undefined } }],
])('a refusal is decided on the currently stored payment if %s', async (_, writes) => {
  const payment = paymentOf()
  const { merchantId, payId } = payment
  const { queue, change } = openStore(payment)
  const slow = Promise.withResolvers<void>()
  const first = queue.update({ merchantId, payId }, async () => {
    await slow.promise
    return { result: 'refused' }
  })
  // Let the first step read the payment before another process captures it and answers its merchant.
  await new Promise(resolve => setImmediate(resolve))
  change({ status: 'OK', sums: { ...payment.sums, captured: 1000 } })
  const second = queue.update({ merchantId, payId }, ({ sums }) => ({ ...writes, result: sums.captured }))
  slow.resolve()
  expect([await first, await second]).toEqual(['refused', 1000])
})

test('a step that writes reuses the state that the previous step has written', async () => {
  const payment = paymentOf()
  const { merchantId, payId } = payment
  const { queue, reads } = openStore(payment)
  const raise = () =>
    queue.update({ merchantId, payId }, stored => ({
      next: { ...stored, version: stored.version + 1 },
      result: stored.version,
    }))
  const versions = await Promise.all([raise(), raise(), raise()])
  expect(versions).toEqual([payment.version, payment.version + 1, payment.version + 2])
  expect(reads()).toBe(1)
})

test('refusals that wait together share one read, which began after the last of them was queued', async () => {
  const payment = paymentOf()
  const { merchantId, payId } = payment
  const { queue, reads } = openStore(payment)
  const refuse = () => queue.update({ merchantId, payId }, ({ version }) => ({ result: version }))
  const answers = await Promise.all(Array.from({ length: 20 }, refuse))
  expect(answers).toEqual(Array.from({ length: 20 }, () => payment.version))
  expect(reads()).toBe(1)
})

test('a refusal queued during a commit is not decided on the state which that commit has written', async () => {
  const payment = paymentOf()
  const { merchantId, payId } = payment
  const { queue, change, holdAnswers } = openStore(payment)
  const answerCommit = holdAnswers()
  const written = queue.update({ merchantId, payId }, stored => ({
    next: { ...stored, version: stored.version + 1 },
    result: 'written',
  }))
  // After the commit is stored and before its answer arrives, another process captures; then a step is queued here.
  await new Promise(resolve => setImmediate(resolve))
  change({ status: 'OK', sums: { ...payment.sums, captured: 1000 } })
  const asked = queue.update({ merchantId, payId }, ({ sums }) => ({ result: sums.captured }))
  answerCommit()
  expect([await written, await asked]).toEqual(['written', 1000])
})

test('steps that wait together while the database is away give up together, not one after the other', async () => {
  const payment = paymentOf()
  const { merchantId, payId } = payment
  const { queue, loseDatabase, waitedMs } = openStore(payment)
  loseDatabase()
  const raise = () =>
    queue.update({ merchantId, payId }, stored => ({
      next: { ...stored, version: stored.version + 1 },
      result: stored.version,
    }))
  const patienceMs = reconnectDelaysMs.reduce((sum, delayMs) => sum + delayMs)
  for (const turn of [1, 2]) {
    await Promise.all([raise(), raise(), raise()].map(asked => expect(asked).rejects.toThrow(CommitUnknown)))
    // Steps that are queued after the others have given up wait as long again.
    expect(waitedMs()).toBe(turn * patienceMs)
  }
})
