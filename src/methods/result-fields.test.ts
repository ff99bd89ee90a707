import { describe, expect, test } from 'vitest'
import { toResultFields } from '#methods/result-fields.ts'

/** All facts that any provider reports, all of them as text. */
const facts = {
  providerResponseCode: '51',
  providerResponseText: 'Insufficient funds',
  providerTransactionId: 'T1',
  providerApprovalCode: '123456',
  providerDeclineCategory: 'PAYER_ACTION_REQUIRED',
  providerStatus: 'Completed',
  billingAgreementId: 'BA-1',
  redirectUrl: 'https://provider.example/cookie',
  invoiceNumber: 'K1',
  feeRefundAmount: 29,
  grossRefundAmount: 1000,
  netRefundAmount: 971,
  billingAddress: { city: 'Berlin' },
  shippingAddress: { type: 'PARCEL' },
  authorizationExpiry: '2026-03-08T12:00:00.000Z',
  account: { bankName: 'Bank' },
  paymentReference: 'R1',
  chargeId: 'C1',
  refundId: 'F1',
  chargePermissionId: 'P1',
  internalNote: 'of nobody’s concern',
}

type Fact = keyof typeof facts

const code = 'providerResponseCode'
const text = 'providerResponseText'
const id = 'providerTransactionId'
const approval = 'providerApprovalCode'
const category = 'providerDeclineCategory'
const offered: readonly Fact[] = ['authorizationExpiry', 'account', 'paymentReference', id]
const charged: readonly Fact[] = [code, 'providerStatus', 'chargeId']
const feesOfP: readonly Fact[] = ['feeRefundAmount', 'grossRefundAmount', 'netRefundAmount']

// Each line: the key of the method's object, the operation, the fields shown on success and on failure.
const cases: [string, string, readonly Fact[], readonly Fact[]][] = [
  ['card', 'AUTHORIZATION', [code, id], [code, text, id]],
  ['card', 'CONFIRM', [code, id], [code, text, id]],
  ['card', 'INCREMENTAL', [code, id], [code, text, id]],
  ['card', 'CAPTURE', [code, id], [code, text, id]],
  ['card', 'REVERSAL', [code, id, approval], [code, text, id, approval]],
  ['card', 'REFUND', [code, id, approval], [code, text, id, approval]],
  ['card', 'CREDIT', [code, id, approval], [code, text, id, approval]],
  ['providerK', 'AUTHORIZATION', [code], [code, text]],
  ['providerK', 'CONFIRM', [code, id, 'billingAgreementId', 'redirectUrl'], [code, text]],
  ['providerK', 'CAPTURE', [code], [code, text]],
  ['providerK', 'REVERSAL', [code], [code, text]],
  ['providerK', 'REFUND', [code, 'invoiceNumber'], [code, text]],
  ['providerP', 'AUTHORIZATION', [code], [code]],
  ['providerP', 'CONFIRM', [code], [code]],
  ['providerP', 'CAPTURE', [code], [code]],
  ['providerP', 'REVERSAL', [code], [code]],
  ['providerP', 'REFUND', [code, ...feesOfP], [code, category]],
  ['providerR', 'AUTHORIZATION', [code], [code, text]],
  ['providerR', 'CONFIRM', [code, 'billingAddress', 'shippingAddress'], [code, text]],
  ['providerR', 'CAPTURE', [code], [code, text]],
  ['providerR', 'REVERSAL', [code], [code, text]],
  ['providerR', 'REFUND', [code], [code, text]],
  ['providerT', 'AUTHORIZATION', offered, [code, text, category]],
  ['providerT', 'INCREMENTAL', offered, [code, text, category]],
  ['providerT', 'CAPTURE', offered, [code, text, category]],
  ['providerT', 'REVERSAL', offered, [code, text, category]],
  ['providerT', 'REFUND', offered, [code, text, category]],
  ['providerZ', 'AUTHORIZATION', charged, [...charged, text]],
  ['providerZ', 'CAPTURE', charged, [...charged, text]],
  ['providerZ', 'REVERSAL', [...charged, 'chargePermissionId'], [...charged, text]],
  ['providerZ', 'REFUND', [...charged, 'refundId'], [...charged, text]],
  ['providerM', 'CAPTURE', [code], [code, text]],
  ['directDebit', 'REFUND', [code], [code, text]],
  ['ideal', 'AUTHORIZATION', [code, 'account', 'paymentReference'], [code, text]],
  ['ideal', 'REFUND', [code], [code, text]],
  ['constructor', 'AUTHORIZATION', [code, 'account', 'paymentReference'], [code, text]],
]

describe('toResultFields', () => {
  test.each(cases)('%s of %s', (key, operation, done, failed) => {
    const namesOf = (hasFailed: boolean) =>
      Object.keys(toResultFields(key, { operation, failed: hasFailed, facts }) ?? {}).toSorted()
    expect([namesOf(false), namesOf(true)]).toEqual([done.toSorted(), failed.toSorted()])
  })

  // Each line: a field whose text from the provider is shown as a number.
  test.each<[string, string, Fact, unknown]>([
    ['card', 'REFUND', approval, 123456],
    ['card', 'REVERSAL', approval, 123456],
    ['card', 'CREDIT', approval, 123456],
    ['providerP', 'CONFIRM', code, 51],
    ['providerP', 'CAPTURE', code, '51'],
    ['providerP', 'REFUND', code, '51'],
    ['providerP', 'REFUND', 'netRefundAmount', 971],
    ['providerR', 'REFUND', code, 51],
    ['providerR', 'CONFIRM', code, '51'],
    ['card', 'REFUND', code, '51'],
  ])('%s of %s: %s is %j', (key, operation, name, value) => {
    expect(toResultFields(key, { operation, failed: false, facts })?.[name]).toBe(value)
  })

  test('facts that the provider did not report are left out, and no fact at all gives undefined', () => {
    const shown = { operation: 'REFUND', failed: false }
    expect(toResultFields('card', { ...shown, facts: { providerTransactionId: 'T1' } })).toEqual({
      [id]: 'T1',
    })
    expect(toResultFields('card', { ...shown, facts: {} })).toBeUndefined()
    expect(toResultFields('card', { ...shown, operation: 'SOMETHING', facts })).toBeUndefined()
  })
})
