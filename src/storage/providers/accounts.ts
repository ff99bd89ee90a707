/** Provider accounts, their sealed credentials and their routing rules. Seals and opens nothing. */
import type { MerchantId } from '#domain/ids.ts'
import type { Database } from '#storage/database.ts'

export interface AccountRecord {
  readonly merchantId: MerchantId
  readonly accountId: string
  readonly connector: string
  readonly name: string
  readonly settings: Readonly<Record<string, string>>
  readonly enabled: boolean
  readonly version: number
  readonly createdAt: Date
  readonly updatedAt: Date
}

export interface SealedSecret {
  readonly secretId: string
  readonly name: string
  readonly keyVersion: number
  readonly sealed: Buffer
}

export interface RuleRecord {
  readonly ruleId: string
  readonly accountId: string
  readonly types?: readonly string[]
  readonly brands?: readonly string[]
  readonly currencies?: readonly string[]
  readonly countries?: readonly string[]
  readonly amountFrom?: number
  readonly amountTo?: number
  readonly priority: number
  readonly createdAt: Date
}

export interface StoredRule extends RuleRecord {
  readonly merchantId: MerchantId
}

export interface AccountChange {
  readonly name?: string
  readonly settings?: Readonly<Record<string, string>>
  readonly enabled?: boolean
  /** Replaces secrets with the same names and keeps the others. */
  readonly secrets?: readonly SealedSecret[]
  /** Names of optional secrets to remove. */
  readonly dropSecrets?: readonly string[]
}

export interface ProviderAccountStore {
  hasMerchant(merchantId: string): Promise<boolean>
  /** False: there is no such merchant. */
  insert(
    account: Omit<AccountRecord, 'enabled' | 'version' | 'createdAt' | 'updatedAt'>,
    secrets: readonly SealedSecret[],
  ): Promise<boolean>
  /** The account as it is then. Undefined: it was changed or removed since this version. */
  update(account: AccountRecord, change: AccountChange): Promise<AccountRecord | undefined>
  find(accountId: string): Promise<AccountRecord | undefined>
  /** Of one merchant or of all, the oldest first. */
  list(merchantId?: string): Promise<readonly AccountRecord[]>
  findSecrets(account: Pick<AccountRecord, 'merchantId' | 'accountId'>): Promise<readonly SealedSecret[]>
  /** The number of the account's open payments. */
  countOpen(account: Pick<AccountRecord, 'merchantId' | 'accountId'>): Promise<number>
  /** Removes the account with its secrets and rules. False: there is no such account, or it has open payments. */
  remove(account: Pick<AccountRecord, 'merchantId' | 'accountId'>): Promise<boolean>
  /** False: the merchant has no such account. */
  insertRule(merchantId: string, rule: Omit<RuleRecord, 'createdAt'>): Promise<StoredRule | undefined>
  listRules(merchantId?: string): Promise<readonly StoredRule[]>
  /** Returns the removed rule; undefined if there is no such rule. */
  removeRule(ruleId: string): Promise<StoredRule | undefined>
}

const accountColumns = `merchant_id AS "merchantId", provider_account_id AS "accountId", connector, name, settings, enabled,
  version, created_at AS "createdAt", updated_at AS "updatedAt"`

/**
 * Open payments, on which money may still move at the provider: not fully captured, unanswered, awaiting the customer,
 * or paid too late and still to be given back, by a refund or with the next file for a bank.
 */
const openPayments = `SELECT 1 FROM payment p WHERE p.merchant_id = $1 AND p.provider_account = $2
  AND (p.status IN ('AUTHORIZE_REQUEST', 'PENDING', 'AUTHORIZED', 'CAPTURE_REQUEST')
    OR p.capturing + p.reversing + p.refunding > 0
    OR (p.status = 'OK' AND NOT p.closed_for_capture AND p.authorized > p.captured + p.reversed)
    OR EXISTS (SELECT 1 FROM timer t WHERE t.merchant_id = p.merchant_id AND t.pay_id = p.pay_id
      AND t.kind = 'GIVE_BACK')
    OR EXISTS (SELECT 1 FROM bank_surplus s WHERE s.provider_account_id = $2 AND s.batch_id IS NULL
      AND s.merchant_id = p.merchant_id AND s.pay_id = p.pay_id))`

