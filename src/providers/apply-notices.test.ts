/** Waiting for all due notices, while an account whose provider is slow ends. */
import { expect, test } from 'vitest'
import { createNoticeWorker } from '#providers/apply-notices.ts'
import { keepRunning } from '#providers/create-providers.ts'
import type { ClaimedItem, NoticeStore } from '#storage/providers/notices.ts'
import type { RecordVault } from '#vault/sealed-records.ts'

const itemOf = (key: string) =>
  ({
    ...{ merchantId: 'mer_1', accountId: 'slow', key, noticeId: key },
    ...{ position: 0, attempt: 0, needsPerson: null },
  }) as unknown as ClaimedItem

test('the notices of an account that ends during a claim are applied before the wait is over', async () => {
  const due = ['first', 'second']
  const applied: string[] = []
  const slow = Promise.withResolvers<'applied'>()
  const ended = Promise.withResolvers<void>()
  const store = {
    async claim(_limit: number, _leaseMs: number, except: readonly string[]) {
      if (!except.includes('slow')) return due.splice(0, 1).map(itemOf)
      // The account was left out of this claim, and ends before it is answered.
      slow.resolve('applied')
      await ended.promise
      await new Promise(setImmediate)
      return []
    },
    renew: async () => true,
    findSealed: async () => ({ keyVersion: 1, sealed: Buffer.alloc(0) }),
    async finish({ key }: ClaimedItem) {
      applied.push(key)
      ended.resolve()
    },
  } as unknown as NoticeStore
  const body = JSON.stringify({ items: [{ key: 'k', fact: { kind: 'ignored', name: 'x' } }] })
  const vault = { open: async () => Buffer.from(body) } as unknown as RecordVault
  const onError = (error: unknown) => {
    throw error
  }
  const worker = createNoticeWorker({
    ...{ store, vault, onError, onApplied: () => undefined },
    apply: () => (applied.length === 0 ? slow.promise : Promise.resolve('applied')),
  })
  await keepRunning(worker, { onError }).runDue()
  expect(applied).toEqual(['first', 'second'])
})
