/** What a customer typed, read strictly: either data for the engine or a text for each field that is wrong. */
import type { AccountData, CardData } from '#connectors/contract.ts'
import { isCardNumber } from '#domain/card-numbers.ts'
import { hasExpired } from '#domain/dates.ts'
import { isIban } from '#domain/iban.ts'
import { Secret } from '#domain/secret.ts'
import { isPrintable } from '#domain/text.ts'
import type { MethodForm } from '#methods/offer.ts'
import type { Texts } from '#pages/texts/en.ts'
import type { FieldErrors } from '#pages/views/field.ts'

export type Entered = Readonly<Record<string, string>>

export interface Instrument {
  readonly card?: CardData
  readonly account?: AccountData
}

export type Reading =
  | { readonly errors: FieldErrors }
  | { readonly errors?: undefined; readonly instrument: Instrument }

export interface ReadingContext {
  readonly texts: Texts
  readonly now: Date
}

export function readEntries(form: MethodForm, entered: Entered, context: ReadingContext): Reading {
  switch (form) {
    case 'card':
      return readCard(entered, context)
    case 'account':
      return readAccount(entered, context)
    case 'none':
      return { instrument: {} }
  }
}

const shortestNumber = 12

function readCard(entered: Entered, context: ReadingContext): Reading {
  const { texts } = context
  const number = (entered.number ?? '').replace(/[\s-]/g, '')
  const securityCode = (entered.securityCode ?? '').trim()
  const cardholderName = (entered.cardholderName ?? '').trim()
  const expiry = readExpiry(entered.expiry ?? '', context)
  const errors: FieldErrors = {
    ...mistake('number', number === '' && texts.cardNumberMissing),
    ...mistake('number', /^\d{1,11}$/.test(number) && texts.cardNumberShort),
    ...mistake('number', number.length >= shortestNumber && !isCardNumber(number) && texts.cardNumberWrong),
    ...mistake('number', number !== '' && !/^\d+$/.test(number) && texts.cardNumberWrong),
    ...mistake('expiry', expiry.error),
    ...mistake('securityCode', securityCode === '' && texts.securityCodeMissing),
    ...mistake(
      'securityCode',
      securityCode !== '' && !/^\d{3,4}$/.test(securityCode) && texts.securityCodeWrong,
    ),
    ...mistake(
      'cardholderName',
      nameError(cardholderName, 45, texts.cardholderNameMissing, texts.cardholderNameWrong),
    ),
  }
  if (Object.keys(errors).length > 0) return { errors }
  const card = {
    number: new Secret(number),
    expiryDate: expiry.date,
    cardholderName,
    securityCode: new Secret(securityCode),
  }
  return { instrument: { card } }
}

const mistake = (name: keyof FieldErrors, text: string | false | undefined): FieldErrors =>
  text ? { [name]: text } : {}

/** Both lengths are those of the API. */
function nameError(name: string, longest: number, missing: string, wrong: string): string | false {
  if (name === '') return missing
  return (name.length < 2 || name.length > longest || !isPrintable(name)) && wrong
}

/** MM/YY, MM/YYYY and the same without a sign, as browsers fill it in. */
function readExpiry(text: string, { texts, now }: ReadingContext): { date?: string; error?: string } {
  if (text.trim() === '') return { error: texts.expiryMissing }
  const [, month = '', year = ''] = /^\s*(\d{1,2})\s*[/.\-\s]?\s*(\d{4}|\d{2})\s*$/.exec(text) ?? []
  const twoDigits = month.padStart(2, '0')
  if (!/^(?:0[1-9]|1[0-2])$/.test(twoDigits)) return { error: texts.expiryWrong }
  // Cards live for less than twenty years, so the century is never in doubt.
  const date = `${year.length === 2 ? `20${year}` : year}${twoDigits}`
  return hasExpired(date, now.getTime()) ? { error: texts.expiryPast } : { date }
}

function readAccount(entered: Entered, { texts }: ReadingContext): Reading {
  const iban = (entered.iban ?? '').replace(/\s/g, '').toUpperCase()
  const holderName = (entered.accountHolder ?? '').trim()
  const errors: FieldErrors = {
    ...mistake(
      'accountHolder',
      nameError(holderName, 64, texts.accountHolderMissing, texts.accountHolderWrong),
    ),
    ...mistake('iban', iban === '' && texts.ibanMissing),
    ...mistake('iban', iban !== '' && !isIban(iban) && texts.ibanWrong),
    ...mistake('consent', entered.consent !== 'yes' && texts.consentMissing),
  }
  if (Object.keys(errors).length > 0) return { errors }
  return { instrument: { account: { number: new Secret(iban), holderName } } }
}
