/** How often somebody may guess: one after the other, all at once, and with many names. */
import { expect, test } from 'vitest'
import { createGuessing } from '#console/guessing.ts'
import { createFailedLogins } from '#http/authentication/rate-limit.ts'

const nowMs = () => 0

function startGuessing({ ofPerson = 10, ofAddress = 100 } = {}) {
  const failed: string[] = []
  const guessing = createGuessing({
    ofPerson: createFailedLogins({ nowMs }, { failures: ofPerson }),
    ofAddress: createFailedLogins({ nowMs }, { failures: ofAddress }),
    onFailure: async ({ email }) => void failed.push(email),
  })
  return { guessing, failed }
}

const at = (email: string, address = '192.0.2.1') => ({ email, address })
const wrong = async () => undefined

test('sign-ins under way count, so that many at the same moment are refused without a check', async () => {
  const { guessing, failed } = startGuessing()
  let checked = 0
  let finish = () => {}
  const started = new Promise<void>(resolve => {
    finish = resolve
  })
  const check = async () => {
    checked += 1
    await started
    return undefined
  }
  const tries = Array.from({ length: 40 }, () => guessing.attempt(at('ada@example.com'), check))
  finish()
  const results = await Promise.all(tries)
  expect([checked, results.filter(({ over }) => over).length, failed.length]).toEqual([3, 37, 3])
  // They are free again afterwards.
  expect(await guessing.attempt(at('ada@example.com'), async () => 'ada')).toEqual({
    over: false,
    found: 'ada',
  })
})

test('a flood of sign-ins from very many addresses is refused without a check, too', async () => {
  const { guessing } = startGuessing()
  let checked = 0
  let finish = () => {}
  const started = new Promise<void>(resolve => {
    finish = resolve
  })
  const check = async () => {
    checked += 1
    await started
    return undefined
  }
  const tries = Array.from({ length: 200 }, (_, number) =>
    guessing.attempt(at(`person${number}@example.com`, `192.0.2.${number}`), check),
  )
  finish()
  const results = await Promise.all(tries)
  expect([checked, results.filter(({ over }) => over).length]).toEqual([50, 150])
  expect(await guessing.attempt(at('ada@example.com'), async () => 'ada')).toMatchObject({ found: 'ada' })
})

test('one address cannot try one password with every name', async () => {
  const { guessing } = startGuessing({ ofAddress: 5 })
  for (let tried = 0; tried < 5; tried += 1)
    expect(await guessing.attempt(at(`person${tried}@example.com`), wrong)).toMatchObject({ over: false })
  expect(await guessing.attempt(at('ada@example.com'), async () => 'ada')).toEqual({ over: true })
  expect(await guessing.attempt(at('ada@example.com', '198.51.100.7'), async () => 'ada')).toMatchObject({
    found: 'ada',
  })
})

test('a person whose name is guessed from one address signs in from another, in any spelling of the name', async () => {
  const { guessing } = startGuessing({ ofPerson: 2 })
  for (const email of ['ada@example.com', 'ADA@example.com']) await guessing.attempt(at(email), wrong)
  expect(await guessing.attempt(at('Ada@Example.com'), async () => 'ada')).toEqual({ over: true })
  expect(await guessing.attempt(at('ada@example.com', '198.51.100.7'), async () => 'ada')).toMatchObject({
    found: 'ada',
  })
})

test('a check that fails by a fault counts neither as a guess nor as under way', async () => {
  const { guessing, failed } = startGuessing()
  for (let tried = 0; tried < 5; tried += 1)
    await expect(
      guessing.attempt(at('ada@example.com'), () => Promise.reject(new Error('gone'))),
    ).rejects.toThrow('gone')
  expect([await guessing.attempt(at('ada@example.com'), async () => 'ada'), failed]).toEqual([
    { over: false, found: 'ada' },
    [],
  ])
})
