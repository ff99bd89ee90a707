/** Look-ups in the catalogue of payment methods, and the check of requests against their method's row. */

import { detectBrand, mayBear } from '#domain/cards/card-brands.ts'
import { isOneTimeToken } from '#domain/cards/card-numbers.ts'
import {
  directMembers,
  type MethodOperationName,
  neededObjects,
  refundObjects,
} from '#methods/fields/objects.ts'
import { captureRefund, voucherRefund } from '#methods/fields/other-refunds.ts'
import { undecided } from '#methods/method.ts'
import { type CaptureType, type Method, rows } from '#methods/rows.ts'
import type { CreatePayment } from '#schemas/create-payment.ts'

/** All methods of the catalogue, core methods first. */
export const allMethods: readonly Method[] = rows

const byType: ReadonlyMap<string, Method> = new Map(allMethods.map(row => [row.type, row]))

export const methodTypes: readonly string[] = allMethods.map(row => row.type)

/** The method of a request. */
export const findMethod = (type: string): Method | undefined => byType.get(type)

/** The method of a stored payment, which may be the placeholder for a choice that is not made yet. */
export const findStoredMethod = (type: string): Method | undefined =>
  byType.get(type) ?? (type === undecided.type ? undecided : undefined)

const byKey: ReadonlyMap<string, Method> = new Map(allMethods.map(row => [row.key, row]))

/** Finds a method by the name of its object in requests. */
export const findMethodByKey = (key: string): Method | undefined => byKey.get(key)

/** AUTOMATIC if the method has it. */
export const defaultCapture = (method: Method): CaptureType =>
  method.capture.find(type => type === 'AUTOMATIC') ?? method.capture[0] ?? 'AUTOMATIC'

export interface Misfit {
  readonly field: string
  readonly error: string
}

type MethodUse = Pick<
  CreatePayment,
  'amount' | 'paymentMethods' | 'captureMethod' | 'billingAddress' | 'shipping'
>

/** The first field of a request that the method's row does not allow, and what is allowed. */
export function findMisfit(method: Method, use: MethodUse): Misfit | undefined {
  const { integrationType, type: _, ...objects } = use.paymentMethods
  if (!method.integration.includes(integrationType))
    return misfit('paymentMethods.integrationType', integrationType, method, method.integration)
  const object = findObjectMisfit(method, objects, 'create') ?? findMissingMembers(method, use)
  if (object !== undefined) return object
  const brand = findBrandMisfit(use.paymentMethods.card)
  if (brand !== undefined) return brand
  const currency = findCurrencyMisfit(method, use.amount.currency)
  if (currency !== undefined) return currency
  const country = findCountry(use)
  if (country !== undefined && method.countries !== '*' && !method.countries.includes(country.code))
    return misfit(country.field, country.code, method, method.countries)
  return findCaptureMisfit(method, use.captureMethod?.type)
}

export const findCaptureMisfit = (method: Method, type: CaptureType | undefined): Misfit | undefined =>
  type === undefined || method.capture.includes(type)
    ? undefined
    : misfit('captureMethod.type', type, method, method.capture)

export const findCurrencyMisfit = (method: Method, currency: string): Misfit | undefined =>
  method.currencies === '*' || method.currencies.includes(currency)
    ? undefined
    : misfit('amount.currency', currency, method, method.currencies)

/** The country of a payment, and the field that names it; undefined if the request names none. */
export function findCountry({
  billingAddress,
  shipping,
}: Pick<MethodUse, 'billingAddress' | 'shipping'>): { field: string; code: string } | undefined {
  const billing = billingAddress?.country
  if (billing !== undefined) return { field: 'billingAddress.country', code: billing }
  const delivery = shipping?.address?.country
  return delivery === undefined ? undefined : { field: 'shipping.address.country', code: delivery }
}

/**
 * Errors in the method objects of a request that a schema cannot express: an object of another method, a missing
 * object, or members that the method's family does not have.
 */
export function findObjectMisfit(
  method: Method,
  sent: Readonly<Record<string, unknown>> | undefined,
  operation: MethodOperationName,
): Misfit | undefined {
  const own = `paymentMethods.${method.key}`
  const foreign = Object.keys(sent ?? {}).find(key => key !== method.key)
  if (foreign !== undefined)
    return { field: `paymentMethods.${foreign}`, error: `${method.type} takes only the object ${method.key}` }
  const object = sent?.[method.key]
  if (object === undefined && neededObjects[operation]?.includes(method.key))
    return {
      field: sent === undefined ? 'paymentMethods' : own,
      error: `${sent === undefined ? 'paymentMethods' : own} is missing; ${method.type} needs ${own} here`,
    }
  return operation === 'refund' && !Object.hasOwn(refundObjects, method.key)
    ? findRefundMisfit(method, object)
    : undefined
}

/**
 * The schema of refunds accepts an account and a capture under any other key, but only vouchers may have an account,
 * and only methods with several captures name one.
 */
function findRefundMisfit(method: Method, object: unknown): Misfit | undefined {
  const allowed = refundMembers(method)
  const member = Object.keys(Object(object)).find(name => !allowed.includes(name))
  if (member === undefined) return undefined
  const instead = allowed.length > 0 ? `: ${allowed.join(', ')}` : ' is an empty object'
  return {
    field: `paymentMethods.${method.key}.${member}`,
    error: `${method.type} takes no ${member}; allowed${instead}`,
  }
}

/** By the row, because an account that was narrowed since still has payments with several captures. */
function refundMembers(method: Method): readonly string[] {
  const { family, operations } = findMethod(method.type) ?? method
  if (family === 'voucher') return Object.keys(voucherRefund.properties)
  return operations.includes('multi_capture') ? Object.keys(captureRefund.properties) : []
}

/** A DIRECT payment must contain the method's object if that has required members. */
function findMissingMembers(method: Method, { paymentMethods }: MethodUse): Misfit | undefined {
  const needed = directMembers[method.key]?.needed ?? []
  const isMissing = needed.length > 0 && !Object.hasOwn(paymentMethods, method.key)
  return paymentMethods.integrationType === 'DIRECT' && isMissing
    ? { field: `paymentMethods.${method.key}`, error: `is required for ${method.type} and DIRECT` }
    : undefined
}

const misfit = (field: string, given: string, method: Method, allowed: readonly string[]): Misfit => ({
  field,
  error: `${method.type} does not support ${given}; allowed: ${allowed.join(', ')}`,
})

/** The error if the named brand cannot be on a card with this number. The text never repeats the number. */
export function findBrandMisfit(
  card: { readonly number?: string; readonly brand?: string } | undefined,
): Misfit | undefined {
  if (card?.number === undefined || card.brand === undefined || isOneTimeToken(card.number)) return undefined
  if (mayBear(card.number, card.brand)) return undefined
  return {
    field: 'paymentMethods.card.brand',
    error: `${card.brand} is not the brand of this card number; allowed: ${detectBrand(card.number)}`,
  }
}
