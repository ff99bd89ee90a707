/**
 * Incoming bank transfers of customers. Each booked entry of a statement is stored once, with the authorisation that
 * waits for the money. The payment keeps waiting until the whole amount has arrived.
 */

import { strict as assert } from 'node:assert'
import type { XId } from '#domain/ids.ts'
import { isRecord } from '#domain/json.ts'
import { add } from '#domain/money/money.ts'
import { providerResultOutstanding } from '#domain/response-codes.ts'
import { toOperation } from '#lifecycle/follow-up.ts'
import type { ProviderFacts } from '#lifecycle/outcome.ts'
import {
  type AccountInstrument,
  type Operation,
  openAmount,
  type Payment,
  withOperation,
} from '#lifecycle/payment.ts'
import { settle } from '#lifecycle/settle.ts'

export interface Receipt {
  /** Identifies the receipt, so that a statement entry that is reported again is not counted twice. */
  readonly key: string
  readonly value: number
  /** The payer's account, if the bank names it. Refunds go there. */
  readonly payer?: AccountInstrument
  readonly now: Date
}

/** The authorisation that waits for the customer's transfer. */
export const awaitedTransfer = (payment: Payment): Operation | undefined =>
  payment.operations.find(
    ({ type, state }) => type === 'AUTHORIZATION' && (state === 'AUTHORIZE_REQUEST' || state === 'PENDING'),
  )

interface KeptReceipt {
  readonly key: string
  readonly value: number
  /** Arrived after the payment had stopped waiting. Money that arrived earlier is given back when the payment ends. */
  readonly late?: true
}

const isReceipt = (value: unknown): value is KeptReceipt =>
  isRecord(value) && typeof value.key === 'string' && Number.isSafeInteger(value.value)

/** Provider fields are JSON of any shape; `receipts` is written by this file only. */
function receiptsOf({ provider }: Operation): readonly KeptReceipt[] {
  const receipts = provider?.fields?.receipts ?? []
  assert(Array.isArray(receipts) && receipts.every(isReceipt), 'the receipts of a transfer cannot be read')
  return receipts
}

/** The total that has arrived so far; undefined if nothing has, or if the payment is not paid by transfer. */
export function receivedValue(payment: Payment): number | undefined {
  const receipts = payment.operations.flatMap(receiptsOf)
  return receipts.length === 0 ? undefined : receipts.reduce((total, { value }) => add(total, value), 0)
}

/** Whether this receipt was counted before. */
export const hasReceipt = (payment: Payment, key: string): boolean =>
  payment.operations.some(operation => receiptsOf(operation).some(receipt => receipt.key === key))

/**
 * How one receipt contributes to its payment. It depends only on the receipts before it, so it can be recomputed at any
 * time.
 */
export interface ReceiptPlace {
  /** The total that had arrived before. */
  readonly before: number
  /** The part of this receipt that exceeds the amount. */
  readonly surplus: number
  /** Whether the amount is complete with this receipt. */
  readonly completes: boolean
  /** Whether the payment had stopped waiting when this receipt came. */
  readonly isLate: boolean
  /** The capture that takes the money, if the authorisation asked for one. */
  readonly captureXId?: XId
}

export function receiptPlace(payment: Payment, key: string): ReceiptPlace {
  const { value: wanted } = payment.amount
  const beyond = (received: number): number => Math.max(0, received - wanted)
  const paid = payment.operations.find(operation => receiptsOf(operation).length > 0)
  let before = 0
  for (const receipt of paid ? receiptsOf(paid) : []) {
    const after = add(before, receipt.value)
    if (receipt.key === key) {
      const captureXId = paid?.details.captureXId
      const surplus = beyond(after) - beyond(before)
      const completes = before < wanted && after >= wanted
      const isLate = receipt.late === true
      return { before, surplus, completes, isLate, ...(captureXId === undefined ? {} : { captureXId }) }
    }
    before = after
  }
  return { before, surplus: 0, completes: false, isLate: false }
}

/** The failed authorisation whose money had arrived in part and must be given back; undefined if there is none. */
export const endedAfterReceipt = (payment: Payment): Operation | undefined =>
  payment.status === 'FAILED'
    ? payment.operations.find(operation => receiptsOf(operation).length > 0)
    : undefined

/** Adds a receipt to a payment that waits for its transfer. A receipt that is already stored changes nothing. */
export function addReceipt(payment: Payment, receipt: Receipt): Payment {
  const waiting = awaitedTransfer(payment)
  if (!waiting || hasReceipt(payment, receipt.key)) return payment
  const pending: Operation = { ...waiting, state: 'PENDING', responseCode: providerResultOutstanding }
  return withReceipt({ ...payment, status: 'PENDING' }, waiting, pending, receipt, {})
}

/** The authorisation whose money has arrived, or that failed without it. */
export const endedTransfer = (payment: Payment): Operation | undefined =>
  payment.operations.findLast(
    operation =>
      operation.type === 'AUTHORIZATION' &&
      (receiptsOf(operation).length > 0 || (payment.status === 'FAILED' && operation.state === 'FAILED')),
  )

/** Adds a receipt to a payment that no longer waits for money. Only the received total changes. */
export function addLaterReceipt(payment: Payment, receipt: Receipt): Payment {
  const ended = endedTransfer(payment)
  if (!ended || hasReceipt(payment, receipt.key)) return payment
  return withReceipt(payment, ended, ended, receipt, { late: true })
}

function withReceipt(
  payment: Payment,
  replaced: Operation,
  operation: Operation,
  { key, value, payer, now }: Receipt,
  mark: Pick<KeptReceipt, 'late'>,
): Payment {
  const provider = operation.provider ?? {
    echo: {
      reference: operation.xId,
      amount: { value: operation.amount, currency: payment.amount.currency },
    },
  }
  const receipts = [...receiptsOf(operation), { key, value, ...mark }]
  const received: Operation = {
    ...operation,
    provider: { ...provider, fields: { ...provider.fields, receipts } },
    updatedAt: now,
  }
  return {
    ...payment,
    account: payment.account ?? payer,
    operations: payment.operations.map(other => (other === replaced ? received : other)),
    updatedAt: now,
    version: payment.version + 1,
  }
}

/** Captures a transfer. The money has already arrived, so this happens even if the payment asked for MANUAL capture. */
export function captureReceived(
  payment: Payment,
  { xId, provider, now }: { readonly xId: XId; readonly provider: ProviderFacts; readonly now: Date },
): Payment | undefined {
  const amount = openAmount(payment)
  if (payment.status !== 'AUTHORIZED' || amount === 0) return undefined
  const { transId, refNr } = payment
  const command = {
    transId,
    refNr,
    amount: { value: amount, currency: payment.amount.currency },
    details: {},
  }
  const capturing = add(payment.sums.capturing, amount)
  const reserved = { ...payment, sums: { ...payment.sums, capturing } }
  const asked = withOperation(reserved, toOperation('CAPTURE', command, { xId, prepared: {}, now }), now)
  return settle(asked, xId, { kind: 'approved', provider }, now)
}
