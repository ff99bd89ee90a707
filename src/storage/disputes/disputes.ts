/** Reads disputes and stores their sealed evidence. Every query is scoped by merchant. */
import type { MerchantId, PayId, XId } from '#domain/ids.ts'
import type { Dispute, DisputeId, DisputeStatus } from '#lifecycle/dispute.ts'
import type { Database } from '#storage/database.ts'

export interface DisputeFilter {
  readonly statuses?: readonly DisputeStatus[]
  readonly payId?: PayId
  /** By the time of opening: `from` inclusive, `to` exclusive. */
  readonly from?: Date
  readonly to?: Date
  /** The last dispute of the previous page. */
  readonly after?: { readonly createdAt: Date; readonly disputeId: string }
  readonly limit: number
}

export interface SealedFile {
  readonly fileId: string
  readonly name: string
  readonly type: string
  readonly keyVersion: number
  readonly sealed: Buffer
}

export interface DisputeStore {
  byId(merchantId: MerchantId, disputeId: DisputeId): Promise<Dispute | undefined>
  ofPayment(merchantId: MerchantId, payId: PayId): Promise<readonly Dispute[]>
  /** The newest first. */
  list(merchantId: MerchantId, filter: DisputeFilter): Promise<readonly Dispute[]>
  insertFiles(merchantId: MerchantId, disputeId: DisputeId, files: readonly SealedFile[]): Promise<void>
  /** Reserves the dispute for one answer in all processes. False: another answer holds it. */
  hold(answer: HeldAnswer): Promise<boolean>
  release(answer: HeldAnswer): Promise<void>
}

export interface HeldAnswer {
  readonly merchantId: MerchantId
  readonly disputeId: DisputeId
  /** A uuid of this answer alone. */
  readonly holder: string
}

/** A minute: a call of 20 s and the commits around it end within it, also beside a slow database. */
const heldFor = "interval '1 minute'"

interface DisputeRow {
  merchant_id: MerchantId
  dispute_id: DisputeId
  pay_id: PayId
  x_id: XId
  provider_dispute_id: string
  amount: number
  currency: string
  stage: Dispute['stage']
  status: Dispute['status']
  reason_code: string
  reason_group: Dispute['reasonGroup']
  evidence_due_by: Date | null
  kept: Dispute['kept']
  events: Dispute['events']
  created_at: Date
  updated_at: Date
}

const columns = `merchant_id, dispute_id, pay_id, x_id, provider_dispute_id, amount, currency, stage, status, reason_code,
  reason_group, evidence_due_by, kept, events, created_at, updated_at`

export function createDisputeStore({
  readers,
  lists,
  writers,
}: Pick<Database, 'readers' | 'lists' | 'writers'>): DisputeStore {
  return {
    async byId(merchantId, disputeId) {
      const { rows } = await readers.query<DisputeRow>(
        `SELECT ${columns} FROM dispute WHERE merchant_id = $1 AND dispute_id = $2`,
        [merchantId, disputeId],
      )
      return rows[0] && toDispute(rows[0])
    },
    async ofPayment(merchantId, payId) {
      const { rows } = await readers.query<DisputeRow>(
        `SELECT ${columns} FROM dispute WHERE merchant_id = $1 AND pay_id = $2 ORDER BY created_at, dispute_id`,
        [merchantId, payId],
      )
      return rows.map(toDispute)
    },
    async list(merchantId, { statuses, payId, from, to, after, limit }) {
      const text = `SELECT ${columns} FROM dispute WHERE merchant_id = $1 AND ($2::text[] IS NULL OR status = ANY($2))
           AND ($3::uuid IS NULL OR pay_id = $3) AND ($4::timestamptz IS NULL OR created_at >= $4)
           AND ($5::timestamptz IS NULL OR created_at < $5)
           AND ($6::timestamptz IS NULL OR (created_at, dispute_id) < ($6, $7::text))
         ORDER BY created_at DESC, dispute_id DESC LIMIT $8`
      const values = [merchantId, statuses, payId, from, to, after?.createdAt, after?.disputeId, limit]
      const { rows } = await lists.run(merchantId, () => readers.query<DisputeRow>(text, values))
      return rows.map(toDispute)
    },
    async insertFiles(merchantId, disputeId, files) {
      await writers.query(
        `INSERT INTO dispute_file (merchant_id, dispute_id, file_id, name, type, key_version, sealed)
         SELECT $1, $2, f.file_id, f.name, f.type, f.key_version, f.sealed
         FROM unnest($3::uuid[], $4::text[], $5::text[], $6::integer[], $7::bytea[])
           AS f(file_id, name, type, key_version, sealed)`,
        [
          merchantId,
          disputeId,
          files.map(({ fileId }) => fileId),
          files.map(({ name }) => name),
          files.map(({ type }) => type),
          files.map(({ keyVersion }) => keyVersion),
          files.map(({ sealed }) => sealed),
        ],
      )
    },
    async hold({ merchantId, disputeId, holder }) {
      const { rowCount } = await writers.query(
        `UPDATE dispute SET answer_holder = $3, answer_held_until = now() + ${heldFor}
         WHERE merchant_id = $1 AND dispute_id = $2 AND (answer_held_until IS NULL OR answer_held_until <= now())`,
        [merchantId, disputeId, holder],
      )
      return rowCount === 1
    },
    async release({ merchantId, disputeId, holder }) {
      await writers.query(
        `UPDATE dispute SET answer_holder = NULL, answer_held_until = NULL
         WHERE merchant_id = $1 AND dispute_id = $2 AND answer_holder = $3`,
        [merchantId, disputeId, holder],
      )
    },
  }
}

const toDispute = (row: DisputeRow): Dispute => ({
  merchantId: row.merchant_id,
  disputeId: row.dispute_id,
  payId: row.pay_id,
  xId: row.x_id,
  providerDisputeId: row.provider_dispute_id,
  amount: { value: row.amount, currency: row.currency },
  stage: row.stage,
  status: row.status,
  reasonCode: row.reason_code,
  reasonGroup: row.reason_group,
  evidenceDueBy: row.evidence_due_by ?? undefined,
  kept: row.kept,
  events: row.events,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
})
