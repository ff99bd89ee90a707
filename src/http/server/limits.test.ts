import { expect, test } from 'vitest'
import { defaultLimits, limitsOfOne } from '#http/server/limits.ts'

test('one process has the limits of the port, several have an equal part of them each', () => {
  const { openPerAddress, idlePerAddress } = defaultLimits
  expect(limitsOfOne(1)).toEqual({ openPerAddress, idlePerAddress })
  expect(limitsOfOne(3)).toEqual({ openPerAddress: 333, idlePerAddress: 33 })
  expect(limitsOfOne(5_000)).toEqual({ openPerAddress: 1, idlePerAddress: 1 })
})
