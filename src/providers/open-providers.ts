/** Provider accounts for commands that run without a server: administration, checks, settlement import. */
import type { CheckFinding, ConnectorDefinition, ConnectorTools } from '#connectors/contract.ts'
import { createProviderHttp, type ProviderHttpPool } from '#connectors/http.ts'
import { definitions } from '#connectors/registry.ts'
import { type Actor, auditAs } from '#operations/audit/audit.ts'
import { newId } from '#operations/merchants/open-merchants.ts'
import { createProviderAdministration, type ProviderAdministration } from '#providers/administration.ts'
import { auditProviders } from '#providers/audited.ts'
import { createDirectory } from '#providers/directory.ts'
import { AccountFault, WrongSetting } from '#providers/settings.ts'
import { type Imported, importSettlement } from '#providers/settlements.ts'
import { createAuditStore } from '#storage/audit/audit.ts'
import { openDatabase } from '#storage/database.ts'
import { createInstallation } from '#storage/installation.ts'
import { createProviderAccountStore } from '#storage/providers/accounts.ts'
import { createNoticeStore, type NoticeStore } from '#storage/providers/notices.ts'
import {
  createSettlementStore,
  type Reconciliation,
  type SettlementRange,
} from '#storage/providers/settlements.ts'
import { createVaultStore } from '#storage/vault/vault-store.ts'
import { createKeyRing, openDerivedKeys } from '#vault/key-ring.ts'
import { createRecordVault } from '#vault/sealed-records.ts'
import { addressPolicies } from '#webhooks/policies.ts'
import { createResolve, guardLookup } from '#webhooks/resolve.ts'

export interface Providers extends ProviderAdministration {
  /** Makes one harmless call to the provider, with a time limit. */
  check(accountId: string): Promise<readonly CheckFinding[]>
  /** Runs the connector's fixed script of sandbox payments; empty if it has none. */
  checkPayments(accountId: string): Promise<readonly CheckFinding[]>
  listNotices: NoticeStore['list']
  importSettlement(wanted: { readonly accountId: string; readonly file: string }): Promise<Imported>
  reconcile(range: Omit<SettlementRange, 'merchantId'>): Promise<Reconciliation>
}

export interface ProviderOptions {
  readonly environment: 'test' | 'live'
  readonly databaseUrl: string
  /** The database of the audit trail. Defaults to `databaseUrl`. */
  readonly auditUrl?: string
  readonly masterKey: Parameters<typeof openDerivedKeys>[0]
  /** The origin at which providers reach us. */
  readonly origin: string
  /** The actor in the audit trail. */
  readonly actor: Actor
}

/** 20 s: the longest that one call to a provider may take. */
const checkMs = 20_000
/** The script makes about ten calls. */
const paymentsMs = 10 * checkMs

export async function openProviders(
  options: ProviderOptions,
): Promise<{ readonly providers: Providers; close(): Promise<void> }> {
  const { environment, masterKey } = options
  let broken: Error | undefined
  const database = openDatabase(options.databaseUrl, error => {
    broken = error
  })
  const { auditUrl = options.databaseUrl } = options
  const trail =
    auditUrl === options.databaseUrl
      ? database
      : openDatabase(auditUrl, error => {
          broken = error
        })
  const http = openProviderHttp(environment)
  const close = async (): Promise<void> => {
    await http.close()
    if (trail !== database) await trail.close()
    await database.close()
  }
  try {
    // Verifies the master key before anything is sealed with it.
    const installation = createInstallation(database)
    await openDerivedKeys(masterKey, installation)
    const owner = await installation.read('environment')
    if (owner !== undefined && owner !== environment)
      throw new AccountFault(`this database belongs to the ${owner} environment, not to ${environment}`)
    const store = createProviderAccountStore(database)
    const vault = createRecordVault(createKeyRing(masterKey, createVaultStore(database)))
    const origin = () => options.origin
    const audit = auditAs(options.actor, createAuditStore(trail))
    const administration = auditProviders(
      createProviderAdministration({ environment, definitions, store, vault, newId, origin }),
      audit,
    )
    const settlements = createSettlementStore(database)
    const notices = createNoticeStore(database)
    const tools = toolsOf(http, environment)
    const time = { nowMs: Date.now, clockMs: Date.now }
    const directory = createDirectory({ environment, definitions, store, vault, tools, ...time })
    return {
      providers: {
        ...administration,
        listNotices: notices.list,
        async importSettlement(wanted) {
          const imported = await importSettlement(wanted, { directory, store: settlements })
          await audit({ act: 'settlements.import', object: wanted.accountId, after: imported })
          return imported
        },
        async reconcile(range) {
          const { merchantId } = await administration.find(range.accountId)
          return settlements.reconcile({ ...range, merchantId })
        },
        ...createChecks({ environment, administration, directory, notices }),
      },
      async close() {
        await close()
        if (broken) throw broken
      },
    }
  } catch (error) {
    await close()
    throw error
  }
}

interface CheckDeps {
  readonly environment: 'test' | 'live'
  readonly administration: Pick<Providers, 'find'>
  readonly directory: Pick<ReturnType<typeof createDirectory>, 'find'>
  readonly notices: Pick<ReturnType<typeof createNoticeStore>, 'list'>
}

function createChecks(deps: CheckDeps): Pick<Providers, 'check' | 'checkPayments'> {
  const { environment, administration, directory, notices } = deps
  return {
    async check(accountId) {
      await administration.find(accountId)
      const account = await directory.find(accountId)
      if (!account) throw new AccountFault(`the account ${accountId} names a connector that is not installed`)
      const findings = await account.connector.check(AbortSignal.timeout(checkMs))
      const [last] = await notices.list({ accountId, limit: 1 })
      const detail = last
        ? `the last one came at ${last.receivedAt.toISOString()}`
        : 'none has reached our notice address yet'
      return [...findings, { name: 'received notices', ok: true, detail }]
    },
    async checkPayments(accountId) {
      if (environment === 'live')
        throw new WrongSetting('--payments makes payments, so it runs in the test environment only')
      const account = await directory.find(accountId)
      return account?.connector.checkPayments?.(AbortSignal.timeout(paymentsMs)) ?? []
    },
  }
}

/** In live, host names must resolve to public addresses; in test, any address is allowed, including loopback. */
export const openProviderHttp = (environment: 'test' | 'live'): ProviderHttpPool =>
  createProviderHttp(
    environment === 'live' ? { lookup: guardLookup(createResolve(), addressPolicies.live) } : {},
  )

/** In live a connector can call only its provider's own hosts. */
export const toolsOf =
  (http: ProviderHttpPool, environment: 'test' | 'live') =>
  ({ facts }: ConnectorDefinition): ConnectorTools => ({
    http: http.forHosts(environment === 'live' ? facts.liveHosts : undefined),
    nowMs: Date.now,
  })
