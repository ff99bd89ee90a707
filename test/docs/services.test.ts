/** The tables of docs/services.md, compared with what is there. Its examples are run by docs-examples.test.ts. */
import { expect, test } from 'vitest'
import { updatedCards } from '#connectors/simulator/card-updates.ts'
import { readBinHeading } from '#domain/cards/bin-file.ts'
import { endpoints } from '#endpoints/index.ts'
import { readDocument, readTables } from '#test/support/docs/docs.ts'

const document = readDocument('docs/services.md')

test('its table of calls is that of the endpoints', () => {
  const shown = readTables(document, 'call').map(([call = '']) => /^\[(\w+)\]/.exec(call)?.[1])
  const served = endpoints
    .filter(({ path }) => path.startsWith('/services/'))
    .map(({ path }) => path.split('/').at(-1))
  expect(shown).toEqual(served)
})

test('its test numbers are those of the simulator', () => {
  const shown = readTables(document, 'test number').map(([number, says = '']) => ({ number, says }))
  expect(shown.at(-1)).toMatchObject({ number: 'any other', says: 'NO_CHANGE' })
  expect(shown.slice(0, -1).map(({ number }) => number)).toEqual(updatedCards.map(({ number }) => number))
  const wrong = updatedCards.filter(({ outcome }, index) => !shown[index]?.says.startsWith(outcome))
  expect(wrong).toEqual([])
})

test('the columns it names are those that an import knows', () => {
  const rows = readTables(document, 'column')
  expect(rows).toHaveLength(10)
  for (const [column = '', others = ''] of rows) {
    for (const name of [column, ...others.split(', ').filter(Boolean)]) {
      const columns = readBinHeading([...new Set(['first', 'brand', name])].join(','))
      const known = (columns as Record<string, number>)[column]
      expect(known, `${name} is not read as ${column}`).toBeGreaterThanOrEqual(0)
    }
  }
})
