/**
 * What can be said about an entry by looking at it, and how it is written while it is typed. Pure, so that tests can load
 * it; the server checks everything again.
 */

/** As domain/card-numbers.ts: the first range that fits decides. From, to, brand. */
const brandRanges = [
  ['4', '4', 'visa'],
  ['2200', '2204', 'mir'],
  ['2221', '2720', 'mastercard'],
  ['51', '55', 'mastercard'],
  ['34', '34', 'amex'],
  ['37', '37', 'amex'],
  ['300', '305', 'diners'],
  ['3095', '3095', 'diners'],
  ['36', '36', 'diners'],
  ['38', '39', 'diners'],
  ['3528', '3589', 'jcb'],
  ['6011', '6011', 'discover'],
  ['644', '649', 'discover'],
  ['65', '65', 'discover'],
  ['62', '62', 'unionpay'],
  ['81', '81', 'unionpay'],
  ['9792', '9792', 'troy'],
  ['50', '50', 'maestro'],
  ['56', '58', 'maestro'],
  ['60', '69', 'maestro'],
]

export function detectBrand(digits) {
  for (const [from, to, brand] of brandRanges) {
    const lead = digits.slice(0, from.length)
    if (lead >= from && lead <= to) return brand
  }
  return 'unknown'
}

/** Digits of every script that keyboards and autofill may bring, as plain ones; everything else goes. */
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

/** Four by four; the brands with fifteen digits and a 3 in front write 4, 6, 5. */
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

/** While it is typed. A month that can only have one digit gets its zero; the slash comes by itself. */
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

/** The kind of mistake of a field, or ''. The words lie in the field's own data. `now` is the customer's clock. */
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
}
