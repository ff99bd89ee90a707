import { describe, expect, test } from 'vitest'
import { parseEcbRates, RateFileError } from '#domain/money/ecb-rates.ts'

const xml = (days: string) => `<?xml version="1.0" encoding="UTF-8"?>
<gesmes:Envelope xmlns:gesmes="http://www.gesmes.org/xml/2002-08-01" xmlns="http://www.ecb.int/vocabulary/2002-08-01/eurofxref">
  <gesmes:subject>Reference rates</gesmes:subject>
  <Cube>${days}</Cube>
</gesmes:Envelope>`

const friday = `<Cube time='2026-11-13'><Cube currency='USD' rate='1.1634'/><Cube currency='JPY' rate='179.79'/></Cube>`
const thursday = `<Cube time="2026-11-12"><Cube currency="USD" rate="1.1600"/><Cube currency="BGN" rate="1.9558"/></Cube>`

const expected = {
  date: '2026-11-13',
  rates: new Map([
    ['USD', '1.1634'],
    ['JPY', '179.79'],
  ]),
}

test.each([
  ['XML of one day', xml(friday)],
  ['XML of many days, the newest first', xml(friday + thursday)],
  ['XML of many days, the newest last', xml(thursday + friday)],
  ['CSV of one day, as published', 'Date, USD, JPY, \n13 November 2026, 1.1634, 179.79, \n'],
  [
    'CSV of many days',
    'Date,USD,JPY,BGN,\r\n2026-11-13,1.1634,179.79,N/A,\r\n2026-11-12,1.16,180,1.9558,\r\n',
  ],
])('rates are read from %s', (_, text) => {
  expect(parseEcbRates(text)).toEqual(expected)
})

test('a currency that has left the list is skipped', () => {
  expect([...parseEcbRates(xml(thursday)).rates.keys()]).toEqual(['USD'])
})

test('an error does not quote a card number from the wrong file', () => {
  expect(() => parseEcbRates('Date, USD\n4111111111111111, 1')).toThrow(/^411111\*{6}1111 is not a day$/)
})

describe('files that are refused', () => {
  test.each([
    ['nothing', ''],
    ['another file', 'bin,brand\n1,2'],
    ['XML without rates', '<html></html>'],
    ['a day without rates', xml("<Cube time='2026-11-13'></Cube>")],
    ['a rate before any day', xml("<Cube currency='USD' rate='1'/>")],
    ['half a rate', xml("<Cube time='2026-11-13'><Cube currency='USD'/></Cube>")],
    ['a negative rate', xml("<Cube time='2026-11-13'><Cube currency='USD' rate='-1'/></Cube>")],
    ['a rate of zero', xml("<Cube time='2026-11-13'><Cube currency='USD' rate='0.00'/></Cube>")],
    ['a currency twice', xml(friday.replace('JPY', 'USD'))],
    ['a day that does not exist', xml(friday.replace('2026-11-13', '2026-02-30'))],
    ['a month that does not exist', 'Date, USD\n13 Nevember 2026, 1.1634'],
    ['a cell without a heading', 'Date, USD\n13 November 2026, 1.1634, 2'],
  ])('a file with %s is refused', (_, text) => {
    expect(() => parseEcbRates(text)).toThrow(RateFileError)
  })
})
