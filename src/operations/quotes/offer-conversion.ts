/** Offers customers on our pages to pay in the currency of their card (DCC), if a rate is known. Moves no money. */
import type { CardData } from '#connectors/contract.ts'
import { parseXId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import type { Money } from '#domain/money/money.ts'
import type { Payment } from '#lifecycle/payment.ts'
import { type Engine, merchantNow } from '#operations/engine.ts'
import type { LookUps } from '#operations/look-ups.ts'
import { CommitRefused } from '#operations/payments/payment-queue.ts'
import { quoteConversion } from '#operations/quotes/quote-conversion.ts'
import { isInTime, isMadeFor } from '#operations/quotes/redeem-quote.ts'
import type { Quote } from '#storage/payments/quotes.ts'

export interface Offering {
  readonly merchant: Merchant
  readonly payment: Pick<Payment, 'payId' | 'amount' | 'transId'>
  /** The number may be a pseudo card number. */
  readonly card: CardData
  /** The offer that the page already shows, which stays while it is valid. */
  readonly shownId?: string
}

type Needs = Pick<Engine, 'commit' | 'clock' | 'newId' | 'quotes' | 'vault'>

/** Undefined: there is no offer for this card, or the vault has deleted it. */
export async function offerConversion(
  { merchant, payment, card, shownId }: Offering,
  { engine, lookUps }: { readonly engine: Needs; readonly lookUps: LookUps },
): Promise<Quote | undefined> {
  const { amount, transId } = payment
  // A zero-amount card check has nothing to convert.
  if (amount.value === 0) return undefined
  // Nothing is written here: the vault stores the card when it is tried.
  const admitted = await engine.vault.admit(merchant.merchantId, card.number, { expiryDate: card.expiryDate })
  if (!admitted) return undefined
  const shown = await findShown(shownId, { merchant, payment, amount, card: admitted }, engine)
  if (shown) return shown
  const bin = binOf(admitted.number.reveal())
  const { clock, newId } = engine
  const quoted = await quoteConversion({ merchant, bin, amount, transId }, { ...lookUps, clock, newId })
  if (!quoted.eligible) return undefined
  const committed = await engine.commit({ insertQuote: quoted.quote })
  if (!committed.committed) throw new CommitRefused(committed.conflict)
  return quoted.quote
}

async function findShown(
  shownId: string | undefined,
  paying: {
    readonly merchant: Merchant
    readonly payment: Offering['payment']
    readonly amount: Money
    readonly card: Pick<CardData, 'number'>
  },
  { quotes, clock }: Needs,
): Promise<Quote | undefined> {
  const { merchant, payment } = paying
  const quoteId = shownId === undefined ? undefined : parseXId(shownId)
  const quote = quoteId && (await quotes.find(merchant.merchantId, quoteId))
  if (!quote || !isMadeFor(quote, paying) || !isInTime(quote, merchantNow(clock, merchant))) return undefined
  return quote.payId === undefined || quote.payId === payment.payId ? quote : undefined
}

/**
 * The first eight digits identify the issuer. The quote stores them, and its payment stores the last four; of a number
 * shorter than 16 digits that would reveal too much, so only six are used.
 */
const binOf = (number: string): string => number.slice(0, number.length >= 16 ? 8 : 6)
