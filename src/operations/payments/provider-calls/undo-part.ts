/** Undoes approvals at the provider that the merchant did not request: partial ones, and those of an abandoned try. */
import type { Inquiry } from '#connectors/contract.ts'
import type { OpenedAccount } from '#connectors/directory.ts'
import type { CustomerActionOutcome, Outcome } from '#lifecycle/outcome.ts'
import type { Engine } from '#operations/engine.ts'
import { callForOutcome, type Question } from '#operations/payments/provider-calls/call-provider.ts'

type Undoing = Pick<OpenedAccount, 'connector' | 'waitMs'>

/** 05, do not honour: the issuer did not approve the requested amount. */
const partOnly = '0305'

/** Whether our request was approved with less than the requested amount. */
export function isPart(outcome: Outcome | CustomerActionOutcome, { reference, amount }: Question): boolean {
  if (outcome.kind !== 'approved') return false
  const { echo } = outcome.provider
  return (
    echo.reference === reference &&
    echo.amount.currency === amount.currency &&
    echo.amount.value < amount.value
  )
}

/** Unknown if the provider cannot undo it now: inquiries follow, and the partial approval never counts as paid. */
export async function undoPart(inquiry: Inquiry, account: Undoing, engine: Engine): Promise<Outcome> {
  const message = `the provider approved only a part of ${inquiry.operation}; it is asked to undo that`
  engine.onAlarm({ code: 'PARTIAL_APPROVAL', message, xId: inquiry.reference })
  const undone = await undo(inquiry, account, engine)
  return undone.kind === 'declined' ? { ...undone, detail: partOnly } : { kind: 'unknown' }
}

/** Undoes a second payment for the same order. Unknown if the provider cannot undo it: then an operator must act. */
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
