import { expect, test } from 'vitest'
import {
  type MethodOperationName,
  type RestAfterCapture,
  readRest,
  resultObject,
} from '#methods/fields/objects.ts'

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
  expect(Object.keys(resultObject(operation, key, outcome).properties)).toEqual(fields),
)

test.each<[Parameters<typeof readRest>[0], RestAfterCapture]>([
  [undefined, 'open'],
  [{}, 'open'],
  [{ card: {} }, 'open'],
  [{ card: { finishAuth: false } }, 'open'],
  [{ card: { finishAuth: true } }, 'closed'],
  [{ providerM: { finishAuth: 'N' } }, 'open'],
  [{ providerM: { finishAuth: 'Y' } }, 'closed'],
  [{ providerP: { completeType: false } }, 'open'],
  [{ providerP: { completeType: true } }, 'closed'],
  [{ providerK: {} }, 'open'],
  [{ providerK: { completeType: 'YES' } }, 'reversed'],
])('%j leaves the rest %s', (sent, rest) => expect(readRest(sent)).toBe(rest))
