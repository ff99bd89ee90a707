/**
 * The inbox of notices: sealed raw bodies, one row per fact with the provider's key against duplicates, and a queue of
 * facts to apply. Seals and opens nothing.
 */
import type { MerchantId } from '#domain/ids.ts'
import type { Database } from '#storage/database.ts'

export interface NewNotice {
  readonly merchantId: MerchantId
  readonly accountId: string
  readonly noticeId: string
  readonly keyVersion: number
  readonly sealed: Buffer
  readonly items: readonly {
    readonly key: string
    /** The kind of fact, shown in lists. */
    readonly kind: string
    /** The reference by which it names its operation, shown in lists. */
    readonly reference?: string
    /** Understood but without effect: stored, never applied. */
    readonly ignored: boolean
  }[]
}

export interface ItemKey {
  readonly merchantId: MerchantId
  readonly accountId: string
  readonly key: string
}

export interface ClaimedItem extends ItemKey {
  readonly noticeId: string
  readonly position: number
  readonly attempt: number
  /** What the last try noted for an operator, if any. */
  readonly needsPerson: string | null
}

export type FinishedState = 'APPLIED' | 'REPEATED' | 'IGNORED'

export interface ListedItem extends ItemKey {
  readonly kind: string
  readonly reference: string | null
  readonly state: 'PENDING' | 'UNMATCHED' | FinishedState | 'EXPIRED'
  readonly attempts: number
  readonly detail: string | null
  readonly receivedAt: Date
  readonly finishedAt: Date | null
}

export interface NoticeStore {
  /** Stores a notice atomically and durably. Returns how many of its items are new. */
  insert(notice: NewNotice): Promise<number>
  /** Claims due items under a lease, in the order of their arrival; none of the accounts in `except`. */
  claim(limit: number, leaseMs: number, except: readonly string[]): Promise<readonly ClaimedItem[]>
  /** False: the lease has expired, and another process may have claimed the item. */
  renew(item: ItemKey, leaseMs: number): Promise<boolean>
  /** Undefined once the raw notice was deleted after 90 days. */
  findSealed(
    item: Pick<ClaimedItem, 'merchantId' | 'noticeId'>,
  ): Promise<{ readonly keyVersion: number; readonly sealed: Buffer } | undefined>
  finish(item: ItemKey, state: FinishedState | 'EXPIRED', detail?: string): Promise<void>
  /** Schedules the next try of an item. */
  postpone(
    item: ItemKey,
    again: { readonly state: 'PENDING' | 'UNMATCHED'; readonly afterMs: number; readonly detail?: string },
  ): Promise<void>
  /** The newest first. */
  list(filter: {
    readonly merchantId?: string
    readonly accountId?: string
    readonly unmatched?: boolean
    readonly limit: number
  }): Promise<readonly ListedItem[]>
  /** Erases raw notices older than that, and gives up facts that could not be applied in that time. */
  expire(days: number): Promise<void>
}

const columns = `merchant_id AS "merchantId", provider_account_id AS "accountId", item_key AS key`
const thisItem = 'merchant_id = $1 AND provider_account_id = $2 AND item_key = $3'
const keyOf = ({ merchantId, accountId, key }: ItemKey): string[] => [merchantId, accountId, key]

