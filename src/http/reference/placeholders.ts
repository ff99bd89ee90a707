/**
 * Examples build on each other: `{payId}` in a path or body stands for that field of an earlier answer. The document
 * fills placeholders from the written answers, tests that run the examples from real ones.
 */

import assert from 'node:assert/strict'
import { memberOf } from '#domain/json.ts'
import type { Endpoint, Example } from '#http/endpoint.ts'

export type Fields = Readonly<Record<string, unknown>>

const placeholder = /\{([A-Za-z_][\w.]*)\}/g
const whole = /^\{([A-Za-z_][\w.]*)\}$/

function readField(fields: Fields, path: string): unknown {
  let value: unknown = fields
  for (const name of path.split('.')) {
    value = memberOf(value, name)
  }
  assert(value !== undefined, `no earlier answer has the field ${path}; name its operation in "after"`)
  return value
}

/** A string that is only a placeholder takes the JSON type of the value that fills it. */
export function fillPlaceholders(value: unknown, fields: Fields): unknown {
  if (typeof value === 'string') {
    const only = whole.exec(value)?.[1]
    if (only !== undefined) return readField(fields, only)
    return value.replace(placeholder, (_, path: string) => String(readField(fields, path)))
  }
  if (Array.isArray(value)) return value.map(item => fillPlaceholders(item, fields))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, fillPlaceholders(item, fields)]),
  )
}

/**
 * The path of an example, with its parameters named after the fields that fill them: `/payments/{id}` becomes
 * `/payments/{payId}`.
 */
export const examplePath = (endpoint: Pick<Endpoint, 'path'>, example: Example): string =>
  endpoint.path.replace(placeholder, (parameter, name: string) => example.params?.[name] ?? parameter)

/**
 * The endpoints that an environment serves, without references to endpoints that it does not: an example that depends
 * on the test clock is shown in live too.
 */
export function keepServed<E extends Pick<Endpoint, 'operationId' | 'examples'>>(served: readonly E[]): E[] {
  const known = new Set(served.map(({ operationId }) => operationId))
  return served.map(endpoint => ({
    ...endpoint,
    examples: endpoint.examples.map(example => ({
      ...example,
      after: example.after?.filter(after => known.has(after.split(' ', 1)[0] ?? '')),
    })),
  }))
}

/** An `after` names an operation and means its first example; `createPayment 3` means the third. */
export function findExample<E extends Pick<Endpoint, 'operationId' | 'examples'>>(
  endpoints: readonly E[],
  after: string,
): { readonly endpoint: E; readonly example: Example } {
  const [operationId, number = '1'] = after.split(' ')
  const endpoint = endpoints.find(candidate => candidate.operationId === operationId)
  const example = endpoint?.examples[Number(number) - 1]
  assert(endpoint && example, `an example is said to come after ${after}, which has no example`)
  return { endpoint, example }
}
