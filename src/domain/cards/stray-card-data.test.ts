import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { findStrayCardData, isCertainlyClean, type Suspect } from '#domain/cards/stray-card-data.ts'
import { Refusal } from '#http/answers/refusal.ts'
import { readJson } from '#http/body/json-text.ts'

const number = '4111111111111111'
const iban = 'DE89370400440532013000'
const card = { paymentMethods: { card: { number, cardholderName: 'Ada Lovelace' } } }
const debit = {
  paymentMethods: { directDebit: { account: { number: iban, accountHolderName: 'Ada Lovelace' } } },
}

/** Parses the text like a request body. */
function suspectsOf(body: unknown): readonly Suspect[] {
  const read = readJson(Buffer.from(JSON.stringify(body)))
  if (read instanceof Refusal) throw new Error('the body was refused')
  return read.suspects
}

test.each<[name: string, body: object, field: string | undefined]>([
  ['the number where it belongs', card, undefined],
  ['in transId', { ...card, transId: number }, 'transId'],
  ['in refNr, in groups', { ...card, refNr: 'A-4111 1111 1111 1111' }, 'refNr'],
  ['with many separators', { ...card, metadata: { note: '4111 -- 1111 .. 1111 // 1111' } }, 'metadata.note'],
  [
    'in a URL, its spaces escaped',
    { ...card, urls: { return: 'https://shop.example/?card=4111%201111%201111%201111' } },
    'urls.return',
  ],
  [
    'in a URL, escaped whole',
    { ...card, urls: { cancel: 'https://shop.example/%34111%31%31111%311111111' } },
    'urls.cancel',
  ],
  ['an escape that stands for no character', { ...card, refNr: '%E4%20 100 % 4111111111111111' }, 'refNr'],
  ['an escaped number of another card', { ...card, refNr: '5555%205555%205555%204444' }, undefined],
  ['in digits of double width', { ...card, refNr: '４１１１１１１１１１１１１１１１' }, 'refNr'],
  ['in Arabic digits', { ...card, refNr: '٤١١١-١١١١-١١١١-١١١١' }, 'refNr'],
  ['any card in Persian digits in a name', { firstName: '۵۵۵۵ ۵۵۵۵ ۵۵۵۵ ۴۴۴۴' }, 'firstName'],
  ['as a number', { ...card, metadata: { note: 4_111_111_111_111_111 } }, 'metadata.note'],
  ['as a negative number', { ...card, metadata: { note: -4_111_111_111_111_111 } }, 'metadata.note'],
  ['as a number with decimals', { ...card, metadata: { note: 4_111.111_111_111_111 } }, 'metadata.note'],
  ['as decimals alone', { ...card, metadata: { note: [0.411_111_111_111_111_1] } }, 'metadata.note[0]'],
  ['within longer text', { ...card, metadata: { note: `card ${number}x9` } }, 'metadata.note'],
  ['deep in metadata', { ...card, metadata: { a: [{ b: number }] } }, 'metadata.a[0].b'],
  ['in a key of metadata', { ...card, metadata: { [`n${number}`]: 1 } }, 'metadata'],
  ['in a member called number of metadata', { ...card, metadata: { number } }, 'metadata.number'],
  [
    'in the name on the card',
    { paymentMethods: { card: { number, cardholderName: number } } },
    'paymentMethods.card.cardholderName',
  ],
  ['an IBAN in small letters with spaces', { ...debit, refNr: 'de89 3704 0044 0532 0130 00' }, 'refNr'],
  [
    'as a telephone number',
    { ...card, customerInfo: { phone: { countryCode: '+49', number } } },
    'customerInfo.phone.number',
  ],
  ['another card in metadata', { ...card, metadata: { order: '5555555555554444' } }, undefined],
  ['another card in transId', { ...card, transId: '5555555555554444' }, undefined],
  [
    'a pseudo number elsewhere',
    { paymentMethods: { card: { number: '0123456789012345' } }, refNr: '0123456789012345' },
    undefined,
  ],
  [
    'a telephone number elsewhere',
    { customerInfo: { phone: { number: '4917012345678' } }, metadata: { tel: '4917012345678' } },
    undefined,
  ],
  ['any card in a name', { customerInfo: { firstName: '5555 5555 5555 4444' } }, 'customerInfo.firstName'],
  [
    'any card in a description',
    { order: { description: 'paid with 5555-5555-5555-4444.' } },
    'order.description',
  ],
  [
    'behind a house number',
    { order: { items: [{ name: '12 5555.5555.5555.4444' }] } },
    'order.items[0].name',
  ],
  ['any card in the reason of a cancellation', { reason: 'paid with 5555 5555 5555 4444' }, 'reason'],
  ['any card in the text on a statement', { statementDescriptor: '5555555555554444' }, 'statementDescriptor'],
  [
    'any card in the reason of a reversal',
    { paymentMethods: { providerZ: { reversalReason: 'was 5555-5555-5555-4444' } } },
    'paymentMethods.providerZ.reversalReason',
  ],
  [
    'any card in comments',
    {
      enhancedData: {
        carRental: { schemeA: { billingAndInvoiceInformation: { comments: '5555555555554444' } } },
      },
    },
    'enhancedData.carRental.schemeA.billingAndInvoiceInformation.comments',
  ],
  [
    'any card in the name for one wallet',
    { paymentMethods: { providerM: { textfield1: '5555555555554444' } } },
    'paymentMethods.providerM.textfield1',
  ],
  ['a telephone number in a reason', { reason: 'call +49 170 1234567' }, undefined],
  ['a payId in a reason', { reason: '01a1f11afd407fcb9b358a5f6731d928' }, undefined],
  ['a time and an order number in a reason', { reason: '2026-11-19 12:30, order 4711-2026-0815' }, undefined],
  ['an address with numbers', { billingAddress: { addressLine2: '412 5555555555554444' } }, undefined],
  ['with two separators', { order: { description: '5555  5555  5555  4444' } }, undefined],
  ['as a part of a longer word', { order: { description: 'SN5555555555554444' } }, undefined],
  ['as a part of a longer number', { order: { description: '55555555555544441234' } }, undefined],
  ['with a wrong checksum', { order: { description: '5555555555554445' } }, undefined],
  ['with no brand’s prefix', { order: { description: '9999999999999995' } }, undefined],
  ['with no brand’s length', { order: { description: '55555555555557' } }, undefined],
  ['any card in another field', { order: { merchantReference: '5555555555554444' } }, undefined],
])('card data is found outside its field: %s', (_, body, field) => {
  const found = findStrayCardData(body)
  expect(found?.field).toBe(field)
  if (found) expect(isCertainlyClean(suspectsOf(body))).toBe(false)
  if (found) expect(found.error.replace(/[^0-9A-Z]/g, '')).not.toMatch(/4111111111111111|370400440532/)
})

