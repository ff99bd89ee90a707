import { describe, expect, test } from 'vitest'
import { renderRefusal } from '#http/answers/dialects.ts'
import { Refusal, type RefusalKind, refusals } from '#http/answers/refusal.ts'
import type { Dialect } from '#http/endpoint.ts'

const context = { traceId: 'a'.repeat(32), merchantId: 'shop' }
const errors = [
  { field: 'amount.value', error: 'first' },
  { field: 'amount.value', error: 'second' },
  { field: 'transId', error: 'third' },
]
const render = (dialect: Dialect, kind: RefusalKind) => {
  const rendered = renderRefusal(
    dialect,
    new Refusal(kind, 'why', kind === 'invalid' ? { errors } : {}),
    context,
  )
  return { ...rendered, value: JSON.parse(rendered.body) as Record<string, unknown> }
}
const names = (value: object): string => Object.keys(value).join(' ')

const problem = 'type title status detail traceId'
const invalidProblem = `${problem} errors`
const codedProblem = `${problem} responseCode`
const operation = 'merchantId status responseCode responseDescription'
const code = 'responseCode responseDescription'
const oauth = 'error error_description error_uri'

/** Columns: payment, followUp, customer, service, token. */
const table: Record<RefusalKind, [status: number, ...shapes: string[]]> = {
  invalid: [400, 'field error', invalidProblem, invalidProblem, invalidProblem, 'error'],
  unauthenticated: [401, problem, problem, problem, problem, oauth],
  forbidden: [403, problem, problem, problem, problem, oauth],
  notFound: [404, problem, problem, problem, problem, oauth],
  wrongVerb: [405, problem, problem, problem, problem, oauth],
  keyRunning: [409, problem, problem, problem, problem, oauth],
  tooLarge: [413, problem, problem, problem, problem, oauth],
  unsupportedMedia: [415, problem, problem, problem, problem, oauth],
  expectation: [417, problem, problem, problem, problem, oauth],
  keyReused: [422, operation, operation, codedProblem, codedProblem, oauth],
  tooMany: [429, problem, problem, problem, problem, oauth],
  fault: [500, code, code, problem, code, code],
  unavailable: [503, problem, problem, problem, problem, oauth],
}
const dialects: Dialect[] = ['payment', 'followUp', 'customer', 'service', 'token']
const cases = Object.entries(table).flatMap(([kind, [status, ...shapes]]) =>
  dialects.map((dialect, at) => [kind as RefusalKind, dialect, status, shapes[at] ?? ''] as const),
)

describe('every dialect and status', () => {
  test.each(cases)('%s in %s: %i with %s', (kind, dialect, status, shape) => {
    const { value, contentType, status: given } = render(dialect, kind)
    expect(given).toBe(status)
    expect(names(value)).toBe(shape)
    const isProblem = shape.startsWith('type title')
    expect(contentType).toBe(isProblem ? 'application/problem+json' : 'application/json')
    if (isProblem) expect(value.status).toBe(status)
  })
})

test('the table knows every refusal', () => {
  expect(Object.keys(table)).toEqual(Object.keys(refusals))
})

test('an answer names the first wrong field or all of them by path, depending on its dialect', () => {
  expect(render('payment', 'invalid').value).toEqual({ field: 'amount.value', error: 'first' })
  expect(render('customer', 'invalid').value.errors).toEqual({
    'amount.value': ['first', 'second'],
    transId: ['third'],
  })
  expect(render('token', 'invalid').value).toEqual({ error: 'first' })
})

test('problem types are URNs of this gateway', () => {
  expect(render('customer', 'notFound').value.type).toBe('urn:tollgate:problem:not-found')
})

test('a reused key is a failed operation without any data of the first', () => {
  expect(render('payment', 'keyReused').value).toMatchObject({
    merchantId: 'shop',
    status: 'FAILED',
    responseCode: '20170002',
  })
  expect(render('service', 'keyReused').value.responseCode).toBe('20170002')
})

test('the answer to a fault contains nothing but its code', () => {
  expect(render('payment', 'fault').value.responseCode).toBe('40000001')
})

test('no card number survives, in a path or in a text', () => {
  const refusal = new Refusal('invalid', 'x', {
    errors: [{ field: 'm.4111111111111111', error: 'is 4111 1111 1111 1111' }],
  })
  for (const dialect of dialects)
    expect(renderRefusal(dialect, refusal, context).body).not.toMatch(/4111 ?1111 ?1111/)
})

test('a field named __proto__ stays a field', () => {
  const refusal = new Refusal('invalid', 'x', { errors: [{ field: '__proto__', error: 'no' }] })
  expect(renderRefusal('customer', refusal, context).body).toContain('"errors":{"__proto__":["no"]}')
})
