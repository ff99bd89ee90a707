/** The loop that claims messages never loses a wake-up, and messages that were not sent say nothing about a receiver. */
import { expect, test, vi } from 'vitest'
import type { MerchantId } from '#domain/ids.ts'
import type { Delivery, DeliveryStore } from '#storage/events/deliveries.ts'
import { createDeliveryWorker, createPump, type DeliveryDeps } from '#workers/deliver.ts'

/** Wakes the loop a number of microtasks after its first wake-up; returns the number of runs. */
async function wakeAfter(turns: number, first: () => Promise<unknown>): Promise<number> {
  let runs = 0
  const errors: unknown[] = []
  const run = () => (++runs === 1 ? first() : Promise.resolve())
  const wake = createPump({ run, isStopped: () => false, onError: error => errors.push(error) })
  wake()
  for (let turn = 0; turn < turns; turn += 1) await Promise.resolve()
  wake()
  await vi.waitFor(() => expect(runs).toBeGreaterThan(1))
  await new Promise(setImmediate)
  return runs
}

// A run ends within a few microtasks: some of these wake-ups come during it, some at its very end, some after it.
const turns = Array.from({ length: 12 }, (_, turn) => turn)

test.each(turns)('a wake-up after %i microtasks starts another run', async turn => {
  expect(await wakeAfter(turn, () => Promise.resolve())).toBe(2)
})

test.each(turns)(
  'a wake-up after %i microtasks starts another run even if the first one fails',
  async turn => {
    expect(await wakeAfter(turn, () => Promise.reject(new Error('no database')))).toBe(2)
  },
)

test('a message that is not sent because its merchant is being moved does not narrow the lane of its receiver', async () => {
  const merchantId = 'mer_1' as MerchantId
  const delivery = { merchantId, receiver: 'https://shop.example', eventId: 'event', round: 1 } as Delivery
  const lanes: unknown[] = []
  const claim: DeliveryStore['claim'] = async asked => (lanes.push(asked.lanes) === 1 ? [delivery] : [])
  const worker = createDeliveryWorker({
    store: { claim } as DeliveryStore,
    clock: { nowMs: () => 0 },
    mayHaveDeliveries: () => true,
    onError: (error: unknown) => expect.fail(String(error)),
    gate: () => undefined,
  } as unknown as DeliveryDeps)
  await worker.runDue()
  await vi.waitFor(() => expect(lanes).toHaveLength(2))
  expect(lanes).toEqual([[], []])
})
