/**
 * Which of a provider's facts the result of an operation shows, by the key of the method's object. Data only: a provider
 * that tells more gets a line here, and nothing else changes.
 */
export interface ResultField {
  readonly name: string
  /** Operations that show it; all unless given. */
  readonly on?: readonly string[]
  /** Shown only when the operation failed (or only when it did not). */
  readonly when?: 'FAILED' | 'APPROVED'
  /** Shown as a number on these operations, as text elsewhere. */
  readonly numberOn?: readonly string[]
}

const textWhenFailed: ResultField = { name: 'providerResponseText', when: 'FAILED' }

const resultFields: Readonly<Record<string, readonly ResultField[]>> = {
  card: [
    { name: 'providerResponseCode' },
    textWhenFailed,
    { name: 'providerTransactionId' },
    { name: 'providerApprovalCode', on: ['REFUND', 'REVERSAL', 'CREDIT'], when: 'APPROVED' },
  ],
  providerK: [
    { name: 'providerResponseCode' },
    textWhenFailed,
    { name: 'providerTransactionId', on: ['CONFIRM'] },
    { name: 'billingAgreementId', on: ['CONFIRM'], when: 'APPROVED' },
    { name: 'redirectUrl', on: ['CONFIRM'], when: 'APPROVED' },
    { name: 'invoiceNumber', on: ['REFUND'], when: 'APPROVED' },
  ],
  providerP: [
    { name: 'providerResponseCode', numberOn: ['CONFIRM'] },
    textWhenFailed,
    { name: 'feeRefundAmount', on: ['REFUND'], when: 'APPROVED' },
    { name: 'grossRefundAmount', on: ['REFUND'], when: 'APPROVED' },
    { name: 'netRefundAmount', on: ['REFUND'], when: 'APPROVED' },
    { name: 'providerDeclineCategory', on: ['REFUND'], when: 'FAILED' },
  ],
  providerR: [
    { name: 'providerResponseCode', numberOn: ['REFUND'] },
    textWhenFailed,
    { name: 'billingAddress', on: ['CONFIRM'], when: 'APPROVED' },
    { name: 'shippingAddress', on: ['CONFIRM'], when: 'APPROVED' },
  ],
  providerT: [
    { name: 'authorizationExpiry', when: 'APPROVED' },
    { name: 'account', when: 'APPROVED' },
    { name: 'paymentReference', when: 'APPROVED' },
    { name: 'providerTransactionId', when: 'APPROVED' },
    { name: 'providerResponseCode', when: 'FAILED' },
    textWhenFailed,
    { name: 'providerDeclineCategory', when: 'FAILED' },
  ],
  providerZ: [
    { name: 'providerResponseCode' },
    textWhenFailed,
    { name: 'providerStatus' },
    { name: 'chargeId' },
    { name: 'refundId', on: ['REFUND'] },
    { name: 'chargePermissionId', on: ['REVERSAL'] },
  ],
}

/** Methods without a line of their own tell only why they failed. */
const otherFields: readonly ResultField[] = [textWhenFailed]

/** Picks and names what is shown; undefined when there is nothing. */
export function toResultFields(
  key: string,
  shown: { readonly operation: string; readonly failed: boolean; readonly facts: Readonly<Record<string, unknown>> },
): Record<string, unknown> | undefined {
  const picked: Record<string, unknown> = {}
  for (const field of resultFields[key] ?? otherFields) {
    const value = shown.facts[field.name]
    if (value === undefined) continue
    if (field.on && !field.on.includes(shown.operation)) continue
    if (field.when && (field.when === 'FAILED') !== shown.failed) continue
    picked[field.name] = field.numberOn?.includes(shown.operation) ? Number(value) : value
  }
  return Object.keys(picked).length > 0 ? picked : undefined
}