test('each list item is compared with its own card number and with those outside of lists', () => {
  const cards = [
    { number, reference: 'a' },
    { number: '5555555555554444', reference: number },
  ]
  expect(findStrayCardData({ transId: 't', cards })).toBeUndefined()
  expect(findStrayCardData({ transId: number, cards })?.field).toBe('transId')
  expect(findStrayCardData({ cards: [{ number, reference: number }] })?.field).toBe('cards[0].reference')
})

test('long lists and long texts are searched to their end', () => {
  const cards = Array.from({ length: 1_000 }, (_, at) => ({ number, reference: `order ${at} 123456789012` }))
  const last = { number, reference: number }
  expect(findStrayCardData({ transId: 't', cards: [...cards, last] })?.field).toBe('cards[1000].reference')
  const text = `${'4 '.repeat(5_000)}5555 5555 5555 4444`
  expect(findStrayCardData({ description: text })?.field).toBe('description')
})

test.each([
  ['single digits', '4-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1', true],
  ['after other single digits', `${'0-'.repeat(50)}4-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1`, true],
  ['after a house number', '17 4111 1111 1111 1111', true],
  ['after a word of digits', 'b12 4111 1111 1111 1111 99', true],
  ['nineteen digits after one', '1 6011000000000000006', false],
  ['two separators within', '4111 1111  1111 1111', false],
  ['a word at its end', '4111 1111 1111 1111x', false],
  ['zeros', '0-'.repeat(50), false],
])('a card number in a description: %s', (_, description, isFound) => {
  expect(findStrayCardData({ description })?.field).toBe(isFound ? 'description' : undefined)
})

