/**
 * The list of movements: operations that have become final, the oldest first by that time. Each type and state is read
 * along one index, from where the previous page ended.
 */
import type { MerchantId, PayId, XId } from '#domain/ids.ts'
import type { OperationType } from '#lifecycle/payment.ts'
import type { Database } from '#storage/database.ts'

/** The final states of an operation. */
export const finalStates = ['AUTHORIZED', 'OK', 'FAILED'] as const
export type FinalState = (typeof finalStates)[number]

export interface Movement {
  readonly merchantId: MerchantId
  readonly payId: PayId
  readonly sequence: number
  readonly xId: XId
  readonly transId: string
  readonly refNr: string | null
  readonly type: OperationType
  readonly state: FinalState
  readonly amount: number
  readonly currency: string
  readonly method: string
  readonly responseCode: string
  readonly providerAccount: string | null
  readonly transactionId: string | null
  readonly createdAt: Date
  readonly settledAt: Date
}

export interface MovementPlace {
  readonly settledAt: Date
  readonly payId: PayId
  readonly sequence: number
}

export interface MovementQuestion {
  readonly merchantId: MerchantId
  readonly types: readonly OperationType[]
  readonly states: readonly FinalState[]
  /** Inclusive. */
  readonly from?: Date
  /** Exclusive. */
  readonly to?: Date
  readonly payId?: PayId
  readonly after?: MovementPlace
  readonly limit: number
}

/** A movement as the database writes it. Times look like `2026-11-15 12:00:00.013` and are in UTC, ids have dashes. */
export type RawMovement = readonly [
  xId: string,
  payId: string,
  transId: string,
  refNr: string | null,
  type: string,
  state: string,
  amount: string,
  currency: string,
  method: string,
  responseCode: string,
  createdAt: string,
  settledAt: string,
  providerAccount: string | null,
  transactionId: string | null,
  sequence: string,
]

/** The last one of a page. */
export interface RawPlace {
  readonly settledAt: string
  readonly payId: string
  readonly sequence: string
}

export interface MovementReader {
  read(question: MovementQuestion): Promise<readonly Movement[]>
  /**
   * The same for large pages: the planner sees every type and state and merges their index scans. The columns are
   * returned as the database writes them, because parsing them into dates and objects would cost more than finding
   * them.
   */
  readMany(
    question: Omit<MovementQuestion, 'payId' | 'after'> & { readonly after?: RawPlace },
  ): Promise<readonly RawMovement[]>
  /**
   * Call before a merchant's export. Returns the function to call at its end, or undefined if too many exports are
   * running.
   */
  beginExport(merchantId: MerchantId): (() => void) | undefined
}

/** 2 of the 4 reader connections, so that lists never wait for exports. */
const manyAtOnce = 2

/** 10 exports at a time: enough for most of a year by months. Each holds two pages in memory while its client reads. */
const exportsMax = 10

const shown = `o.merchant_id AS "merchantId", o.pay_id AS "payId", o.sequence, o.x_id AS "xId", o.trans_id AS "transId",
  o.ref_nr AS "refNr", o.type, o.state, o.amount, p.currency, p.method, o.response_code AS "responseCode",
  p.provider_account AS "providerAccount", o.provider ->> 'transactionId' AS "transactionId",
  o.created_at AS "createdAt", o.updated_at AS "settledAt"`

const rawColumns = `o.x_id, o.pay_id, o.trans_id, o.ref_nr, o.type, o.state, o.amount, p.currency, p.method, o.response_code,
  o.created_at AT TIME ZONE 'UTC', o.updated_at AT TIME ZONE 'UTC', p.provider_account, o.provider ->> 'transactionId', o.sequence`

const place = 'o.updated_at, o.pay_id, o.sequence'

const asWritten = { getTypeParser: () => (text: string) => text }

/** The position before the first page. */
const beginning = { settledAt: new Date(0), payId: '0'.repeat(32), sequence: 0 }
/** A time after every movement. */
const end = new Date('2200-01-01T00:00:00Z')

const byTime = `SELECT ${shown} FROM (
    SELECT f.* FROM unnest($2::text[]) t(type) CROSS JOIN unnest($3::text[]) s(state) CROSS JOIN LATERAL (
      SELECT ${place}, o.merchant_id, o.type, o.state FROM operation o
      WHERE o.merchant_id = $1 AND o.type = t.type AND o.state = s.state
        AND o.state IN ('AUTHORIZED', 'OK', 'FAILED') AND o.updated_at >= $4 AND o.updated_at < $5
        AND (${place}) > ($6::timestamptz, $7::uuid, $8::smallint)
      ORDER BY ${place} LIMIT $9) f
    ORDER BY f.updated_at, f.pay_id, f.sequence LIMIT $9) f
  JOIN operation o ON o.merchant_id = f.merchant_id AND o.pay_id = f.pay_id AND o.sequence = f.sequence
  JOIN payment p ON p.merchant_id = o.merchant_id AND p.pay_id = o.pay_id
  ORDER BY ${place}`

