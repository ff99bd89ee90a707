/**
 * Creates the services of this folder for a running gateway: opened accounts, the inbox, and the worker that applies
 * notices.
 */
import type { Connector, ConnectorDefinition } from '#connectors/contract.ts'
import { definitions as registered } from '#connectors/registry.ts'
import type { Gate } from '#operations/merchants/gate.ts'
import { newId } from '#operations/merchants/open-merchants.ts'
import {
  type Applied,
  type ApplyNotice,
  createNoticeWorker,
  keptDays,
  type NoticeWorker,
} from '#providers/apply-notices.ts'
import { type AccountDirectory, createDirectory } from '#providers/directory.ts'
import { createInbox, type Inbox, type InboxDeps, type Verdict } from '#providers/inbox.ts'
import { openProviderHttp, toolsOf } from '#providers/open-providers.ts'
import { createApplyReport } from '#providers/settlements.ts'
import type { Database } from '#storage/database.ts'
import { createProviderAccountStore } from '#storage/providers/accounts.ts'
import { createNoticeStore } from '#storage/providers/notices.ts'
import { createSettlementStore } from '#storage/providers/settlements.ts'
import { createVaultStore } from '#storage/vault/vault-store.ts'
import { createKeyRing } from '#vault/key-ring.ts'
import { createRecordVault, type RecordVault } from '#vault/sealed-records.ts'

/** Points between two writes at which tests let the process crash. */
export type NoticeCrashPoint = (point: 'beforeStore' | 'afterStore' | 'afterApply') => void | Promise<void>

export interface ProviderParts {
  readonly environment: 'test' | 'live'
  readonly database: Database
  readonly masterKey: Parameters<typeof createKeyRing>[0]
  /** Serves test merchants without accounts. */
  readonly simulator?: Connector
  /** For tests: providers other than the registered ones. */
  readonly definitions?: readonly ConnectorDefinition[]
  readonly nowMs: () => number
  /** The gateway's clock. */
  readonly clockMs: () => number
  readonly onVerdict: (verdict: Verdict) => void
  readonly onApplied: (result: Applied | 'failed') => void
  readonly onError: (error: unknown) => void
  readonly testCrash?: NoticeCrashPoint
}

export interface RunningProviders {
  readonly directory: AccountDirectory
  readonly inbox: Inbox
  readonly vault: RecordVault
  readonly applyReport: ReturnType<typeof createApplyReport>
  /** Starts the worker that applies notices; `wake` runs it at once. */
  startApplying(
    apply: ApplyNotice,
    gate?: Gate,
  ): { wake(): void; runDue(): Promise<void>; stop(): Promise<void> }
  /** Erases notices whose retention has ended. */
  expire(): Promise<void>
  close(): Promise<void>
}

export function createProviders(parts: ProviderParts): RunningProviders {
  const { environment, database, nowMs, testCrash, onVerdict } = parts
  const definitions = parts.definitions ?? registered
  const http = openProviderHttp(environment)
  const vault = createRecordVault(createKeyRing(parts.masterKey, createVaultStore(database)))
  const notices = createNoticeStore(database)
  const directory = createDirectory({
    environment,
    definitions,
    store: createProviderAccountStore(database),
    vault,
    tools: toolsOf(http, environment),
    simulator: parts.simulator,
    nowMs,
    clockMs: parts.clockMs,
  })
  const inbox: InboxDeps = { directory, store: notices, vault, newId, onVerdict, testCrash }
  return {
    directory,
    inbox: createInbox(inbox),
    vault,
    applyReport: createApplyReport({ directory, store: createSettlementStore(database) }),
    startApplying: (apply, gate) =>
      keepRunning(createNoticeWorker({ ...parts, store: notices, vault, apply, gate }), parts),
    expire: () => notices.expire(keptDays),
    close: () => http.close(),
  }
}

/** One run at a time. A wake-up during a run starts another run after it, even if the run fails. */
export function keepRunning(
  worker: NoticeWorker,
  { onError }: Pick<ProviderParts, 'onError'>,
): { wake(): void; runDue(): Promise<void>; stop(): Promise<void> } {
  let running: Promise<void> | undefined
  let again = false
  let stopped = false
  async function run(): Promise<void> {
    do {
      again = false
      try {
        while (!stopped && (await worker.runDue()) > 0);
      } catch (error) {
        onError(error)
      }
    } while (again && !stopped)
    // Synchronous with the check of `again`; otherwise a wake-up in between would be lost.
    running = undefined
  }
  function wake(): void {
    again = true
    if (running || stopped) return
    running = run()
  }
  return {
    wake,
    async runDue() {
      do {
        wake()
        await running
      } while (await worker.finish())
    },
    async stop() {
      stopped = true
      await running
      await worker.finish()
    },
  }
}
