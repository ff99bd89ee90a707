/** What a customer filled in for the chosen method: data for the engine, or a text for each field that is wrong. */
import type { AccountData, CardData } from '#connectors/contract.ts'
import { Secret } from '#domain/secret.ts'
import type { MethodForm } from '#methods/offer.ts'
import { type FormFields, type Reading, readAccountForm, readCardForm } from '#pages/read-form.ts'
import type { Texts } from '#pages/texts/en.ts'

export interface FilledIn {
  readonly card?: CardData
  readonly account?: AccountData
  readonly keepsCard?: boolean
}

export interface ReadingContext {
  readonly texts: Texts
  /** The merchant's time: cards expire by it. */
  readonly now: Date
}

export function readEntries(
  form: MethodForm,
  fields: FormFields,
  context: ReadingContext,
): Reading<FilledIn> {
  switch (form) {
    case 'card':
      return readCard(fields, context)
    case 'account':
      return readAccount(fields, context)
    case 'none':
      return { entry: {} }
  }
}

function readCard(fields: FormFields, { texts, now }: ReadingContext): Reading<FilledIn> {
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
  return { entry: { card, keepsCard: isToBeSaved } }
}

function readAccount(fields: FormFields, { texts }: ReadingContext): Reading<FilledIn> {
  const { entry, errors } = readAccountForm(fields, texts)
  if (errors) return { errors }
  return { entry: { account: { number: new Secret(entry.iban), holderName: entry.accountHolder } } }
}