/** The columns of a movement that come from the operation, and those that come from its payment. */
const operationColumns =
  'merchant_id, pay_id, sequence, x_id, trans_id, ref_nr, type, state, amount, response_code, provider, created_at, updated_at'

/**
 * One index scan for each type and state. Because each is ordered and limited on its own, the planner scans the index
 * and the merge reads only the rows it needs; otherwise it would read and sort all rows.
 */
function mergeWalks({ types, states }: Pick<MovementQuestion, 'types' | 'states'>): string {
  const walks = types.flatMap(type =>
    states.map(
      state => `(SELECT ${operationColumns} FROM operation o WHERE o.merchant_id = $1
        AND o.type = '${type}' AND o.state = '${state}' AND o.state IN ('AUTHORIZED', 'OK', 'FAILED')
        AND o.updated_at >= $2 AND o.updated_at < $3 AND (${place}) > ($4::timestamptz, $5::uuid, $6::smallint)
        ORDER BY ${place} LIMIT $7)`,
    ),
  )
  return `SELECT ${rawColumns} FROM (SELECT * FROM (${walks.join(' UNION ALL ')}) o ORDER BY ${place} LIMIT $7) o
    JOIN payment p ON p.merchant_id = o.merchant_id AND p.pay_id = o.pay_id ORDER BY ${place}`
}

const ofPayment = `SELECT ${shown} FROM operation o JOIN payment p ON p.merchant_id = o.merchant_id AND p.pay_id = o.pay_id
  WHERE o.merchant_id = $1 AND o.type = ANY ($2::text[]) AND o.state = ANY ($3::text[])
    AND o.updated_at >= $4 AND o.updated_at < $5 AND (${place}) > ($6::timestamptz, $7::uuid, $8::smallint)
    AND o.pay_id = $10
  ORDER BY ${place} LIMIT $9`

interface Bounds extends Pick<MovementQuestion, 'from' | 'to'> {
  readonly after?: MovementPlace | RawPlace | undefined
}

/** `from`, `to` and the end of the previous page, as parameters of both statements. */
function boundsOf({ from, to, after }: Bounds): readonly unknown[] {
  const { settledAt, payId, sequence } = after ?? beginning
  return [from ?? beginning.settledAt, to ?? end, settledAt, payId, sequence]
}

/** Limits how much work runs at once; the rest waits in the order of arrival. */
function createTurns(most: number): <T>(work: () => Promise<T>) => Promise<T> {
  let running = 0
  const waiting: (() => void)[] = []
  return async work => {
    if (running < most) running += 1
    else await new Promise<void>(resolve => waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else running -= 1
    }
  }
}

function createExports(): MovementReader['beginExport'] {
  const underWay = new Map<MerchantId, number>()
  const change = (merchantId: MerchantId, by: 1 | -1): void => {
    const count = (underWay.get(merchantId) ?? 0) + by
    if (count > 0) underWay.set(merchantId, count)
    else underWay.delete(merchantId)
  }
  return merchantId => {
    if ((underWay.get(merchantId) ?? 0) >= exportsMax) return undefined
    change(merchantId, 1)
    return () => change(merchantId, -1)
  }
}

export function createMovementReader({
  readers,
  lists,
}: Pick<Database, 'readers' | 'lists'>): MovementReader {
  const inTurn = createTurns(manyAtOnce)
  return {
    beginExport: createExports(),

    async read(question) {
      const { merchantId, types, states, payId, limit } = question
      const named = [merchantId, types, states, ...boundsOf(question), limit]
      const values = payId === undefined ? named : [...named, payId]
      const text = payId === undefined ? byTime : ofPayment
      const name = payId === undefined ? 'movements_by_time' : 'movements_of_payment'
      const { rows } = await lists.run(merchantId, () => readers.query<Movement>({ name, text, values }))
      return rows
    },

    async readMany(question) {
      const { merchantId, limit } = question
      const read = () =>
        readers.query<[...RawMovement]>({
          text: mergeWalks(question),
          values: [merchantId, ...boundsOf(question), limit],
          rowMode: 'array',
          types: asWritten,
        })
      return (await inTurn(read)).rows
    },
  }
}
