/** Reads quotes for payments in the cardholder's currency (DCC). Commits write them (change.ts). */
import type { MerchantId, PayId } from '#domain/ids.ts'
import type { Money } from '#domain/money/money.ts'
import type { Database } from '#storage/database.ts'

export interface Quote {
  readonly merchantId: MerchantId
  /** 32 hex digits, like an xId. */
  readonly quoteId: string
  /** The first digits of the card that the quote was made for. */
  readonly bin: string
  readonly merchantAmount: Money
  readonly cardholderAmount: Money
  /** Six decimals. */
  readonly exchangeRate: string
  /** Two decimals. */
  readonly markupPercentage: string
  readonly rateSource: string
  readonly transId?: string
  /** Both in the merchant's time. */
  readonly quotedAt: Date
  readonly expiresAt: Date
}

export interface StoredQuote extends Quote {
  /** The payment that used it. */
  readonly payId?: PayId
}

export interface QuoteReader {
  find(merchantId: MerchantId, quoteId: string): Promise<StoredQuote | undefined>
}

export interface QuoteStore extends QuoteReader {
  /** Deletes unused quotes that expired long ago. Returns how many. */
  reap(): Promise<number>
}

/** 1 day after its expiry: long enough to investigate a complaint about an expired offer. */
const keptHours = 24
/** 10,000 per round: with a round every ten minutes, that deletes more than a million quotes a day. */
const reapedAtOnce = 10_000

interface QuoteRow {
  readonly quote_id: string
  readonly bin: string
  readonly merchant_value: number
  readonly merchant_currency: string
  readonly cardholder_value: number
  readonly cardholder_currency: string
  readonly exchange_rate: string
  readonly markup_percentage: string
  readonly rate_source: string
  readonly trans_id: string | null
  readonly pay_id: PayId | null
  readonly quoted_at: Date
  readonly expires_at: Date
}

export function createQuoteStore({ readers, writers }: Database): QuoteStore {
  return {
    async find(merchantId, quoteId) {
      const { rows } = await readers.query<QuoteRow>({
        name: 'dcc_quote',
        text: `SELECT quote_id, bin, merchant_value, merchant_currency, cardholder_value, cardholder_currency,
                 exchange_rate, markup_percentage, rate_source, trans_id, pay_id, quoted_at, expires_at
               FROM dcc_quote WHERE merchant_id = $1 AND quote_id = $2`,
        values: [merchantId, quoteId],
      })
      return rows[0] && toQuote(merchantId, rows[0])
    },
    async reap() {
      const { rowCount } = await writers.query(
        `DELETE FROM dcc_quote t USING (
           SELECT q.merchant_id, q.quote_id FROM dcc_quote q JOIN merchant m USING (merchant_id)
           WHERE q.pay_id IS NULL
             AND q.expires_at < now() + m.clock_offset_ms * interval '1 millisecond' - $1 * interval '1 hour'
           LIMIT $2) old
         WHERE t.merchant_id = old.merchant_id AND t.quote_id = old.quote_id AND t.pay_id IS NULL`,
        [keptHours, reapedAtOnce],
      )
      return rowCount ?? 0
    },
  }
}

const toQuote = (merchantId: MerchantId, row: QuoteRow): StoredQuote => ({
  merchantId,
  quoteId: row.quote_id,
  bin: row.bin,
  merchantAmount: { value: row.merchant_value, currency: row.merchant_currency },
  cardholderAmount: { value: row.cardholder_value, currency: row.cardholder_currency },
  exchangeRate: row.exchange_rate,
  markupPercentage: row.markup_percentage,
  rateSource: row.rate_source,
  transId: row.trans_id ?? undefined,
  payId: row.pay_id ?? undefined,
  quotedAt: row.quoted_at,
  expiresAt: row.expires_at,
})
