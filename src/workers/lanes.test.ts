import { expect, test } from 'vitest'
import type { MerchantId } from '#domain/ids.ts'
import { createLanes, laneStart } from '#workers/lanes.ts'

const lane = { merchantId: 'mer_1' as MerchantId, receiver: 'https://shop.example' }
const other = { ...lane, receiver: '' }

test('a lane that was never used is not listed', () => {
  const lanes = createLanes()
  expect(lanes.list()).toEqual([])
  lanes.enter(lane)
  expect(lanes.list()).toEqual([{ ...lane, free: laneStart - 1 }])
})

test('a lane widens by one with each message that arrives, up to 64', () => {
  const lanes = createLanes()
  for (let count = 0; count < 100; count += 1) {
    lanes.enter(lane)
    lanes.leave(lane, true)
  }
  expect(lanes.list()).toEqual([{ ...lane, free: 64 }])
})

test('a lane halves with each message that fails, down to one, and recovers', () => {
  const lanes = createLanes()
  for (let count = 0; count < laneStart; count += 1) lanes.enter(lane)
  const free = []
  for (let count = 0; count < laneStart; count += 1) {
    lanes.leave(lane, false)
    free.push(lanes.list()[0]?.free)
  }
  // The width falls to 4 with 7 messages under way, to 2 with 6, to 1 with 5, and stays 1 until no message is under
  // way.
  expect(free).toEqual([0, 0, 0, 0, 0, 0, 0, 1])
  lanes.enter(lane)
  lanes.leave(lane, true)
  expect(lanes.list()).toEqual([{ ...lane, free: 2 }])
})

test('each lane has its own width', () => {
  const lanes = createLanes()
  lanes.enter(lane)
  lanes.leave(lane, false)
  lanes.enter(other)
  expect(lanes.list()).toEqual([
    { ...lane, free: laneStart / 2 },
    { ...other, free: laneStart - 1 },
  ])
})
