/**
 * The method objects of the contract by the method's key: what each operation takes and gives under `paymentMethods`.
 * A method with fields of its own gets its lines here and appears in every request and answer made from these tables.
 */
import { cardCapture, cardRecord, cardRequest, cardResult } from '#schemas/card.ts'
import { optional } from '#schemas/fields.ts'

export const createObjects = { card: optional(cardRequest) }

export const captureObjects = { card: optional(cardCapture) }

export const resultObjects = { card: optional(cardResult) }

export const recordObjects = { card: optional(cardRecord) }

/** Members of a method object without which a DIRECT payment cannot be made, and which a HOSTED one leaves to the page. */
export const directMembers: Readonly<
  Record<string, { readonly needed: readonly string[]; readonly pageOnly: readonly string[] }>
> = {
  card: { needed: ['number'], pageOnly: ['number', 'expiryDate', 'cardholderName', 'securityCode'] },
}
