/** Translates captures, refunds, reversals and increments into Adyen's modifications. Pure. */

import { type Loose, present } from '#connectors/adyen/loose.ts'
import { type AdyenAmount, toAdyenAmount } from '#connectors/adyen/translate/amounts.ts'
import type { AdyenTerms } from '#connectors/adyen/translate/authorization.ts'
import { toEnhancedSchemeData } from '#connectors/adyen/translate/enhanced-data.ts'
import { toLineItems } from '#connectors/adyen/translate/shopper.ts'
import type { FollowUpRequest } from '#connectors/contract.ts'
import type { XId } from '#domain/ids.ts'

export interface ModificationCall {
  readonly path: string
  readonly body: Loose
  /** The amount that the answer must echo. Absent for a cancellation, which names none. */
  readonly sent?: AdyenAmount
}

export type Modify = (request: FollowUpRequest, pspReference: string, terms: AdyenTerms) => ModificationCall

const at = (pspReference: string, name: string): string =>
  `/payments/${encodeURIComponent(pspReference)}/${name}`

export const toCapture: Modify = (request, pspReference, { merchantAccount }) => {
  const amount = toAdyenAmount(request.amount)
  const lineItems = toLineItems(request.payment)
  return {
    path: at(pspReference, 'captures'),
    body: {
      merchantAccount,
      reference: request.reference,
      amount,
      ...present({ lineItems, enhancedSchemeData: toEnhancedSchemeData(request) }),
    },
    sent: amount,
  }
}

/**
 * Adyen takes `capturePspReference` for PayPal only and refuses it elsewhere. An automatic capture has no reference of
 * its own; our records hold the payment's reference instead, which is not sent.
 */
function toRefundedCapture({ payment, captureTransactionId }: FollowUpRequest, pspReference: string): Loose {
  const isNamed = captureTransactionId !== undefined && captureTransactionId !== pspReference
  return payment.method.type === 'PROVIDERP' && isNamed ? { capturePspReference: captureTransactionId } : {}
}

export const toRefund: Modify = (request, pspReference, { merchantAccount }) => {
  const amount = toAdyenAmount(request.amount)
  const lineItems = toLineItems(request.payment)
  return {
    path: at(pspReference, 'refunds'),
    body: {
      merchantAccount,
      reference: request.reference,
      amount,
      ...present({ lineItems, enhancedSchemeData: toEnhancedSchemeData(request) }),
      ...toRefundedCapture(request, pspReference),
    },
    sent: amount,
  }
}

/** Adyen takes the new authorised total, not the difference. */
function toAmountUpdate(
  { reference, amount }: FollowUpRequest,
  total: number,
  path: string,
  { merchantAccount }: AdyenTerms,
): ModificationCall {
  const sent = toAdyenAmount({ value: total, currency: amount.currency })
  return { path, body: { merchantAccount, reference, amount: sent }, sent }
}

/** `newTotal` is our sum of approvals. Adyen's authorised amount is lower by what was reversed. */
export const toIncrement: Modify = (request, pspReference, terms) => {
  const total = request.newTotal - (request.payment.reversedValue ?? 0)
  return toAmountUpdate(request, total, at(pspReference, 'amountUpdates'), terms)
}

/** Reversing the whole rest is a cancellation; a partial reversal lowers the authorised amount. */
export const toReversal: Modify = (request, pspReference, terms) => {
  const { authorizedValue, capturedValue } = request.payment
  // `newTotal` of a reversal is the reversed total.
  const rest = authorizedValue - request.newTotal
  return rest <= capturedValue
    ? {
        path: at(pspReference, 'cancels'),
        body: { merchantAccount: terms.merchantAccount, reference: request.reference },
      }
    : toAmountUpdate(request, rest, at(pspReference, 'amountUpdates'), terms)
}

/** Cancels a payment by our reference, when we never received Adyen's. */
export const toTechnicalCancel = (reference: XId, { merchantAccount }: AdyenTerms): ModificationCall => ({
  path: '/cancels',
  body: { merchantAccount, paymentReference: reference, reference },
})
