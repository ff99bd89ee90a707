/** Passwords are checked two at a time, and rightly. */
import { expect, test, vi } from 'vitest'
import { hashPassword, isPassword } from '#console/password.ts'

const work = vi.hoisted(() => ({ running: 0, most: 0 }))
vi.mock('node:crypto', async importOriginal => {
  const crypto = await importOriginal<typeof import('node:crypto')>()
  const argon2: typeof crypto.argon2 = (algorithm, parameters, callback) => {
    work.running += 1
    work.most = Math.max(work.most, work.running)
    crypto.argon2(algorithm, parameters, (error, tag) => {
      work.running -= 1
      callback(error, tag)
    })
  }
  return { ...crypto, argon2 }
})

test('at most two are computed at once, and each gets its own answer', async () => {
  const stored = await hashPassword('a long password')
  const tries = ['a long password', 'another password', 'a long password', 'a long passwor', 'x', '']
  const answers = await Promise.all(tries.map(text => isPassword(text, stored)))
  expect(answers).toEqual([true, false, true, false, false, false])
  expect(await isPassword('a long password', undefined)).toBe(false)
  expect(work).toEqual({ running: 0, most: 2 })
})
