/**
 * The provider accounts of merchants, opened for use. Rows are cached for half a second, so that a payment costs no
 * extra round trip and changes by other processes are seen almost at once. Opened connectors live until their account
 * changes, so that their connections are reused.
 */
import { noteWaits } from '#connectors/asked-waits.ts'
import type { Connector, ConnectorDefinition, ConnectorTools, ProviderAccount } from '#connectors/contract.ts'
import type { OpenedAccount, ProviderDirectory } from '#connectors/directory.ts'
import { hideSecrets } from '#connectors/quoted-secrets.ts'
import { type RoutableAccount, type RouteRule, reachable, route } from '#connectors/routing.ts'
import type { MerchantId } from '#domain/ids.ts'
import { Secret } from '#domain/secret.ts'
import type { Method } from '#methods/rows.ts'
import { isAccountId } from '#providers/administration.ts'
import { labelOf, narrowedTypes, withDefaults } from '#providers/settings.ts'
import type { AccountRecord, ProviderAccountStore, SealedSecret } from '#storage/providers/accounts.ts'
import type { RecordVault } from '#vault/sealed-records.ts'

export interface DirectoryDeps {
  readonly environment: 'test' | 'live'
  readonly definitions: readonly ConnectorDefinition[]
  readonly store: ProviderAccountStore
  readonly vault: RecordVault
  readonly tools: (definition: ConnectorDefinition) => ConnectorTools
  /** Serves merchants without accounts, in the test environment only. */
  readonly simulator?: Connector
  readonly nowMs: () => number
  /** The gateway's clock, which also drives the timers of operations that wait for a provider. */
  readonly clockMs: () => number
}

/** The engine's directory, with a look-up by account id for notices, which do not name a merchant. */
export interface AccountDirectory extends ProviderDirectory {
  find(accountId: string): Promise<(OpenedAccount & { readonly record: AccountRecord }) | undefined>
}

/** 500 ms: two small reads a second for a busy merchant, and a new account works almost at once. */
const rememberedMs = 500

/** 10,000 merchants are a few megabytes; beyond that the cache is cleared. */
const rememberedMax = 10_000

interface Known {
  readonly accounts: readonly AccountRecord[]
  readonly rules: readonly RouteRule[]
  readonly untilMs: number
}

type Opened = OpenedAccount & {
  readonly record: AccountRecord
  /** The account for new payments: narrowed to the types of its settings. Its earlier payments may have others. */
  readonly offered: OpenedAccount & RoutableAccount
}

export function createDirectory(deps: DirectoryDeps): AccountDirectory {
  const opened = new Map<string, { readonly version: number; readonly opening: Promise<Opened> }>()
  const definitions = new Map(deps.definitions.map(definition => [definition.facts.name, definition]))
  const simulator = deps.environment === 'test' ? simulated(deps.simulator) : undefined

  const read = rememberKnown(deps)

  function openRecord(record: AccountRecord): Promise<Opened | undefined> {
    const definition = definitions.get(record.connector)
    if (!definition) return Promise.resolve(undefined)
    const last = opened.get(record.accountId)
    if (last?.version === record.version) return last.opening
    const opening = openAccount(record, definition, deps)
    opened.set(record.accountId, { version: record.version, opening })
    opening.catch(() => opened.delete(record.accountId))
    return opening
  }

  async function openEnabled({ accounts }: Known): Promise<readonly Opened['offered'][]> {
    const found = await Promise.all(accounts.filter(({ enabled }) => enabled).map(openRecord))
    return found.flatMap(account => account?.offered ?? [])
  }

  return {
    async candidates(merchantId, question) {
      const state = await read(merchantId)
      if (state.accounts.length === 0) return simulator ? [simulator] : []
      return route(question, await openEnabled(state), state.rules)
    },
    async open(merchantId, accountId) {
      if (accountId === undefined) return simulator
      const { accounts } = await read(merchantId)
      // Another process may have routed the payment to an account that was added since the last read.
      const record =
        accounts.find(account => account.accountId === accountId) ?? (await deps.store.find(accountId))
      return record?.merchantId === merchantId ? openRecord(record) : undefined
    },
    async enabled(merchantId) {
      const state = await read(merchantId)
      if (state.accounts.length > 0) return openEnabled(state)
      return simulator ? [simulator] : []
    },
    async reachable(merchantId) {
      const state = await read(merchantId)
      if (state.accounts.length === 0) return () => (simulator ? [simulator] : [])
      const accounts = await openEnabled(state)
      return question => reachable(question, accounts, state.rules)
    },
    async find(accountId) {
      const record = isAccountId(accountId) ? await deps.store.find(accountId) : undefined
      return record && openRecord(record)
    },
  }
}

