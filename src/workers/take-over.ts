/**
 * Takes over the operations that dead processes have sent and not settled, each provider account by itself: an account
 * that hangs delays neither the others nor the work of the next process that dies.
 */
import type { Orphan, OrphanAccount, WorkFinder } from '#storage/payments/unanswered.ts'

export interface TakeOver {
  /** Begins with the accounts that are not under way yet. Returns whether nothing is left of these processes. */
  takeOver(dead: readonly number[]): Promise<boolean>
  /** Waits for the accounts that are under way. */
  finish(): Promise<void>
}

export interface TakeOverDeps {
  readonly work: Pick<WorkFinder, 'releaseTimersOf' | 'findOrphansOf' | 'findOrphanAccountsOf'>
  /** Returns false if it has to be tried again. Never rejects. */
  readonly settle: (orphan: Orphan) => Promise<boolean>
  /** Called when the operations of an account could not be read; the next call tries again. */
  readonly onError: (error: unknown) => void
  /** How many operations of one account are settled at once. */
  readonly chunk: number
}

export function createTakeOver({ work, settle, onError, chunk }: TakeOverDeps): TakeOver {
  /** By the name of the account. */
  const underWay = new Map<string, Promise<void>>()

  async function settleAll(dead: readonly number[], account: OrphanAccount): Promise<void> {
    for (;;) {
      const orphans = await work.findOrphansOf(dead, account, chunk)
      const results = await Promise.all(orphans.map(settle))
      if (results.includes(false) || orphans.length < chunk) return
    }
  }

  return {
    async takeOver(dead) {
      await work.releaseTimersOf(dead)
      const found = await work.findOrphanAccountsOf(dead)
      for (const account of found) {
        const name = `${account.merchantId} ${account.account ?? ''}`
        if (underWay.has(name)) continue
        const done = settleAll(dead, account)
          .catch(onError)
          .finally(() => underWay.delete(name))
        underWay.set(name, done)
      }
      return found.length === 0
    },

    async finish() {
      await Promise.all(underWay.values())
    },
  }
}
