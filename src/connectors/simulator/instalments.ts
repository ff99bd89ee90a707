/**
 * Splits an amount into instalments as the simulated provider does: always the same ones for the same amount and day.
 */
import type { InstalmentPlan } from '#connectors/contract.ts'
import type { Money } from '#domain/money/money.ts'
import { dayOf, nextDueDay } from '#domain/time/calendar.ts'
import type { Method } from '#methods/rows.ts'

/** 3: the plan that most providers offer for a small basket. */
const partsMax = 3

/** Monthly instalments without interest, from a month after the purchase. The first one includes the remainder. */
export function planInstalments(method: Method, amount: Money, at: Date): InstalmentPlan | undefined {
  // The smallest unit cannot be divided, and an amount of zero has no instalments.
  const count = Math.min(partsMax, amount.value)
  if (method.family !== 'instalment' || count < 1) return undefined
  const rest = amount.value % count
  const each = (amount.value - rest) / count
  const bought = dayOf(at)
  const instalments: { dueDate: string; value: number }[] = []
  let last = bought
  while (instalments.length < count) {
    const dueDate = nextDueDay({ anchor: bought, frequency: 'MONTHLY' }, last)
    // The due date lies beyond the supported calendar.
    if (dueDate === undefined) return undefined
    instalments.push({ dueDate, value: instalments.length === 0 ? each + rest : each })
    last = dueDate
  }
  return { currency: amount.currency, instalments, cost: 0, total: amount.value }
}
