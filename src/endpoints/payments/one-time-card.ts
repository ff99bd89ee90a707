/** Replaces the token of a one-time card in a request by the card that the customer typed. */

import { isOneTimeToken } from '#domain/cards/card-numbers.ts'
import type { Merchant } from '#domain/merchant.ts'
import { InvalidField, KeyTaken, NotFound } from '#http/server/ports.ts'
import { type Engine, merchantNow } from '#operations/engine.ts'

interface SentCard {
  readonly number?: string
  readonly expiryDate?: string
  readonly cardholderName?: string
  readonly securityCode?: string
}

interface Redeeming {
  readonly merchant: Merchant
  readonly engine: Pick<Engine, 'oneTimeCards' | 'clock'>
}

/**
 * Pays with the card behind a token; `redeemed` is undefined if the request has no token. Many checks need the card's
 * number, so the token is used up before them and given back if one of them refuses the request: the customer need not
 * type their card again because of a mistake of the shop.
 */
export async function payWithToken<Card extends SentCard, Result>(
  card: Card | undefined,
  field: string,
  redeeming: Redeeming,
  pay: (redeemed: Card | undefined, onStored: () => void) => Promise<Result>,
): Promise<Result> {
  const redeemed = await redeemCard(card, field, redeeming)
  let isStored = false
  const giveBack = async () => {
    if (!isStored) await redeemed?.giveBack()
  }
  try {
    const result = await pay(redeemed?.card, () => {
      isStored = true
    })
    await giveBack()
    return result
  } catch (error) {
    // After any other error the payment may be stored.
    if (error instanceof InvalidField || error instanceof NotFound || error instanceof KeyTaken)
      await giveBack()
    throw error
  }
}

/** Undefined: the request has no token. */
async function redeemCard<Card extends SentCard>(
  card: Card | undefined,
  field: string,
  { merchant, engine }: Redeeming,
): Promise<{ readonly card: Card; readonly giveBack: () => Promise<void> } | undefined> {
  if (card?.number === undefined || !isOneTimeToken(card.number)) return undefined
  const extra = (['expiryDate', 'securityCode'] as const).find(name => card[name] !== undefined)
  if (extra !== undefined)
    throw new InvalidField(`${field}.${extra}`, 'comes with the one-time card and must not be sent beside it')
  const now = merchantNow(engine.clock, merchant)
  const redeemed = await engine.oneTimeCards.redeem(merchant.merchantId, card.number, now)
  if (!redeemed)
    throw new InvalidField(
      `${field}.number`,
      'is the token of no usable one-time card; allowed is one that was made for this merchant in the last 15 minutes and was not used',
    )
  const typed = {
    ...card,
    number: redeemed.number.reveal(),
    expiryDate: redeemed.expiryDate,
    cardholderName: card.cardholderName ?? redeemed.cardholderName,
    securityCode: redeemed.securityCode.reveal(),
  }
  return { card: typed, giveBack: redeemed.giveBack }
}
