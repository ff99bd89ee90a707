/** The rules of SEPA as tables: dates, sequence types, amendments, reasons, references and the character set. */
import { describe, expect, test } from 'vitest'
import { detailOf, endsMandate, reasonFacts } from '#connectors/bank/bank-facts.ts'
import {
  amendmentOf,
  announcedDay,
  earliestCollection,
  isDisused,
  sequenceOf,
  silentApproval,
} from '#connectors/bank/collection.ts'
import { isSepaText, toSepaText } from '#connectors/bank/sepa-text.ts'
import { normalizeReference, referencesIn } from '#connectors/bank/transfer-reference.ts'

describe('collection dates', () => {
  test.each([
    ['a Monday morning', '2026-11-16', 9, '2026-11-17'],
    ['exactly at the cut-off hour', '2026-11-16', 12, '2026-11-18'],
    ['a Friday morning', '2026-11-13', 9, '2026-11-16'],
    ['a Friday afternoon', '2026-11-13', 15, '2026-11-17'],
    ['a Saturday morning', '2026-11-14', 9, '2026-11-16'],
    ['a Sunday evening', '2026-11-15', 20, '2026-11-17'],
    ['Good Friday in the morning', '2026-04-03', 9, '2026-04-07'],
    ['Labour Day in the afternoon', '2026-05-01', 15, '2026-05-05'],
    ['Maundy Thursday in the morning', '2026-04-02', 9, '2026-04-07'],
    ['Christmas Eve in the afternoon', '2026-12-24', 15, '2026-12-29'],
  ])('a file of %s is collected on the first day allowed', (_, day, hour, expected) => {
    expect(earliestCollection({ day, hour }, 12)).toBe(expected)
  })

  test.each([
    [0, '2026-11-17'],
    [1, '2026-11-17'],
    [14, '2026-11-30'],
    [5, '2026-11-23'],
  ])('with %i days of notice a debit of Monday is collected on %s', (preNotificationDays, expected) => {
    expect(announcedDay({ day: '2026-11-16', hour: 9 }, { cutOffHour: 12, preNotificationDays })).toBe(
      expected,
    )
  })

  test('without a return a debit is approved the configured number of settlement days after its collection', () => {
    expect(silentApproval('2026-12-23', 2)).toBe('2026-12-28')
  })
})

describe('mandates', () => {
  test.each([
    ['a single debit', { recurring: false, last: false }, false, 'OOFF'],
    ['the first of several', { recurring: true, last: false }, false, 'FRST'],
    ['a later debit', { recurring: true, last: false }, true, 'RCUR'],
    ['a single debit under a mandate that was used before', { recurring: false, last: false }, true, 'RCUR'],
    ['the last of a plan', { recurring: true, last: true }, true, 'FNAL'],
    ['the only one of a plan', { recurring: true, last: true }, false, 'FRST'],
  ] as const)('%s gets its SEPA sequence type', (_, use, used, expected) => {
    expect(sequenceOf(use, used)).toBe(expected)
  })

  const use = {
    creditorId: 'DE98ZZZ09999999999',
    creditorName: 'Shop',
    heldId: 'a',
    recurring: true,
    last: false,
  }
  const used = { creditorId: use.creditorId, creditorName: 'Shop', heldId: 'a', lastUsedOn: '2026-01-05' }
  test.each([
    ['nothing has changed', used, undefined],
    ['it was never used', undefined, undefined],
    ['the account has changed', { ...used, heldId: 'b' }, { newAccount: true }],
    ['the creditor has changed', { ...used, creditorId: 'DE00OLD' }, { originalCreditorId: 'DE00OLD' }],
    [
      'account, creditor and creditor name have changed',
      { ...used, creditorId: 'DE00OLD', creditorName: 'Old shop', heldId: 'b' },
      { originalCreditorId: 'DE00OLD', originalCreditorName: 'Old shop', newAccount: true },
    ],
  ])('the amendment when %s', (_, before, expected) => {
    expect(amendmentOf(use, before)).toEqual(expected)
  })

  test.each([
    ['2023-11-17', '2026-11-17', false],
    ['2023-11-17', '2026-11-18', true],
    ['2024-02-29', '2027-03-01', false],
    ['2024-02-29', '2027-03-02', true],
  ])('a mandate last used on %s and collected on %s has lapsed: %s', (last, collection, expected) => {
    expect(isDisused(last, collection)).toBe(expected)
  })
})

test.each([
  ['AM04', '0351', false],
  ['AC01', '0314', false],
  ['AC04', '0314', true],
  ['AC06', '0314', false],
  ['MD01', '0357', true],
  ['MD06', '0357', true],
  ['MS02', '0357', false],
  ['MD07', '0305', true],
  ['MS03', '0305', false],
  ['ZZ99', '0305', false],
  ['constructor', '0305', false],
  [undefined, '0305', false],
])('the reason %s has the detail %s and ends the mandate: %s', (reason, detail, ends) => {
  expect(detailOf(reason)).toBe(detail)
  expect(endsMandate(reason)).toBe(ends)
})

test.each([
  ...['AC01', 'AC03', 'AC04', 'AC06', 'AC14', 'AG01', 'CNOR', 'MD07', 'RC01', 'RC04'].map(
    code => [code, true] as const,
  ),
  ...['AM04', 'MS02', 'MS03', 'NARR', 'ZZ99'].map(code => [code, undefined] as const),
])('a transfer that came back with %s can never be delivered: %s', (reason, expected) => {
  expect(reasonFacts(reason)).toMatchObject({ responseCode: reason, fields: { reasonCode: reason } })
  expect(reasonFacts(reason).undeliverable).toBe(expected)
})

test.each([
  ['Käufer & Söhne', 'Kaeufer + Soehne'],
  ['Łukasz Żółć', 'Lukasz Zolc'],
  ['Σωκράτης', 'Sokratis'],
  ['Иван Щербаков', 'Ivan Shterbakov'],
  ['Zoë  Ångström', 'Zoe Angstroem'],
  ['Straße 5; “Hof”', "Strasse 5, 'Hof'"],
  ['日本', '..'],
  ['a@b.example', 'a(at)b.example'],
  ['ﬁne', 'fine'],
  ['tab\tand\nline', 'tab and line'],
])('%s is written %s', (text, expected) => {
  expect(toSepaText(text, 70)).toBe(expected)
  expect(isSepaText(toSepaText(text, 70))).toBe(true)
})

test('long text is cut and does not end with a space', () => {
  expect(toSepaText('abc def', 4)).toBe('abc')
})

describe('references in remittance text', () => {
  test.each([
    ['Rechnung INV-2026/0042, vielen Dank', 'inv20260042'],
    ['inv 2026 0042', 'INV-2026/0042'],
    ['RF18 5390 0754 7034', 'rf18539007547034'],
    ['order_77', 'ORDER 77'],
  ])('the text %s contains the reference %s', (text, reference) => {
    expect(referencesIn(text)).toContain(normalizeReference(reference))
  })

  test.each([
    ['INV20260042THANKS', 'INV20260042'],
    ['INV 2026 004', 'INV20260042'],
  ])('the text %s does not contain the reference %s, and nothing is guessed', (text, reference) => {
    expect(referencesIn(text)).not.toContain(normalizeReference(reference))
  })

  test('searching a text of many words stays fast', () => {
    expect(referencesIn('a '.repeat(500)).length).toBeLessThan(5_000)
  })
})
