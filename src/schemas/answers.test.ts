import type { TSchema } from 'typebox'
import { describe, expect, test } from 'vitest'
import { amount } from '#schemas/amount.ts'
import { refundBrowserInfo } from '#schemas/browser-info.ts'
import { captureRequest } from '#schemas/capture.ts'
import { createPayment } from '#schemas/create-payment.ts'
import { paymentRecord } from '#schemas/payment-record.ts'
import { fieldError, internalError, problemDetails } from '#schemas/problem.ts'
import { failedResult, operationResult } from '#schemas/result.ts'
import { compileCheck } from '#test/support/check-schema.ts'

const id = '0198a3f2bcde7f1289abcdef01234567'
const head = { payId: id, merchantId: 'demo', transId: 't-1', xId: id }
const success = { responseCode: '00000000', responseDescription: 'Success.' }
const decline = { responseCode: '21000305', responseDescription: 'Declined: Do not honour.' }
const operation = {
  xId: id,
  type: 'CAPTURE',
  status: 'OK',
  amount: { value: 1, currency: 'EUR' },
  creationDate: '2026-11-15T00:00:00Z',
}
const record = {
  ...head,
  status: 'OK',
  ...success,
  amount: {
    value: 1,
    currency: 'EUR',
    authorizedValue: 1,
    capturedValue: 1,
    refundedValue: 0,
    reversedValue: 0,
  },
  paymentMethods: {
    type: 'CARD',
    integrationType: 'DIRECT',
    card: {
      first6Digits: '411111',
      last4Digits: '1111',
      pseudoCardNumber: '0000000000000001',
      brand: 'visa',
      expiryDate: '203012',
      cardHolderName: 'Ada',
    },
  },
  operations: [operation],
  creationDate: '2026-11-15T00:00:00Z',
  updatedAt: '2026-11-15T00:00:00Z',
}
const problem = { type: 'about:blank', title: 'Not found', status: 404, traceId: id }

describe('answers', () => {
  test.each<[string, TSchema, unknown, ...string[]]>([
    [
      'an approved payment',
      operationResult,
      { ...head, status: 'AUTHORIZED', ...success, metadata: { a: 1 } },
    ],
    [
      'what the acquirer said',
      operationResult,
      {
        ...head,
        status: 'OK',
        ...success,
        paymentMethods: {
          card: { providerResponseCode: '00', providerTransactionId: 'x', providerApprovalCode: 123456 },
        },
      },
    ],
    [
      'a redirect',
      operationResult,
      {
        ...head,
        status: 'AUTHORIZE_REQUEST',
        responseCode: '60000100',
        responseDescription: 'x',
        _links: { redirect: { href: 'https://pay.example/s/1', type: 'text/html' } },
      },
    ],
    [
      'a customer born with it',
      operationResult,
      { ...head, status: 'OK', ...success, customerInfo: { gatewayCustomerId: 'c' }, paymentPlanId: 'p' },
    ],
    ['a failure where success is said', operationResult, { ...head, status: 'FAILED', ...decline }, 'status'],
    [
      'a decline',
      failedResult,
      {
        ...head,
        status: 'FAILED',
        ...decline,
        paymentMethods: { card: { providerResponseText: 'Do not honour' } },
      },
    ],
    [
      'a refusal before there is a payment',
      failedResult,
      { merchantId: 'demo', transId: 't', status: 'FAILED', ...decline },
    ],
    ['success where failure is said', failedResult, { ...head, status: 'OK', ...decline }, 'status'],
    ['a record', paymentRecord, record],
    [
      'a record with what was sent',
      paymentRecord,
      {
        ...record,
        refNr: 'r',
        order: {},
        urls: {},
        customerInfo: { gatewayCustomerId: 'c' },
        channel: 'ECOM',
        metadata: {},
      },
    ],
    [
      'a record that shows a number',
      paymentRecord,
      { ...record, paymentMethods: { type: 'CARD', card: { number: '4111111111111111' } } },
      'paymentMethods.card.number',
    ],
    [
      'a record that shows a security code',
      paymentRecord,
      { ...record, paymentMethods: { type: 'CARD', card: { securityCode: '123' } } },
      'paymentMethods.card.securityCode',
    ],
    [
      'problem details',
      problemDetails,
      {
        ...problem,
        detail: 'd',
        instance: '/x',
        errors: { 'amount.value': ['m'] },
        responseCode: '20170002',
      },
    ],
    ['a problem without trace', problemDetails, { ...problem, traceId: undefined }, 'traceId'],
    ['a field error', fieldError, { field: 'amount.value', error: 'must be at least 1' }],
    ['an internal error', internalError, { responseCode: '40000001', responseDescription: 'x' }],
  ])('%s', (_, schema, body, ...fields) => {
    expect(compileCheck(schema)(JSON.parse(JSON.stringify(body)))).toEqual(fields)
  })
})

interface Node {
  readonly type?: unknown
  readonly title?: unknown
  readonly description?: unknown
  readonly additionalProperties?: unknown
  readonly patternProperties?: unknown
  readonly properties?: Record<string, Node>
  readonly items?: Node
  readonly sensitive?: unknown
}

/** Every schema below this one, with the path it stands at. Conditional rules are left out: they describe nothing. */
function* walk(node: Node, path: string): Generator<[string, Node]> {
  yield [path, node]
  for (const [name, inner] of Object.entries(node.properties ?? {})) yield* walk(inner, `${path}.${name}`)
  if (node.items !== undefined) yield* walk(node.items, `${path}[]`)
}

const roots = {
  createPayment,
  captureRequest,
  operationResult,
  failedResult,
  paymentRecord,
  problemDetails,
  fieldError,
  internalError,
  refundBrowserInfo,
  amount,
}
const nodes = Object.entries(roots).flatMap(([name, root]) => [
  ...walk(JSON.parse(JSON.stringify(root)), name),
])

describe('all schemas', () => {
  test('objects are closed and named, but for free key/value data', () => {
    for (const [path, node] of nodes) {
      if (node.type !== 'object' || node.patternProperties !== undefined) continue
      expect(node.additionalProperties, path).toBe(false)
      expect(node.title, path).toMatch(/^([A-Z][a-z0-9]*)+[A-Z]?$/)
    }
  })

  test('properties are described', () => {
    for (const [path, node] of nodes)
      if (!path.endsWith('[]')) expect(node.description, path).toMatch(/^[A-Z0-9].*\.$/)
  })

  test('one title stands for one shape', () => {
    const shapes = new Map<unknown, string>()
    for (const [path, node] of nodes) {
      if (node.title === undefined) continue
      const shape = JSON.stringify(node)
      expect(shapes.get(node.title) ?? shape, path).toBe(shape)
      shapes.set(node.title, shape)
    }
  })

  test('texts and lists are limited in requests', () => {
    for (const [path, node] of nodes) {
      if (!/^(createPayment|captureRequest)/.test(path)) continue
      if (node.type === 'array') expect(node, path).toHaveProperty('maxItems')
      if (node.type === 'string' && !('enum' in node) && !('format' in node))
        expect(node, path).toHaveProperty('maxLength')
    }
  })

  test('what must never be repeated is marked', () => {
    const marked = new Set(
      nodes.filter(([, node]) => node.sensitive === true).map(([path]) => path.split('.').pop()),
    )
    const expected = [
      'number',
      'securityCode',
      'expiryDate',
      'cardholderName',
      'authenticationValue',
      'socialSecurityNumber',
      'taxId',
      'internalAccountNumber',
      'data',
    ]
    expect([...marked].sort()).toEqual(expected.sort())
  })
})
