/**
 * Defines checks and turns them into statements. With millions of payments most of the time goes into reading, so
 * checks of the same rows share one statement (a sweep), and a statement that goes payment by payment is split into
 * ranges that several connections process.
 */

interface Named {
  readonly name: string
  /** What should be true. */
  readonly sentence: string
}

/**
 * A check with a statement of its own. It selects merchant_id, pay_id, x_id and detail of each fault; `clock.now` is
 * the time. Two placeholders stand for a condition on the merchant_id and pay_id of a table's alias:
 * - `{range a}`: payment by payment; the statement then runs once for each range of payments.
 * - `{touched a}`: the payments to examine: all, or only those changed since a given time.
 */
export interface OwnCheck extends Named {
  readonly broken: string
  /** The statement for a list of payments, if `broken` would read a whole table. */
  readonly brokenOfListed?: string
}

/** One condition on the rows of a sweep. */
export interface RowCheck extends Named {
  readonly sweep: Sweep
  /** The SQL condition that a faulty row meets. */
  readonly when: string
  readonly detail: string
}

export interface Sweep {
  /** May hold the placeholders described above. */
  readonly from: string
  readonly where: string
  /** The SQL expressions of merchant_id, pay_id and x_id. */
  readonly ids: readonly [string, string, string]
}

export type Check = OwnCheck | RowCheck

/** Several checks in one statement; each row names its check. */
export interface CheckStatement {
  readonly names: readonly string[]
  readonly text: string
}

/** `listed`: for a list of payments instead of all. */
export function statementsOf(
  checks: readonly Check[],
  { listed = false }: { readonly listed?: boolean } = {},
): readonly CheckStatement[] {
  const sweeps = new Map<Sweep, RowCheck[]>()
  const own: CheckStatement[] = []
  for (const check of checks) {
    if ('sweep' in check) sweeps.set(check.sweep, [...(sweeps.get(check.sweep) ?? []), check])
    else {
      const broken = (listed ? check.brokenOfListed : undefined) ?? check.broken
      own.push({ names: [check.name], text: `SELECT '${check.name}' AS name, b.* FROM (${broken}) b` })
    }
  }
  return [...[...sweeps].map(([sweep, rows]) => sweepStatement(sweep, rows)), ...own]
}

/** Tests all conditions together first; only for a faulty row are they evaluated one by one to name the check. */
function sweepStatement({ from, where, ids }: Sweep, checks: readonly RowCheck[]): CheckStatement {
  const conditions = checks.map(({ when }) => `(${when})`)
  const values = checks.map(({ name, detail }, index) => `('${name}', ${conditions[index]}, ${detail})`)
  const text = `SELECT v.name, ${ids[0]} AS merchant_id, ${ids[1]} AS pay_id, ${ids[2]} AS x_id, v.detail
    FROM ${from} CROSS JOIN LATERAL (VALUES ${values.join(',\n')}) v(name, is_broken, detail)
    WHERE ${where} AND (${conditions.join('\nOR ')}) AND v.is_broken`
  return { names: checks.map(({ name }) => name), text }
}

/** A part of all payments: those between two keys, or a list. */
export type Slice =
  | { readonly after?: PaymentKey; readonly upTo?: PaymentKey }
  | { readonly listed: readonly PaymentKey[] }

export interface PaymentKey {
  readonly merchantId: string
  readonly payId: string
}

export interface SlicedStatement {
  readonly text: string
  readonly values: readonly unknown[]
}

const marks = /\{(range|touched) (\w+)\}/g

/** Whether a statement goes payment by payment. */
export const isRanged = ({ text }: CheckStatement): boolean => text.includes('{range ')

/** The statement for one slice. `$1` is the time. */
export function sliceStatement({ text }: CheckStatement, slice: Slice): SlicedStatement {
  const values: unknown[] = []
  const parameter = (value: unknown, type: string): string => `$${values.push(value) + 1}::${type}`
  const key = ({ merchantId, payId }: PaymentKey): string =>
    `(${parameter(merchantId, 'text')}, ${parameter(payId, 'uuid')})`
  const conditionOn = (alias: string): string => {
    const row = `(${alias}.merchant_id, ${alias}.pay_id)`
    if ('listed' in slice) {
      const [merchants, payments] = [
        slice.listed.map(one => one.merchantId),
        slice.listed.map(one => one.payId),
      ]
      return `${row} IN (SELECT * FROM unnest(${parameter(merchants, 'text[]')}, ${parameter(payments, 'uuid[]')}))`
    }
    const bounds = [
      ...(slice.after ? [`${row} > ${key(slice.after)}`] : []),
      ...(slice.upTo ? [`${row} <= ${key(slice.upTo)}`] : []),
    ]
    return bounds.join(' AND ') || 'true'
  }
  return { text: text.replace(marks, (_, _kind, alias: string) => `(${conditionOn(alias)})`), values }
}

/**
 * A count instead of EXISTS: for a condition that is evaluated for few rows, the planner would otherwise read the whole
 * table first.
 */
export const some = (rows: string): string => `((SELECT count(*) FROM ${rows}) > 0)`

/** The condition that an operation is unanswered. */
export const unanswered = `state IN ('SENT', 'PENDING')`

/** Whether the payment `p` has a timer `t` of this kind. */
export const timerOf = (kind: string, condition = 'true'): string =>
  some(
    `timer t WHERE t.merchant_id = p.merchant_id AND t.pay_id = p.pay_id AND t.kind = '${kind}' AND ${condition}`,
  )
