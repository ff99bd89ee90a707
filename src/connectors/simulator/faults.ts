/** Fault injection for developers: rules per merchant and operation, each for a number of uses. */
import type { MerchantId } from '#domain/ids.ts'
import type { OperationType } from '#lifecycle/payment.ts'

export type FaultKind = 'decline' | 'delay' | 'lost_request' | 'lost_answer' | 'error'

export interface FaultRule {
  readonly operation: OperationType | '*'
  readonly fault: FaultKind
  /** The two-digit decline code; 05 by default. */
  readonly code?: string
  readonly delayMs?: number
  readonly times: number
}

/** The fault rules as the simulator uses them, shared by all processes. */
export interface OrderedFaults {
  /** Calls `decide` with the merchant's rules, which are locked meanwhile. Synchronous if there are none. */
  use<T>(merchantId: MerchantId, decide: (book: FaultBook) => T): T | Promise<T>
  add(merchantId: MerchantId, rule: FaultRule): Promise<void>
  list(merchantId: MerchantId): Promise<readonly FaultRule[]>
  clear(merchantId: MerchantId): Promise<void>
}

/** Rules in memory. */
export interface FaultBook {
  use<T>(merchantId: MerchantId, decide: (book: FaultBook) => T): T
  add(merchantId: MerchantId, rule: FaultRule): void
  list(merchantId: MerchantId): readonly FaultRule[]
  clear(merchantId: MerchantId): void
  /** Uses up one use of the first rule for the operation; with `only`, not unless that rule is of this kind. */
  take(merchantId: MerchantId, operation: OperationType, only?: FaultKind): FaultRule | undefined
}

export function createFaultBook(): FaultBook {
  const rules = new Map<MerchantId, FaultRule[]>()
  const book: FaultBook = {
    use: (_, decide) => decide(book),
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
  return book
}

/** The database table of the rules. */
export interface FaultStore {
  /** The merchants that have rules. */
  listMerchants(): Promise<readonly string[]>
  read(merchantId: MerchantId): Promise<readonly FaultRule[]>
  /** Replaces the rules by the result of `change`, under a lock. */
  change<T>(
    merchantId: MerchantId,
    change: (rules: readonly FaultRule[]) => { readonly rules: readonly FaultRule[]; readonly result: T },
  ): Promise<T>
}

export interface SharedFaults extends OrderedFaults {
  /** Reloads the merchants that have rules. */
  load(): Promise<void>
}

/** For merchants without rules. It can be shared, because `decide` only takes rules and never adds one. */
const noFaults = createFaultBook()

/** `announce` makes all processes reload. Once it resolves, none of them serves a payment without the new rule. */
export function shareFaults(store: FaultStore, announce: () => Promise<void>): SharedFaults {
  let owners: ReadonlySet<string> = new Set()
  let begun = 0
  let newest = 0

  /** Of two concurrent loads, the one that began later has the newer data, even if it ends first. */
  async function load(): Promise<void> {
    begun += 1
    const turn = begun
    const read = new Set(await store.listMerchants())
    if (turn < newest) return
    newest = turn
    owners = read
  }

  async function lookUp<T>(merchantId: MerchantId, decide: (book: FaultBook) => T): Promise<T> {
    let isUsedUp = false
    const decided = await store.change(merchantId, rules => {
      isUsedUp = rules.length === 0
      const book = createFaultBook()
      for (const rule of rules) book.add(merchantId, rule)
      const result = decide(book)
      return { rules: book.list(merchantId), result }
    })
    if (isUsedUp) await load()
    return decided
  }

  return {
    load,
    // Payments of merchants without rules must not wait for the look-up.
    use: (merchantId, decide) => (owners.has(merchantId) ? lookUp(merchantId, decide) : decide(noFaults)),
    async add(merchantId, rule) {
      await store.change(merchantId, rules => ({ rules: [...rules, rule], result: undefined }))
      await announce()
    },
    list: merchantId => store.read(merchantId),
    async clear(merchantId) {
      await store.change(merchantId, () => ({ rules: [], result: undefined }))
      await announce()
    },
  }
}
