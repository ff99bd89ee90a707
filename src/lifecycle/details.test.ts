/** The merchant's fields and the gateway's own notes are stored together and must not be mixed up. */
import { expect, test } from 'vitest'
import { joinDetails, shownDetails, splitDetails } from '#lifecycle/details.ts'

const sent = { language: 'de', metadata: { shop: '7' }, description: 'Consulting in March' }
const own = { linkId: 'pl_1', session: true, keepCard: false, methodFields: { mandateId: 'M1' } }

test('stored details are split into the merchant’s fields and our own notes', () => {
  expect(splitDetails(joinDetails(sent, own))).toEqual({ details: sent, own })
})

test('a payment record shows only the fields that its schema names', () => {
  expect(shownDetails(sent)).toEqual(sent)
  // A field that a later release stores, or one that was stored by mistake.
  const stored = { ...sent, amount: { taxTotal: 1 }, riskScore: 99 }
  expect(shownDetails(stored)).toEqual(sent)
})
