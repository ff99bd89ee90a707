/**
 * Reads the fields of a posted form into values, or into errors for the customer. It checks the form of an entry, not
 * whether the card or account may pay. Card number and security code are passed on to the vault and nowhere else.
 */
import { isCardNumber, scrubCardNumbers, toPlainDigits } from '#domain/cards/card-numbers.ts'
import { findStrayCardData } from '#domain/cards/stray-card-data.ts'
import { isIban } from '#domain/iban.ts'
import type { Texts } from '#pages/texts/en.ts'
import type { FieldErrors } from '#pages/views/field.ts'

export type FormFields = Readonly<Record<string, string | undefined>>

export interface CardEntry {
  /** Digits only. */
  readonly number: string
  /** YYYYMM. */
  readonly expiryDate: string
  readonly securityCode: string
  readonly cardholderName: string
  readonly isToBeSaved: boolean
}

export interface AccountEntry {
  /** Electronic form: upper case and without spaces. */
  readonly iban: string
  readonly accountHolder: string
}

export type Reading<Entry> =
  | { readonly entry: Entry; readonly errors?: undefined }
  | { readonly entry?: undefined; readonly errors: FieldErrors }

/** Removes separators between digits. Letters stay, so that they are reported instead of being dropped. */
const withoutSeparators = (text: string): string =>
  toPlainDigits(text).replace(/[\s.\-\u00a0\u2009\u202f]/g, '')

/**
 * 200: no entry of a card or account is longer, however it is grouped; a longer one is wrong without further checks.
 */
const entryMax = 200

/** 12/29, 12/2029, 12-29, 1229, 2029-12 as YYYYMM. Card dates lie in this century. */
export function parseExpiry(text: string): string | undefined {
  if (text.length > entryMax) return undefined
  const plain = toPlainDigits(text).trim()
  const turned = /^(20\d{2})-(\d{2})$/.exec(plain)
  const match = turned ?? /^(\d{1,2})\s*[/.\- ]?\s*(\d{2}|20\d{2})$/.exec(plain)
  if (match === null) return undefined
  const [first = '', second = ''] = match.slice(1)
  const [month, year] = turned === null ? [first, second] : [second, first]
  const number = Number(month)
  if (number < 1 || number > 12) return undefined
  return `${year.length === 2 ? `20${year}` : year}${String(number).padStart(2, '0')}`
}

/** Fields that a form shows again as they were entered. */
const shownAgain = ['expiry', 'cardholderName', 'accountHolder', 'iban'] as const

/** What a form may show again. People do type the number of their card into the field beside it: that is left out. */
export function dropCardNumbers(entered: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const dropped = shownAgain.filter(name => {
    const text = entered[name]
    return text !== undefined && (text.length > entryMax || holdsCardNumber(text, name === 'iban'))
  })
  return dropped.length === 0
    ? entered
    : Object.fromEntries(Object.entries(entered).filter(([name]) => !dropped.some(one => one === name)))
}

/** The digits of an account number may look like those of a card. */
function holdsCardNumber(text: string, mayBeAccount: boolean): boolean {
  const plain = withoutSeparators(text.normalize('NFKC'))
  return mayBeAccount ? isCardNumber(plain) : scrubCardNumbers(plain) !== plain
}

type Check = (value: string) => string | undefined

/** Counts characters as people do; counting stops early for entries that are far too long. */
const length = (value: string): number => [...value.slice(0, entryMax)].length

/** Runs each field's check on what was entered; only fields with a mistake are in the result. */
function findErrors(fields: FormFields, checks: Readonly<Record<string, Check>>): FieldErrors {
  const errors: Record<string, string> = {}
  for (const [name, check] of Object.entries(checks)) {
    // A little more than is ever valid, so that an entry that is too long is still recognised as such.
    const mistake = check(fields[name]?.trim().slice(0, entryMax + 1) ?? '')
    if (mistake !== undefined) errors[name] = mistake
  }
  return errors
}

const cardChecks = (texts: Texts, thisMonth: string): Readonly<Record<string, Check>> => ({
  number: value => {
    const number = withoutSeparators(value)
    if (value.length > entryMax) return texts.cardNumberWrong
    if (number === '') return texts.cardNumberMissing
    if (/^\d{1,11}$/.test(number)) return texts.cardNumberShort
    return isCardNumber(number) ? undefined : texts.cardNumberWrong
  },
  expiry: value => {
    if (value === '') return texts.expiryMissing
    const date = parseExpiry(value)
    if (date === undefined) return texts.expiryWrong
    return date < thisMonth ? texts.expiryPast : undefined
  },
  securityCode: value => {
    if (value === '') return texts.securityCodeMissing
    const isRight = value.length <= entryMax && /^\d{3,4}$/.test(withoutSeparators(value))
    return isRight ? undefined : texts.securityCodeWrong
  },
  // 2 to 45: the contract's limits for a cardholder's name.
  cardholderName: value => {
    if (value === '') return texts.cardholderNameMissing
    return length(value) < 2 || length(value) > 45 ? texts.cardholderNameWrong : undefined
  },
})

/** `thisMonth` is YYYYMM by the merchant's clock. */
export function readCardForm(fields: FormFields, texts: Texts, thisMonth: string): Reading<CardEntry> {
  const errors = findErrors(fields, cardChecks(texts, thisMonth))
  if (Object.keys(errors).length > 0) return { errors }
  const number = withoutSeparators(fields.number ?? '')
  // People do fill in the number twice; as a name it would be stored and shown in clear.
  if (findStrayCardData({ number, cardholderName: fields.cardholderName }))
    return { errors: { cardholderName: texts.cardholderNameMissing } }
  return {
    entry: {
      number,
      expiryDate: parseExpiry(fields.expiry ?? '') ?? '',
      securityCode: withoutSeparators(fields.securityCode ?? ''),
      cardholderName: fields.cardholderName?.trim() ?? '',
      isToBeSaved: fields.saveCard === 'yes',
    },
  }
}

const toIban = (text: string): string => text.replace(/[\s\-\u00a0\u202f]/g, '').toUpperCase()

const accountChecks = (texts: Texts): Readonly<Record<string, Check>> => ({
  // 2 to 64: the contract's limits for a name.
  accountHolder: value => {
    if (value === '') return texts.accountHolderMissing
    return length(value) < 2 || length(value) > 64 ? texts.accountHolderWrong : undefined
  },
  iban: value => {
    if (value === '') return texts.ibanMissing
    return value.length <= entryMax && isIban(toIban(value)) ? undefined : texts.ibanWrong
  },
  consent: value => (value === 'yes' ? undefined : texts.consentMissing),
})

export function readAccountForm(fields: FormFields, texts: Texts): Reading<AccountEntry> {
  const errors = findErrors(fields, accountChecks(texts))
  if (Object.keys(errors).length > 0) return { errors }
  const iban = toIban(fields.iban ?? '')
  if (findStrayCardData({ number: iban, accountHolderName: fields.accountHolder }))
    return { errors: { accountHolder: texts.accountHolderMissing } }
  return { entry: { iban, accountHolder: fields.accountHolder?.trim() ?? '' } }
}
