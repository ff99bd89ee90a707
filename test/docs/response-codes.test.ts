/** Every response code comes from one table: no other file makes one up, and no example shows one that is not in it. */
import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { describe as describeCode, listResponseCodes } from '#domain/response-codes.ts'
import { endpoints } from '#endpoints/index.ts'

const root = new URL('../../src/', import.meta.url)
const table = 'domain/response-codes.ts'

/**
 * Eight digits that can only be a response code: those that are published as they are, and the refusals and declines
 * by their kind and module. Other eight digits are a day, a number of seconds or the beginning of a card number.
 */
const fixed = listResponseCodes()
  .map(({ code }) => code)
  .filter(code => !code.startsWith('2'))
const pattern = new RegExp(
  `(?<![0-9a-zA-Z])(?:${fixed.join('|')}|2(?:01[0-8]|020|[1-9]00)[0-9]{4})(?![0-9a-zA-Z])`,
  'g',
)

const withoutComments = (text: string): string =>
  text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|[\s;{}(,])\/\/.*$/gm, '$1')

const sources = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter(path => path.endsWith('.ts') && !/\.test(-support)?\.ts$/.test(path) && path !== table)
  .map(path => ({ path, code: withoutComments(readFileSync(new URL(path, root), 'utf8')) }))

const codesIn = (text: string): string[] => text.match(pattern) ?? []

test('the pattern finds what it is for, and leaves other numbers alone', () => {
  expect(codesIn(`x('20200003'), y('21000305') "28001550" '00000000' '60000100' '40000405'`)).toHaveLength(6)
  expect(codesIn(`31536000 '4111111111111111' 19700101 '2.5.0' 'a20200003' 202012 20261115`)).toEqual([])
})

/** Examples and descriptions are for readers, who need the digits. */
const isShown = (path: string): boolean => /^(endpoints|http\/reference)\//.test(path)
const known = new Set(listResponseCodes().map(({ code }) => code))

test('digits of a response code stand in the table only; endpoints and the guide may show them', () => {
  const wrong = sources
    .filter(({ path }) => !isShown(path))
    .flatMap(({ path, code }) => codesIn(code).map(found => `${path}: ${found}`))
  expect(wrong).toEqual([])
})

test('what is shown is in the table, and nobody decides by it', () => {
  const shown = sources.filter(({ path }) => isShown(path))
  const strange = shown.flatMap(({ path, code }) =>
    codesIn(code)
      .filter(found => !known.has(found))
      .map(found => `${path}: ${found}`),
  )
  expect(strange).toEqual([])
  const decides = /(?:===|!==|\bcase|includes\()\s*'[0-9]{8}'/
  expect(shown.filter(({ code }) => decides.test(code)).map(({ path }) => path)).toEqual([])
})

/** Every object inside a value that holds a response code. */
function listCoded(value: unknown): { responseCode: string; responseDescription?: string }[] {
  if (typeof value !== 'object' || value === null) return []
  const inside = Object.values(value).flatMap(listCoded)
  return 'responseCode' in value && typeof value.responseCode === 'string'
    ? [value as { responseCode: string }, ...inside]
    : inside
}

test('what an example shows is in the table, with the words of the table', () => {
  const shown = endpoints.flatMap(({ operationId, examples }) =>
    examples.flatMap(({ answer }) => listCoded(answer).map(coded => ({ operationId, ...coded }))),
  )
  expect(shown.length).toBeGreaterThan(0)
  const wrong = shown.filter(
    ({ responseCode, responseDescription: words }) =>
      !known.has(responseCode) || (words !== undefined && words !== describeCode(responseCode).description),
  )
  expect(wrong).toEqual([])
})
