/**
 * The formats used in schemas: the check, and the phrase for error texts. Schema compilers register all of them; a
 * schema with an unknown format does not compile.
 */
import { isCardNumber, isOneTimeToken, isPseudoCardNumber } from '#domain/cards/card-numbers.ts'
import { isPseudoAccountNumber } from '#domain/cards/pseudo-accounts.ts'
import { findCountryByAlpha2, findCountryByAlpha3, findCountryByNumeric } from '#domain/countries.ts'
import { isIban } from '#domain/iban.ts'
import { isActiveCurrency } from '#domain/money/currencies.ts'
import {
  isAppAddress,
  isEmail,
  isLanguageTag,
  isPrintable,
  isWebAddress,
  webAddressForm,
} from '#domain/text.ts'
import { isDate, isDottedDate, isExpiryDate, isInstant, latestDay } from '#domain/time/dates.ts'
import { isDuration } from '#domain/time/duration.ts'

export interface Format {
  readonly check: (text: string) => boolean
  /** Completes the sentence "… must be". */
  readonly allowed: string
}

const webAddress = `an absolute ${webAddressForm}`

/** The form in which the length of an address is measured. */
const encoded = 'encoded (é as %C3%A9)'

export const formats: Readonly<Record<string, Format>> = {
  date: { check: isDate, allowed: `a calendar day such as 2027-01-31 (${latestDay} at the latest)` },
  'dotted-date': {
    check: isDottedDate,
    allowed: 'a calendar day such as 31.01.2027 (31.12.2199 at the latest)',
  },
  'date-time': {
    check: isInstant,
    allowed: `an instant such as 2027-01-31T12:00:00Z (${latestDay} at the latest)`,
  },
  duration: { check: isDuration, allowed: 'an ISO 8601 duration such as PT1H or P1M' },
  uri: {
    check: isWebAddress,
    allowed: `${webAddress}, ${encoded}`,
  },
  iri: {
    check: isWebAddress,
    allowed: `${webAddress}, ${encoded}`,
  },
  'app-uri': {
    check: isAppAddress,
    allowed: `${webAddress}, or one with the scheme of an app such as myapp://done, ${encoded}`,
  },
  email: { check: isEmail, allowed: 'an email address such as ada@example.com' },
  currency: { check: isActiveCurrency, allowed: 'an active ISO 4217 code such as EUR' },
  alpha3: {
    check: text => findCountryByAlpha3(text) !== undefined,
    allowed: 'an ISO 3166-1 alpha-3 country code such as DEU',
  },
  alpha2: {
    check: text => findCountryByAlpha2(text) !== undefined,
    allowed: 'an ISO 3166-1 alpha-2 country code such as DE',
  },
  country: {
    check: text => (findCountryByAlpha3(text) ?? findCountryByAlpha2(text)) !== undefined,
    allowed: 'an ISO 3166-1 country code such as DEU or DE',
  },
  numeric3: {
    check: text => findCountryByNumeric(text) !== undefined,
    allowed: 'an ISO 3166-1 numeric country code such as 276',
  },
  'card-number': {
    check: text => isCardNumber(text) || isPseudoCardNumber(text),
    allowed: 'a card number of 12 to 19 digits with a right check digit, or a pseudo card number',
  },
  'payable-card-number': {
    check: text => isCardNumber(text) || isPseudoCardNumber(text) || isOneTimeToken(text),
    allowed:
      'a card number of 12 to 19 digits with a right check digit, a pseudo card number, or the token of a one-time card',
  },
  iban: { check: isIban, allowed: 'an IBAN with right check digits, in upper case and without spaces' },
  'account-number': {
    check: text => isIban(text) || isPseudoAccountNumber(text),
    allowed:
      'an IBAN with right check digits, in upper case and without spaces, or a pseudo bank account number',
  },
  'expiry-date': { check: isExpiryDate, allowed: 'a year and month such as 203012' },
  bcp47: { check: isLanguageTag, allowed: 'a BCP 47 language tag such as de or en-GB' },
  printable: { check: isPrintable, allowed: 'text without control characters' },
}
