import { describe, expect, test } from 'vitest'
import { parseExpiry, readAccountForm, readCardForm } from '#pages/read-form.ts'
import { en } from '#pages/texts/en.ts'

const card = {
  number: '4111 1111-1111 1111',
  expiry: '12/29',
  securityCode: '123',
  cardholderName: ' Ada King ',
}

test('a card is read as customers type it', () => {
  expect(readCardForm({ ...card, saveCard: 'yes' }, en, '202612')).toEqual({
    entry: {
      number: '4111111111111111',
      expiryDate: '202912',
      securityCode: '123',
      cardholderName: 'Ada King',
      isToBeSaved: true,
    },
  })
})

test.each([
  ['expiry', `1${' '.repeat(400_000)}x`, en.expiryWrong],
  ['expiry', `12${' '.repeat(400_000)}/29`, en.expiryWrong],
  ['number', `4111111111111111${' '.repeat(400_000)}x`, en.cardNumberWrong],
  ['securityCode', `123${' '.repeat(400_000)}x`, en.securityCodeWrong],
  ['cardholderName', 'x'.repeat(400_000), en.cardholderNameWrong],
])('%s of half a megabyte is wrong without being read to its end', (field, value, message) => {
  expect(readCardForm({ ...card, [field]: value }, en, '202612').errors).toEqual({ [field]: message })
})

test('digits of other scripts are accepted', () => {
  const foreign = { ...card, number: '٤١١١ ١١١١ ١١١١ ١١١١', expiry: '۱۲/۲۹', securityCode: '１２３' }
  expect(readCardForm(foreign, en, '202612').entry).toMatchObject({
    number: '4111111111111111',
    expiryDate: '202912',
    securityCode: '123',
  })
})

test('a date with very many blanks is wrong at once', () => {
  const expiry = `1${' '.repeat(120_000)}x`
  expect(readCardForm({ ...card, expiry }, en, '202612')).toEqual({ errors: { expiry: en.expiryWrong } })
})

describe('mistakes', () => {
  test.each([
    ['number', '', en.cardNumberMissing],
    ['number', undefined, en.cardNumberMissing],
    ['number', '4111', en.cardNumberShort],
    ['number', '4111111111111112', en.cardNumberWrong],
    ['number', '4111111111111111x', en.cardNumberWrong],
    ['number', '4'.repeat(5000), en.cardNumberWrong],
    ['expiry', '', en.expiryMissing],
    ['expiry', '13/29', en.expiryWrong],
    ['expiry', '11/26', en.expiryPast],
    ['securityCode', '', en.securityCodeMissing],
    ['securityCode', '12', en.securityCodeWrong],
    ['securityCode', '12a', en.securityCodeWrong],
    ['cardholderName', '  ', en.cardholderNameMissing],
    ['cardholderName', 'x', en.cardholderNameWrong],
    ['cardholderName', 'x'.repeat(46), en.cardholderNameWrong],
  ])('%s %s', (name, value, text) => {
    expect(readCardForm({ ...card, [name]: value }, en, '202612')).toEqual({ errors: { [name]: text } })
  })
})

test.each([
  ['12/29', '202912'],
  ['1/29', '202901'],
  ['01/2029', '202901'],
  ['0129', '202901'],
  ['01 / 29', '202901'],
  ['2029-01', '202901'],
  ['00/29', undefined],
  ['12/1999', undefined],
  ['12', undefined],
  ['12/29/30', undefined],
])('expiry %s', (text, expected) => {
  expect(parseExpiry(text)).toBe(expected)
})

const account = { iban: 'de89 3704 0044 0532 0130 00', accountHolder: 'Ada King', consent: 'yes' }

test('an account is read as customers type it', () => {
  expect(readAccountForm(account, en)).toEqual({
    entry: { iban: 'DE89370400440532013000', accountHolder: 'Ada King' },
  })
})

test.each([
  ['iban', '', en.ibanMissing],
  ['iban', 'DE00', en.ibanWrong],
  ['accountHolder', '', en.accountHolderMissing],
  ['accountHolder', 'x'.repeat(65), en.accountHolderWrong],
  ['consent', undefined, en.consentMissing],
])('%s %s', (name, value, text) => {
  expect(readAccountForm({ ...account, [name]: value }, en)).toEqual({ errors: { [name]: text } })
})

test.each(['4111111111111111', '4111 1111 1111 1111', 'Ada 5555-5555-5555-4444'])(
  'a card number is no name: %s',
  cardholderName => {
    const { errors } = readCardForm({ ...card, number: '4111 1111 1111 1111', cardholderName }, en, '202601')
    expect(errors).toEqual({ cardholderName: en.cardholderNameMissing })
  },
)

test.each(['DE89 3704 0044 0532 0130 00', '4111 1111 1111 1111'])(
  'neither an IBAN nor a card number is the name of a holder: %s',
  accountHolder => {
    const filled = { iban: 'DE89370400440532013000', accountHolder, consent: 'yes' }
    expect(readAccountForm(filled, en).errors).toEqual({ accountHolder: en.accountHolderMissing })
  },
)
