/**
 * The identifiers of the API as branded strings, so that one kind cannot be passed for another. New ones need
 * randomness and are therefore created elsewhere.
 */
export type MerchantId = string & { readonly __merchantId: true }
/** 32 lower-case hex digits, a UUIDv7 without dashes: sortable by time, safe in a path. */
export type PayId = string & { readonly __payId: true }
/** As PayId, but one per operation. It is also the reference we send to the provider. */
export type XId = string & { readonly __xId: true }

/** `pi_` and 32 random hex digits. Unlike the others it is not a UUIDv7, because it must not be guessable. */
export type IntentId = string & { readonly __intentId: true }
/** As PayId: a customer of the vault. */
export type CustomerId = string & { readonly __customerId: true }
/** As PayId: one stored payment method of a customer. */
export type StoredMethodId = string & { readonly __storedMethodId: true }
/** As PayId: a payment plan. */
export type PlanId = string & { readonly __planId: true }

const hexId = /^[0-9a-f]{32}$/

/** The smallest payId of that real time: a UUIDv7 begins with its milliseconds. */
export const firstPayId = (milliseconds: number): string =>
  `${milliseconds.toString(16).padStart(12, '0')}${'0'.repeat(20)}`

/**
 * Undefined for text that is no id; it is answered like an unknown id, so it is no error. Brands are created here: a
 * checked text becomes an id by a cast.
 */
export const parsePayId = (text: string): PayId | undefined =>
  hexId.test(text) ? (text as PayId) : undefined

export const parseCustomerId = (text: string): CustomerId | undefined =>
  hexId.test(text) ? (text as CustomerId) : undefined

export const parseStoredMethodId = (text: string): StoredMethodId | undefined =>
  hexId.test(text) ? (text as StoredMethodId) : undefined

export const parsePlanId = (text: string): PlanId | undefined =>
  hexId.test(text) ? (text as PlanId) : undefined

/** Stands for a provider's reference that is not ours; it matches no stored operation. */
export const foreignXId = '0'.repeat(32) as XId

export const parseXId = (text: string): XId | undefined => (hexId.test(text) ? (text as XId) : undefined)

const intentForm = /^pi_[0-9a-f]{32}$/

export const parseIntentId = (text: string): IntentId | undefined =>
  intentForm.test(text) ? (text as IntentId) : undefined
