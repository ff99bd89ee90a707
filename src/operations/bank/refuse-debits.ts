/** Payments that no file can hold: a mandate that has ended or lapsed, an account that was destroyed. They have failed. */
import type { Outcome } from '#lifecycle/outcome.ts'
import type { BankAccount } from '#operations/bank/bank.ts'
import type { Refusal } from '#operations/bank/make-batch.ts'
import type { Engine } from '#operations/engine.ts'
import { recordOutcome } from '#operations/payments/record-outcome.ts'

export async function refuseDebits(
  { merchantId, merchant }: BankAccount,
  refusals: readonly Refusal[],
  engine: Engine,
): Promise<void> {
  for (const { payment: queued, detail } of refusals) {
    const { payId, xId, amount } = queued
    const payment = await engine.payments.byPayId(merchantId, payId)
    if (payment) {
      const echo = { reference: xId, amount: { value: amount, currency: payment.amount.currency } }
      const outcome: Outcome = { kind: 'declined', detail, provider: { echo } }
      await recordOutcome({ merchant, payment, xId, outcome, unattended: true }, engine)
    }
    // After the outcome: a crash in between leaves the row, and the next batch comes here again.
    await engine.commit({ dropTimers: [{ merchantId, payId, xId, kind: 'BATCH' }] })
  }
}
