/** Replaces the token of a one-time card in a request by the card that the customer typed. */

import { isOneTimeToken } from '#domain/cards/card-numbers.ts'
import type { Merchant } from '#domain/merchant.ts'
import { InvalidField } from '#http/server/ports.ts'
import { type Engine, merchantNow } from '#operations/engine.ts'

interface SentCard {
  readonly number?: string
  readonly expiryDate?: string
  readonly cardholderName?: string
  readonly securityCode?: string
}

/** Undefined: the request has no token. The token is used up last, after all other checks. */
export async function redeemCard<Card extends SentCard>(
  card: Card | undefined,
  field: string,
  {
    merchant,
    engine,
  }: { readonly merchant: Merchant; readonly engine: Pick<Engine, 'oneTimeCards' | 'clock'> },
): Promise<Card | undefined> {
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
  return {
    ...card,
    number: redeemed.number.reveal(),
    expiryDate: redeemed.expiryDate,
    cardholderName: card.cardholderName ?? redeemed.cardholderName,
    securityCode: redeemed.securityCode.reveal(),
  }
}
