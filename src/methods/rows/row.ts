/**
 * How a family's file writes its rows: one line per method, and their common terms once above. A row ends with its own
 * terms where they differ from the usual ones; terms are never mixed, so nothing of the usual ones is left over.
 */
import type { MethodFamily } from '#domain/response-codes.ts'
import type { Flow, IntegrationType, Method, MethodOperation, Terms } from '#methods/method.ts'
import { coreTypes } from '#methods/rows/core.ts'
import { methodOperations } from '#schemas/payment-method-list.ts'

/** Countries and currencies are codes with a space between, or `*`. */
type Row = readonly [
  type: string,
  key: string,
  label: string,
  countries: string,
  currencies: string,
  terms?: Terms,
]

interface Shared {
  readonly flow: Flow
  readonly integration: readonly IntegrationType[]
  /** The terms of rows without their own. */
  readonly terms: Terms
}

const core: ReadonlySet<string> = new Set(coreTypes)

const toCodes = (text: string): '*' | readonly string[] => (text === '*' ? text : text.split(' '))

export const toMethods = (
  family: MethodFamily,
  { flow, integration, terms: usual }: Shared,
  rows: readonly Row[],
): readonly Method[] =>
  rows.map(([type, key, label, countries, currencies, terms = usual]) => ({
    type,
    key,
    label,
    family,
    countries: toCodes(countries),
    currencies: toCodes(currencies),
    integration,
    flow,
    ...terms,
    core: core.has(type),
  }))

export const hosted: readonly IntegrationType[] = ['HOSTED']
export const hostedOrDirect: readonly IntegrationType[] = ['HOSTED', 'DIRECT']

const atOnce = (...operations: readonly MethodOperation[]): Terms => ({ capture: ['AUTOMATIC'], operations })

/** No refunds: money can only be returned outside the method. */
export const final = atOnce()
export const refundsWhole = atOnce('refund')
export const refunds = atOnce('refund', 'partial_refund')
export const recurs = atOnce('recurring')
export const refundsRecurs = atOnce('refund', 'partial_refund', 'recurring')

const partial: readonly MethodOperation[] = [
  'capture',
  'partial_capture',
  'reverse',
  'refund',
  'partial_refund',
]

/** Money can be reserved first and taken in parts later; `more` is what the method can do besides. */
export const reserves = (authorizationDays: number, ...more: readonly MethodOperation[]): Terms => ({
  capture: ['AUTOMATIC', 'MANUAL'],
  operations: methodOperations.filter(operation => partial.includes(operation) || more.includes(operation)),
  authorizationDays,
})

/** Like `reserves`, but the amount can only be captured in full. */
export const reservesWhole = (authorizationDays: number): Terms => ({
  capture: ['AUTOMATIC', 'MANUAL'],
  operations: ['capture', 'reverse', 'refund', 'partial_refund'],
  authorizationDays,
})

/** No money moves until the merchant reports, by the capture, that it was collected. */
export const collects = (authorizationDays: number): Terms => ({
  capture: ['MANUAL'],
  operations: ['capture', 'reverse'],
  authorizationDays,
})

/** Offers the capture by timer as well. */
export const delays = (terms: Terms): Terms => ({ ...terms, capture: [...terms.capture, 'DELAYED'] })
