import { describe, expect, test } from 'vitest'
import { findMisfit } from '#methods/catalogue.ts'
import type { Method } from '#methods/method.ts'
import { rows } from '#methods/rows.ts'
import type { CreatePayment } from '#schemas/create-payment.ts'

const count = (read: (row: Method) => string): Record<string, number> => {
  const counts: Record<string, number> = {}
  for (const row of rows) counts[read(row)] = (counts[read(row)] ?? 0) + 1
  return counts
}

/** Counted in the list that the rows were made from, so a lost row fails here. */
test('every row of the list is there, by family and by flow', () => {
  expect(rows.length).toBe(989)
  expect(count(row => row.family)).toEqual({
    bank_redirect: 131,
    bank_transfer: 90,
    bnpl: 56,
    card: 75,
    carrier_billing: 27,
    cash_on_delivery: 17,
    crypto: 12,
    direct_debit: 32,
    gift_card: 17,
    instalment: 49,
    invoice: 21,
    mobile: 77,
    open_banking: 21,
    prepaid: 34,
    qr: 36,
    voucher: 112,
    wallet: 182,
  })
  expect(count(row => row.flow)).toEqual({
    direct: 259,
    multi_step: 3,
    qr: 55,
    redirect: 473,
    transfer: 87,
    voucher: 112,
  })
})

const list = (wrong: (row: Method) => boolean): string[] => rows.filter(wrong).map(row => row.type)

describe('family and flow belong together', () => {
  test.each<[string, (row: Method) => boolean]>([
    [
      'a voucher without its flow, or the flow elsewhere',
      row => (row.family === 'voucher') !== (row.flow === 'voucher'),
    ],
    ['a card that sends the customer away', row => row.family === 'card' && row.flow !== 'direct'],
    ['a transfer outside the bank', row => row.flow === 'transfer' && !row.family.startsWith('bank')],
    // Vouchers and transfers need an action of the customer each time, so they cannot be charged again.
    [
      'recurring by hand',
      row => ['voucher', 'transfer'].includes(row.flow) && row.operations.includes('recurring'),
    ],
    // A reservation can be reversed while it lasts, and a year is too long for a reservation.
    ['a reservation for more than a year', row => (row.authorizationDays ?? 0) > 365],
    ['a country that is also a wildcard', row => row.countries !== '*' && row.countries.includes('*')],
  ])('no row is %s', (_, wrong) => expect(list(wrong)).toEqual([]))
})

/** A request that fits the row, by the rules of the catalogue. */
const fitting = (row: Method) => ({
  amount: { value: 1, currency: row.currencies === '*' ? 'EUR' : (row.currencies[0] ?? '') },
  // Without an instrument only a hosted payment can be checked; a row without HOSTED gets an empty one.
  paymentMethods: {
    integrationType: row.integration.includes('HOSTED') ? 'HOSTED' : 'DIRECT',
    type: row.type,
    [row.key]: {},
  } as unknown as CreatePayment['paymentMethods'],
  captureMethod: { type: row.capture[0] } as CreatePayment['captureMethod'],
  billingAddress: { country: row.countries === '*' ? 'DEU' : row.countries[0] },
})

describe('a request against the capabilities of its row', () => {
  test('a request that fits every column is accepted', () => {
    expect(list(row => findMisfit(row, fitting(row)) !== undefined)).toEqual([])
  })

  test.each<[string, (row: Method) => boolean, object, (row: Method) => readonly string[]]>([
    [
      'amount.currency',
      row => row.currencies !== '*',
      { amount: { value: 1, currency: 'XPF' } },
      row => [...row.currencies],
    ],
    [
      'billingAddress.country',
      row => row.countries !== '*',
      { billingAddress: { country: 'ATA' } },
      row => [...row.countries],
    ],
    [
      'captureMethod.type',
      row => !row.capture.includes('DELAYED'),
      { captureMethod: { type: 'DELAYED', delayed: { delayedHours: 1 } } },
      row => row.capture,
    ],
  ])('%s says what would fit, for every row that is choosy', (field, isChoosy, change, allowed) => {
    const choosy = rows.filter(isChoosy)
    expect(choosy.length).toBeGreaterThan(0)
    const wrong = choosy.filter(row => {
      const misfit = findMisfit(row, { ...fitting(row), ...change })
      return misfit?.field !== field || !misfit.error.endsWith(`allowed: ${allowed(row).join(', ')}`)
    })
    expect(wrong.map(row => row.type)).toEqual([])
  })

  test('an integration type that the row lacks is refused with those it has', () => {
    const choosy = rows.filter(row => row.integration.length === 1)
    const wrong = choosy.filter(row => {
      const { paymentMethods, ...rest } = fitting(row)
      const integrationType = row.integration[0] === 'HOSTED' ? 'DIRECT' : 'HOSTED'
      const misfit = findMisfit(row, { ...rest, paymentMethods: { ...paymentMethods, integrationType } })
      const names = misfit?.field === 'paymentMethods.integrationType'
      return !names || !misfit.error.endsWith(`allowed: ${row.integration.join(', ')}`)
    })
    expect(choosy.length).toBeGreaterThan(0)
    expect(wrong.map(row => row.type)).toEqual([])
  })
})
