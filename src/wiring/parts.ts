/** The inputs of the wiring: the options of an embedder, and the parts that the wiring passes around. */

import type { ConnectorDefinition } from '#connectors/contract.ts'
import type { ProviderDirectory } from '#connectors/directory.ts'
import type { OrderedFaults } from '#connectors/simulator/faults.ts'
import type { MerchantId } from '#domain/ids.ts'
import type { CountExchange } from '#http/authentication/shared-counts.ts'
import type { TlsOptions } from '#http/server/certificate.ts'
import type { TrustedProxies } from '#http/server/client-address.ts'
import type { HttpLimits } from '#http/server/limits.ts'
import type { Logger } from '#http/telemetry/log.ts'
import type { Metrics } from '#http/telemetry/metrics.ts'
import type { Bank } from '#operations/bank/bank.ts'
import type { StoredMethods } from '#operations/customers/stored-methods.ts'
import type { Clock, CrashPoint } from '#operations/engine.ts'
import type { ApplyNotice } from '#providers/apply-notices.ts'
import type { NoticeCrashPoint } from '#providers/create-providers.ts'
import type { CellAddress } from '#storage/cells/address.ts'
import type { Database } from '#storage/database.ts'
import type { MerchantStore } from '#storage/merchants.ts'
import type { Presence } from '#storage/processes/presence.ts'
import type { DerivedKeys } from '#vault/key-ring.ts'
import type { MasterKey, MasterRing } from '#vault/master-key.ts'
import type { Sender } from '#webhooks/send.ts'

export interface GatewayOptions {
  readonly environment: 'test' | 'live'
  /** A database that has been migrated. */
  readonly databaseUrl: string
  /** The cells other than cell 0, which is the database above; none unless given. */
  readonly cells?: readonly CellAddress[] | undefined
  /** Returns the current cells, including cell 0; called when one may have been added. */
  readonly findCells?: (() => Promise<readonly CellAddress[]>) | undefined
  /**
   * One key, or a ring that is read again when a key is unknown, because the master key may be changed while we run.
   */
  readonly masterKey: MasterKey | MasterRing
  readonly listen?: { readonly host: string; readonly port: number }
  readonly tls?: TlsOptions | undefined
  /** Proxies in front that terminate TLS: their number, or their addresses and networks. */
  readonly trustedProxies?: TrustedProxies | undefined
  /** The address for reports of vulnerabilities, for security.txt. */
  readonly securityContact?: string | undefined
  /** Whether webhooks of the test environment may be sent to this machine itself; true unless given. */
  readonly loopbackWebhooks?: boolean | undefined
  /** The public origin; the listening address unless given. */
  readonly publicUrl?: string
  readonly logLevel?: string
  readonly logDestination?: { write(line: string): void }
  /** For tests and embedders: another clock, other providers, a process that dies at a named point. */
  readonly clock?: Clock
  readonly providers?: ProviderDirectory
  readonly testCrash?: CrashPoint
  readonly testBankCrash?: Bank['testCrash']
  /** The markup of a quote (DCC) on the published rate, in percent with two decimals; 3.00 unless given. */
  readonly dccMarkup?: string
  /** The delay of the simulator's answers; 0 unless given. Live has no simulator. */
  readonly simulatorLatencyMs?: number
  /** Customers' stored cards, for the account updater; none unless given. */
  readonly storedMethods?: StoredMethods
  readonly sender?: Sender
  /** The number of this process among those behind the port; it is the only one unless given. */
  readonly worker?: number
  /** The number of processes behind the port; 1 unless given. */
  readonly workers?: number
  /** Collects the metrics of all processes behind the port; those of this process unless given. */
  readonly collectMetrics?: () => Promise<string>
  /** Whether the console is served; on unless given. */
  readonly console?: 'on' | 'off'
  /** A separate port for the console; the gateway's port unless given. */
  readonly consolePort?: number | undefined
  /** For tests and embedders: connectors other than the registered ones, and how their notices are handled. */
  readonly definitions?: readonly ConnectorDefinition[]
  readonly applyNotice?: ApplyNotice
  readonly noticeCrash?: NoticeCrashPoint
  /** For tests: the timeout for a database that does not answer. */
  readonly databaseSilenceMs?: number
  /** For tests: limits of the HTTP server that replace the defaults. */
  readonly httpLimits?: Partial<HttpLimits>
  /** For tests: whether this process still counts as alive. */
  readonly isAlive?: () => boolean
  /** For tests: how often other processes may have taken this one for dead. */
  readonly countInterruptions?: () => number
  /** For tests that move the clock: they run due timers themselves, and no background loop runs any. */
  readonly timersByHand?: boolean
}

export interface Parts {
  readonly database: Database
  readonly keys: DerivedKeys
  readonly metrics: Metrics
  readonly logger: Logger
  readonly clock: Clock
  readonly options: GatewayOptions
  readonly faults: OrderedFaults
  /** Called after a commit that held events. */
  readonly onEvents: () => void
  readonly presence: Presence
  /** The counts of other processes against the shared rate limits. */
  readonly counts: CountExchange
}

export const findMerchantIn = (store: MerchantStore) => async (merchantId: MerchantId) =>
  (await store.find(merchantId))?.merchant
