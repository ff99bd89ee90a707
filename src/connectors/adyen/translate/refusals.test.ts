import { expect, test } from 'vitest'
import {
  detailOfError,
  detailOfRefusal,
  detailOfReturn,
  refusals,
} from '#connectors/adyen/translate/refusals.ts'
import { describe as describeCode } from '#domain/response-codes.ts'

test('every refusal has a response code that the contract explains', () => {
  for (const [code, reason, detail] of refusals) {
    expect(detailOfRefusal(code)).toBe(detail)
    expect(detailOfRefusal(undefined, reason)).toBe(detail)
    expect(describeCode(`2100${detail}`).description).not.toMatch(/^(Unknown|Declined\.)/)
  }
})

test('every code and every reason is listed once', () => {
  expect(new Set(refusals.map(([code]) => code)).size).toBe(refusals.length)
  expect(new Set(refusals.map(([, reason]) => reason.toLowerCase())).size).toBe(refusals.length)
})

test.each([
  ['12', undefined, '0351'],
  ['6', undefined, '0354'],
  ['0', undefined, '0305'],
  ['999', undefined, '0305'],
  [undefined, undefined, '0305'],
  [undefined, 'NOT ENOUGH BALANCE', '0351'],
  [undefined, '1234:7777:12/2012', '0305'],
])('refusal %s %s is %s', (code, reason, detail) => expect(detailOfRefusal(code, reason)).toBe(detail))

test.each([
  ['101', '0314'],
  ['137', '0313'],
  ['167', '0312'],
  [undefined, '0312'],
])('error %s is %s', (code, detail) => expect(detailOfError(code)).toBe(detail))

test.each([
  ['AM04', '0351'],
  ['AC04', '0314'],
  ['MD06', '0357'],
  ['MS03', '0305'],
])('a debit returned for %s is %s', (code, detail) => expect(detailOfReturn(code)).toBe(detail))
