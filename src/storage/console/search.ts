/**
 * The search box: finds payments of the given merchants by any text. Each interpretation of the text uses an index of
 * its own.
 */
import { currencies, isActiveCurrency } from '#domain/money/currencies.ts'
import { plainReference } from '#storage/commit/provider-references.ts'
import type { Database } from '#storage/database.ts'
import { email, lastDigits, merchantCustomer } from '#storage/payments/found-by.ts'
import { byOtherIndex, inLists } from '#storage/planner.ts'

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
  /** Reads the value to search for; undefined if the text cannot be such a value. */
  readonly read: (typed: string) => string | number | undefined
  readonly where: string
}

/** Removes what is pasted by accident: quotes, brackets, punctuation around a sentence. Merges blanks of any kind. */
const tidy = (typed: string): string =>
  typed
    .replace(/\s+/g, ' ')
    .replace(/^[\s"'“”„‘’«»<([#]+/, '')
    .replace(/[\s"'“”‘’«»>)\].,;:!?]+$/, '')

/** A payId anywhere in the text, with or without the dashes of a uuid. */
function readPayId(typed: string): string | undefined {
  const [id] = /(?<![0-9a-z])[0-9a-f]{8}(-?)(?:[0-9a-f]{4}\1){3}[0-9a-f]{12}(?![0-9a-z])/i.exec(typed) ?? []
  return id?.replaceAll('-', '')
}

const readEmail = (typed: string): string | undefined => {
  const [, email] = /(?:mailto:)?([^\s<>()[\]",;:]+@[^\s<>()[\]",;:]+)/i.exec(typed) ?? []
  return email && tidy(email)
}

/** The last four digits, alone or after masked ones: `1111`, `•••• 1111`, `4111 11** **** 1111`. */
function readLastDigits(typed: string): string | undefined {
  const [, hidden = '', digits] = /^([\d\s•·*xX.…-]*?)(\d{4})$/.exec(tidy(typed)) ?? []
  return hidden === '' || /[•·*xX.…]/.test(hidden) ? digits : undefined
}

const isCurrency = (mark: string): boolean =>
  mark === '' || /\p{Sc}$/u.test(mark) || isActiveCurrency(mark.toUpperCase())

/** Digits, or groups of three. */
const wholeForm = /^(?:\d{1,12}|\d{1,3}(?:[.,\s'’]\d{3}){1,3})$/
/** With the two to four decimals that currencies have. */
const decimalForm = /^(?:\d{1,12}|\d{1,3}(?:[.,\s'’]\d{3}){1,3})[.,]\d{2,4}$/

function readDigits(typed: string, ...forms: readonly RegExp[]): number | undefined {
  const [, before = '', number = '', after = ''] =
    /^([a-z]{0,3}\p{Sc}?)\s?(\d[\d.,\s'’]*?)\s?([a-z]{3}|\p{Sc})?$/iu.exec(tidy(typed)) ?? []
  const isAmount = forms.some(form => form.test(number)) && isCurrency(before) && isCurrency(after)
  return isAmount ? Number(number.replace(/\D/g, '')) : undefined
}

/**
 * An amount in the smallest unit, or as people write it: `1234`, `12.34`, `€1,234.56`, `KWD 12.345`. The digits are the
 * same in every currency, so the currency need not be known.
 */
const readAmount = (typed: string): number | undefined => readDigits(typed, wholeForm, decimalForm)

/** People omit zero decimals: `€50` may also mean 5000 cents. */
const wholeAmounts: readonly Guess[] = [2, 3].map(exponent => {
  const codes = currencies.filter(currency => currency.exponent === exponent).map(({ code }) => `'${code}'`)
  return {
    read: typed => readDigits(typed, wholeForm),
    where: `p.amount = $2::bigint * ${10 ** exponent} AND p.currency IN (${codes.join()}) AND ${inLists('p')}`,
  }
})

const references: readonly Guess[] = [
  // Two conditions, because each partial index covers a part of the payments.
  'p.trans_id = $2 AND p.live',
  'p.trans_id = $2 AND NOT p.live',
  'p.ref_nr = $2',
  `${merchantCustomer} IS NOT NULL AND ${merchantCustomer} = $2`,
].map(where => ({ read: typed => typed, where }))

/**
 * What a provider calls an operation, ours or its own: it is what people copy from the provider's pages. Or the
 * reference of a transfer, which customers quote.
 */
const byProvider = `p.pay_id = ANY (ARRAY(SELECT r.pay_id FROM provider_account a JOIN provider_reference r
  ON r.merchant_id = a.merchant_id AND r.provider_account = a.provider_account_id AND r.reference = $2
  WHERE a.merchant_id = w.merchant_id))`

const guesses: readonly Guess[] = [
  { read: readPayId, where: 'p.pay_id = $2::uuid' },
  { read: typed => readPayId(typed) ?? typed, where: byProvider },
  { read: plainReference, where: byProvider },
  ...references,
  { read: readEmail, where: `${email} IS NOT NULL AND lower${email} = lower($2)` },
  { read: readLastDigits, where: `${lastDigits} IS NOT NULL AND ${lastDigits} = $2` },
  { read: readAmount, where: `p.amount = $2::bigint AND ${inLists('p')}` },
  ...wholeAmounts,
]

interface Question {
  readonly merchants: readonly string[]
  readonly limit: number
}

const columns = `p.merchant_id AS "merchantId", p.pay_id AS "payId", p.trans_id AS "transId", p.status, p.method, p.amount,
  p.currency, p.created_at AS "createdAt"`

/** 1 min before: an id is older than the moment in which its operation is sent, and clocks differ a little. 10 min after. */
const sentAround = { beforeMs: 60_000, afterMs: 10 * 60_000 }

/** The contract's last day. */
const lastBornMs = Date.UTC(2199, 11, 31)

/** Ids begin with their milliseconds. */
const bornAt = (id: string): number => Number.parseInt(id.slice(0, 12), 16)
const firstId = (milliseconds: number): string =>
  `${Math.max(0, milliseconds).toString(16).padStart(12, '0').slice(-12)}${'0'.repeat(20)}`

/**
 * Payments of an xId, which has no index of its own: an operation was sent soon after its id was drawn, or that was together with
 * the id of its payment.
 */
const byXId = `SELECT ${columns} FROM payment p JOIN (
    SELECT o.merchant_id, o.pay_id FROM operation o WHERE o.sent_at >= $2::timestamptz AND o.sent_at < $3
      AND o.x_id = $4::uuid AND ${byOtherIndex('o.merchant_id')} = ANY ($1::text[])
    UNION SELECT o.merchant_id, o.pay_id FROM unnest($1::text[]) w(merchant_id) CROSS JOIN LATERAL (
      SELECT o.merchant_id, o.pay_id FROM operation o WHERE o.merchant_id = w.merchant_id
        AND o.pay_id >= $5::uuid AND o.pay_id < $6::uuid AND o.x_id = $4::uuid) o
  ) f ON f.merchant_id = p.merchant_id AND f.pay_id = p.pay_id`

export function createPaymentSearch({ readers }: Pick<Database, 'readers'>): PaymentSearch {
  /** One query per merchant, because every index begins with the merchant. */
  async function tryGuess({ merchants, limit }: Question, { read, where }: Guess, typed: string) {
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
  async function findByXId(merchants: readonly string[], typed: string): Promise<readonly FoundPayment[]> {
    const id = readPayId(typed)?.toLowerCase()
    const born = id === undefined ? 0 : bornAt(id)
    // A text of 32 hex digits may be anything; the ids of this gateway are of its time.
    if (id === undefined || born > lastBornMs) return []
    const { beforeMs, afterMs } = sentAround
    const [from, to] = [born - beforeMs, born + afterMs]
    const values = [merchants, new Date(from), new Date(to), id, firstId(from), firstId(born + 1_000)]
    return (await readers.query<FoundPayment>(byXId, values)).rows
  }
  async function tryAll(question: Question, tried: readonly Guess[], texts: readonly string[]) {
    const tries = [...new Set(texts)].flatMap(text => tried.map(guess => tryGuess(question, guess, text)))
    return (await Promise.all(tries)).flat()
  }
  return {
    async find(merchants, typed, limit) {
      const question = { merchants, limit }
      const plain = tidy(typed)
      const [guessed, byOperation] = await Promise.all([
        tryAll(question, guesses, [typed, plain]),
        findByXId(merchants, plain),
      ])
      const found = [...guessed, ...byOperation]
      // The indexes of references are case-sensitive, so upper and lower case are tried too.
      const cases = [plain.toUpperCase(), plain.toLowerCase()].filter(text => text !== plain)
      const all = found.length > 0 ? found : await tryAll(question, references, cases)
      const byId = new Map(all.map(payment => [payment.payId, payment]))
      return [...byId.values()]
        .toSorted((a, b) => b.createdAt.getTime() - a.createdAt.getTime())
        .slice(0, limit)
    },
  }
}
