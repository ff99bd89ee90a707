/** One example for each type of event, for the `webhooks` of the OpenAPI document. */
import { type EventType, eventTypeNames, eventTypes } from '#domain/event-types.ts'
import { exampleIds } from '#endpoints/payments/follow-up.ts'
import type { DescribedWebhook } from '#http/reference/openapi.ts'
import { sampleMembers } from '#lifecycle/event.ts'
import { eventBodies } from '#schemas/event-body.ts'

const success = { responseCode: '00000000', responseDescription: 'Success.' }
const declined = { responseCode: '21000351', responseDescription: 'Declined: Insufficient funds.' }
const returned = { responseCode: '23000351', responseDescription: 'Declined: Insufficient funds.' }

const sums = (changed: object = {}) => ({
  value: 4999,
  currency: 'EUR',
  authorizedValue: 4999,
  capturedValue: 0,
  refundedValue: 0,
  reversedValue: 0,
  returnedValue: 0,
  disputedValue: 0,
  ...changed,
})

const captured = { capturedValue: 4999 }
const nothing = { authorizedValue: 0 }

interface Sample {
  readonly status: string
  readonly amount: object
  /** Absent for events about a plan. */
  readonly operation?: string
  readonly value?: number
  readonly code?: typeof success
  readonly failed?: true
}

const plan = { paymentPlanId: '019a3f6b2c4d7e8f9012a3b4c5d6e7f9' }

const samples: Readonly<Record<EventType, Sample>> = {
  'payment.authorized': { status: 'AUTHORIZED', amount: sums(), operation: 'AUTHORIZATION' },
  'payment.captured': { status: 'OK', amount: sums(captured), operation: 'CAPTURE' },
  'payment.failed': {
    status: 'FAILED',
    amount: sums(nothing),
    operation: 'AUTHORIZATION',
    code: declined,
    failed: true,
  },
  'payment.reversed': { status: 'REVERSED', amount: sums({ reversedValue: 4999 }), operation: 'REVERSAL' },
  'payment.lapsed': { status: 'REVERSED', amount: sums({ reversedValue: 4999 }), operation: 'AUTHORIZATION' },
  'payment.paid_late': {
    status: 'REVERSED',
    amount: sums({ reversedValue: 4999 }),
    operation: 'AUTHORIZATION',
  },
  'capture.succeeded': { status: 'OK', amount: sums(captured), operation: 'CAPTURE' },
  'capture.failed': {
    status: 'AUTHORIZED',
    amount: sums(),
    operation: 'CAPTURE',
    code: declined,
    failed: true,
  },
  'refund.succeeded': {
    status: 'OK',
    amount: sums({ ...captured, refundedValue: 999 }),
    operation: 'REFUND',
    value: 999,
  },
  'refund.failed': {
    status: 'OK',
    amount: sums(captured),
    operation: 'REFUND',
    value: 999,
    code: declined,
    failed: true,
  },
  'reversal.succeeded': {
    status: 'AUTHORIZED',
    amount: sums({ reversedValue: 999 }),
    operation: 'REVERSAL',
    value: 999,
  },
  'reversal.failed': {
    status: 'AUTHORIZED',
    amount: sums(),
    operation: 'REVERSAL',
    value: 999,
    code: declined,
    failed: true,
  },
  'debit.announced': { status: 'CAPTURE_REQUEST', amount: sums(), operation: 'CAPTURE' },
  'debit.returned': {
    status: 'OK',
    amount: sums({ ...captured, returnedValue: 4999 }),
    operation: 'RETURN',
    code: returned,
  },
  'dispute.opened': {
    status: 'OK',
    amount: sums({ ...captured, disputedValue: 4999 }),
    operation: 'CAPTURE',
  },
  'dispute.won': { status: 'OK', amount: sums(captured), operation: 'CAPTURE' },
  'dispute.lost': { status: 'OK', amount: sums({ ...captured, disputedValue: 4999 }), operation: 'CAPTURE' },
  'intent.attempt_failed': {
    status: 'FAILED',
    amount: sums(nothing),
    operation: 'AUTHORIZATION',
    code: declined,
    failed: true,
  },
  'plan.charged': { status: 'OK', amount: sums(captured), operation: 'CAPTURE' },
  'plan.charge_failed': {
    status: 'FAILED',
    amount: sums(nothing),
    operation: 'AUTHORIZATION',
    code: declined,
    failed: true,
  },
  'plan.suspended': {
    status: 'FAILED',
    amount: sums(nothing),
    operation: 'AUTHORIZATION',
    code: declined,
    failed: true,
  },
  'plan.completed': { status: 'OK', amount: sums(captured) },
  'plan.cancelled': { status: 'OK', amount: sums(captured) },
}

const xId = '019a3f6ba0117d3f90415263748596a7'
const debits: readonly EventType[] = ['debit.announced', 'debit.returned']

function toExample(type: EventType) {
  const { status, amount, operation, value = 4999, code = success, failed } = samples[type]
  return {
    type,
    payId: exampleIds.payId,
    merchantId: exampleIds.merchantId,
    transId: 'order-1001',
    status,
    ...code,
    amount,
    ...(operation === undefined
      ? {}
      : {
          operation: {
            xId,
            type: operation,
            status: failed ? 'FAILED' : status === 'AUTHORIZED' ? 'AUTHORIZED' : 'OK',
            amount: { value, currency: 'EUR' },
            ...code,
          },
        }),
    paymentMethods: [{ type: debits.includes(type) ? 'DIRECTDEBIT' : 'CARD' }],
    metadata: { basket: '17' },
    ...(type.startsWith('plan.') ? plan : {}),
    ...(type.startsWith('intent.') ? { paymentIntentId: 'pi_8c1f0e5b7a924d36b0c8e2f4a6d19375' } : {}),
    ...sampleMembers(type),
    creationDate: '2026-11-15T12:00:00.000Z',
    sequence: 1,
    xId,
  }
}

export const webhooks: readonly DescribedWebhook[] = eventTypeNames.flatMap(type => {
  const schema = eventBodies.get(type)
  return schema ? [{ name: type, summary: eventTypes[type], schema, example: toExample(type) }] : []
})
