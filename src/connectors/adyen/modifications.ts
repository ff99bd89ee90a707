/** Translates what happens to a payment after its authorisation into Adyen's modifications. Pure. */
import { type AdyenAmount, toAdyenAmount } from '#connectors/adyen/amounts.ts'
import type { AdyenTerms } from '#connectors/adyen/authorization.ts'
import type { Loose } from '#connectors/adyen/loose.ts'
import { toLineItems } from '#connectors/adyen/shopper.ts'
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
      ...(lineItems === undefined ? {} : { lineItems }),
    },
    sent: amount,
  }
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
      ...(lineItems === undefined ? {} : { lineItems }),
      // Adyen knows which capture is meant only for PayPal; elsewhere the member is refused.
      ...(request.payment.method.type === 'PROVIDERP' && request.captureTransactionId !== undefined
        ? { capturePspReference: request.captureTransactionId }
        : {}),
    },
    sent: amount,
  }
}

/** Adyen takes the new total, not the difference. */
const toAmountUpdate: Modify = (request, pspReference, { merchantAccount }) => {
  const amount = toAdyenAmount({ value: request.newTotal, currency: request.amount.currency })
  return {
    path: at(pspReference, 'amountUpdates'),
    body: { merchantAccount, reference: request.reference, amount },
    sent: amount,
  }
}

export const toIncrement: Modify = toAmountUpdate

/** Everything that is still open is cancelled; a part is an authorisation of less. */
export const toReversal: Modify = (request, pspReference, terms) =>
  request.newTotal <= request.payment.capturedValue
    ? {
        path: at(pspReference, 'cancels'),
        body: { merchantAccount: terms.merchantAccount, reference: request.reference },
      }
    : toAmountUpdate(request, pspReference, terms)

/** Cancels whatever was authorised under our reference, although we never learned Adyen's. */
export const toTechnicalCancel = (reference: XId, { merchantAccount }: AdyenTerms): ModificationCall => ({
  path: '/cancels',
  body: { merchantAccount, paymentReference: reference, reference },
})
