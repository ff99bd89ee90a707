/**
 * The method objects of the API by the method's key: what each operation accepts and returns under `paymentMethods`. A
 * method with its own fields is listed here and then appears in all requests and answers built from these tables.
 *
 * The objects of the hundreds of other methods stay empty and are not listed: an object under any other key must match
 * one schema (`others`), and the check against the payment's method refuses the keys of other methods. So validation,
 * error texts and the published description do not grow with the catalogue, and this folder does not depend on the
 * rows.
 */

import type { TObject, TProperties } from 'typebox'
import { isRecord } from '#domain/json.ts'
import {
  cardCapture,
  cardConfirm,
  cardCredit,
  cardFailure,
  cardRecord,
  cardRefund,
  cardRequest,
  cardResult,
  cardReturned,
  cardReturnFailure,
} from '#methods/fields/card.ts'
import {
  directDebitCapture,
  directDebitCreate,
  directDebitCredit,
  directDebitRecord,
} from '#methods/fields/direct-debit.ts'
import { captureRefund, otherRefund } from '#methods/fields/other-refunds.ts'
import {
  emptyObject,
  otherCreated,
  otherFailure,
  otherRecord,
  otherResult,
} from '#methods/fields/provider-fields.ts'
import {
  providerKCapture,
  providerKConfirm,
  providerKConfirmed,
  providerKCreated,
  providerKFailure,
  providerKRecord,
  providerKRefunded,
  providerKResult,
} from '#methods/fields/provider-k.ts'
import { providerMCapture, providerMRefund } from '#methods/fields/provider-m.ts'
import {
  providerPCapture,
  providerPConfirmed,
  providerPCreate,
  providerPRecord,
  providerPRefund,
  providerPRefunded,
  providerPRefundFailure,
  providerPResult,
} from '#methods/fields/provider-p.ts'
import {
  providerRCapture,
  providerRConfirmed,
  providerRFailure,
  providerRRefund,
  providerRRefunded,
  providerRRefundFailure,
  providerRResult,
} from '#methods/fields/provider-r.ts'
import {
  providerTCreate,
  providerTFailure,
  providerTRecord,
  providerTResult,
} from '#methods/fields/provider-t.ts'
import {
  providerZFailure,
  providerZRefund,
  providerZRefunded,
  providerZResult,
  providerZReversal,
  providerZReversed,
} from '#methods/fields/provider-z.ts'
import type { CaptureRequest } from '#schemas/follow-ups.ts'
import { optional } from '#schemas/parts/fields.ts'

export const createObjects = {
  card: optional(cardRequest),
  directDebit: optional(directDebitCreate),
  providerP: optional(providerPCreate),
  providerT: optional(providerTCreate),
}

export const confirmObjects = { card: optional(cardConfirm), providerK: optional(providerKConfirm) }

export const captureObjects = {
  card: optional(cardCapture),
  directDebit: optional(directDebitCapture),
  providerK: optional(providerKCapture),
  providerM: optional(providerMCapture),
  providerP: optional(providerPCapture),
  providerR: optional(providerRCapture),
}

export const reversalObjects = { providerZ: optional(providerZReversal) }

export const refundObjects = {
  card: optional(cardRefund),
  providerK: optional(captureRefund),
  providerM: optional(providerMRefund),
  providerP: optional(providerPRefund),
  providerR: optional(providerRRefund),
  providerT: optional(captureRefund),
  providerZ: optional(providerZRefund),
}

/** A refund without a payment can go to a card or an account only. */
export const creditObjects = { card: optional(cardCredit), directDebit: optional(directDebitCredit) }

/** The schemas of objects under any other key. */
export const otherObject = emptyObject
export const otherRefundObject = otherRefund

/** The provider's facts in the result of each operation. */
export const resultObjects = {
  create: {
    card: optional(cardResult),
    providerK: optional(providerKCreated),
    providerP: optional(providerPResult),
    providerR: optional(providerRResult),
    providerT: optional(providerTResult),
    providerZ: optional(providerZResult),
  },
  confirm: {
    card: optional(cardResult),
    providerK: optional(providerKConfirmed),
    providerP: optional(providerPConfirmed),
    providerR: optional(providerRConfirmed),
  },
  capture: {
    card: optional(cardResult),
    providerK: optional(providerKResult),
    providerP: optional(providerPResult),
    providerR: optional(providerRResult),
    providerT: optional(providerTResult),
    providerZ: optional(providerZResult),
  },
  incremental: { card: optional(cardResult), providerT: optional(providerTResult) },
  reversal: {
    card: optional(cardReturned),
    providerK: optional(providerKResult),
    providerP: optional(providerPResult),
    providerR: optional(providerRResult),
    providerT: optional(providerTResult),
    providerZ: optional(providerZReversed),
  },
  refund: {
    card: optional(cardReturned),
    providerK: optional(providerKRefunded),
    providerP: optional(providerPRefunded),
    providerR: optional(providerRRefunded),
    providerT: optional(providerTResult),
    providerZ: optional(providerZRefunded),
  },
  credit: { card: optional(cardReturned) },
}
export const otherCreatedObject = otherCreated
export const otherResultObject = otherResult