interface RuleRow {
  merchantId: MerchantId
  ruleId: string
  accountId: string
  types: string[] | null
  brands: string[] | null
  currencies: string[] | null
  countries: string[] | null
  amountFrom: number | null
  amountTo: number | null
  priority: number
  createdAt: Date
}

export function createProviderAccountStore({
  readers,
  writers,
}: Pick<Database, 'readers' | 'writers'>): ProviderAccountStore {
  return {
    async hasMerchant(merchantId) {
      const { rowCount } = await readers.query('SELECT 1 FROM merchant WHERE merchant_id = $1', [merchantId])
      return rowCount === 1
    },
    async insert({ merchantId, accountId, connector, name, settings }, secrets) {
      const { rowCount } = await writers.query(
        `WITH m AS MATERIALIZED (SELECT merchant_id FROM merchant WHERE merchant_id = $1),
         account AS (INSERT INTO provider_account (merchant_id, provider_account_id, connector, name, settings)
           SELECT merchant_id, $2, $3, $4, $5 FROM m RETURNING merchant_id),
         secrets AS (INSERT INTO provider_secret (merchant_id, provider_account_id, secret_id, name, key_version, sealed)
           SELECT account.merchant_id, $2, s.secret_id, s.name, s.key_version, s.sealed
           FROM account, ${unnestSecrets(6)})
         SELECT 1 FROM account`,
        [merchantId, accountId, connector, name, JSON.stringify(settings), ...secretValues(secrets)],
      )
      return rowCount === 1
    },
    async update(account, { name, settings, enabled, secrets = [], dropSecrets = [] }) {
      const { rows } = await writers.query<AccountRecord>(
        `WITH account AS (UPDATE provider_account SET name = coalesce($4, name),
             settings = coalesce($5::json, settings), enabled = coalesce($6, enabled), version = version + 1,
             updated_at = now()
           WHERE merchant_id = $1 AND provider_account_id = $2 AND version = $3 RETURNING *),
         dropped AS (DELETE FROM provider_secret t USING account WHERE t.merchant_id = account.merchant_id
           AND t.provider_account_id = account.provider_account_id AND t.name = ANY($7)),
         secrets AS (INSERT INTO provider_secret (merchant_id, provider_account_id, secret_id, name, key_version, sealed)
           SELECT account.merchant_id, account.provider_account_id, s.secret_id, s.name, s.key_version, s.sealed
           FROM account, ${unnestSecrets(8)}
           ON CONFLICT (merchant_id, provider_account_id, name) DO UPDATE SET secret_id = excluded.secret_id,
             key_version = excluded.key_version, sealed = excluded.sealed, created_at = now())
         SELECT ${accountColumns} FROM account`,
        [
          account.merchantId,
          account.accountId,
          account.version,
          name,
          settings && JSON.stringify(settings),
          enabled,
          dropSecrets,
          ...secretValues(secrets),
        ],
      )
      return rows[0]
    },
    async find(accountId) {
      const { rows } = await readers.query<AccountRecord>(
        `SELECT ${accountColumns} FROM provider_account WHERE provider_account_id = $1`,
        [accountId],
      )
      return rows[0]
    },
    async list(merchantId) {
      const { rows } = await readers.query<AccountRecord>(
        `SELECT ${accountColumns} FROM provider_account WHERE $1::text IS NULL OR merchant_id = $1
         ORDER BY created_at, provider_account_id`,
        [merchantId],
      )
      return rows
    },
    async findSecrets({ merchantId, accountId }) {
      const { rows } = await readers.query<SealedSecret>(
        `SELECT secret_id AS "secretId", name, key_version AS "keyVersion", sealed FROM provider_secret
         WHERE merchant_id = $1 AND provider_account_id = $2 ORDER BY name`,
        [merchantId, accountId],
      )
      return rows
    },
    async countOpen({ merchantId, accountId }) {
      const { rows } = await readers.query<{ open: number }>(
        `SELECT count(*)::int AS open FROM (${openPayments}) found`,
        [merchantId, accountId],
      )
      return rows[0]?.open ?? 0
    },
    async remove({ merchantId, accountId }) {
      const { rowCount } = await writers.query(
        `DELETE FROM provider_account WHERE merchant_id = $1 AND provider_account_id = $2 AND NOT EXISTS (${openPayments})`,
        [merchantId, accountId],
      )
      return rowCount === 1
    },
    ...createRules({ readers, writers }),
  }
}

