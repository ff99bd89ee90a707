/** What a developer breaks on purpose: rules per merchant and operation, each used up after so many times. In memory. */
import type { MerchantId } from '#domain/ids.ts'
import type { OperationType } from '#lifecycle/payment.ts'

export type FaultKind = 'decline' | 'delay' | 'lost_request' | 'lost_answer' | 'error'

export interface FaultRule {
  readonly operation: OperationType | '*'
  readonly fault: FaultKind
  /** Two digits of the decline; 05 unless given. */
  readonly code?: string
  readonly delayMs?: number
  readonly times: number
}

export interface FaultBook {
  add(merchantId: MerchantId, rule: FaultRule): void
  list(merchantId: MerchantId): readonly FaultRule[]
  clear(merchantId: MerchantId): void
  /** Uses up one time of the first rule that fits the operation, if any; with `only`, if it is of that kind. */
  take(merchantId: MerchantId, operation: OperationType, only?: FaultKind): FaultRule | undefined
}

export function createFaultBook(): FaultBook {
  const rules = new Map<MerchantId, FaultRule[]>()
  return {
    add(merchantId, rule) {
      rules.set(merchantId, [...(rules.get(merchantId) ?? []), rule])
    },
    list: merchantId => rules.get(merchantId) ?? [],
    clear: merchantId => void rules.delete(merchantId),
    take(merchantId, operation, only) {
      const mine = rules.get(merchantId)
      const index = mine?.findIndex(rule => rule.operation === '*' || rule.operation === operation) ?? -1
      const rule = mine?.[index]
      if (!mine || !rule || (only && rule.fault !== only)) return undefined
      if (rule.times > 1) mine[index] = { ...rule, times: rule.times - 1 }
      else mine.splice(index, 1)
      return rule
    },
  }
}
