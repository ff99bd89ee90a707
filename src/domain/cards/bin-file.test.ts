import { describe, expect, test } from 'vitest'
import { BinFileError, readBinHeading, readBinLine } from '#domain/cards/bin-file.ts'
import { findNarrowest, toSpan } from '#domain/cards/bin-ranges.ts'

const own = 'first,last,brand,coBrands,product,source,issuer,country,currency,dccEligible'
const open = 'bin,brand,type,category,issuer,alpha_2,alpha_3,country,latitude,longitude,bank_phone,bank_url'

const read = (heading: string, line: string) => readBinLine(line, readBinHeading(heading))

test.each([
  [
    own,
    '400000,400099,visa,cb|bancontact,Classic,CREDIT,"Bank, Ltd.",FRA,EUR,false',
    {
      span: { first: 4000000000, last: 4000999999 },
      brand: 'visa',
      coBrands: ['cb', 'bancontact'],
      product: 'Classic',
      source: 'CREDIT',
      issuer: 'Bank, Ltd.',
      country: 'FRA',
      currency: 'EUR',
      dccEligible: false,
    },
  ],
  [
    open,
    '42310211,VISA,DEBIT,PLATINUM,STATE BANK,JP,JPN,JAPAN,36,138,,',
    {
      span: { first: 4231021100, last: 4231021199 },
      brand: 'visa',
      coBrands: [],
      product: 'PLATINUM',
      source: 'DEBIT',
      issuer: 'STATE BANK',
      country: 'JPN',
      currency: 'JPY',
      dccEligible: true,
    },
  ],
  [
    open,
    '371234,AMERICAN EXPRESS,CHARGE CARD,,,,,,,,,',
    {
      span: { first: 3712340000, last: 3712349999 },
      brand: 'amex',
      coBrands: [],
      product: undefined,
      source: 'CHARGE',
      issuer: undefined,
      country: undefined,
      currency: undefined,
      dccEligible: false,
    },
  ],
  [
    '\ufeffBIN,Scheme',
    '0012345,test',
    expect.objectContaining({ span: { first: 12345000, last: 12345999 } }),
  ],
])('the columns “%s” are read', (heading, line, expected) => {
  expect(read(heading, line)).toEqual(expected)
})

describe('a file is refused with', () => {
  test.each(['', 'a,b', 'brand,country', 'bin,country'])('the heading %j', heading => {
    expect(() => readBinHeading(heading)).toThrow(BinFileError)
  })

  test.each([
    '12345,,visa,,,,,,,',
    '123456789,,visa,,,,,,,',
    '40000x,,visa,,,,,,,',
    '400000,4000001,visa,,,,,,,',
    '400001,400000,visa,,,,,,,',
    '400000,,,,,,,,,',
    '400000,,VISA!,,,,,,,',
    '400000,,visa,,,,,XXQ,,',
    '400000,,visa,,,,,,EURO,',
    '400000,,visa,,,,,,,maybe',
    '400000,,visa,,,,"open,,,',
    `400000,,visa,,${'x'.repeat(65)},,,,,`,
    '',
  ])('the line %j', line => {
    expect(() => read(own, line)).toThrow(BinFileError)
  })
})

test('an error does not quote a card number from the wrong file', () => {
  const tell = (line: string) => {
    try {
      read(own, line)
    } catch (error) {
      return String(error)
    }
    return ''
  }
  expect(tell('4111111111111111,,visa,,,,,,,')).toContain('"411111******1111"')
  expect(tell('411111,,visa,,,,,4111111111111111,,')).toContain('"411111******1111"')
})

describe('the narrowest range that contains all given digits is found', () => {
  const range = (brand: string, first: string, last?: string) => ({
    span: toSpan(first, last),
    brand,
    coBrands: [],
    dccEligible: false,
  })
  const ranges = [
    range('wide', '400000', '499999'),
    range('six', '411111'),
    range('eight', '41111100'),
    range('span', '41111110', '41111119'),
  ]

  test.each([
    ['411111', 'six'],
    ['4111110', 'six'],
    ['41111100', 'eight'],
    ['4111110012', 'eight'],
    ['41111115', 'span'],
    ['4111111', 'span'],
    ['41111120', 'six'],
    ['411112', 'wide'],
    ['400000', 'wide'],
    ['499999', 'wide'],
    ['500000', undefined],
    ['399999', undefined],
  ])('%s: %s', (bin, brand) => {
    expect(findNarrowest(ranges, toSpan(bin))?.brand).toBe(brand)
  })
})
