/**
 * The worker that applies notices from the inbox. Each item is retried until it is applied: when a process dies, its
 * lease expires and another process takes over, and applying an item twice has one effect. Unmatched items are retried
 * too, because a notice may arrive before the answer to its request.
 */
import type { NoticeItem } from '#connectors/contract.ts'
import type { MerchantId } from '#domain/ids.ts'
import { type Gate, openGate } from '#operations/merchants/gate.ts'
import { readStoredItem } from '#providers/inbox.ts'
import type { ClaimedItem, NoticeStore } from '#storage/providers/notices.ts'
import type { RecordVault } from '#vault/sealed-records.ts'

/** `unmatched`: the item matches none of our operations, or not yet. */
export type Applied = 'applied' | 'repeated' | 'unmatched' | 'ignored'

/** An unmatched item that needs an operator, and what they must do. The text is passed to the next try. */
interface NeedsPerson {
  readonly needsPerson: string
}

export type ApplyNotice = (
  account: {
    readonly merchantId: MerchantId
    readonly accountId: string
    readonly needsPerson?: string | null
    readonly attempt?: number
  },
  item: NoticeItem,
) => Promise<Applied | NeedsPerson>

/** The item cannot be applied before the wait that the provider has asked for is over. */
export class NotNow extends Error {
  readonly waitMs: number

  constructor(message: string, waitMs: number) {
    super(message)
    this.waitMs = waitMs
  }
}

export interface NoticeWorker {
  /** Applies the due items and returns their number. It does not wait for accounts whose provider is slow. */
  runDue(): Promise<number>
  /** Waits for the accounts that take long. Returns whether there were any, whose other items may be due. */
  finish(): Promise<boolean>
}

export interface NoticeWorkerDeps {
  readonly store: NoticeStore
  readonly vault: RecordVault
  readonly apply: ApplyNotice
  readonly onApplied: (result: Applied | 'failed') => void
  readonly onError: (error: unknown) => void
  readonly gate?: Gate | undefined
  /** Called between the effect and marking it as done. For tests that let the process die. */
  readonly testCrash?: (point: 'afterApply') => void | Promise<void>
}

/**
 * 12 s, so that another process takes over the work of a dead one within 15 s. An item that takes longer may be applied
 * by two processes, which has one effect.
 */
const leaseMs = 12_000

/** 20 items per claim. Each item's lease is renewed before it is applied, so all are finished within their leases. */
const chunk = 20

/** 250 ms: time for all items of a chunk, unless an account waits for an answer of its provider. */
const patienceMs = 250

/** 50: each holds a call to a provider. With more, all accounts wait until one has ended. */
const slowMax = 50

/** 1 s to 15 min, for answers that arrive after their notice; then hourly, for payments that arrive much later. */
const retrySeconds = [1, 2, 5, 10, 30, 60, 300, 900]
const laterSeconds = 3_600
/**
 * After a day of that, what fits nothing is tried daily. It belongs to another system with the same account at the provider:
 * the notices of 90 days, each tried hourly, would keep a worker from those of our payments.
 */
const hourlyTries = 24
const foreignSeconds = 86_400

/** How long raw notices are kept. */
export const keptDays = 90

export function createNoticeWorker(deps: NoticeWorkerDeps): NoticeWorker {
  const { store, gate = openGate } = deps

  async function read(item: ClaimedItem): Promise<NoticeItem | undefined> {
    const sealed = await store.findSealed(item)
    if (!sealed) return undefined
    const record = { recordId: item.noticeId, ...sealed }
    const plain = await deps.vault.open('provider notice', item.merchantId, record)
    return readStoredItem(plain.toString(), item.position)
  }

  async function runOne(item: ClaimedItem): Promise<void> {
    if (!(await store.renew(item, leaseMs))) return
    const found = await read(item)
    if (!found) return store.finish(item, 'EXPIRED', 'the raw notice is no longer kept')
    const applied = await deps.apply(item, found)
    const result = typeof applied === 'string' ? applied : 'unmatched'
    const detail = typeof applied === 'string' ? undefined : applied.needsPerson
    await deps.testCrash?.('afterApply')
    deps.onApplied(result)
    if (result === 'unmatched')
      await store.postpone(item, { state: 'UNMATCHED', afterMs: unmatchedPauseMs(item.attempt), detail })
    else await store.finish(item, states[result])
  }

  async function runSafely(item: ClaimedItem): Promise<void> {
    const leave = gate(item.merchantId)
    if (!leave) return
    try {
      await runOne(item)
    } catch (error) {
      deps.onApplied('failed')
      deps.onError(error)
      const detail = error instanceof Error ? error.message : String(error)
      // If even this fails, the lease expires and the item becomes due again.
      const afterMs = Math.max(pauseMs(item.attempt), error instanceof NotNow ? error.waitMs : 0)
      await store.postpone(item, { state: 'PENDING', afterMs, detail }).catch(deps.onError)
    } finally {
      leave()
    }
  }

  const underWay = new Map<string, Promise<void>>()
  /** Whether the last claim left out accounts. They may end before anybody waits for them. */
  let leftSomeOut = false

  /** One after the other: a provider's notices build on each other. */
  async function runAccount(accountId: string, items: readonly ClaimedItem[]): Promise<void> {
    for (const item of items) await runSafely(item)
    underWay.delete(accountId)
  }

  return {
    async runDue() {
      if (underWay.size >= slowMax) await Promise.race(underWay.values())
      leftSomeOut = underWay.size > 0
      const claimed = await store.claim(chunk, leaseMs, [...underWay.keys()])
      const byAccount = Map.groupBy(claimed, ({ accountId }) => accountId)
      for (const [accountId, items] of byAccount) underWay.set(accountId, runAccount(accountId, items))
      await waitAtMost(
        [...byAccount.keys()].map(accountId => underWay.get(accountId)),
        patienceMs,
      )
      return claimed.length
    },
    async finish() {
      const mayBeMore = leftSomeOut || underWay.size > 0
      await Promise.all(underWay.values())
      return mayBeMore
    },
  }
}

async function waitAtMost(work: readonly (Promise<void> | undefined)[], milliseconds: number): Promise<void> {
  const patience = Promise.withResolvers<void>()
  const timer = setTimeout(patience.resolve, milliseconds)
  await Promise.race([Promise.all(work), patience.promise])
  clearTimeout(timer)
}

const states = { applied: 'APPLIED', repeated: 'REPEATED', ignored: 'IGNORED' } as const

const pauseMs = (attempt: number): number => (retrySeconds[attempt] ?? laterSeconds) * 1_000

const unmatchedPauseMs = (attempt: number): number =>
  attempt < retrySeconds.length + hourlyTries ? pauseMs(attempt) : foreignSeconds * 1_000
