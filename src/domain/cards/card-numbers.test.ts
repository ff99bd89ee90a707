import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  isCardNumber,
  isPseudoCardNumber,
  maskCard,
  passesLuhn,
  scrubCardNumbers,
  toPseudoCardNumber,
} from '#domain/cards/card-numbers.ts'

/** A second implementation of Luhn: doubled digits come from a table, and the text is read from the left. */
function luhnOracle(digits: string): boolean {
  const table = [0, 2, 4, 6, 8, 1, 3, 5, 7, 9]
  const odd = digits.length % 2
  let sum = 0
  for (const [index, char] of [...digits].entries())
    sum += index % 2 === odd ? (table[Number(char)] ?? 0) : Number(char)
  return sum % 10 === 0
}

/** Random digits with a valid check digit. */
const luhnValid = (minimum: number, maximum: number) =>
  fc
    .array(fc.integer({ min: 0, max: 9 }), { minLength: minimum - 1, maxLength: maximum - 1 })
    .map(digits => digits.join(''))
    .map(body => [...'0123456789'].map(check => body + check).find(luhnOracle) ?? '')

/** Zeros alone pass the checksum too, but no scheme issues them. */
const isIssued = (digits: string): boolean => /[1-9]/.test(digits)

function findCardNumber(text: string): string | undefined {
  for (const run of text.matchAll(/[0-9](?:[ .+-]?[0-9]){11,}/g)) {
    const digits = run[0].replaceAll(/[^0-9]/g, '')
    for (let start = 0; start + 12 <= digits.length; start++)
      for (let end = start + 12; end <= Math.min(start + 19, digits.length); end++)
        if (luhnOracle(digits.slice(start, end)) && isIssued(digits.slice(start, end)))
          return digits.slice(start, end)
  }
  return undefined
}

describe('passesLuhn', () => {
  test.each([
    ['4111111111111111', true],
    ['5555555555554444', true],
    ['378282246310005', true],
    ['6304000000000000', true],
    ['79927398713', true],
    ['0', true],
    ['4111111111111112', false],
    ['79927398710', false],
    ['', false],
    ['4111 1111 1111 1111', false],
    ['٤١١١١١١١١١١١١١١١', false],
  ])('%j passes the check: %s', (digits, passes) => expect(passesLuhn(digits)).toBe(passes))

  test('agrees with a second implementation', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[0-9]{1,40}$/), digits => passesLuhn(digits) === luhnOracle(digits)),
    )
  })
})

test.each([
  ['4111111111111111', true],
  ['000000000000', true],
  ['00000000000', false],
  ['4000000000000000006', true],
  ['40000000000000000000', false],
  ['4111111111111112', false],
])('%s as a card number: %s', (text, is) => expect(isCardNumber(text)).toBe(is))

test('a masked card shows six and four digits', () => {
  expect(maskCard('4111111111111111')).toEqual({ first6Digits: '411111', last4Digits: '1111' })
})

describe('pseudo card numbers', () => {
  const digestOf = (text: string) => createHash('sha256').update(text).digest()

  test.each([
    ['0000000000000001', true],
    ['0000000000000000', false],
    ['4000000000000001', false],
    ['000000000000001', false],
    ['00000000000000001', false],
    ['000000000000000a', false],
  ])('%s: %s', (text, is) => expect(isPseudoCardNumber(text)).toBe(is))

  test('are 16 digits from 0 to the last three, and never pass the checksum', () => {
    const digests = fc.uint8Array({ minLength: 16, maxLength: 32 })
    fc.assert(
      fc.property(digests, fc.nat(50), fc.stringMatching(/^[0-9]{3}$/), (digest, attempt, last3) => {
        const pseudo = toPseudoCardNumber(digest, attempt, last3)
        expect(pseudo).toMatch(/^0[0-9]{15}$/)
        expect(pseudo.endsWith(last3)).toBe(true)
        expect(luhnOracle(pseudo)).toBe(false)
        expect(isPseudoCardNumber(pseudo)).toBe(true)
        expect(toPseudoCardNumber(digest, attempt, last3)).toBe(pseudo)
      }),
    )
  })

  test('are different at each attempt to find a free one', () => {
    const made = Array.from({ length: 1000 }, (_, attempt) =>
      toPseudoCardNumber(digestOf('card'), attempt, '111'),
    )
    expect(new Set(made).size).toBe(1000)
  })

  test('use every digit at each of the twelve random positions about equally often', () => {
    const count = 5000
    const made = Array.from({ length: count }, (_, n) => toPseudoCardNumber(digestOf(`${n}`), 0, '345'))
    for (let place = 1; place <= 12; place++)
      for (const digit of '0123456789') {
        const seen = made.filter(pseudo => pseudo[place] === digit).length
        // Expected 500, standard deviation 21: six deviations, and the digests are fixed, so the test is not flaky.
        expect(Math.abs(seen - count / 10)).toBeLessThan(130)
      }
  })

  test.each([
    ['a short digest', new Uint8Array(15), 0, '111'],
    ['a negative attempt', new Uint8Array(32), -1, '111'],
    ['two last digits', new Uint8Array(32), 0, '11'],
  ])('refuse %s', (_, digest, attempt, last3) => {
    expect(() => toPseudoCardNumber(digest, attempt, last3)).toThrow()
  })
})

