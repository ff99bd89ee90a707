/** What the requests on an existing payment have in common. */
import { type PayId, parsePayId } from '#domain/ids.ts'
import { NotFound } from '#http/server/ports.ts'
import type { FollowUpCommand } from '#lifecycle/follow-up.ts'

/** A text that cannot be an id of ours is not found, like an unknown id. */
export function requirePayId({ id }: { readonly id: string }): PayId {
  const payId = parsePayId(id)
  if (!payId) throw new NotFound()
  return payId
}

interface FollowUpBody {
  readonly transId: string
  readonly refNr?: string
  readonly amount: { readonly value: number; readonly currency: string }
  readonly metadata?: Readonly<Record<string, unknown>>
  readonly simulationMode?: string
  readonly paymentMethods?: Readonly<Record<string, unknown>>
}

/** The method's object is not stored, because it may contain account data. */
export function toFollowUp(body: FollowUpBody): FollowUpCommand {
  const { transId, refNr, amount, metadata, simulationMode, paymentMethods, ...details } = body
  const { value, currency, ...parts } = amount
  return {
    transId,
    refNr,
    amount: { value, currency },
    metadata,
    hints: { simulationMode },
    objects: paymentMethods,
    // The parts of the amount, in the form in which a create request stores them.
    details: Object.keys(parts).length > 0 ? { ...details, amount: parts } : details,
  }
}

/** What the example answers of the reference have in common. */
export const exampleIds = { payId: '019a3f6b2c4d7e8f9012a3b4c5d6e7f8', merchantId: 'mer_4f2a9c1d7b3e8a60' }

export const exampleSuccess = { responseCode: '00000000', responseDescription: 'Success.' }
