/** Faults that a developer orders: rules per merchant and operation, each for a number of times. */
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

/** The simulator's view of the faults, shared by all processes. */
export interface OrderedFaults {
  /** Decides with the merchant's rules, which are locked meanwhile. Immediate if there are none. */
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
  /** Uses the first rule that matches the operation once, if there is one; with `only`, if it is of that kind. */
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

/** Where the rules of all processes are stored. */
export interface FaultStore {
  /** The merchants that have rules. */
  listMerchants(): Promise<readonly string[]>
  read(merchantId: MerchantId): Promise<readonly FaultRule[]>
  /** Replaces the rules by the result of `change`; they are locked meanwhile. */
  change<T>(
    merchantId: MerchantId,
    change: (rules: readonly FaultRule[]) => { readonly rules: readonly FaultRule[]; readonly result: T },
  ): Promise<T>
}

export interface SharedFaults extends OrderedFaults {
  /** Reads again which merchants have rules. */
  load(): Promise<void>
}

/** For merchants without rules; whoever decides only takes rules. */
const noFaults = createFaultBook()

/** `announce` makes all processes load again: from then on none of them serves a payment without the new rule. */
export function shareFaults(store: FaultStore, announce: () => Promise<void>): SharedFaults {
  let owners: ReadonlySet<string> = new Set()
  let begun = 0
  let newest = 0

  /** Of two at the same time the one that began later has read what is newer, whichever ends first. */
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
