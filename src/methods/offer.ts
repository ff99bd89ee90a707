/** The methods that a hosted page offers: those of the merchant that fit the payment, or the payment's own one. */
import { allMethods, findCountry, findMethod } from '#methods/catalogue.ts'
import { undecided } from '#methods/method.ts'
import type { CaptureType, Method } from '#methods/rows.ts'

/** The part of a payment that decides which methods fit. */
export interface Offerable {
  readonly method: Method
  readonly amount: { readonly value: number; readonly currency: string }
  readonly captureMethod: { readonly type: CaptureType }
  readonly details: Agreement &
    Parameters<typeof findCountry>[0] & { readonly allowedPaymentMethod?: readonly string[] }
  readonly own?: { readonly session?: boolean }
}

interface Agreement {
  readonly credentialOnFile?: { readonly initialPayment?: boolean }
}

const coreMethods: readonly Method[] = allMethods.filter(({ core }) => core)

/** `chosen`: the merchant's types, in the merchant's order. Defaults to the core methods. */
export function offeredMethods(payment: Offerable, chosen?: readonly string[]): readonly Method[] {
  const { method, details, own } = payment
  const allowed = details.allowedPaymentMethod
  // A payment that was created for one method offers that one. A session offers all methods, even after a try.
  if (method !== undecided && own?.session !== true) return [method]
  const methods =
    allowed && chosen === undefined ? toMethods(allowed) : chosen ? toMethods(chosen) : coreMethods
  return methods.filter(row => (allowed === undefined || allowed.includes(row.type)) && fits(row, payment))
}

const toMethods = (types: readonly string[]): readonly Method[] =>
  types.map(findMethod).filter(method => method !== undefined)

function fits(method: Method, { amount, captureMethod, details }: Offerable): boolean {
  const country = findCountry(details)
  return (
    method.integration.includes('HOSTED') &&
    // An amount of zero only verifies the card, and only cards can be verified.
    (amount.value > 0 || method.family === 'card') &&
    (method.currencies === '*' || method.currencies.includes(amount.currency)) &&
    (country === undefined || method.countries === '*' || method.countries.includes(country.code)) &&
    // AUTOMATIC is also the default, so the merchant may not have asked for it.
    (captureMethod.type === 'AUTOMATIC' || method.capture.includes(captureMethod.type)) &&
    (!beginsAgreement(details) || method.operations.includes('recurring'))
  )
}

/** A customer who agrees to later charges must pay with a method that can be charged again. */
export const beginsAgreement = ({ credentialOnFile }: Agreement): boolean =>
  credentialOnFile?.initialPayment === true

/** The form that a page shows for a method before its provider is called. */
export type MethodForm = 'card' | 'account' | 'none'

export const formOf = ({ family, key }: Method): MethodForm =>
  family === 'card' ? 'card' : key === 'directDebit' ? 'account' : 'none'