export function createNoticeStore({ readers, writers }: Pick<Database, 'readers' | 'writers'>): NoticeStore {
  return {
    async insert({ merchantId, accountId, noticeId, keyVersion, sealed, items }) {
      const { rowCount } = await writers.query(
        // The foreign key is checked when the statement ends, so the order of the two inserts does not matter.
        `WITH item AS (INSERT INTO notice_item (merchant_id, provider_account_id, item_key, notice_id, position, kind,
             reference, state, due_at, finished_at)
           SELECT $1, $2, i.key, $3, i.position - 1, i.kind, i.reference,
             CASE WHEN i.ignored THEN 'IGNORED' ELSE 'PENDING' END, CASE WHEN i.ignored THEN NULL ELSE m.now END,
             CASE WHEN i.ignored THEN m.now END
           FROM unnest($6::text[], $7::text[], $8::text[], $9::boolean[])
             WITH ORDINALITY AS i(key, kind, reference, ignored, position), (SELECT now() AS now) m
           ON CONFLICT DO NOTHING RETURNING 1),
         notice AS (INSERT INTO provider_notice (merchant_id, provider_account_id, notice_id, key_version, sealed)
           SELECT $1, $2, $3, $4, $5 WHERE EXISTS (SELECT 1 FROM item))
         SELECT 1 FROM item`,
        [
          merchantId,
          accountId,
          noticeId,
          keyVersion,
          sealed,
          items.map(({ key }) => key),
          items.map(({ kind }) => kind),
          items.map(({ reference }) => reference),
          items.map(({ ignored }) => ignored),
        ],
      )
      return rowCount ?? 0
    },
    async claim(limit, leaseMs, except) {
      const { rows } = await writers.query<ClaimedItem>(
        `WITH due AS (SELECT merchant_id, provider_account_id, item_key FROM notice_item
           WHERE due_at <= now() AND (leased_until IS NULL OR leased_until < now())
             AND provider_account_id <> ALL($3)
           ORDER BY due_at, position LIMIT $1 FOR UPDATE SKIP LOCKED),
         claimed AS (UPDATE notice_item t SET leased_until = now() + $2 * interval '1 millisecond'
           FROM due WHERE t.merchant_id = due.merchant_id AND t.provider_account_id = due.provider_account_id
             AND t.item_key = due.item_key RETURNING t.*)
         SELECT ${columns}, notice_id AS "noticeId", position, attempt,
           CASE WHEN state = 'UNMATCHED' THEN detail END AS "needsPerson" FROM claimed ORDER BY received_at, position`,
        [limit, leaseMs, except],
      )
      return rows
    },
    async renew(item, leaseMs) {
      const { rowCount } = await writers.query(
        `UPDATE notice_item SET leased_until = now() + $4 * interval '1 millisecond'
         WHERE ${thisItem} AND leased_until > now()`,
        [...keyOf(item), leaseMs],
      )
      return rowCount === 1
    },
    async findSealed({ merchantId, noticeId }) {
      const { rows } = await readers.query<{ keyVersion: number; sealed: Buffer }>(
        `SELECT key_version AS "keyVersion", sealed FROM provider_notice
         WHERE merchant_id = $1 AND notice_id = $2 AND sealed IS NOT NULL`,
        [merchantId, noticeId],
      )
      return rows[0]
    },
    async finish(item, state, detail) {
      await writers.query(
        `UPDATE notice_item SET state = $4, due_at = NULL, leased_until = NULL, finished_at = now(),
           attempt = attempt + 1, detail = left($5, 1000) WHERE ${thisItem}`,
        [...keyOf(item), state, detail],
      )
    },
    async postpone(item, { state, afterMs, detail }) {
      await writers.query(
        `UPDATE notice_item SET state = $4, due_at = now() + $5 * interval '1 millisecond', leased_until = NULL,
           attempt = attempt + 1, detail = left($6, 1000) WHERE ${thisItem}`,
        [...keyOf(item), state, afterMs, detail],
      )
    },
    async list({ merchantId, accountId, unmatched = false, limit }) {
      const { rows } = await readers.query<ListedItem>(
        `SELECT ${columns}, kind, reference, state, attempt AS attempts, detail, received_at AS "receivedAt",
           finished_at AS "finishedAt" FROM notice_item
         WHERE ($1::text IS NULL OR merchant_id = $1) AND ($2::text IS NULL OR provider_account_id = $2)
           AND (NOT $3 OR state IN ('UNMATCHED', 'EXPIRED'))
         ORDER BY received_at DESC, position DESC LIMIT $4`,
        [merchantId, accountId, unmatched, limit],
      )
      return rows
    },
    async expire(days) {
      await writers.query(
        `WITH old AS (UPDATE provider_notice SET sealed = NULL
           WHERE sealed IS NOT NULL AND received_at < now() - $1 * interval '1 day' RETURNING merchant_id, notice_id)
         UPDATE notice_item t SET state = 'EXPIRED', due_at = NULL, leased_until = NULL, finished_at = now()
         FROM old WHERE t.merchant_id = old.merchant_id AND t.notice_id = old.notice_id AND t.due_at IS NOT NULL`,
        [days],
      )
    },
  }
}
