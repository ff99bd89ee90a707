/** Replaces the token of a one-time card in a request by the card that the customer typed. */

import { createHash } from 'node:crypto'
import { isOneTimeToken } from '#domain/cards/card-numbers.ts'
import type { Merchant } from '#domain/merchant.ts'
import type { IdempotencyKey } from '#http/endpoint.ts'
import { InvalidField, KeyTaken, NotFound } from '#http/server/ports.ts'
import { type Engine, merchantNow } from '#operations/engine.ts'

interface SentCard {
  readonly number?: string
  readonly expiryDate?: string
  readonly cardholderName?: string
  readonly securityCode?: string
}

interface Paying {
  readonly merchant: Merchant
  readonly key?: IdempotencyKey
  readonly engine: Pick<Engine, 'oneTimeCards' | 'clock' | 'newId'>
}

/**
 * Pays with the card behind a token; `typed` is undefined if the request has no token. Many checks need the card's
 * number, so the token is claimed before them. It is used up once the payment is stored, and given back if the request
 * is refused: the customer need not type their card again because of a mistake of the shop.
 */
export async function payWithToken<Card extends SentCard, Result>(
  card: Card | undefined,
  field: string,
  paying: Paying,
  pay: (typed: Card | undefined, onStored: () => void) => Promise<Result>,
): Promise<Result> {
  const claimed = await claimCard(card, field, paying)
  if (!claimed) return pay(undefined, () => {})
  let used: Promise<void> | undefined
  const giveBack = () => (used ? undefined : settle(claimed.giveBack()))
  try {
    const result = await pay(claimed.card, () => {
      used = settle(claimed.useUp())
    })
    await giveBack()
    return result
  } catch (error) {
    // After any other error the payment may be stored.
    if (error instanceof InvalidField || error instanceof NotFound || error instanceof KeyTaken)
      await giveBack()
    throw error
  } finally {
    await used
  }
}

/** If the database is lost, the token stays claimed until it expires. The answer to the payment must not depend on it. */
const settle = (statement: Promise<void>): Promise<void> => statement.catch(() => {})

interface Claim<Card> {
  readonly card: Card
  readonly useUp: () => Promise<void>
  readonly giveBack: () => Promise<void>
}

/** Undefined: the request has no token. */
async function claimCard<Card extends SentCard>(
  card: Card | undefined,
  field: string,
  { merchant, key, engine }: Paying,
): Promise<Claim<Card> | undefined> {
  if (card?.number === undefined || !isOneTimeToken(card.number)) return undefined
  const extra = (['expiryDate', 'securityCode'] as const).find(name => card[name] !== undefined)
  if (extra !== undefined)
    throw new InvalidField(`${field}.${extra}`, 'comes with the one-time card and must not be sent beside it')
  const now = merchantNow(engine.clock, merchant)
  const claim = key ? nameRequest(key) : engine.newId()
  const opened = await engine.oneTimeCards.claim(merchant.merchantId, card.number, claim, now)
  if (!opened)
    throw new InvalidField(
      `${field}.number`,
      'is the token of no usable one-time card; allowed is one that was made for this merchant in the last 15 minutes and was not used',
    )
  const { number, expiryDate, cardholderName, securityCode, useUp, giveBack } = opened
  const typed = {
    ...card,
    number: number.reveal(),
    expiryDate,
    cardholderName: card.cardholderName ?? cardholderName,
    securityCode: securityCode.reveal(),
  }
  return { card: typed, useUp, giveBack }
}

/**
 * Repetitions of one request under its Idempotency-Key may claim a token together, also in several processes: the key
 * decides which of them pays, and the others get its answer.
 */
const nameRequest = ({ verb, path, key, fingerprint }: IdempotencyKey): string =>
  createHash('sha256').update([verb, path, key, fingerprint].join('\n')).digest('hex').slice(0, 32)
