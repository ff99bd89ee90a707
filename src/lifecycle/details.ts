/**
 * The fields of a payment that have no column of their own, in two parts: fields of the merchant's request, and the
 * gateway's own notes. Both are stored in one JSON column and separated when the payment is read.
 */
import type { Static, TObject } from 'typebox'
import type { CustomerId, IntentId, PayId } from '#domain/ids.ts'
import type { createAmount } from '#schemas/parts/amount.ts'
import type { HintField } from '#schemas/parts/hints.ts'
import { recordDetails } from '#schemas/payment-record.ts'

type Sent = Static<TObject<typeof recordDetails>>

/** Fields of the request as the merchant sent them, without card data. */
export type SentDetails = {
  readonly [Field in Exclude<
    keyof Sent,
    'refNr' | 'captureMethod' | 'customerInfo' | HintField
  >]?: Sent[Field]
} & {
  /** Partial, because the email address that every request has is missing once the personal data was erased. */
  readonly customerInfo?: Partial<Sent['customerInfo']>
  /** The parts of the amount, such as taxes and shipping. */
  readonly amount?: Omit<Static<typeof createAmount>, 'value' | 'currency'>
}

/** The allow list: the fields of the request that the payment's record shows. */
const shownFields: ReadonlySet<string> = new Set(Object.keys(recordDetails))

/**
 * Which charge of its plan a payment is, fixed when the payment was made. The next charge follows from the plan's terms
 * at the time when the outcome is known.
 */
export interface PlanTurn {
  readonly initialPayId: PayId
  /**
   * The next due day by the terms at that time. Written for the previous release; read for its payments, which lack
   * `paid`.
   */
  readonly next?: string
  /** Written for the previous release, which may settle the payment during a rolling update. */
  readonly expiryDate?: string
  /** Set if the merchant charges the plan: the charge covers all due days up to this one. */
  readonly paid?: string
  /**
   * Set if the gateway makes the charge: the due day, how often the charge was declined before, and whether the
   * merchant asked for it to be made at once.
   */
  readonly automatic?: { readonly dueDate: string; readonly tries: number; readonly asked?: true }
}

/** Facts about the payment's intent that decide whether another try may follow. */
export interface IntentTerms {
  readonly expiresAt: string
  /** Declines and refused confirmations of the intent before this payment. */
  readonly declines: number
  /** How many payments were made from the intent, including this one. Missing in payments of an earlier release. */
  readonly payments?: number
}

/** The gateway's own notes about a payment. */
export interface OwnDetails {
  /** The members of the method's object, without card data. The record shows some of them inside `paymentMethods`. */
  readonly methodFields?: Readonly<Record<string, unknown>>
  /** The payment belongs to the payment link with this id. */
  readonly linkId?: string
  /** The customer chooses the method on a hosted page. */
  readonly session?: boolean
  readonly planTurn?: PlanTurn
  /** Whether the customer agreed, on a hosted page, to saving the card. */
  readonly keepCard?: boolean
  /** The customer whose stored card or account a merchant-initiated payment charges. */
  readonly chargedCustomerId?: CustomerId
  readonly paymentIntentId?: IntentId
  readonly intentTerms?: IntentTerms
  /** Why the merchant cancelled the payment, in their own words. */
  readonly cancellationReason?: string
}

type StoredDetails = SentDetails & OwnDetails

export const joinDetails = (details: SentDetails, own: OwnDetails): StoredDetails => ({ ...details, ...own })

export function splitDetails(stored: StoredDetails): {
  readonly details: SentDetails
  readonly own: OwnDetails
} {
  const {
    methodFields,
    linkId,
    session,
    planTurn,
    keepCard,
    chargedCustomerId,
    paymentIntentId,
    intentTerms,
    cancellationReason,
    ...details
  } = stored
  // Names every field, so that one added to OwnDetails cannot be forgotten here.
  const own: { readonly [Field in keyof Required<OwnDetails>]: OwnDetails[Field] } = {
    methodFields,
    linkId,
    session,
    planTurn,
    keepCard,
    chargedCustomerId,
    paymentIntentId,
    intentTerms,
    cancellationReason,
  }
  return { details, own }
}

/** The merchant's fields that the payment record shows. */
export function shownDetails(details: SentDetails): SentDetails {
  return Object.fromEntries(Object.entries(details).filter(([field]) => shownFields.has(field)))
}
