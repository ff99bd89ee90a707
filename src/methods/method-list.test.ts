import { describe, expect, test } from 'vitest'
import { allMethods, methodTypes } from '#methods/catalogue.ts'
import { isServed, listOpenMethods, selectMethods, toListed, writeMethodList } from '#methods/method-list.ts'
import { type ListedMethod, listedMethod, methodList } from '#schemas/payment-method-list.ts'
import { compileCheck } from '#test/support/docs/check-schema.ts'

const select = (filter: Parameters<typeof selectMethods>[0]) => selectMethods(filter, allMethods)
const typesOf = (filter: Parameters<typeof selectMethods>[0]) => select(filter).map(row => row.type)

test('without a filter the list has exactly the methods that a payment may name', () => {
  expect(selectMethods({}, listOpenMethods()).map(row => row.type)).toEqual(methodTypes)
  expect(allMethods.filter(isServed).map(row => row.type)).toEqual(methodTypes)
})

test('a merchant with a selection gets the selected methods that are served', () => {
  expect(listOpenMethods(['DIRECTDEBIT', 'CARD', 'NOSUCH']).map(row => row.type)).toEqual([
    'CARD',
    'DIRECTDEBIT',
  ])
  expect(listOpenMethods([])).toEqual([])
})

test('every row can be published, and the answer fits its schema', () => {
  const answer = JSON.parse(writeMethodList(allMethods)) as { data: ListedMethod[] }
  expect(answer.data).toHaveLength(allMethods.length)
  expect(answer).toMatchObject({ totalNumberOfItems: allMethods.length })
  expect(compileCheck(methodList)(answer)).toEqual([])
})

test('the same query gets the same answer, and no match gives an empty list', () => {
  expect(writeMethodList(allMethods)).toBe(writeMethodList(allMethods))
  expect(writeMethodList([])).toBe('{"totalNumberOfItems":0,"data":[]}')
})

describe('filters', () => {
  test.each([
    ['currency', { currency: 'BRL' }, 'PIX', 'IDEAL'],
    ['country by alpha-3', { country: 'NLD' }, 'IDEAL', 'PIX'],
    ['country by alpha-2', { country: 'NL' }, 'IDEAL', 'PIX'],
    ['integration type', { integrationType: 'DIRECT' }, 'CARD', 'PAYSAFECARD'],
    ['operation', { operation: 'multi_capture' }, 'CARD', 'IDEAL'],
    ['family', { family: 'voucher' }, 'BOLETO', 'CARD'],
  ] as const)('by %s', (_, filter, inside, outside) => {
    expect(typesOf(filter)).toContain(inside)
    expect(typesOf(filter)).not.toContain(outside)
  })

  test('a method for all countries is listed for any country', () =>
    expect(typesOf({ country: 'AQ' })).toContain('CARD'))

  test('combined filters give the intersection of the filters', () => {
    const both = typesOf({ currency: 'EUR', operation: 'refund' })
    expect(both.length).toBeGreaterThan(0)
    expect(both).toEqual(
      typesOf({ currency: 'EUR' }).filter(type => typesOf({ operation: 'refund' }).includes(type)),
    )
  })

  test('the filter offers the families and operations of the rows', () => {
    const { family, operations } = listedMethod.properties
    expect(new Set(allMethods.map(row => row.family))).toEqual(new Set(family.enum))
    expect(new Set(allMethods.flatMap(row => row.operations))).toEqual(new Set(operations.items.enum))
  })
})

test('a row of the list shows all its fields and no empty ones', () => {
  const row = allMethods.find(method => method.type === 'PROVIDERP')
  const [listed] = row ? [toListed(row)] : []
  expect(listed).toMatchObject({ capturePercentMax: 115, name: row?.label })
  // label, integration and capture have other names in the API; all other columns keep theirs.
  const columns = new Set(allMethods.flatMap(method => Object.keys(method)))
  const published = new Set(Object.keys(listedMethod.properties))
  const renamed = { label: 'name', integration: 'integrationTypes', capture: 'captureMethods' }
  for (const [column, name] of Object.entries(renamed)) {
    columns.delete(column)
    columns.add(name)
  }
  expect(published).toEqual(columns)
})
