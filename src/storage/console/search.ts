/**
 * The search box: payments of some merchants by whatever a person typed. Each interpretation of the text uses an index
 * of its own.
 */
import { isActiveCurrency } from '#domain/money/currencies.ts'
import type { Database } from '#storage/database.ts'
import { email, lastDigits } from '#storage/payments/found-by.ts'
import { inLists } from '#storage/planner.ts'

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

export interface PaymentSearch {
  /** The newest first, at most this many. */
  find(merchants: readonly string[], typed: string, limit: number): Promise<readonly FoundPayment[]>
}

interface Guess {
  /** The value to compare with; undefined: the text cannot be such a value. */
  readonly read: (typed: string) => string | number | undefined
  readonly where: string
}

const matching =
  (form: RegExp) =>
  (typed: string): string | undefined =>
    form.test(typed) ? typed : undefined

const isCurrency = (mark: string): boolean => mark === '' || /\p{Sc}$/u.test(mark) || isActiveCurrency(mark)

/** Whole, or in groups of three; with the two to four decimals that currencies have. */
const amountForm = /^(?:\d{1,12}|\d{1,3}(?:[.,\s]\d{3}){1,3})(?:[.,]\d{2,4})?$/

/**
 * In the smallest unit, or as our pages and people write it: `1234`, `12.34`, `€1,234.56`, `KWD 12.345`. The digits are the same
 * in every currency, so that none has to be known.
 */
function readAmount(typed: string): number | undefined {
  const [, before = '', number = '', after = ''] =
    /^([A-Z]{0,3}\p{Sc}?)\s?(\d[\d.,\s]*?)\s?([A-Z]{3}|\p{Sc})?$/u.exec(typed) ?? []
  const isAmount = amountForm.test(number) && isCurrency(before) && isCurrency(after)
  return isAmount ? Number(number.replace(/\D/g, '')) : undefined
}

const guesses: readonly Guess[] = [
  { read: matching(/^[0-9a-f]{32}$/i), where: 'p.pay_id = $2::uuid' },
  // Two indexes, each for a part of the payments.
  { read: typed => typed, where: 'p.trans_id = $2 AND p.live' },
  { read: typed => typed, where: 'p.trans_id = $2 AND NOT p.live' },
  { read: typed => typed, where: 'p.ref_nr = $2' },
  { read: matching(/@/), where: `${email} IS NOT NULL AND lower${email} = lower($2)` },
  { read: matching(/^\d{4}$/), where: `${lastDigits} IS NOT NULL AND ${lastDigits} = $2` },
  { read: readAmount, where: `p.amount = $2::bigint AND ${inLists('p')}` },
]

interface Question {
  readonly merchants: readonly string[]
  readonly typed: string
  readonly limit: number
}

const columns = `p.merchant_id AS "merchantId", p.pay_id AS "payId", p.trans_id AS "transId", p.status, p.method, p.amount,
  p.currency, p.created_at AS "createdAt"`

export function createPaymentSearch({ readers }: Pick<Database, 'readers'>): PaymentSearch {
  /** Merchant by merchant, because every index begins with the merchant. */
  async function tryGuess({ merchants, typed, limit }: Question, { read, where }: Guess) {
    const value = read(typed)
    if (value === undefined) return []
    const { rows } = await readers.query<FoundPayment>(
      `SELECT f.* FROM unnest($1::text[]) w(merchant_id) CROSS JOIN LATERAL (SELECT ${columns} FROM payment p
         WHERE p.merchant_id = w.merchant_id AND ${where} ORDER BY p.created_at DESC, p.pay_id DESC LIMIT $3) f
       ORDER BY f."createdAt" DESC LIMIT $3`,
      [merchants, value, limit],
    )
    return rows
  }
  return {
    async find(merchants, typed, limit) {
      const found = await Promise.all(guesses.map(guess => tryGuess({ merchants, typed, limit }, guess)))
      const byId = new Map(found.flat().map(payment => [payment.payId, payment]))
      return [...byId.values()]
        .toSorted((a, b) => b.createdAt.getTime() - a.createdAt.getTime())
        .slice(0, limit)
    },
  }
}
