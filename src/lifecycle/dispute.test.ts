import { describe, expect, test } from 'vitest'
import {
  acceptDispute,
  type Dispute,
  type DisputeFacts,
  type DisputeId,
  findDisputedCapture,
  openDispute,
  parseDisputeId,
  refuseAnswer,
  submitEvidence,
  updateDispute,
} from '#lifecycle/dispute.ts'
import { later, now, operationOf, paymentOf, xIdOf } from '#lifecycle/example-payment.test-support.ts'
import type { Payment } from '#lifecycle/payment.ts'
import { decideRefund } from '#lifecycle/refund.ts'

const capture = operationOf({ xId: xIdOf(2), sequence: 2, type: 'CAPTURE', state: 'OK' })

const paid = (disputed = 0): Payment =>
  paymentOf({ status: 'OK', operations: [operationOf({}), capture], sums: { captured: 1000, disputed } })

const facts = (change: Partial<DisputeFacts> = {}): DisputeFacts => ({
  providerDisputeId: 'du_1',
  stage: 'CHARGEBACK',
  status: 'OPEN',
  amount: { value: 600, currency: 'EUR' },
  reasonCode: '10.4',
  reasonGroup: 'FRAUD',
  evidenceDueBy: later(24),
  ...change,
})

const disputeId = `dsp_${'0'.repeat(32)}` as DisputeId
const open = (change: Partial<DisputeFacts> = {}, payment = paid()) =>
  openDispute(payment, facts(change), { disputeId, capture: capture.xId, now })

test('opening a dispute adds to the disputed sum and sends an event', () => {
  const { payment, dispute, news } = open()
  expect(payment.sums).toMatchObject({ captured: 1000, disputed: 600 })
  expect(payment.version).toBe(paid().version + 1)
  expect(dispute).toMatchObject({
    disputeId,
    payId: payment.payId,
    xId: capture.xId,
    status: 'OPEN',
    createdAt: now,
  })
  expect(dispute.events).toEqual([
    { at: now.toISOString(), type: 'OPENED', stage: 'CHARGEBACK', status: 'OPEN' },
  ])
  expect(news).toEqual(['dispute.opened'])
})

test('a dispute first reported after its end sends both the opened and the final event', () => {
  expect(open({ status: 'WON' })).toMatchObject({
    news: ['dispute.opened', 'dispute.won'],
    payment: { sums: { disputed: 0 } },
  })
  expect(open({ status: 'LOST' })).toMatchObject({
    news: ['dispute.opened', 'dispute.lost'],
    payment: { sums: { disputed: 600 } },
  })
})

test('a dispute in another currency counts with the whole amount of its capture', () => {
  expect(open({ amount: { value: 99, currency: 'USD' } }).payment.sums.disputed).toBe(1000)
})

describe('a later report of the provider', () => {
  const known = open()
  const tell = (change: Partial<DisputeFacts>, before: { payment: Payment; dispute: Dispute } = known) =>
    updateDispute(before.payment, before.dispute, facts(change), later(1))

  const rows: [string, Partial<DisputeFacts>, number, string[]][] = [
    ['under review', { status: 'UNDER_REVIEW' }, 600, []],
    ['won', { status: 'WON' }, 0, ['dispute.won']],
    ['lost', { status: 'LOST' }, 600, ['dispute.lost']],
    ['expired', { status: 'EXPIRED' }, 600, ['dispute.lost']],
    ['accepted', { status: 'ACCEPTED' }, 600, []],
    ['another amount', { amount: { value: 700, currency: 'EUR' } }, 700, []],
    ['the next stage', { stage: 'PRE_ARBITRATION' }, 600, []],
  ]
  test.each(rows)('%s', (_, change, disputed, news) => {
    const told = tell(change)
    expect(told?.payment.sums.disputed).toBe(disputed)
    expect(told?.news).toEqual(news)
    expect(told?.dispute.events).toHaveLength(2)
    expect(told?.dispute.updatedAt).toEqual(later(1))
  })

  test('a dispute that was not defended in time and then is lost sends its event once', () => {
    const expired = tell({ status: 'EXPIRED' })
    if (!expired) throw new Error('not expired')
    const lost = tell({ status: 'LOST' }, expired)
    expect(lost).toMatchObject({
      news: [],
      dispute: { status: 'LOST' },
      payment: { sums: { disputed: 600 } },
    })
    expect(tell({ status: 'WON' }, expired)?.news).toEqual(['dispute.won'])
  })

  test('a repeated notice changes nothing', () => {
    expect(tell({})).toBeUndefined()
  })

  test('a notice that repeats neither the reason nor the deadline leaves both as they are', () => {
    const { payment, dispute } = open()
    const told = { reasonCode: 'Fraudulent Processing of Transactions', reasonGroup: 'OTHER' } as const
    const won = facts({ ...told, status: 'WON', evidenceDueBy: undefined })
    const known = { reasonCode: '10.4', reasonGroup: 'FRAUD', evidenceDueBy: later(24) }
    expect(updateDispute(payment, dispute, won, later(1))?.dispute).toMatchObject({ ...known, status: 'WON' })
    const again = facts({ ...told, evidenceDueBy: undefined })
    expect(updateDispute(payment, dispute, again, later(1))).toBeUndefined()
  })

  test('a new stage does not keep the deadline of the earlier one', () => {
    const { payment, dispute } = open()
    const second = facts({ stage: 'PRE_ARBITRATION', evidenceDueBy: undefined })
    expect(updateDispute(payment, dispute, second, later(1))?.dispute.evidenceDueBy).toBeUndefined()
  })

  test('a notice with an earlier state changes nothing', () => {
    const won = tell({ status: 'WON' })
    if (!won) throw new Error('not won')
    for (const late of [{}, { status: 'UNDER_REVIEW' }, { stage: 'INQUIRY', status: 'LOST' }] as const)
      expect(tell(late, won)).toBeUndefined()
  })

  test.each(['WON', 'LOST'] as const)('a delayed notice does not replace the later result %s', status => {
    const decided = tell({ status, reportedAt: later(3) })
    if (!decided) throw new Error('not decided')
    const other = status === 'WON' ? 'LOST' : 'WON'
    expect(tell({ status: other, reportedAt: later(2) }, decided)).toBeUndefined()
    expect(
      tell({ status, amount: { value: 1, currency: 'EUR' }, reportedAt: later(2) }, decided),
    ).toBeUndefined()
    expect(tell({ status: other, reportedAt: later(4) }, decided)?.dispute.status).toBe(other)
    // A provider that does not date its reports is believed.
    expect(tell({ status: other }, decided)?.dispute.status).toBe(other)
  })

  test('a delayed notice of a state that comes after the stored one counts', () => {
    const open = tell({ evidenceDueBy: later(48), reportedAt: later(3) })
    expect(tell({ status: 'LOST', reportedAt: later(2) }, open)?.dispute.status).toBe('LOST')
    expect(tell({ evidenceDueBy: later(24), reportedAt: later(2) }, open)).toBeUndefined()
  })

  test('the merchant’s answer does not make an earlier notice a later one', () => {
    const { payment, dispute } = open({ reportedAt: later(3) })
    const sent = submitEvidence(payment, dispute, { kept: {}, now: later(5) })
    const reviewed = { status: 'UNDER_REVIEW', amount: { value: 1, currency: 'EUR' } } as const
    expect(tell({ ...reviewed, reportedAt: later(2) }, sent)).toBeUndefined()
    expect(tell({ ...reviewed, reportedAt: later(4) }, sent)?.payment.sums.disputed).toBe(1)
  })

  test('a second chargeback opens a won dispute again', () => {
    const won = tell({ status: 'WON' })
    if (!won) throw new Error('not won')
    const again = tell({ stage: 'PRE_ARBITRATION', status: 'OPEN' }, won)
    expect(again).toMatchObject({
      news: ['dispute.opened'],
      payment: { sums: { disputed: 600 } },
      dispute: { stage: 'PRE_ARBITRATION', status: 'OPEN' },
    })
  })
})

