import { describe, expect, test } from 'vitest'
import { authenticationCards } from '#connectors/simulator/authentication-numbers.ts'
import { brandCards } from '#connectors/simulator/brand-numbers.ts'
import { buildTestCatalogue } from '#connectors/simulator/catalogue.ts'
import { testBins } from '#connectors/simulator/test-bins.ts'
import { scenarioOf, testCards } from '#connectors/simulator/test-numbers.ts'
import { cardBrands, detectBrand, listCoBadges, unknownBrand } from '#domain/cards/card-brands.ts'
import { isCardNumber } from '#domain/cards/card-numbers.ts'
import { isIban } from '#domain/iban.ts'
import { listResponseCodes } from '#domain/response-codes.ts'
import { testCatalogue } from '#schemas/test-catalogue.ts'
import { compileCheck } from '#test/support/docs/check-schema.ts'

const catalogue = buildTestCatalogue()
const find = (number: string) => catalogue.cards.find(card => card.number === number)

test('the catalogue of test data fits its schema', () =>
  expect(compileCheck(testCatalogue)(catalogue)).toEqual([]))

test('every card number is valid, listed once and has a brand', () => {
  const numbers = catalogue.cards.map(({ number }) => number)
  expect(new Set(numbers).size).toBe(numbers.length)
  expect(numbers.filter(number => !isCardNumber(number))).toEqual([])
  expect(catalogue.cards.filter(({ brand }) => brand === unknownBrand)).toEqual([])
  expect(catalogue.accounts.filter(({ number }) => !isIban(number))).toEqual([])
})

describe('numbers that the API contract lists', () => {
  test.each([
    ['4000000000000002', 'declined 05'],
    ['4000000000009995', 'declined 51'],
    ['4000000000000069', 'declined 54'],
    ['4000000000009987', 'declined 41'],
    ['4000000000009979', 'declined 43'],
    ['4000000000000119', 'declined 96'],
    ['4000002760003184', '3-D Secure challenge'],
    ['4000003800000446', 'approved'],
    ['4000000000000341', 'approved, capture declined'],
    ['4000000000005126', 'approved, refund declined'],
    ['4000000000000101', 'unknown, then approved'],
    ['4000000000000259', 'declined 91'],
    ['4000000000003220', 'approved'],
    ['4000000000003238', 'approved'],
  ])('the catalogue has %s: %s', (number, outcome) => expect(find(number)?.outcome).toBe(outcome))

  test.each([
    ['DE89370400440532013000', 'approved'],
    ['DE62370400440532013001', 'declined 51'],
  ])('the catalogue has %s: %s', (number, outcome) =>
    expect(catalogue.accounts.find(account => account.number === number)?.outcome).toBe(outcome),
  )
})

test('every table of test numbers is part of the catalogue', () => {
  const all = [...testCards, ...authenticationCards].map(({ number }) => number).concat(brandCards)
  expect(all.filter(number => find(number) === undefined)).toEqual([])
})

test('every 3-D Secure behaviour has a Visa and a Mastercard', () => {
  for (const threeDs of ['challenge', 'frictionless', 'attempted', 'not_enrolled', 'failed'] as const) {
    const brands = authenticationCards
      .filter(card => card.scenario.threeDs === threeDs)
      .map(({ number }) => detectBrand(number))
    expect(brands).toEqual(expect.arrayContaining(['visa', 'mastercard']))
  }
})

test('the cards for brands have no scenario', () => {
  for (const number of brandCards) expect(scenarioOf(number)).toEqual({})
})

test('every brand that is detected by number has a card', () => {
  const shown = new Set(
    catalogue.cards.flatMap(({ number }) => [detectBrand(number), ...listCoBadges(number)]),
  )
  const missing = cardBrands.filter(({ ranges, brand }) => ranges.length > 0 && !shown.has(brand))
  expect(missing.map(({ brand }) => brand)).toEqual([])
})

test('simulation modes have four digits, and every decline has one', () => {
  const modes = catalogue.simulationModes.map(({ mode }) => mode)
  expect(new Set(modes).size).toBe(modes.length)
  expect(modes).toEqual(expect.arrayContaining(['0000', '0305', '0351', '0402', '0703', 'nnnn']))
})

test('response codes are those of the table, and BINs those of the look-up', () => {
  expect(catalogue.responseCodes).toEqual(listResponseCodes())
  expect(catalogue.bins.map(({ bin }) => bin)).toEqual(testBins.map(({ bin }) => bin))
  expect(catalogue.bins).toContainEqual(expect.objectContaining({ brand: 'visa', dccEligible: true }))
})
