/**
 * The fields of a payment that have no column of their own, in two parts: what the merchant sent, and what the gateway notes
 * for itself. Both are stored in one JSON column and separated when the payment is read.
 */
import type { Static, TObject } from 'typebox'
import type { CustomerId, IntentId, PayId } from '#domain/ids.ts'
import type { createAmount } from '#schemas/parts/amount.ts'
import type { HintField } from '#schemas/parts/hints.ts'
import { recordDetails } from '#schemas/payment-record.ts'

type Sent = Static<TObject<typeof recordDetails>>

/** Fields of the request as they came, without card data. */
export type SentDetails = {
  readonly [Field in Exclude<
    keyof Sent,
    'refNr' | 'captureMethod' | 'customerInfo' | HintField
  >]?: Sent[Field]
} & {
  /** Every request has an email address in it; a payment whose personal data was erased does not. */
  readonly customerInfo?: Partial<Sent['customerInfo']>
  /** The parts that the amount is made of. */
  readonly amount?: Omit<Static<typeof createAmount>, 'value' | 'currency'>
}

/** The allow list: the fields of the request that the payment's record shows. */
const shownFields: ReadonlySet<string> = new Set(Object.keys(recordDetails))

/**
 * Which charge of its plan a payment is, as it was decided when the payment was made. What comes next is decided by the terms
 * that the plan has when the outcome is known.
 */
export interface PlanTurn {
  readonly initialPayId: PayId
  /** The due day after this one by the terms of then. For the release before, and for its payments, which have no `paid`. */
  readonly next?: string
  /** For the release before, which may settle the payment while both serve. */
  readonly expiryDate?: string
  /** Given where the merchant charges: the day up to which the charge pays. */
  readonly paid?: string
  /**
   * Given where the gateway charges by itself: the day it charges for, how often that was declined before, and whether the
   * merchant asked for it on that day.
   */
  readonly automatic?: { readonly dueDate: string; readonly tries: number; readonly asked?: true }
}

/** Facts of an intent that decide whether another try may follow. */
export interface IntentTerms {
  readonly expiresAt: string
  /** Of the payments made from the intent before. */
  readonly declines: number
  /** How many payments were made from the intent, this one included; missing in those of an earlier release. */
  readonly payments?: number
}

/** What the gateway notes with the payment. */
export interface OwnDetails {
  /** The members of the method's object, without card data. The record shows some of them inside `paymentMethods`. */
  readonly methodFields?: Readonly<Record<string, unknown>>
  /** The payment is a link, under this id. */
  readonly linkId?: string
  /** The customer chooses the method on a hosted page. */
  readonly session?: boolean
  readonly planTurn?: PlanTurn
  /** Whether the customer agreed, on a hosted page, to saving the card. */
  readonly keepCard?: boolean
  /** The customer whose stored card or account is charged without them. */
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

/** What the merchant sent, as the payment's record shows it. */
export function shownDetails(details: SentDetails): SentDetails {
  return Object.fromEntries(Object.entries(details).filter(([field]) => shownFields.has(field)))
}
