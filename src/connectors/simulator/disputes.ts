/**
 * Simulated disputes: captures of one test card are disputed after two days. Evidence with the word WIN wins, any other
 * loses, and the decision follows three weeks after the opening.
 */
import type { DisputeActions, Inquiry, Outcome } from '#connectors/contract.ts'
import type { XId } from '#domain/ids.ts'
import type { Money } from '#domain/money/money.ts'

const dayMs = 24 * 60 * 60 * 1000

/** Two days after the capture, as docs and test catalogue promise. */
const openedAfterMs = 2 * dayMs
const evidenceMs = 14 * dayMs
const decidedAfterMs = 21 * dayMs

/** Visa's code for card-absent fraud. */
const reasonCode = '10.4'

const winningWord = 'WIN'

const isDisputed = ({ kept }: Inquiry): boolean => kept?.laterDispute === true

/** The simulator accepts any response. A dispute is no operation, so its key stands in for the reference. */
const taken = (reference: string, amount: Money): Outcome => ({
  kind: 'approved',
  provider: { echo: { reference: reference as XId, amount } },
})

export const simulatedDisputes: DisputeActions = {
  accept: async ({ amount }, key) => taken(key, amount),
  submitEvidence: async ({ amount }, _, key) => taken(key, amount),
  keep: ({ text }) => ({ wins: text?.includes(winningWord) === true }),
  checkMs: capture => (isDisputed(capture) ? openedAfterMs : undefined),
  findOpened: async (capture, at) =>
    isDisputed(capture)
      ? {
          providerDisputeId: `simd${capture.reference.slice(-20)}`,
          stage: 'CHARGEBACK',
          status: 'OPEN',
          amount: capture.amount,
          reasonCode,
          reasonGroup: 'FRAUD',
          evidenceDueBy: new Date(at.getTime() + evidenceMs),
        }
      : undefined,
  decisionMs: decidedAfterMs,
  findDecision: async (dispute, { wins }) => ({
    ...dispute,
    status: dispute.status === 'UNDER_REVIEW' && wins === true ? 'WON' : 'LOST',
  }),
}