const ruleColumns = `merchant_id AS "merchantId", rule_id AS "ruleId", provider_account_id AS "accountId", types, brands, currencies,
  countries, amount_from AS "amountFrom", amount_to AS "amountTo", priority, created_at AS "createdAt"`

function createRules({
  readers,
  writers,
}: Pick<Database, 'readers' | 'writers'>): Pick<
  ProviderAccountStore,
  'insertRule' | 'listRules' | 'removeRule'
> {
  return {
    async insertRule(merchantId, rule) {
      const { rows } = await writers.query<RuleRow>(
        `WITH account AS MATERIALIZED (SELECT merchant_id, provider_account_id FROM provider_account
           WHERE merchant_id = $1 AND provider_account_id = $2)
         INSERT INTO route_rule (merchant_id, rule_id, provider_account_id, types, brands, currencies, countries, amount_from,
           amount_to, priority)
         SELECT merchant_id, $3, provider_account_id, $4, $5, $6, $7, $8, $9, $10 FROM account
         RETURNING ${ruleColumns}`,
        [
          merchantId,
          rule.accountId,
          rule.ruleId,
          rule.types,
          rule.brands,
          rule.currencies,
          rule.countries,
          rule.amountFrom,
          rule.amountTo,
          rule.priority,
        ],
      )
      return rows[0] && toRule(rows[0])
    },
    async listRules(merchantId) {
      const { rows } = await readers.query<RuleRow>(
        `SELECT ${ruleColumns} FROM route_rule WHERE $1::text IS NULL OR merchant_id = $1
         ORDER BY merchant_id, priority, created_at, rule_id`,
        [merchantId],
      )
      return rows.map(toRule)
    },
    async removeRule(ruleId) {
      const { rows } = await writers.query<RuleRow>(
        `DELETE FROM route_rule WHERE rule_id = $1 RETURNING ${ruleColumns}`,
        [ruleId],
      )
      return rows[0] && toRule(rows[0])
    },
  }
}

const toRule = (row: RuleRow): StoredRule => ({
  merchantId: row.merchantId,
  ruleId: row.ruleId,
  accountId: row.accountId,
  types: row.types ?? undefined,
  brands: row.brands ?? undefined,
  currencies: row.currencies ?? undefined,
  countries: row.countries ?? undefined,
  amountFrom: row.amountFrom ?? undefined,
  amountTo: row.amountTo ?? undefined,
  priority: row.priority,
  createdAt: row.createdAt,
})

const unnestSecrets = (first: number): string =>
  `unnest($${first}::uuid[], $${first + 1}::text[], $${first + 2}::integer[], $${first + 3}::bytea[])
    AS s(secret_id, name, key_version, sealed)`

const secretValues = (secrets: readonly SealedSecret[]): unknown[] => [
  secrets.map(({ secretId }) => secretId),
  secrets.map(({ name }) => name),
  secrets.map(({ keyVersion }) => keyVersion),
  secrets.map(({ sealed }) => sealed),
]
