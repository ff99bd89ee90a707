/**
 * Selects the provider's facts that the result of an operation shows: exactly the fields of the published schema for
 * that operation and method, with their types. Other fields are not shown.
 */
import type { TObject } from 'typebox'
import { type MethodOperationName, recordObject, resultObject } from '#methods/fields/objects.ts'
import type { askedOperations } from '#schemas/payment-record.ts'

/** Maps types of operations to the names of the requests in the schemas. */
const requestOf: Readonly<Record<string, MethodOperationName>> = {
  AUTHORIZATION: 'create',
  CONFIRM: 'confirm',
  INCREMENTAL: 'incremental',
  CAPTURE: 'capture',
  REVERSAL: 'reversal',
  REFUND: 'refund',
  CREDIT: 'credit',
} satisfies Record<(typeof askedOperations)[number], MethodOperationName>

/** The provider's facts that a payment record shows. */
export function toRecordFields(
  key: string,
  facts: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const names = Object.keys(recordObject(key).properties)
  return Object.fromEntries(names.filter(name => facts[name] !== undefined).map(name => [name, facts[name]]))
}

/** The provider's facts that a result shows; undefined if there are none. */
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
    // The provider's response code is text in most results and a number in a few.
    picked[name] = 'type' in schema && schema.type === 'number' ? Number(value) : value
  }
  return Object.keys(picked).length > 0 ? picked : undefined
}
