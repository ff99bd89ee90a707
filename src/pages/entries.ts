/** Reads the customer's entries for the chosen method: data for the engine, or an error text for each wrong field. */
import type { AccountData, CardData } from '#connectors/contract.ts'
import { Secret } from '#domain/secret.ts'
import type { MethodForm } from '#methods/offer.ts'
import { type Hosted, isKeptAnyway, mandateOf } from '#pages/hosted.ts'
import { type FormFields, type Reading, readAccountForm, readCardForm } from '#pages/read-form.ts'
import type { Texts } from '#pages/texts/en.ts'

export interface FilledIn {
  readonly card?: CardData
  readonly account?: AccountData
  /** Set if the customer was asked, or if saving the card is part of the merchant's request. */
  readonly keepsCard?: boolean
}

/** The stored card that the form names was deleted meanwhile, or the field was forged. */
export const notRemembered = Symbol('not remembered')

export interface ReadingContext {
  readonly texts: Texts
  readonly hosted: Hosted
}

export function readEntries(
  form: MethodForm,
  fields: FormFields,
  context: ReadingContext,
): Reading<FilledIn> | typeof notRemembered {
  switch (form) {
    case 'card':
      return fields.remembered ? readRemembered(fields.remembered, context) : readCard(fields, context)
    case 'account':
      return readAccount(fields, context)
    case 'none':
      return { entry: {} }
  }
}

/** The vault finds the card by its pseudo number. The security code is never stored and not asked for again. */
function readRemembered(id: string, { hosted }: ReadingContext): Reading<FilledIn> | typeof notRemembered {
  const stored = hosted.remembered.find(({ methodId }) => methodId === id)
  if (!stored) return notRemembered
  const { pseudoCardNumber, expiryDate, cardHolderName } = stored
  const card = { number: new Secret(pseudoCardNumber), expiryDate, cardholderName: cardHolderName }
  return { entry: { card, keepsCard: true } }
}

function readCard(fields: FormFields, { texts, hosted }: ReadingContext): Reading<FilledIn> {
  const { now, payment } = hosted
  const thisMonth = now.toISOString().slice(0, 7).replace('-', '')
  const { entry, errors } = readCardForm(fields, texts, thisMonth)
  if (errors) return { errors }
  const { number, expiryDate, securityCode, cardholderName, isToBeSaved } = entry
  const card = {
    number: new Secret(number),
    expiryDate,
    cardholderName,
    securityCode: new Secret(securityCode),
  }
  return { entry: { card, keepsCard: isKeptAnyway(payment) || isToBeSaved } }
}

function readAccount(fields: FormFields, { texts, hosted }: ReadingContext): Reading<FilledIn> {
  const { entry, errors } = readAccountForm(fields, texts)
  if (errors) return { errors }
  const account = { number: new Secret(entry.iban), holderName: entry.accountHolder }
  return { entry: { account: { ...account, ...mandateOf(hosted) } } }
}
