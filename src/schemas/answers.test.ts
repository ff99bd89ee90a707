import type { TSchema } from 'typebox'
import { describe, expect, test } from 'vitest'
import { confirmRequest } from '#schemas/confirm.ts'
import { createPayment } from '#schemas/create-payment.ts'
import { creditRequest } from '#schemas/credit.ts'
import {
  captureRequest,
  incrementalRequest,
  refundRequest,
  reversalRequest,
  updateRequest,
} from '#schemas/follow-ups.ts'
import { amount } from '#schemas/parts/amount.ts'
import { paymentRecord } from '#schemas/payment-record.ts'
import { fieldError, internalError, problemDetails } from '#schemas/problem.ts'
import {
  captureResult,
  confirmResult,
  creditResult,
  failedCapture,
  failedConfirm,
  failedCredit,
  failedIncremental,
  failedRefund,
  failedResult,
  failedReversal,
  incrementalResult,
  operationResult,
  refundResult,
  reversalResult,
} from '#schemas/result.ts'
import { clock, clockRequest } from '#schemas/test-tools.ts'
import { compileCheck } from '#test/support/docs/check-schema.ts'

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
    returnedValue: 0,
    disputedValue: 0,
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

describe('schemas of answers', () => {
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
          card: { providerResponseCode: '00', providerTransactionId: 'x' },
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

const done = { ...head, status: 'OK', ...success }
const failed = { ...head, status: 'FAILED', ...decline }
const said = (key: string, object: object) => ({ paymentMethods: { [key]: object } })

/** One case per line: the answer, the method, the title, and the fields that do not belong there. */
test.each<[string, TSchema, object, string, object, ...string[]]>([
  ['created', operationResult, done, 'card', { providerApprovalCode: 1 }, 'providerApprovalCode'],
  ['created', operationResult, done, 'card', { providerResponseText: 'x' }, 'providerResponseText'],
  ['created', operationResult, done, 'providerK', { accessToken: 'x' }],
  ['created', operationResult, done, 'providerT', { account: { bankName: 'x', number: 'x' } }],
  ['created', operationResult, done, 'ideal', { providerResponseCode: 'x' }],
  ['created', operationResult, done, 'ideal', { providerResponseText: 'x' }, 'providerResponseText'],
  ['failed', failedResult, failed, 'ideal', { providerResponseText: 'x' }],
  ['failed', failedResult, failed, 'ideal', { providerResponseText: 7 }],
  ['failed', failedResult, failed, 'ideal', { chargeId: 'x' }, 'chargeId'],
  [
    'confirmed',
    confirmResult,
    done,
    'providerK',
    { billingAgreementId: 'x', redirectUrl: 'https://a.example/' },
  ],
  ['confirmed', confirmResult, done, 'providerK', { accessToken: 'x' }, 'accessToken'],
  ['confirmed', confirmResult, done, 'providerP', { providerResponseCode: 7 }],
  ['confirmed', confirmResult, done, 'providerP', { providerResponseCode: '7' }, 'providerResponseCode'],
  [
    'confirmed',
    confirmResult,
    done,
    'providerR',
    { billingAddress: {}, shippingAddress: { address: {}, type: 'x' } },
  ],
  [
    'not confirmed',
    failedConfirm,
    failed,
    'providerK',
    { providerResponseCode: 'x', providerResponseText: 'x' },
  ],
  ['captured', captureResult, done, 'providerP', { providerResponseCode: '7' }],
  ['captured', captureResult, done, 'providerP', { providerResponseCode: 7 }, 'providerResponseCode'],
  ['captured', captureResult, done, 'providerZ', { chargeId: 'x', providerStatus: 'x' }],
  ['captured', captureResult, done, 'providerZ', { refundId: 'x' }, 'refundId'],
  ['captured', captureResult, done, 'card', { providerApprovalCode: 1 }, 'providerApprovalCode'],
  ['not captured', failedCapture, failed, 'card', { providerResponseText: 'x' }],
  ['raised', incrementalResult, done, 'providerT', { authorizationExpiry: '2027-01-01T00:00:00Z' }],
  ['not raised', failedIncremental, failed, 'providerT', { providerDeclineCategory: 'x' }],
  ['reversed', reversalResult, done, 'card', { providerApprovalCode: 123456 }],
  ['reversed', reversalResult, done, 'providerZ', { chargePermissionId: 'x' }],
  ['reversed', reversalResult, done, 'providerZ', { refundId: 'x' }, 'refundId'],
  ['not reversed', failedReversal, failed, 'providerZ', { providerResponseText: 'x' }],
  ['refunded', refundResult, done, 'card', { providerApprovalCode: 123456 }],
  ['refunded', refundResult, done, 'card', { providerApprovalCode: '123456' }, 'providerApprovalCode'],
  ['refunded', refundResult, done, 'providerK', { invoiceNumber: 'x' }],
  [
    'refunded',
    refundResult,
    done,
    'providerP',
    { feeRefundAmount: 1, grossRefundAmount: 2, netRefundAmount: 1 },
  ],
  ['refunded', refundResult, done, 'providerP', { feeRefundAmount: '1' }, 'feeRefundAmount'],
  ['refunded', refundResult, done, 'providerP', { providerDeclineCategory: 'x' }, 'providerDeclineCategory'],
  ['refunded', refundResult, done, 'providerR', { providerResponseCode: 7 }],
  ['refunded', refundResult, done, 'providerR', { providerResponseCode: '7' }, 'providerResponseCode'],
  ['refunded', refundResult, done, 'providerZ', { refundId: 'x' }],
  ['not refunded', failedRefund, failed, 'providerP', { providerDeclineCategory: 'x' }],
  ['not refunded', failedRefund, failed, 'providerR', { providerResponseCode: 7, providerResponseText: 'x' }],
  ['credited', creditResult, done, 'card', { providerApprovalCode: 123456 }],
  ['credited', creditResult, done, 'directDebit', { providerResponseCode: 'x' }],
  ['not credited', failedCredit, failed, 'card', { providerResponseText: 'x', providerApprovalCode: 1 }],
])('%s: %#', (_, schema, answer, key, object, ...fields) => {
  expect(compileCheck(schema)({ ...answer, ...said(key, object) })).toEqual(
    fields.map(field => `paymentMethods.${key}.${field}`),
  )
})

test('only the answer to an increment leaves out the metadata', () => {
  const withMetadata = { ...done, metadata: { a: 1 } }
  for (const schema of [
    operationResult,
    confirmResult,
    captureResult,
    reversalResult,
    refundResult,
    creditResult,
  ])
    expect(compileCheck(schema)(withMetadata)).toEqual([])
  expect(compileCheck(incrementalResult)(withMetadata)).toEqual(['metadata'])
  expect(compileCheck(failedIncremental)({ ...failed, metadata: {} })).toEqual(['metadata'])
})

interface Node {
  readonly type?: unknown
  readonly title?: unknown
  readonly description?: unknown
  readonly additionalProperties?: Node | boolean
  readonly patternProperties?: unknown
  readonly properties?: Record<string, Node>
  readonly items?: Node
  readonly sensitive?: unknown
}

/** Every schema below this one, with its path. Conditional rules are left out: they have no descriptions. */
function* walk(node: Node, path: string): Generator<[string, Node]> {
  yield [path, node]
  for (const [name, inner] of Object.entries(node.properties ?? {})) yield* walk(inner, `${path}.${name}`)
  if (typeof node.additionalProperties === 'object') yield* walk(node.additionalProperties, `${path}.*`)
  if (node.items !== undefined) yield* walk(node.items, `${path}[]`)
}

const requests = {
  createPayment,
  confirmRequest,
  incrementalRequest,
  captureRequest,
  reversalRequest,
  refundRequest,
  creditRequest,
  updateRequest,
  clockRequest,
}
const roots = {
  ...requests,
  operationResult,
  failedResult,
  confirmResult,
  failedConfirm,
  captureResult,
  failedCapture,
  incrementalResult,
  failedIncremental,
  reversalResult,
  failedReversal,
  refundResult,
  failedRefund,
  creditResult,
  failedCredit,
  clock,
  paymentRecord,
  problemDetails,
  fieldError,
  internalError,
  amount,
}
const nodes = Object.entries(roots).flatMap(([name, root]) => [
  ...walk(JSON.parse(JSON.stringify(root)), name),
])

describe('all schemas', () => {
  test('objects are closed and named, except for free key/value data', () => {
    for (const [path, node] of nodes) {
      if (node.type !== 'object' || node.patternProperties !== undefined) continue
      // Additional properties must have a schema, which is checked like any other.
      if (typeof node.additionalProperties !== 'object') expect(node.additionalProperties, path).toBe(false)
      expect(node.title, path).toMatch(/^([A-Z][a-z0-9]*)+[A-Z]?$/)
    }
  })

  test('properties are described', () => {
    for (const [path, node] of nodes)
      if (!path.endsWith('[]')) expect(node.description, path).toMatch(/^[A-Z0-9].*\.$/)
  })

  test('schemas with the same title have the same shape', () => {
    const shapes = new Map<unknown, string>()
    for (const [path, node] of nodes) {
      if (node.title === undefined) continue
      const shape = JSON.stringify(node)
      expect(shapes.get(node.title) ?? shape, path).toBe(shape)
      shapes.set(node.title, shape)
    }
  })

  test('strings and lists of requests have a maximum length', () => {
    for (const [path, node] of nodes) {
      if (!Object.keys(requests).includes(path.split(/[.[]/)[0] ?? '')) continue
      if (node.type === 'array') expect(node, path).toHaveProperty('maxItems')
      if (node.type === 'string' && !('enum' in node) && !('format' in node))
        expect(node, path).toHaveProperty('maxLength')
    }
  })

  test('fields whose values must never be echoed are marked as sensitive', () => {
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
      'accessToken',
      'accountHolderName',
      'accountNumber',
      'textfield1',
    ]
    expect([...marked].sort()).toEqual(expected.sort())
  })
})