describe('the merchant’s answer', () => {
  const { payment, dispute } = open()

  test('accepting a dispute keeps the money disputed until it is lost', () => {
    const accepted = acceptDispute(payment, dispute, later(1))
    expect(accepted).toMatchObject({
      news: [],
      dispute: { status: 'ACCEPTED' },
      payment: { sums: { disputed: 600 } },
    })
    const lost = updateDispute(accepted.payment, accepted.dispute, facts({ status: 'LOST' }), later(2))
    expect(lost).toMatchObject({ news: ['dispute.lost'], dispute: { status: 'LOST' } })
  })

  test('evidence puts the dispute under review and stores what the connector needs', () => {
    const sent = submitEvidence(payment, dispute, { kept: { wins: true }, now: later(1) })
    expect(sent).toMatchObject({ news: [], dispute: { status: 'UNDER_REVIEW', kept: { wins: true } } })
    expect(sent.dispute.events.at(-1)).toMatchObject({ type: 'EVIDENCE_SENT' })
  })

  test('a dispute can be answered only while it is open and before its deadline', () => {
    expect(refuseAnswer(dispute, now)).toBeUndefined()
    expect(refuseAnswer(dispute, later(24))).toBe('EXPIRED')
    expect(refuseAnswer({ ...dispute, evidenceDueBy: undefined }, later(99))).toBeUndefined()
    for (const status of ['UNDER_REVIEW', 'WON', 'LOST', 'ACCEPTED', 'EXPIRED'] as const)
      expect(refuseAnswer({ ...dispute, status }, now)).toBe('NOT_OPEN')
  })
})

test('only money that is neither refunded nor disputed can be refunded', () => {
  const refund = (value: number, disputed: number) =>
    decideRefund(paid(disputed), { transId: 't', amount: { value, currency: 'EUR' }, details: {} })
  expect(refund(400, 600)).toMatchObject({ accepted: true })
  expect(refund(401, 600)).toMatchObject({ refusal: 'DISPUTED' })
  expect(refund(1001, 0)).toMatchObject({ refusal: 'ABOVE_REFUNDABLE_AMOUNT' })
})

test('the named capture is disputed, or else the last successful one', () => {
  const failed = operationOf({ xId: xIdOf(4), sequence: 4, type: 'CAPTURE', state: 'FAILED' })
  const second = operationOf({ xId: xIdOf(3), sequence: 3, type: 'CAPTURE', state: 'OK' })
  const payment = paymentOf({ operations: [operationOf({}), capture, second, failed] })
  expect(findDisputedCapture(payment, capture.xId)?.xId).toBe(capture.xId)
  expect(findDisputedCapture(payment, failed.xId)?.xId).toBe(second.xId)
  expect(findDisputedCapture(payment, undefined)?.xId).toBe(second.xId)
  expect(findDisputedCapture(paymentOf(), undefined)).toBeUndefined()
})

test('ids of disputes are recognised, and other texts are not', () => {
  expect(parseDisputeId(disputeId)).toBe(disputeId)
  for (const text of ['dsp_', 'x', `dsp_${'G'.repeat(32)}`]) expect(parseDisputeId(text)).toBeUndefined()
})
