/** Figures for the console's overview: volume per day, approval rates, and what needs attention. */
import type { QueryConfig } from 'pg'
import { technicalDetails } from '#domain/response-codes.ts'
import { undecided } from '#methods/method.ts'
import type { Database } from '#storage/database.ts'
import { inLists } from '#storage/planner.ts'

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
  /** Open disputes whose evidence is due before the given day. */
  readonly disputesDue: number
}

/** The recent results of one provider account. */
export interface ProviderHealth {
  /** Undefined: the simulator, which needs no account. */
  readonly account: string | null
  readonly payments: number
  /** Payments without an answer of the provider. */
  readonly pending: number
  /** Payments that ended with a fault of the connection or the provider, not with a decline. */
  readonly faults: number
}

export interface FigureStore {
  volumes(merchantId: string, since: Date): Promise<readonly DayVolume[]>
  approvals(merchantId: string, since: Date): Promise<readonly ApprovalRate[]>
  declines(merchantId: string, since: Date): Promise<readonly DeclineReason[]>
  health(merchantId: string, since: Date): Promise<readonly ProviderHealth[]>
  waiting(merchantId: string, dueBefore: Date): Promise<Waiting>
}

const recent = `p.merchant_id = $1 AND p.created_at >= $2 AND ${inLists('p')}`

/** Response codes of this kind mean a technical fault, not a decision of the issuer. */
const isFault = `right(m.response_code, 4) IN (${technicalDetails.map(detail => `'${detail}'`).join()})`

/** While a customer has not chosen a method, no account has been asked. */
const isChosen = `p.method <> '${undecided.type}'`

/**
 * 12 s: longer than the server's statement timeout, so that the server cancels a slow count. If our own timeout came
 * first, the database would count as unresponsive and all requests would be refused.
 */
const patienceMs = 12_000

export function createFigureStore({ readers }: Pick<Database, 'readers'>): FigureStore {
  // pg accepts query_timeout per query, but its types lack it.
  const ask = <Row extends object>(text: string, values: readonly unknown[]) =>
    readers.query<Row>({ text, values: [...values], query_timeout: patienceMs } as QueryConfig)
  return {
    async volumes(merchantId, since) {
      const { rows } = await ask<DayVolume>(
        `SELECT to_char(p.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, p.currency,
           sum(p.captured)::bigint AS captured, count(*)::integer AS payments
         FROM payment p WHERE ${recent} GROUP BY 1, 2 ORDER BY 1, 2`,
        [merchantId, since],
      )
      return rows
    },
    async approvals(merchantId, since) {
      const { rows } = await ask<ApprovalRate>(
        `SELECT p.method, count(*) FILTER (WHERE p.status IN ('AUTHORIZED', 'CAPTURE_REQUEST', 'OK', 'REVERSED'))::integer AS approved,
           count(*) FILTER (WHERE p.status = 'FAILED')::integer AS failed
         FROM payment p WHERE ${recent} AND p.kind = 'PAYMENT' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10`,
        [merchantId, since],
      )
      return rows
    },
    async declines(merchantId, since) {
      const { rows } = await ask<DeclineReason>(
        `SELECT m.response_code AS "responseCode", count(*)::integer AS count FROM payment_mark m
         WHERE m.merchant_id = $1 AND m.status = 'FAILED' AND m.created_at >= $2 GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10`,
        [merchantId, since],
      )
      return rows
    },
    async health(merchantId, since) {
      const { rows } = await ask<ProviderHealth>(
        `SELECT p.provider_account AS account, count(*)::integer AS payments,
           count(*) FILTER (WHERE p.status = 'PENDING')::integer AS pending,
           count(*) FILTER (WHERE ${isFault})::integer AS faults
         FROM payment p LEFT JOIN payment_mark m ON m.merchant_id = p.merchant_id AND m.pay_id = p.pay_id
         WHERE ${recent} AND ${isChosen} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 20`,
        [merchantId, since],
      )
      return rows
    },
    async waiting(merchantId, dueBefore) {
      const { rows } = await ask<Waiting>(
        `SELECT (SELECT count(*)::integer FROM payment_mark m JOIN payment p USING (merchant_id, pay_id)
             WHERE m.merchant_id = $1 AND m.status = 'PENDING' AND p.status = 'PENDING') AS pending,
           (SELECT count(*)::integer FROM event e WHERE e.merchant_id = $1 AND e.status = 'FAILED') AS "failedEvents",
           (SELECT count(*)::integer FROM dispute d WHERE d.merchant_id = $1 AND d.status = 'OPEN'
             AND d.evidence_due_by < $2) AS "disputesDue"`,
        [merchantId, dueBefore],
      )
      return rows[0] ?? { pending: 0, failedEvents: 0, disputesDue: 0 }
    },
  }
}
