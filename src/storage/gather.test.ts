import { expect, test } from 'vitest'
import type { MerchantId } from '#domain/ids.ts'
import { gatherLookUps, type Wanted } from '#storage/gather.ts'

const wanted = (id: string, merchantId = 'mer_1'): Wanted => ({ merchantId: merchantId as MerchantId, id })

/** A look-up that finds everything of the first merchant except `unknown`. */
function createBook() {
  const asked: string[][] = []
  const lookUp = gatherLookUps<Wanted>(
    async all => {
      asked.push(all.map(({ id }) => id))
      if (all.some(({ id }) => id === 'broken')) throw new Error('the database is away')
      return all.filter(({ merchantId, id }) => merchantId === 'mer_1' && id !== 'unknown').toReversed()
    },
    one => one,
  )
  return { asked, lookUp }
}

test('look-ups in the same turn share one query, and each caller gets its own row', async () => {
  const { asked, lookUp } = createBook()
  const found = await Promise.all(
    [wanted('a'), wanted('unknown'), wanted('a', 'mer_2'), wanted('b'), wanted('a')].map(lookUp),
  )
  expect(found).toEqual([wanted('a'), undefined, undefined, wanted('b'), wanted('a')])
  expect(asked).toEqual([['a', 'unknown', 'a', 'b', 'a']])
  expect(await lookUp(wanted('c'))).toEqual(wanted('c'))
  expect(asked).toHaveLength(2)
})

test('more than 32 look-ups are split into several queries', async () => {
  const { asked, lookUp } = createBook()
  const all = Array.from({ length: 70 }, (_, index) => wanted(String(index)))
  expect(await Promise.all(all.map(lookUp))).toEqual(all)
  expect(asked.map(({ length }) => length)).toEqual([32, 32, 6])
})

test('two queries run at once, and look-ups that arrive during both share the next one', async () => {
  const asked: string[][] = []
  const release: (() => void)[] = []
  const lookUp = gatherLookUps<Wanted>(
    async all => {
      asked.push(all.map(({ id }) => id))
      await new Promise<void>(resolve => release.push(resolve))
      return all
    },
    one => one,
  )
  const turn = () => new Promise(setImmediate)
  const answers: Promise<unknown>[] = []
  for (const id of ['a', 'b', 'c', 'd']) {
    answers.push(lookUp(wanted(id)))
    await turn()
  }
  expect(asked).toEqual([['a'], ['b']])
  release.shift()?.()
  await turn()
  await turn()
  expect(asked).toEqual([['a'], ['b'], ['c', 'd']])
  for (const go of release) go()
  await Promise.all(answers)
})

test('a failed query fails all callers that shared it, but no later one', async () => {
  const { lookUp } = createBook()
  const results = await Promise.allSettled([wanted('a'), wanted('broken')].map(lookUp))
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(await lookUp(wanted('a'))).toEqual(wanted('a'))
})
