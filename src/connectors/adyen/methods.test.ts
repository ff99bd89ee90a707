import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { adyenTypes, findAdyenMethod } from '#connectors/adyen/methods.ts'
import { findMethod } from '#methods/catalogue.ts'
import { absenceNote, hasAdyenDocuments, readAdyenDocument } from '#test/support/adyen/documents.ts'

test('every mapped type is in the catalogue', () => {
  expect(adyenTypes.filter(type => findMethod(type) === undefined)).toEqual([])
})

test('107 methods have a code at Adyen, and 53 banks are chosen on a method’s page', () => {
  expect(adyenTypes.length).toBe(160)
})

test('every mapped code is in Adyen’s Checkout v72', ({ skip }) => {
  if (!hasAdyenDocuments) skip(absenceNote)
  const { schemas } = readAdyenDocument('CheckoutService-v72.json').components
  const known = new Set(
    schemas.PaymentRequest.properties.paymentMethod.oneOf.flatMap(
      ({ $ref }: { $ref: string }) => schemas[$ref.split('/').at(-1) ?? '']?.properties.type?.enum ?? [],
    ),
  )
  expect(adyenTypes.filter(type => !known.has(findAdyenMethod(type)?.code))).toEqual([])
})

test('every row of the map of methods that names an Adyen code is served under it', ({ skip }) => {
  const page = new URL('../../../../shared/providers.md', import.meta.url)
  if (!existsSync(page))
    skip('The file ../shared/providers.md is absent: the map of methods is not compared.')
  const table = readFileSync(page, 'utf8').split('### 1.6')[1]?.split('\n---')[0] ?? ''
  const rows = [...table.matchAll(/^\| \*{0,2}([A-Z0-9]+)\*{0,2} \| ([^ ·]+) \|/gm)]
  expect(rows.length).toBe(107)
  expect(
    rows.filter(([, type = '', code]) => findAdyenMethod(type)?.code !== code).map(([row]) => row),
  ).toEqual([])
})
