/** An approval of a part only: nobody asked for it, so it is undone and counts as declined. */
import type { Connector, Inquiry } from '#connectors/contract.ts'
import type { CustomerActionOutcome, Outcome } from '#lifecycle/outcome.ts'
import type { Engine } from '#operations/engine.ts'
import { callForOutcome, type Question } from '#operations/payments/call-provider.ts'

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
export async function undoPart(inquiry: Inquiry, connector: Connector, engine: Engine): Promise<Outcome> {
  const { operation, reference, amount } = inquiry
  const question = { operation, reference, amount }
  const message = `${operation} was approved in part only`
  engine.onAlarm({ code: 'PARTIAL_APPROVAL', message, xId: reference })
  const { undo } = connector
  if (!undo) return { kind: 'unknown' }
  const context = { question, timeoutMs: connector.facts.timeoutMs, engine }
  const undone = await callForOutcome((_, signal) => undo(inquiry, signal), context)
  return undone.kind === 'declined' ? { ...undone, detail: partOnly } : { kind: 'unknown' }
}