test('a key is not repeated: the error names the object that holds it', () => {
  const body = {
    paymentMethods: { card: { number: '4111111111111111' } },
    metadata: { n4111111111111111: 1 },
  }
  expect(findStrayCardData(body)?.error).toMatch(/^a key of metadata holds /)
})

describe('texts with many digits', () => {
  const request = (changed: object) => ({
    transId: 'order-2026-000000012345',
    paymentMethods: { type: 'CARD', card: { number, expiryDate: '203012', cardholderName: 'Ada' } },
    customerInfo: { phone: { countryCode: '+49', number: '4012345678' } },
    metadata: { basket: 'b-17' },
    ...changed,
  })

  test('suffice to see that a usual request is clean', () => {
    expect(isCertainlyClean(suspectsOf(request({})), 'a-key-123456789012345')).toBe(true)
    expect(isCertainlyClean(suspectsOf({ transId: 'order-2026-000000012345' }))).toBe(true)
    expect(isCertainlyClean(suspectsOf(debit))).toBe(true)
  })

  test.each([
    ['the number in the key', request({}), `again-${number}`],
    ['digits of another script', request({ refNr: '٤١١١١١١١١١١١١١١١' }), ''],
    ['the number without quotes', request({ amount: { value: Number(number) } }), ''],
    ['the number with a sign', request({ metadata: { note: -Number(number) } }), ''],
    ['the number with decimals', request({ metadata: { note: Number(number) / 1e12 } }), ''],
    ['two numbers', request({ other: { number: '5555555555554444' } }), ''],
    [
      'an IBAN of few digits',
      { account: { number: 'MT31MALTAAAAAAAAAAAAAAAAAAAAAAA' }, refNr: 'MT31MALTAAAAAAAAAAAAAAAAAAAAAAA' },
      '',
    ],
    [
      'more of them than are noted',
      { list: Array.from({ length: 101 }, (_, at) => `${at}-123456789012`) },
      '',
    ],
  ])('are not enough where there is %s', (_, body, key) => {
    expect(isCertainlyClean(suspectsOf(body), key)).toBe(false)
  })

  test('never hide a number that the search of all objects finds', () => {
    const text = fc.constantFrom(
      ...[number, '4111 1111-1111 1111', '5555555555554444', `x${number}`, '378282246310005', '123456789012'],
      ...['DE89370400440532013000', 'DE89 3704 0044 0532 0130 00', 'MT31MALTAAAAAAAAAAAAAAAAAAAAAAA'],
      ...['Ada', '', '+4917012345678', '\u0664\u0661\u0661\u0661', '\uff14111111111111111'],
    )
    const value = fc.oneof(
      text,
      fc.integer(),
      fc.constantFrom(4_111_111_111_111_111, -4_111_111_111_111_111, 41_111_111.111_111_11, 1e15, true),
    )
    const names = ['number', 'accountNumber', 'firstName', 'description', 'phone', 'metadata', 'card', number]
    const { body } = fc.letrec(tie => ({
      body: fc.dictionary(fc.constantFrom(...names), tie('member'), { maxKeys: 4 }),
      member: fc.oneof({ maxDepth: 4 }, value, tie('body'), fc.array(tie('member'), { maxLength: 3 })),
    }))
    let passed = 0
    fc.assert(
      fc.property(body, text, (given, key) => {
        if (!isCertainlyClean(suspectsOf(given), key)) return
        passed += 1
        expect(findStrayCardData(given, key)).toBeUndefined()
      }),
      { numRuns: 500 },
    )
    expect(passed).toBeGreaterThan(20)
  })
})
