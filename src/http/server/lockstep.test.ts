import { describe, expect, it } from 'vitest'
import { createLockstep, nextStep } from '#http/server/lockstep.ts'

/** A request that notes each of its steps. */
const take = async (name: string, join: () => Promise<void>, steps: string[]): Promise<void> => {
  await join()
  steps.push(`${name} is read`)
  await nextStep
  steps.push(`${name} is validated`)
  await nextStep
  steps.push(`${name} is handled`)
}

describe('requests that arrive in the same turn of the event loop', () => {
  it('take each step together', async () => {
    const join = createLockstep()
    const steps: string[] = []
    await Promise.all(['a', 'b'].map(name => take(name, join, steps)))
    expect(steps).toEqual([
      ...['a is read', 'b is read'],
      ...['a is validated', 'b is validated'],
      ...['a is handled', 'b is handled'],
    ])
  })

  it('do not wait for those of the next turn', async () => {
    const join = createLockstep()
    const steps: string[] = []
    await take('a', join, steps)
    const later = take('b', join, steps)
    // Others may still join b in its turn, until the event loop turns.
    await nextStep
    await nextStep
    expect(steps.at(-1)).toBe('a is handled')
    await later
    expect(steps.at(-1)).toBe('b is handled')
  })

  it('go in groups of at most 64', async () => {
    const join = createLockstep()
    const steps: string[] = []
    const names = Array.from({ length: 65 }, (_, index) => String(index))
    await Promise.all(names.map(name => take(name, join, steps)))
    expect(steps.indexOf('64 is read')).toBe(steps.indexOf('63 is handled') + 1)
  })
})
