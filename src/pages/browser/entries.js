/**
 * Checks and formats entries while the customer types. Pure, so that tests can load it; the server checks everything
 * again.
 */

/**
 * Leading digits, as domain/cards/card-brands.ts has them, of the brands that have a mark on the page. `unknown` are the
 * parts of these ranges that belong to other brands: their cards get the plain mark.
 */
export const brandRanges = {
  visa: '4',
  mastercard: '51-55 2221-2720',
  amex: '34 37',
  diners: '300-305 3095 36 38-39',
  discover: '6011 644-649 65',
  jcb: '3528-3589',
  unionpay: '62 81',
  maestro: '493698 50 56-59 60-61 63-64 66-69',
  mir: '2200-2204',
  troy: `
    9792 650052 650082-650083 650092 650161 650170 650173 650175 650268 650271 650273-650274
    650456-650457 650836 650846-650850 650987 650990 654997 657366 657998 658758 658767-658768`,
  unknown: `
    6703 5019 9891 9804 9112 9051 8600 5614 9860 508227 508500-508999 603741 606985-607984 608001-608500
    652150-653149 353800 817290 817368 817378 82 9704 1946 286900 502275 506199-506499 588772 606333
    627535 636318 636379 639388 639484 639559 401178-401179 431274 438935 451416 457393 457631-457632
    504175 506699-506778 509000-509999 627780 636297 636368 650031-650033 650035-650051 650405-650439
    650485-650538 650541-650598 650700-650718 650720-650727 650901-650978 651652-651679 655000-655019
    655021-655058 606282 637095 637568 637599 637609 637612 604201-604400 589657 603522 589562 402918
    527572 504300 506968 508160 585265 588848 588850 588982-588983 589005 589206 604906 605141 636120
    968201-968211 507803 507808-507811 506099-506198 507865-507964 650002-650027`,
}

/** The longest leads first: the more digits a range needs, the more it knows about the number. */
const leads = Object.entries(brandRanges)
  .flatMap(([brand, ranges]) =>
    ranges
      .trim()
      .split(/\s+/)
      .map(range => {
        const [from, to = from] = range.split('-')
        return { from, to, brand }
      }),
  )
  .sort((a, b) => b.from.length - a.from.length)

export function detectBrand(digits) {
  const fits = ({ from, to }) => {
    const lead = digits.slice(0, from.length)
    return lead >= from && lead <= to
  }
  return leads.find(fits)?.brand ?? 'unknown'
}

/**
 * Converts the digits of every script that keyboards and autofill may produce to plain ones, and removes all other
 * characters.
 */
export const toDigits = text =>
  text
    .replace(/[\u0660-\u0669\u06f0-\u06f9\u0966-\u096f\uff10-\uff19]/g, digit =>
      String(
        (digit.charCodeAt(0) -
          (digit < '\u06f0' ? 0x660 : digit < '\u0966' ? 0x6f0 : digit < '\uff10' ? 0x966 : 0xff10)) %
          10,
      ),
    )
    .replace(/\D/g, '')

/** Groups of four; numbers of fifteen digits that begin with 3 are grouped 4, 6, 5. */
export const groupNumber = digits =>
  /^3[47]/.test(digits)
    ? [digits.slice(0, 4), digits.slice(4, 10), digits.slice(10)].filter(Boolean).join(' ')
    : digits.replace(/(\d{4})(?=\d)/g, '$1 ')

export function passesLuhn(digits) {
  let sum = 0
  for (let i = 0; i < digits.length; i++) {
    const digit = Number(digits[digits.length - 1 - i]) * (i % 2 === 0 ? 1 : 2)
    sum += digit > 9 ? digit - 9 : digit
  }
  return sum % 10 === 0
}

/** 12/29, 12/2029, 12 29, 1229, 2029-12: month and full year, or undefined. */
export function parseExpiry(text) {
  const turned = /^\s*(\d{4})-(\d{2})\s*$/.exec(text)
  const parts = turned ? [turned[2], turned[1]] : text.split(/\D+/).filter(Boolean)
  const [month, year] = parts.length === 1 ? [parts[0].slice(0, 2), parts[0].slice(2)] : parts
  if (parts.length > 2 || !/^(0?[1-9]|1[0-2])$/.test(month ?? '') || !/^(\d{2}|20\d{2})$/.test(year ?? ''))
    return undefined
  return { month: Number(month), year: (Number(year) % 100) + 2000 }
}

/** Formats the date while it is typed: adds the zero to a month that can only have one digit, and the slash. */
export function formatExpiry(text) {
  if (/^\s*\d{4}-\d{2}\s*$/.test(text) || /\d\D+\d{4}/.test(text)) {
    const date = parseExpiry(text)
    if (date) return `${String(date.month).padStart(2, '0')}/${date.year % 100}`
  }
  const short = /^\s*(\d)\s*[/.\- ]/.exec(text)
  let digits = toDigits(text)
  if (short || /^[2-9]/.test(digits)) digits = `0${digits}`
  return digits.length < 2 ? digits : `${digits.slice(0, 2)}/${digits.slice(2, 6)}`
}

export const groupIban = text =>
  text
    .toUpperCase()
    .replace(/[^A-Z0-9]/g, '')
    .replace(/(.{4})(?=.)/g, '$1 ')

export function isIban(text) {
  const iban = text.toUpperCase().replace(/[^A-Z0-9]/g, '')
  if (!/^[A-Z]{2}\d{2}[A-Z0-9]{11,30}$/.test(iban)) return false
  let rest = 0
  for (const character of iban.slice(4) + iban.slice(0, 4)) {
    const value = Number.parseInt(character, 36)
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97
  }
  return rest === 1
}

/**
 * The kind of mistake of a field, or ''. The messages are in the field's own data attributes. `now` is the customer's
 * clock.
 */
export const checks = {
  number: value => {
    const digits = toDigits(value)
    if (digits === '') return 'missing'
    if (digits.length < 12) return 'short'
    return digits.length <= 19 && passesLuhn(digits) ? '' : 'wrong'
  },
  expiry: (value, now = new Date()) => {
    if (value.trim() === '') return 'missing'
    const date = parseExpiry(value)
    if (date === undefined) return 'wrong'
    // A day's grace: a card is valid until its month has ended everywhere.
    return Date.UTC(date.year, date.month, 2) < now.getTime() ? 'past' : ''
  },
  securityCode: value => (value.trim() === '' ? 'missing' : /^\d{3,4}$/.test(toDigits(value)) ? '' : 'wrong'),
  cardholderName: value => (value.trim() === '' ? 'missing' : value.trim().length < 2 ? 'wrong' : ''),
  accountHolder: value => (value.trim() === '' ? 'missing' : value.trim().length < 2 ? 'wrong' : ''),
  iban: value => (value.trim() === '' ? 'missing' : isIban(value) ? '' : 'wrong'),
  consent: (_, __, field) => (field.checked ? '' : 'missing'),
  planConsent: (_, __, field) => (field.checked ? '' : 'missing'),
  dcc: (_, __, field) => (field.form.querySelector('[name="dcc"]:checked') === null ? 'missing' : ''),
}
