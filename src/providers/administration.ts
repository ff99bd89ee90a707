/**
 * Adds and changes provider accounts and routing rules, for the command line and the console. Settings and secrets are
 * validated as the connector declares; secrets are sealed at once and never shown again.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { ConnectorDefinition, ConnectorFacts } from '#connectors/contract.ts'
import type { MerchantId } from '#domain/ids.ts'
import { drawId } from '#operations/merchants/merchants.ts'
import {
  AccountFault,
  ChangedMeanwhile,
  checkSecretNames,
  checkSecrets,
  checkSettings,
  type Settings,
  UnknownHere,
  WrongSetting,
} from '#providers/settings.ts'
import type {
  AccountRecord,
  ProviderAccountStore,
  RuleRecord,
  SealedSecret,
  StoredRule,
} from '#storage/providers/accounts.ts'
import type { RecordVault } from '#vault/sealed-records.ts'

export interface NewAccount {
  readonly connector: string
  readonly name: string
  readonly settings: Settings
  readonly secrets: Settings
}

export interface AccountEdit {
  readonly name?: string
  /** An empty value removes the setting. */
  readonly settings?: Settings
  readonly secrets?: Settings
  readonly enabled?: boolean
  /** The version that the person saw: an account that was changed since is refused. */
  readonly version?: number
}

export interface AccountChanged {
  readonly before: ShownAccount
  readonly after: ShownAccount
}

export interface ShownAccount extends AccountRecord {
  readonly noticeUrl: string
  /** Their names; the values are never shown. */
  readonly secrets: readonly string[]
}

/** The settings and secrets of a connector's accounts, by name. */
export type ConnectorForm = Pick<ConnectorFacts, 'name' | 'settings' | 'secrets'>

export type NewRule = Omit<RuleRecord, 'ruleId' | 'createdAt'>

export interface ProviderAdministration {
  /** The connectors available in this environment, with the settings that apply there. */
  connectors(): readonly ConnectorForm[]
  /** Throws if there is no such merchant, because an empty list would suggest that it exists. */
  requireMerchant(merchantId: string | undefined): Promise<void>
  add(merchantId: string, account: NewAccount): Promise<ShownAccount>
  list(merchantId?: string): Promise<readonly ShownAccount[]>
  find(accountId: string): Promise<ShownAccount>
  set(accountId: string, edit: AccountEdit): Promise<AccountChanged>
  remove(accountId: string): Promise<ShownAccount>
  addRule(merchantId: string, rule: NewRule): Promise<StoredRule>
  listRules: ProviderAccountStore['listRules']
  removeRule(ruleId: string): Promise<StoredRule>
}

export interface AdministrationDeps {
  readonly environment: 'test' | 'live'
  readonly definitions: readonly ConnectorDefinition[]
  readonly store: ProviderAccountStore
  readonly vault: RecordVault
  readonly newId: () => string
  /** The origin at which providers reach us. */
  readonly origin: () => string
  readonly onChange?: (merchantId: string) => void
}

/** 20: of so many edits of one account at the same moment, the last one is stored at the twentieth try. */
const changeTries = 20

export function createProviderAdministration(deps: AdministrationDeps): ProviderAdministration {
  const { environment, store } = deps
  const reader = createAccountReader(deps)
  const { factsOf, require, show, sealAll } = reader

  return {
    connectors: () => listConnectors(deps),
    async requireMerchant(merchantId) {
      if (merchantId !== undefined && !(await store.hasMerchant(merchantId))) throw noMerchant(merchantId)
    },
    async add(merchantId, { connector, name, settings, secrets }) {
      const facts = factsOf(connector)
      checkSettings(settings, { facts, environment })
      checkSecrets(secrets, { facts, environment })
      checkSecretNames(Object.keys(secrets), { facts, environment })
      const accountId = drawId('acc', 12)
      // The id was typed by a person. The store refuses it if no merchant has it.
      const owner = merchantId as MerchantId
      const account = { merchantId: owner, accountId, connector, name, settings }
      if (!(await store.insert(account, await sealAll(owner, accountId, secrets))))
        throw noMerchant(merchantId)
      deps.onChange?.(merchantId)
      return show(await require(accountId))
    },
    list: async merchantId => Promise.all((await store.list(merchantId)).map(show)),
    find: async accountId => show(await require(accountId)),
    set: createChange(deps, reader),
    remove: createRemoval(deps, reader),
    async addRule(merchantId, rule) {
      const added = await store.insertRule(merchantId, { ...rule, ruleId: deps.newId() })
      if (!added)
        throw new UnknownHere(
          `the merchant ${merchantId} has no account "${rule.accountId}"; "tollgate provider list" shows all`,
        )
      deps.onChange?.(merchantId)
      return added
    },
    listRules: store.listRules,
    removeRule: ruleId => removeRule(ruleId, deps),
  }
}

