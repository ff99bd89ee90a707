import { expect, test } from 'vitest'
import type { MerchantId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import { rememberMerchants } from '#operations/merchants/remembered-merchants.ts'

const id = 'mer_1' as MerchantId

function setUp() {
  const state = { now: 0, name: 'first', reads: 0, answer: Promise.resolve() }
  let tell: (merchantId: string) => void = () => undefined
  const find = rememberMerchants(
    async merchantId => {
      state.reads += 1
      const merchant = { merchantId, name: state.name } as Merchant
      await state.answer
      return merchantId === id ? merchant : undefined
    },
    {
      nowMs: () => state.now,
      onChange: listener => {
        tell = listener
      },
    },
  )
  return { state, name: async (merchantId = id) => (await find(merchantId))?.name, tell: () => tell(id) }
}

test('a merchant is read once in five seconds', async () => {
  const merchants = setUp()
  expect(await merchants.name()).toBe('first')
  merchants.state.name = 'second'
  merchants.state.now += 4_999
  expect([await merchants.name(), merchants.state.reads]).toEqual(['first', 1])
  merchants.state.now += 1
  expect([await merchants.name(), merchants.state.reads]).toEqual(['second', 2])
})

test('a change in this process is seen at once, also by readers that began before it', async () => {
  const merchants = setUp()
  const { promise, resolve } = Promise.withResolvers<void>()
  merchants.state.answer = promise
  const early = merchants.name()
  merchants.state.name = 'second'
  merchants.tell()
  resolve()
  expect(await early).toBe('first')
  expect(await merchants.name()).toBe('second')
})

test('a merchant that does not exist is looked up again each time', async () => {
  const merchants = setUp()
  const nobody = 'mer_2' as MerchantId
  expect([await merchants.name(nobody), await merchants.name(nobody), merchants.state.reads]).toEqual([
    undefined,
    undefined,
    2,
  ])
})
