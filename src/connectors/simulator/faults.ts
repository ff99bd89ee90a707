/** Fault injection for developers: rules per merchant and operation, each for a number of uses. */
import { isDeepStrictEqual } from 'node:util'
import type { MerchantId, XId } from '#domain/ids.ts'
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

/** An operation that may use up faults. */
export interface FaultUser {
  readonly merchantId: MerchantId
  readonly reference: XId
}

/** The fault rules as the simulator uses them, shared by all processes. */
export interface OrderedFaults {
  /** Calls `decide` with the merchant's rules, which are locked meanwhile. Synchronous if there are none. */
  use<T>(user: FaultUser, decide: (book: FaultBook) => T): T | Promise<T>
  /** Puts back what an operation has used up that was not recorded after all. */
  giveBack(user: FaultUser): Promise<void>
  add(merchantId: MerchantId, rule: FaultRule): Promise<void>
  list(merchantId: MerchantId): Promise<readonly FaultRule[]>
  clear(merchantId: MerchantId): Promise<void>
}

/** Rules in memory. */
export interface FaultBook {
  use<T>(user: FaultUser, decide: (book: FaultBook) => T): T
  /** The uses that `take` has used up so far. */
  readonly taken: readonly Taken[]
  add(merchantId: MerchantId, rule: FaultRule): void
  list(merchantId: MerchantId): readonly FaultRule[]
  clear(merchantId: MerchantId): void
  /** Uses up one use of the first rule for the operation; with `only`, not unless that rule is of this kind. */
  take(merchantId: MerchantId, operation: OperationType, only?: FaultKind): FaultRule | undefined
}

/** One use of a rule, and where the rule stood. */
interface Taken {
  readonly rule: FaultRule
  readonly index: number
}

export function createFaultBook(): FaultBook {
  const rules = new Map<MerchantId, FaultRule[]>()
  const taken: Taken[] = []
  const book: FaultBook = {
    taken,
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
      taken.push({ rule: { ...rule, times: 1 }, index })
      return rule
    },
  }
  return book
}

/** The rules as they were before these uses, each at its place: the last use is undone first. */
export function putBack(rules: readonly FaultRule[], taken: readonly Taken[]): readonly FaultRule[] {
  const restored = [...rules]
  for (const { rule, index } of taken.toReversed()) {
    const there = restored[index]
    if (there && isDeepStrictEqual({ ...there, times: 1 }, rule))
      restored[index] = { ...there, times: there.times + 1 }
    else restored.splice(index, 0, rule)
  }
  return restored
}

/** So many operations are remembered with what they have used up; the requests that may give it back last seconds. */
const maximumRemembered = 1_000

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
  const used = new Map<XId, readonly Taken[]>()

  /** Of two concurrent loads, the one that began later has the newer data, even if it ends first. */
  async function load(): Promise<void> {
    begun += 1
    const turn = begun
    const read = new Set(await store.listMerchants())
    if (turn < newest) return
    newest = turn
    owners = read
  }

  function remember(reference: XId, taken: readonly Taken[]): void {
    used.set(reference, taken)
    for (const oldest of used.keys()) if (used.size > maximumRemembered) used.delete(oldest)
  }

  async function lookUp<T>({ merchantId, reference }: FaultUser, decide: (book: FaultBook) => T): Promise<T> {
    let isUsedUp = false
    let taken: readonly Taken[] = []
    const decided = await store.change(merchantId, rules => {
      isUsedUp = rules.length === 0
      const book = createFaultBook()
      for (const rule of rules) book.add(merchantId, rule)
      const result = decide(book)
      taken = book.taken
      return { rules: book.list(merchantId), result }
    })
    if (isUsedUp) await load()
    if (taken.length > 0) remember(reference, taken)
    return decided
  }

  return {
    load,
    // Payments of merchants without rules must not wait for the look-up.
    use: (user, decide) => (owners.has(user.merchantId) ? lookUp(user, decide) : decide(noFaults)),
    async giveBack({ merchantId, reference }) {
      const taken = used.get(reference)
      if (!taken || !used.delete(reference)) return
      await store.change(merchantId, rules => ({ rules: putBack(rules, taken), result: undefined }))
      await announce()
    },
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