/** An edit names what it changes, so edits made at the same moment all count, one after the other. */
function createChange(
  { environment, store, onChange }: AdministrationDeps,
  { factsOf, require, show, sealAll }: ReturnType<typeof createAccountReader>,
): ProviderAdministration['set'] {
  /** Undefined: somebody else was faster, and the edit must be made to what they stored. */
  async function tryChange(account: AccountRecord, edit: AccountEdit): Promise<AccountChanged | undefined> {
    const { accountId, merchantId } = account
    const facts = factsOf(account.connector)
    const settings = edit.settings && withoutEmpty({ ...account.settings, ...edit.settings })
    if (settings) checkSettings(settings, { facts, environment })
    if (edit.secrets) checkSecrets(edit.secrets, { facts, environment })
    const before = await show(account)
    const sealed = edit.secrets && (await sealAll(merchantId, accountId, edit.secrets))
    const { name, enabled } = edit
    const changed = await store.update(account, { name, enabled, settings, secrets: sealed })
    if (!changed) return undefined
    onChange?.(merchantId)
    const secrets = [...new Set([...before.secrets, ...Object.keys(edit.secrets ?? {})])].sort()
    return { before, after: { ...before, ...changed, secrets } }
  }

  return async (accountId, edit) => {
    for (let attempt = 1; attempt <= changeTries; attempt += 1) {
      const account = await require(accountId)
      if (edit.version !== undefined && edit.version !== account.version)
        throw new ChangedMeanwhile(`the account ${accountId} was changed by somebody else meanwhile`)
      const changed = await tryChange(account, edit)
      if (changed) return changed
    }
    throw new AccountFault(`the account ${accountId} is being changed by others all the time; try again`)
  }
}

/**
 * 1.5 s: three times as long as a gateway remembers the accounts of a merchant (directory.ts). By then every payment that was
 * on its way to the account is stored, and counts as open.
 */
const leaveMs = 1_500

/** A payment that loses its account can be neither captured nor given back, so new ones are kept away first. */
function createRemoval(
  deps: AdministrationDeps,
  reader: ReturnType<typeof createAccountReader>,
): ProviderAdministration['remove'] {
  const { store, onChange } = deps
  const { require, show } = reader
  const change = createChange(deps, reader)

  async function refuseOpen(account: AccountRecord): Promise<void> {
    const open = await store.countOpen(account)
    if (open > 0)
      throw new AccountFault(
        `the account ${account.accountId} has ${open} open payments and cannot be removed; "tollgate provider disable" ` +
          'keeps new ones away until these are finished',
      )
  }

  return async accountId => {
    const account = await require(accountId)
    const shown = await show(account)
    await refuseOpen(account)
    if (account.enabled) {
      await change(accountId, { enabled: false })
      await pause(leaveMs)
    }
    if (!(await store.remove(account))) {
      if (account.enabled) await change(accountId, { enabled: true })
      await refuseOpen(account)
      throw new UnknownHere(`there is no account "${accountId}" any more; somebody else has removed it`)
    }
    onChange?.(account.merchantId)
    return shown
  }
}

async function removeRule(ruleId: string, { store, onChange }: AdministrationDeps) {
  const removed = /^[0-9a-f]{32}$/.test(ruleId) ? await store.removeRule(ruleId) : undefined
  if (!removed) throw new UnknownHere(`there is no rule "${ruleId}"; "tollgate route list" shows all`)
  onChange?.(removed.merchantId)
  return removed
}

const listConnectors = ({ definitions, environment }: AdministrationDeps): readonly ConnectorForm[] =>
  definitions
    .filter(({ facts }) => environment === 'test' || facts.testOnly !== true)
    .map(({ facts: { name, settings, secrets } }) => ({
      name,
      secrets,
      settings: Object.fromEntries(
        Object.entries(settings).filter(([, fact]) => (fact.environment ?? environment) === environment),
      ),
    }))

/**
 * Finds connectors and accounts, or throws an error that lists the existing ones; shows accounts without their secrets;
 * seals secrets.
 */
function createAccountReader(deps: AdministrationDeps) {
  const { environment, store } = deps

  function factsOf(connector: string): ConnectorFacts {
    const found = deps.definitions.find(({ facts }) => facts.name === connector)
    if (!found)
      throw new WrongSetting(
        `there is no connector "${connector}"; there are ${deps.definitions.map(({ facts }) => facts.name).join(', ')}`,
      )
    if (environment === 'live' && found.facts.testOnly)
      throw new WrongSetting(`the ${connector} takes no real money and is refused in the live environment`)
    return found.facts
  }

  async function require(accountId: string): Promise<AccountRecord> {
    const found = isAccountId(accountId) ? await store.find(accountId) : undefined
    if (!found)
      throw new UnknownHere(`there is no account "${accountId}"; "tollgate provider list" shows all`)
    return found
  }

  const show = async (account: AccountRecord): Promise<ShownAccount> => ({
    ...account,
    noticeUrl: noticeUrl(deps.origin(), account.accountId),
    secrets: (await store.findSecrets(account)).map(({ name }) => name),
  })

  const sealAll = (merchantId: MerchantId, accountId: string, secrets: Settings): Promise<SealedSecret[]> =>
    Promise.all(
      Object.entries(secrets).map(async ([name, value]) => {
        const secretId = deps.newId()
        const plain = Buffer.from(JSON.stringify({ accountId, name, value }))
        return { secretId, name, ...(await deps.vault.seal('provider secret', merchantId, secretId, plain)) }
      }),
    )

  return { factsOf, require, show, sealAll }
}

export const noticeUrl = (origin: string, accountId: string): string =>
  `${origin}/providers/${accountId}/notices`

export const isAccountId = (text: string): boolean => /^acc_[0-9a-f]{24}$/.test(text)

const noMerchant = (merchantId: string): AccountFault =>
  new UnknownHere(`there is no merchant "${merchantId}"; "tollgate merchant list" shows all`)

const withoutEmpty = (settings: Settings): Settings =>
  Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== ''))

/** Canonical spellings of brands and countries, for the command and the console page that write rules. */
export { findBrandName, findCountryCode } from '#connectors/routing.ts'