describe('scrubCardNumbers', () => {
  test.each([
    ['4111111111111111', '411111******1111'],
    ['378282246310005', '378282*****0005'],
    ['number=4111111111111111&x=1', 'number=411111******1111&x=1'],
    ['"number":"4111 1111 1111 1111"', '"number":"411111******1111"'],
    ['4111-1111-1111-1111', '411111******1111'],
    ['4111.1111.1111.1111', '411111******1111'],
    ['4111%201111%201111%201111', '411111******1111'],
    ['4111+1111+1111+1111', '411111******1111'],
    ['4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1', '411111******1111'],
    ['abc4111111111111111def', 'abc411111******1111def'],
    ['%200000000006', '%200000**0006'],
    ['8%201017422165%204', '810174**1654'],
    ['99999995%20-4111111111111111', '999999**4111********1111'],
    ['two: 4111111111111111, 5555555555554444.', 'two: 411111******1111, 555555******4444.'],
    ['number 000000000001', 'number 000000000001'],
    ['4111  1111  1111  1111', '4111  1111  1111  1111'],
    ['00000000000', '00000000000'],
    // One above the highest amount: the error must quote it.
    ['1000000000000', '1000000000000'],
    ['4000000000000002', '400000******0002'],
    [
      '2026-11-15T03:10:22.123Z payment authorised in 12 ms',
      '2026-11-15T03:10:22.123Z payment authorised in 12 ms',
    ],
    [
      '/payments/0198a41111111111111111bcdef01234/captures',
      '/payments/0198a41111111111111111bcdef01234/captures',
    ],
    ['01984111111111111111111111111111', '019841*********1111'],
    ['x0198a41111111111111111bcdef01234', 'x0198a411111*******1111bcdef01234'],
    ['0198A41111111111111111BCDEF01234', '0198A411111*******1111BCDEF01234'],
    ['', ''],
  ])('%j becomes %j', (text, scrubbed) => expect(scrubCardNumbers(text)).toBe(scrubbed))

  const hexToken = /(?<![0-9A-Za-z])[0-9a-f]{32}(?![0-9A-Za-z])/
  const separators = fc.constantFrom('', '', '', ' ', '-', '.', '+', '%20')
  const issued = luhnValid(12, 19).filter(isIssued)
  const written = issued.chain(number =>
    fc
      .array(separators, { minLength: number.length - 1, maxLength: number.length - 1 })
      .map(between => [...number].map((digit, index) => digit + (between[index] ?? '')).join('')),
  )
  const around = fc.oneof(
    fc.string({ maxLength: 60 }),
    fc.string({ unit: fc.constantFrom(...'0123456789 .-+%abcfABC"/='), maxLength: 40 }),
  )

  test('no card number survives, with any characters around and between its digits', () => {
    fc.assert(
      fc.property(around, written, around, (before, number, after) => {
        const text = before + number + after
        fc.pre(!hexToken.test(text))
        expect(scrubCardNumbers(text)).not.toContain(number)
      }),
      { numRuns: 5000 },
    )
  })

  test('scrubbed text contains no card number, and scrubbing it again changes nothing', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(around, written), { maxLength: 6 }), parts => {
        const text = parts.join('')
        fc.pre(!hexToken.test(text))
        const scrubbed = scrubCardNumbers(text)
        expect(findCardNumber(scrubbed)).toBeUndefined()
        expect(findCardNumber(scrubbed.replaceAll(/(?<=[0-9])%20(?=[0-9])/g, ' '))).toBeUndefined()
        expect(scrubCardNumbers(scrubbed)).toBe(scrubbed)
      }),
      { numRuns: 2000 },
    )
  })

  test('text without long runs of digits is returned unchanged', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 200 }), text => {
        fc.pre(text.replaceAll(/[^0-9]/g, '').length < 12)
        expect(scrubCardNumbers(text)).toBe(text)
      }),
    )
  })

  test('a hostile run of a million digits neither overflows the stack nor passes', () => {
    expect(scrubCardNumbers('1234567890'.repeat(100_000))).toBe('123456*********7890')
  })
})
