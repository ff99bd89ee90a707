/** The search over all cells, while some of them are away. */
import { expect, test } from 'vitest'
import { searchCells } from '#console/search-cells.ts'
import type { FoundPayment } from '#storage/console/search.ts'

const paymentOf = (payId: string, minute = 0): FoundPayment => ({
  ...{ merchantId: 'mer_a', payId, transId: payId, status: 'OK', method: 'CARD' },
  ...{ amount: 1000, currency: 'EUR', createdAt: new Date(Date.UTC(2026, 10, 18, 12, minute)) },
})

const cellOf = (number: number, ...payments: readonly FoundPayment[]) => ({
  number,
  find: async (limit: number) => payments.slice(0, limit),
})

const lost = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
const silent = { number: 1, find: async () => Promise.reject(lost) }

test('a cell that does not answer hides only its own payments, and is named', async () => {
  const found = await searchCells([cellOf(0, paymentOf('a')), silent, cellOf(2, paymentOf('b', 1))], [])
  expect(found.payments.map(({ payId }) => payId)).toEqual(['b', 'a'])
  expect(found).toMatchObject({ isCut: false, away: ['cell_01'] })
})

test('a cell that could not be opened is named, and one that answers is not, although its heartbeat is late', async () => {
  const found = await searchCells([cellOf(0, paymentOf('a'))], ['cell_00', 'cell_02'])
  expect(found).toMatchObject({ payments: [{ payId: 'a' }], away: ['cell_02'] })
})

test('a payment that is in two cells while its merchant is being moved is found once', async () => {
  const found = await searchCells([cellOf(0, paymentOf('a')), cellOf(1, paymentOf('a'))], [])
  expect(found.payments).toHaveLength(1)
})

test('of more than fifty the newest are shown, and that there are more', async () => {
  const many = Array.from({ length: 51 }, (_, index) => paymentOf(`p${index}`, 59 - index))
  const found = await searchCells([cellOf(0, ...many)], [])
  expect([found.payments.length, found.payments[0]?.payId, found.isCut]).toEqual([50, 'p0', true])
})

test('any other fault of a cell is a fault of the search', async () => {
  const broken = { number: 0, find: () => Promise.reject(new Error('syntax error')) }
  await expect(searchCells([broken], [])).rejects.toThrow('syntax error')
})
