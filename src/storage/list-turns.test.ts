import { expect, test } from 'vitest'
import type { MerchantId } from '#domain/ids.ts'
import { DatabaseSilent } from '#storage/breaker.ts'
import { createListTurns, TooManyLists } from '#storage/list-turns.ts'

const ada = 'mer_ada' as MerchantId
const bob = 'mer_bob' as MerchantId
const answering = async () => undefined

test('two lists of a merchant are read at once; a third waits, and one of another merchant does not', async () => {
  const turns = createListTurns(answering)
  const ends = [Promise.withResolvers<string>(), Promise.withResolvers<string>()]
  const reading = ends.map(({ promise }) => turns.run(ada, () => promise))
  const begun: string[] = []
  const third = turns.run(ada, async () => begun.push('third'))
  await turns.run(bob, async () => begun.push('of bob'))
  expect(begun).toEqual(['of bob'])
  ends[0]?.reject(new Error('cancelled'))
  await expect(reading[0]).rejects.toThrow('cancelled')
  await third
  expect(begun).toEqual(['of bob', 'third'])
  ends[1]?.resolve('read')
  expect(await reading[1]).toBe('read')
})

test('a list that waits too long for its turn is refused, and leaves the others theirs', async () => {
  const turns = createListTurns(answering, 0)
  const end = Promise.withResolvers<void>()
  const reading = [turns.run(ada, () => end.promise), turns.run(ada, () => end.promise)]
  await expect(turns.run(ada, async () => 'late')).rejects.toThrow(TooManyLists)
  end.resolve()
  await Promise.all(reading)
  expect(await turns.run(ada, async () => 'next')).toBe('next')
})

test('a list whose turn does not come because the database is silent gets its error, not that of too many lists', async () => {
  const turns = createListTurns(() => Promise.reject(new DatabaseSilent()), 0)
  const end = Promise.withResolvers<void>()
  const reading = [turns.run(ada, () => end.promise), turns.run(ada, () => end.promise)]
  await expect(turns.run(ada, async () => 'late')).rejects.toThrow(DatabaseSilent)
  end.resolve()
  await Promise.all(reading)
})
