/** Translates what happens to a payment after its authorisation into Adyen's modifications. Pure. */

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
  /** What the answer must echo; absent for a cancellation, which names no amount. */
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
 * Adyen knows which capture is meant only for PayPal; elsewhere the member is refused. A capture that Adyen made with the
 * authorisation has no reference of its own, and we know it by that of the payment.
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

/** Adyen takes what is to be authorised in all, not the difference. */
function toAmountUpdate(
  { reference, amount }: FollowUpRequest,
  total: number,
  path: string,
  { merchantAccount }: AdyenTerms,
): ModificationCall {
  const sent = toAdyenAmount({ value: total, currency: amount.currency })
  return { path, body: { merchantAccount, reference, amount: sent }, sent }
}

/** A partial reversal lowers the authorised amount at Adyen, while our sum of approvals still includes it. */
export const toIncrement: Modify = (request, pspReference, terms) => {
  const total = request.newTotal - (request.payment.reversedValue ?? 0)
  return toAmountUpdate(request, total, at(pspReference, 'amountUpdates'), terms)
}

/** Everything that is still open is cancelled; a partial reversal lowers the authorised amount. */
export const toReversal: Modify = (request, pspReference, terms) => {
  const { authorizedValue, capturedValue } = request.payment
  // The total of a reversal is what was reversed in all.
  const rest = authorizedValue - request.newTotal
  return rest <= capturedValue
    ? {
        path: at(pspReference, 'cancels'),
        body: { merchantAccount: terms.merchantAccount, reference: request.reference },
      }
    : toAmountUpdate(request, rest, at(pspReference, 'amountUpdates'), terms)
}

/** Cancels whatever was authorised under our reference, if we never received Adyen's. */
export const toTechnicalCancel = (reference: XId, { merchantAccount }: AdyenTerms): ModificationCall => ({
  path: '/cancels',
  body: { merchantAccount, paymentReference: reference, reference },
})