/**
 * Synchronous if cached, because every payment needs it. A failed look-up is not cached, so the next payment tries
 * again.
 */
function rememberKnown({
  store,
  nowMs,
}: Pick<DirectoryDeps, 'store' | 'nowMs'>): (merchantId: MerchantId) => Known | Promise<Known> {
  const known = new Map<MerchantId, Known>()
  const reading = new Map<MerchantId, Promise<Known>>()

  async function load(merchantId: MerchantId): Promise<Known> {
    const accounts = await store.list(merchantId)
    const rules = accounts.length === 0 ? [] : await store.listRules(merchantId)
    return { accounts, rules, untilMs: nowMs() + rememberedMs }
  }

  async function readAnew(merchantId: MerchantId): Promise<Known> {
    try {
      const begun = load(merchantId)
      reading.set(merchantId, begun)
      const found = await begun
      if (known.size >= rememberedMax) known.clear()
      known.set(merchantId, found)
      return found
    } finally {
      reading.delete(merchantId)
    }
  }

  return merchantId => {
    const remembered = known.get(merchantId)
    if (remembered && remembered.untilMs > nowMs()) return remembered
    return reading.get(merchantId) ?? readAnew(merchantId)
  }
}

const simulated = (connector: Connector | undefined): OpenedAccount | undefined =>
  connector && { connectorName: connector.facts.name, connector, label: () => undefined }

async function openAccount(
  record: AccountRecord,
  definition: ConnectorDefinition,
  deps: DirectoryDeps,
): Promise<Opened> {
  const { facts } = definition
  const { environment } = deps
  const settings = withDefaults(record.settings, { facts, environment })
  const { accountId, merchantId, connector: connectorName, name } = record
  const secrets = await openSecrets(record, deps)
  const account: ProviderAccount = {
    accountId,
    merchantId,
    connector: connectorName,
    name,
    environment,
    settings,
    secrets,
  }
  const tools = deps.tools(definition)
  const { http, waitMs } = noteWaits(hideSecrets(tools.http, secrets), {
    nowMs: deps.clockMs,
    realMs: tools.nowMs,
  })
  const connector = definition.open(account, { ...tools, http })
  const opened: OpenedAccount = {
    accountId,
    connectorName,
    connector,
    waitMs,
    label: type => labelOf(settings, type) ?? facts.label?.(type),
  }
  const narrowed = narrow(connector, settings)
  const serves = (method: Method, currency: string): boolean =>
    facts.exponent(currency) !== undefined && narrowed.supports(method) !== undefined
  return { ...opened, record, offered: { ...opened, connector: narrowed, serves } }
}

/** Applies the setting `types`, which is the same for every connector, so that connectors need not handle it. */
function narrow(connector: Connector, settings: ProviderAccount['settings']): Connector {
  const types = narrowedTypes(settings)
  if (!types) return connector
  return {
    ...connector,
    supports: method => (types.has(method.type) ? connector.supports(method) : undefined),
  }
}

async function openSecrets(
  { merchantId, accountId }: AccountRecord,
  { store, vault }: DirectoryDeps,
): Promise<ProviderAccount['secrets']> {
  const open = async ({ secretId, name, keyVersion, sealed }: SealedSecret) => {
    const plain = await vault.open('provider secret', merchantId, { recordId: secretId, keyVersion, sealed })
    const held: { accountId: string; name: string; value: string } = JSON.parse(plain.toString())
    if (held.accountId !== accountId || held.name !== name)
      throw new Error(`the secret ${name} of ${accountId} was sealed for another account`)
    return [name, new Secret(held.value)] as const
  }
  return Object.fromEntries(await Promise.all((await store.findSecrets({ merchantId, accountId })).map(open)))
}
