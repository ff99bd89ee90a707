/** Admits a card or an account to the vault, and builds the masked form that the payment keeps. */
import type { AccountData, CardData, ThreeDsRequest } from '#connectors/contract.ts'
import type { Merchant } from '#domain/merchant.ts'
import { addDuration } from '#domain/time/duration.ts'
import { isErased } from '#lifecycle/customer.ts'
import type { AccountInstrument, CardholderOffer, Instrument, Payment } from '#lifecycle/payment.ts'
import type { Engine } from '#operations/engine.ts'
import type { AdmittedAccount } from '#vault/accounts.ts'
import type { AdmittedCard } from '#vault/cards.ts'

/** A card, with the request's 3-D Secure data. */
export interface PaymentCard extends CardData {
  readonly threeDs?: ThreeDsRequest
}

/** This merchant has no such pseudo card number; the caller adds the name of the field. */
export class UnknownPseudoNumber extends Error {}

/** This merchant has no such pseudo bank account number. */
export class UnknownPseudoAccount extends Error {}

/** Neither the request nor the vault has the card's expiry date. */
export class ExpiryDateMissing extends Error {}

/** A mistyped pseudo number may have a valid check digit and be taken for a card number. */
export function requireExpiryDate(card: AdmittedCard | undefined): AdmittedCard | undefined {
  if (card && card.expiryDate === undefined)
    throw new ExpiryDateMissing('is missing; only a pseudo card number that was stored with one needs none')
  return card
}

/** 5: collisions are rare among 10^12 pseudo numbers, and five in a row mean a broken generator. */
export const maximumPseudoNumberTries = 5

export async function admitCard(
  request: { readonly merchant: Merchant; readonly card?: PaymentCard },
  attempt: number,
  engine: Pick<Engine, 'vault'>,
): Promise<AdmittedCard | undefined> {
  if (!request.card) return undefined
  const { number, expiryDate } = request.card
  const admitted = await engine.vault.admit(request.merchant.merchantId, number, { expiryDate, attempt })
  if (!admitted)
    throw new UnknownPseudoNumber(
      'is not a pseudo card number of this merchant; allowed is one that it was given',
    )
  return admitted
}

export async function admitAccount(
  request: { readonly merchant: Merchant; readonly account?: AccountData },
  attempt: number,
  engine: Pick<Engine, 'accounts'>,
): Promise<AdmittedAccount | undefined> {
  if (!request.account) return undefined
  const admitted = await engine.accounts.admit(request.merchant.merchantId, request.account.number, {
    attempt,
  })
  if (!admitted)
    throw new UnknownPseudoAccount(
      'is not a pseudo bank account number of this merchant; allowed is one that it was given',
    )
  return admitted
}

/**
 * The card and the 3-D Secure data as sent to a provider: the number comes from the vault and is never a pseudo number.
 */
export function toSentCard(
  card: PaymentCard | Omit<PaymentCard, 'number'> | undefined,
  admitted: AdmittedCard | undefined,
) {
  if (!card || !admitted) return {}
  const { threeDs, ...rest } = card
  return { card: { ...rest, number: admitted.number, expiryDate: admitted.expiryDate }, threeDs }
}

export const toInstrument = (
  card: AdmittedCard,
  cardHolderName: string | undefined,
  dcc?: CardholderOffer,
): Instrument => ({
  cardId: card.cardId,
  first6Digits: card.first6Digits,
  last4Digits: card.last4Digits,
  brand: card.brand,
  expiryDate: card.expiryDate,
  cardHolderName,
  dcc,
})

export const toAccountInstrument = (
  { accountId, last4Digits }: AdmittedAccount,
  { holderName, code, bankName, mandateId, dateOfSignature }: AccountData,
  isNameless: boolean,
): AccountInstrument => ({
  accountId,
  last4Digits,
  accountHolderName: isNameless ? undefined : holderName,
  code,
  bankName,
  mandateId,
  dateOfSignature,
})

/**
 * Whether an open payment must no longer store its customer's name, because the customer's data was erased or the
 * retention period is over. Erasure visits a payment only once, so a name stored afterwards would stay for ever.
 */
export const isNameless = (
  { personalDataFor }: Merchant,
  { details, createdAt }: Pick<Payment, 'details' | 'createdAt'>,
  now: Date,
): boolean =>
  isErased(details) ||
  (personalDataFor !== undefined && (addDuration(createdAt.getTime(), personalDataFor) ?? 0) <= now.getTime())
