/** Undoes approvals at the provider that the merchant did not request: of a part of the amount, or of an abandoned try. */
import type { Inquiry } from '#connectors/contract.ts'
import type { OpenedAccount } from '#connectors/directory.ts'
import type { CustomerActionOutcome, Outcome } from '#lifecycle/outcome.ts'
import type { Engine } from '#operations/engine.ts'
import { callForOutcome, type Question } from '#operations/payments/provider-calls/call-provider.ts'

type Undoing = Pick<OpenedAccount, 'connector' | 'waitMs'>

/** 05, do not honour: the issuer did not approve what was asked for. */
const partOnly = '0305'

/** Whether it is our request that was approved, with less than was asked for. */
export function isPart(outcome: Outcome | CustomerActionOutcome, { reference, amount }: Question): boolean {
  if (outcome.kind !== 'approved') return false
  const { echo } = outcome.provider
  return (
    echo.reference === reference &&
    echo.amount.currency === amount.currency &&
    echo.amount.value < amount.value
  )
}

/** Unknown where the provider cannot undo it, or not now: then it is found out later, and never counts as paid. */
export async function undoPart(inquiry: Inquiry, account: Undoing, engine: Engine): Promise<Outcome> {
  const message = `the provider approved only a part of ${inquiry.operation}; it is asked to undo that`
  engine.onAlarm({ code: 'PARTIAL_APPROVAL', message, xId: inquiry.reference })
  const undone = await undo(inquiry, account, engine)
  return undone.kind === 'declined' ? { ...undone, detail: partOnly } : { kind: 'unknown' }
}

/** A second payment for the same order. Unknown where the provider cannot undo it: then a person must look. */
export const undoExtra = (inquiry: Inquiry, account: Undoing, engine: Engine): Promise<Outcome> =>
  undo(inquiry, account, engine)

async function undo(inquiry: Inquiry, { connector, waitMs }: Undoing, engine: Engine): Promise<Outcome> {
  const { operation, reference, amount } = inquiry
  const { undo } = connector
  if (!undo) return { kind: 'unknown' }
  const question = { operation, reference, amount }
  const context = { question, timeoutMs: connector.facts.timeoutMs, waitMs, engine }
  return callForOutcome((_, signal) => undo(inquiry, signal), context)
}
