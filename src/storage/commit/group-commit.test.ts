/** What a group commit makes of a database that refuses, with a pool that does as it is told. */
import type { Pool } from 'pg'
import { expect, test } from 'vitest'
import type { MerchantId, PayId, XId } from '#domain/ids.ts'
import { type Change, CommitUnknown } from '#storage/commit/change.ts'
import { createGroupCommit } from '#storage/commit/group-commit.ts'

/** Fails as often as there are codes, then succeeds. */
function poolThatFails(codes: readonly string[]) {
  const asked: number[] = []
  const query = async ({ values }: { values: readonly string[] }) => {
    const code = codes[asked.length]
    asked.push(Math.max(...values.map(value => JSON.parse(value).length)))
    if (code !== undefined) throw Object.assign(new Error(`refused with ${code}`), { code })
    return { rows: [] }
  }
  return { pool: { query } as unknown as Pool, asked }
}

const change = (number: number): Change => ({
  dropTimers: [
    {
      merchantId: 'shop' as MerchantId,
      payId: `00000000-0000-4000-8000-00000000000${number}` as PayId,
      xId: `00000000-0000-4000-8000-00000000000${number}` as XId,
      kind: 'PLAN',
    },
  ],
})

const deadlock = '40P01'

test('who loses a deadlock goes again, and its caller hears nothing of it', async () => {
  const { pool, asked } = poolThatFails([deadlock, '40001'])
  expect(await createGroupCommit(pool).commit(change(1))).toEqual({ committed: true })
  expect(asked).toEqual([1, 1, 1])
})

test('a batch that fails is split by halves until it succeeds', async () => {
  const { pool, asked } = poolThatFails([deadlock, deadlock])
  const { commit } = createGroupCommit(pool)
  const committed = await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map(number => commit(change(number))))
  expect(committed).toEqual(Array.from({ length: 8 }, () => ({ committed: true })))
  expect(asked).toEqual([8, 4, 2, 2, 4])
})

test('one that loses again and again is told so, and nothing is in doubt', async () => {
  const { pool, asked } = poolThatFails(Array.from({ length: 20 }, () => deadlock))
  const failure = await createGroupCommit(pool)
    .commit(change(1))
    .catch((error: unknown) => error)
  expect(failure).toMatchObject({ code: deadlock })
  expect(failure).not.toBeInstanceOf(CommitUnknown)
  expect(asked).toHaveLength(6)
})

test.each(['57P01', '08006', 'ECONNRESET'])('%s leaves the outcome open and is not repeated', async code => {
  const { pool, asked } = poolThatFails([code])
  await expect(createGroupCommit(pool).commit(change(1))).rejects.toBeInstanceOf(CommitUnknown)
  expect(asked).toEqual([1])
})

test('any other refusal of one change is its own', async () => {
  const { pool, asked } = poolThatFails(['23514'])
  await expect(createGroupCommit(pool).commit(change(1))).rejects.toMatchObject({ code: '23514' })
  expect(asked).toEqual([1])
})
