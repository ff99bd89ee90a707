import { expect, test } from 'vitest'
import { type MethodOperationName, resultFields } from '#methods/fields/objects.ts'

test.each<[MethodOperationName, string, 'done' | 'failed', string[]]>([
  ['create', 'card', 'done', ['providerResponseCode', 'providerTransactionId']],
  ['refund', 'card', 'done', ['providerResponseCode', 'providerTransactionId', 'providerApprovalCode']],
  ['create', 'providerK', 'done', ['providerResponseCode', 'accessToken']],
  [
    'incremental',
    'providerT',
    'failed',
    ['providerDeclineCategory', 'providerResponseText', 'providerResponseCode'],
  ],
  [
    'create',
    'ideal',
    'done',
    ['providerResponseCode', 'paymentReference', 'account', 'qrCode', 'expirationTime'],
  ],
  ['refund', 'ideal', 'done', ['providerResponseCode']],
  ['create', 'ideal', 'failed', ['providerResponseCode', 'providerResponseText']],
  ['credit', 'constructor', 'failed', ['providerResponseCode', 'providerResponseText']],
])('%s may say of %s when %s: %j', (operation, key, outcome, fields) =>
  expect(resultFields(operation, key, outcome)).toEqual(fields),
)
