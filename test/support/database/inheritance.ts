/**
 * A process that will die and one that takes over its work, on one database and with one provider whose ledger is the
 * truth. For the crash matrices: every operation, every gap between two writes, every behaviour of the provider.
 */
import { expect } from 'vitest'
import { examine } from '#storage/doctor/doctor.ts'
import { createTestClock, secondMs } from '#test/support/clock.ts'
import { type Crash, type CrashName, createCrash } from '#test/support/database/crash.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { type Acquirer, createAcquirer, type Fault } from '#test/support/providers/acquirer.ts'
import { openShop, type Shop } from '#test/support/shop.ts'
import { findBrokenRules } from '#test/support/simulation/invariants.ts'

export const lucks = ['approved', 'declined', 'lost answer', 'never arrives'] as const
export type Luck = (typeof lucks)[number]

export const faultOf: Partial<Record<Luck, Fault>> = {
  'lost answer': 'lost_answer',
  'never arrives': 'lost_request',
}

/**
 * An operation that never reached the provider has failed; one that the provider did is approved, even if its answer
 * was lost.
 */
export const isApproved = (point: CrashName, luck: Luck): boolean =>
  point !== 'afterRecord' && (luck === 'approved' || luck === 'lost answer')

export interface Inheritance {
  readonly acquirer: Acquirer
  readonly crash: Crash
  readonly dying: TestGateway
  readonly heir: TestGateway
  readonly shop: Shop
  /** Time passes for one process, or for both. */
  pass(milliseconds: number, whom?: 'dying' | 'heir'): void
  /** The heir finds the open operations, and inquires about them. */
  inherit(): Promise<void>
  /** Stops both processes; fails if a rule is broken or the doctor finds anything. */
  close(): Promise<void>
}

export async function openInheritance(): Promise<Inheritance> {
  // Each process has its own clock, so that only the dying one finds a timer due.
  const clocks = { dying: createTestClock(), heir: createTestClock() }
  const acquirer = createAcquirer()
  const crash = createCrash()
  const { connectors } = acquirer
  const dying = await startTestGateway({ clock: clocks.dying, connectors, testCrash: crash.testCrash })
  const heir = await startTestGateway({ clock: clocks.heir, connectors, beside: dying })
  const pass: Inheritance['pass'] = (milliseconds, whom) => {
    for (const name of whom ? [whom] : (['dying', 'heir'] as const)) clocks[name].move(milliseconds)
  }
  return {
    acquirer,
    crash,
    dying,
    heir,
    shop: await openShop(heir),
    pass,
    async inherit() {
      acquirer.heal()
      await heir.gateway.settleWorker.recover(new Date(Date.now() + secondMs))
      pass(10 * secondMs)
      while ((await heir.gateway.timerWorker.runDue()) > 0);
    },
    async close() {
      expect(await findBrokenRules(heir.databaseUrl)).toEqual({})
      expect((await examine(heir.databaseUrl)).filter(({ found }) => found > 0)).toEqual([])
      await heir.stop()
      await dying.stop()
    },
  }
}
