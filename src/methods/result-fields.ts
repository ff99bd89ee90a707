/**
 * Which of a provider's facts the result of an operation shows: exactly those that the published schema of that operation
 * and method names, in the type it names. Other fields of a provider are not shown.
 */
import type { TObject } from 'typebox'
import { type MethodOperationName, recordObject, resultObject } from '#methods/fields/objects.ts'
import type { askedOperations } from '#schemas/payment-record.ts'

/** Schemas are named after requests, payments hold operations: the mapping between the two names. */
const requestOf: Readonly<Record<string, MethodOperationName>> = {
  AUTHORIZATION: 'create',
  CONFIRM: 'confirm',
  INCREMENTAL: 'incremental',
  CAPTURE: 'capture',
  REVERSAL: 'reversal',
  REFUND: 'refund',
  CREDIT: 'credit',
} satisfies Record<(typeof askedOperations)[number], MethodOperationName>

/** The same for the record of a payment: the provider's fields that its schema names. */
export function toRecordFields(
  key: string,
  facts: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const names = Object.keys(recordObject(key).properties)
  return Object.fromEntries(names.filter(name => facts[name] !== undefined).map(name => [name, facts[name]]))
}

/** Picks what is shown; undefined when there is nothing. */
export function toResultFields(
  key: string,
  shown: {
    readonly operation: string
    readonly failed: boolean
    readonly facts: Readonly<Record<string, unknown>>
  },
): Record<string, unknown> | undefined {
  const request = requestOf[shown.operation]
  if (request === undefined) return undefined
  const { properties }: TObject = resultObject(request, key, shown.failed ? 'failed' : 'done')
  const picked: Record<string, unknown> = {}
  for (const [name, schema] of Object.entries(properties)) {
    const value = shown.facts[name]
    if (value === undefined) continue
    // One provider code is text in most results and a number in a few.
    picked[name] = 'type' in schema && schema.type === 'number' ? Number(value) : value
  }
  return Object.keys(picked).length > 0 ? picked : undefined
}
