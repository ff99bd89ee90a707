import { expect, test } from 'vitest'
import { formats } from '#schemas/parts/formats.ts'

test.each([
  ['date', '2027-01-31', '2027-02-30'],
  ['date-time', '2027-01-31T12:00:00Z', '2027-01-31'],
  ['uri', 'https://shop.example/return', 'ftp://shop.example'],
  ['iri', 'https://bücher.example/zurück', 'ftp://bücher.example'],
  ['email', 'ada@example.com', 'ada'],
  ['currency', 'EUR', 'BGN'],
  ['alpha3', 'DEU', 'DE'],
  ['alpha2', 'DE', 'DEU'],
  ['numeric3', '276', '999'],
  ['card-number', '4111111111111111', '4111111111111112'],
  ['card-number', '0000000000000001', '000000000000001'],
  ['card-number', '378282246310005', '3782 822463 10005'],
  ['expiry-date', '203012', '203013'],
  ['bcp47', 'en-GB', 'en_GB'],
  ['printable', 'order 1', 'order\n1'],
])('%s takes %j and refuses %j', (name, good, bad) => {
  expect(formats[name]?.check(good)).toBe(true)
  expect(formats[name]?.check(bad)).toBe(false)
})

test('every format says what is allowed, with an example it takes', () => {
  for (const { allowed, check } of Object.values(formats)) {
    expect(allowed).toMatch(/^(an?|text) /)
    const [, example] = / such as (\S+)/.exec(allowed) ?? []
    if (example !== undefined) expect(check(example)).toBe(true)
  }
})