const failed = {
  card: optional(cardFailure),
  providerK: optional(providerKFailure),
  providerP: optional(providerPResult),
  providerR: optional(providerRFailure),
  providerT: optional(providerTFailure),
  providerZ: optional(providerZFailure),
}

/** The same for a refused or declined operation. */
export const failureObjects = {
  create: failed,
  confirm: {
    card: optional(cardFailure),
    providerK: optional(providerKFailure),
    providerP: optional(providerPConfirmed),
    providerR: optional(providerRFailure),
  },
  capture: failed,
  incremental: { card: optional(cardFailure), providerT: optional(providerTFailure) },
  reversal: { ...failed, card: optional(cardReturnFailure) },
  refund: {
    ...failed,
    card: optional(cardReturnFailure),
    providerP: optional(providerPRefundFailure),
    providerR: optional(providerRRefundFailure),
  },
  credit: { card: optional(cardReturnFailure) },
}
export const otherFailureObject = otherFailure

export const recordObjects = {
  card: optional(cardRecord),
  directDebit: optional(directDebitRecord),
  providerK: optional(providerKRecord),
  providerP: optional(providerPRecord),
  providerT: optional(providerTRecord),
}
export const otherRecordObject = otherRecord

/** The schema of a method's object in payment records. */
export function recordObject(key: string): TObject {
  // Every entry is an object schema; TOptional hides that from the type.
  const objects: TProperties = recordObjects
  return Object.hasOwn(objects, key) ? (objects[key] as TObject) : otherRecord
}

export type MethodOperationName = keyof typeof resultObjects

/** The schema of a method's object in the result of an operation. Facts that it does not list stay internal. */
export function resultObject(
  operation: MethodOperationName,
  key: string,
  outcome: 'done' | 'failed',
): TObject {
  // Every entry is an object schema; TOptional hides that from the type.
  const objects: TProperties = outcome === 'done' ? resultObjects[operation] : failureObjects[operation]
  const done = operation === 'create' ? otherCreated : otherResult
  const other = outcome === 'done' ? done : otherFailure
  return Object.hasOwn(objects, key) ? (objects[key] as TObject) : other
}

/** Members of method objects that DIRECT payments require and that HOSTED payments leave to the page. */
export const directMembers: Readonly<
  Record<string, { readonly needed: readonly string[]; readonly pageOnly: readonly string[] }>
> = {
  card: { needed: ['number'], pageOnly: ['number', 'expiryDate', 'cardholderName', 'securityCode'] },
  // The page prefills the given fields of the account and asks for the others.
  directDebit: { needed: ['account'], pageOnly: [] },
}

/**
 * The members that a customer's device may send, because the customer knows them. The merchant decides everything else:
 * whether 3-D Secure is skipped, what a card is authorised for, which mandate allows a debit.
 */
export const deviceMembers: Readonly<Record<string, readonly string[]>> = {
  card: ['number', 'expiryDate', 'cardholderName', 'securityCode', 'brand'],
  directDebit: ['account'],
  providerM: ['merchantIdentifierOfPublicKey', 'token'],
  providerT: ['transferType'],
}

/** Members that are not stored with the fields: card and account data, and members that are stored elsewhere. */
const unkeptMembers: Readonly<Record<string, readonly string[]>> = {
  card: ['number', 'expiryDate', 'cardholderName', 'brand', 'securityCode', 'dcc'],
  directDebit: ['account'],
  providerM: ['token', 'merchantIdentifierOfPublicKey'],
}

/**
 * The part of a method's object that is stored with the payment and shown in its record; undefined if there is none.
 */
export function keptFields(
  key: string,
  object: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> | undefined {
  const { threeDsData, ...members } = object
  const { authenticationValue: _proof, ...authentication } = isRecord(threeDsData) ? threeDsData : {}
  const kept = Object.entries(members).filter(([name]) => !unkeptMembers[key]?.includes(name))
  const fields = { ...Object.fromEntries(kept), ...(threeDsData ? { threeDsData: authentication } : {}) }
  return Object.keys(fields).length > 0 ? fields : undefined
}

/** Operations that require an object of the payment's method. */
export const neededObjects: Readonly<Partial<Record<MethodOperationName, readonly string[]>>> = {
  confirm: ['providerK'],
}

/**
 * What happens to the rest of the authorisation after a capture. `open`: further captures may follow. `closed`: no
 * further capture, and the rest lapses. `reversed`: the rest is released at once.
 */
export type RestAfterCapture = 'open' | 'closed' | 'reversed'

/** Reads it from the method's own field. */
export function readRest(sent: CaptureRequest['paymentMethods']): RestAfterCapture {
  if (sent?.providerK?.completeType === 'YES') return 'reversed'
  const isClosed =
    sent?.card?.finishAuth === true ||
    sent?.providerM?.finishAuth === 'Y' ||
    sent?.providerP?.completeType === true
  return isClosed ? 'closed' : 'open'
}
