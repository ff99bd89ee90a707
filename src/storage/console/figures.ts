/** Figures for the overview: how much was paid on which day, how many tries were approved, what waits for somebody. */
import type { Database } from '#storage/database.ts'

export interface DayVolume {
  /** YYYY-MM-DD */
  readonly day: string
  readonly currency: string
  readonly captured: number
  readonly payments: number
}

export interface ApprovalRate {
  readonly method: string
  readonly approved: number
  readonly failed: number
}

export interface DeclineReason {
  readonly responseCode: string
  readonly count: number
}

export interface Waiting {
  readonly pending: number
  readonly failedEvents: number
}

export interface FigureStore {
  volumes(merchantId: string, days: number): Promise<readonly DayVolume[]>
  approvals(merchantId: string, days: number): Promise<readonly ApprovalRate[]>
  declines(merchantId: string, days: number): Promise<readonly DeclineReason[]>
  waiting(merchantId: string): Promise<Waiting>
  /** Where a search text is found: payments of these merchants, the newest first. */
  search(merchants: readonly string[], text: string): Promise<readonly FoundPayment[]>
}

export interface FoundPayment {
  readonly merchantId: string
  readonly payId: string
  readonly transId: string
  readonly status: string
  readonly method: string
  readonly amount: number
  readonly currency: string
  readonly createdAt: Date
}

/** UUIDv7 begins with its time, so that the primary key itself finds the payments of the last days. */
const since = `lpad(to_hex((extract(epoch FROM now() - $2 * interval '1 day') * 1000)::bigint), 12, '0')`
const recent = `p.merchant_id = $1 AND p.pay_id >= (${since} || '00000000000000000000')::uuid`

/** 50: more is for the list with its filters. */
const foundMax = 50

export function createFigureStore({ readers }: Pick<Database, 'readers'>): FigureStore {
  return {
    async volumes(merchantId, days) {
      const { rows } = await readers.query<DayVolume>(
        `SELECT to_char(p.created_at, 'YYYY-MM-DD') AS day, p.currency, sum(p.captured)::bigint AS captured,
           count(*)::integer AS payments
         FROM payment p WHERE ${recent} GROUP BY 1, 2 ORDER BY 1, 2`,
        [merchantId, days],
      )
      return rows
    },
    async approvals(merchantId, days) {
      const { rows } = await readers.query<ApprovalRate>(
        `SELECT p.method, count(*) FILTER (WHERE p.status IN ('AUTHORIZED', 'CAPTURE_REQUEST', 'OK', 'REVERSED'))::integer AS approved,
           count(*) FILTER (WHERE p.status = 'FAILED')::integer AS failed
         FROM payment p WHERE ${recent} GROUP BY 1 ORDER BY 2 DESC LIMIT 10`,
        [merchantId, days],
      )
      return rows
    },
    async declines(merchantId, days) {
      const { rows } = await readers.query<DeclineReason>(
        `SELECT o.response_code AS "responseCode", count(*)::integer AS count
         FROM payment p JOIN operation o ON o.merchant_id = p.merchant_id AND o.pay_id = p.pay_id
         WHERE ${recent} AND o.state = 'FAILED' GROUP BY 1 ORDER BY 2 DESC LIMIT 10`,
        [merchantId, days],
      )
      return rows
    },
    async waiting(merchantId) {
      const { rows } = await readers.query<Waiting>(
        `SELECT (SELECT count(*)::integer FROM payment p WHERE ${recent} AND p.status = 'PENDING') AS pending,
           (SELECT count(*)::integer FROM event e WHERE e.merchant_id = $1 AND e.status = 'FAILED') AS "failedEvents"`,
        [merchantId, 30],
      )
      return rows[0] ?? { pending: 0, failedEvents: 0 }
    },
    async search(merchants, text) {
      const { rows } = await readers.query<FoundPayment>(
        `SELECT p.merchant_id AS "merchantId", p.pay_id AS "payId", p.trans_id AS "transId", p.status, p.method, p.amount,
           p.currency, p.created_at AS "createdAt"
         FROM payment p WHERE p.merchant_id = ANY($1) AND (p.trans_id = $2
           OR p.pay_id = CASE WHEN $2 ~ '^[0-9a-f]{32}$' THEN $2::uuid END
           OR lower(p.details #>> '{customerInfo,email}') = lower($2)
           OR ($2 ~ '^[0-9]{4}$' AND (p.instrument ->> 'last4Digits' = $2 OR p.account ->> 'last4Digits' = $2))
           OR ($2 ~ '^[0-9]{1,12}$' AND p.amount = $2::bigint))
         ORDER BY p.pay_id DESC LIMIT ${foundMax}`,
        [merchants, text],
      )
      return rows
    },
  }
}
