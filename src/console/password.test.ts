/** Passwords are checked rightly, and two at a time. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { hashPassword, inTurn, isPassword } from '#console/password.ts'

test('only the right password matches its hash, also when many are checked at once', async () => {
  const stored = await hashPassword('a long password')
  const tries = ['a long password', 'another password', 'a long password', 'a long passwor', 'x', '']
  const answers = await Promise.all(tries.map(text => isPassword(text, stored)))
  expect(answers).toEqual([true, false, true, false, false, false])
  expect(await isPassword('a long password', undefined)).toBe(false)
})

test('at most two passwords are checked at once, in the order of arrival, and each caller gets its own result', async () => {
  const work = { running: 0, most: 0, order: [] as number[] }
  const double = inTurn(2, async (number: number) => {
    work.running += 1
    work.most = Math.max(work.most, work.running)
    work.order.push(number)
    await nextTurn()
    work.running -= 1
    if (number === 3) throw new Error('three')
    return 2 * number
  })
  const numbers = [1, 2, 3, 4, 5, 6]
  const first = await Promise.allSettled(numbers.map(number => double(number)))
  expect(first.map(end => (end.status === 'fulfilled' ? end.value : String(end.reason)))).toEqual([
    2,
    4,
    'Error: three',
    8,
    10,
    12,
  ])
  expect(work).toEqual({ running: 0, most: 2, order: numbers })
  // After an error as many may run as before.
  expect(await Promise.all([double(7), double(8), double(9)])).toEqual([14, 16, 18])
  expect(work.most).toBe(2)
})
