/** Look-ups in the table of payment methods, and the check of a request against its method's row. */
import { type CaptureType, type Method, rows } from '#methods/rows.ts'
import type { CreatePayment } from '#schemas/create-payment.ts'
import { directMembers } from '#schemas/method-objects.ts'

/** Every method of the catalogue, served or not; the core ones first. */
export const allMethods: readonly Method[] = rows

const byType: ReadonlyMap<string, Method> = new Map(allMethods.map(row => [row.type, row]))

export const findCatalogueMethod = (type: string): Method | undefined => byType.get(type)

/** What the gateway can serve today. The other rows wait for their flows: a request for one is not half served. */
export const servedTypes: ReadonlySet<string> = new Set(['CARD'])

export const methodTypes: readonly string[] = allMethods
  .map(row => row.type)
  .filter(type => servedTypes.has(type))

export const findMethod = (type: string): Method | undefined =>
  servedTypes.has(type) ? findCatalogueMethod(type) : undefined

/** AUTOMATIC unless the method lacks it. */
export const defaultCapture = (method: Method): CaptureType =>
  method.capture.find(type => type === 'AUTOMATIC') ?? method.capture[0] ?? 'AUTOMATIC'

export interface Misfit {
  readonly field: string
  readonly error: string
}

type MethodUse = Pick<CreatePayment, 'amount' | 'paymentMethods' | 'captureMethod'>

/** What a request asks of its method that the row does not have: the field, and what is allowed. */
export function findMisfit(method: Method, use: MethodUse): Misfit | undefined {
  const { integrationType } = use.paymentMethods
  const capture = use.captureMethod?.type
  if (!method.integration.includes(integrationType))
    return misfit('paymentMethods.integrationType', integrationType, method, method.integration)
  const object = findObjectMisfit(method, use.paymentMethods)
  if (object !== undefined) return object
  if (method.currencies !== '*' && !method.currencies.includes(use.amount.currency))
    return misfit('amount.currency', use.amount.currency, method, method.currencies)
  if (capture !== undefined && !method.capture.includes(capture))
    return misfit('captureMethod.type', capture, method, method.capture)
  return undefined
}

/** Only the payment's own method object is taken, and a DIRECT payment must bring it where it has members it needs. */
function findObjectMisfit(method: Method, sent: MethodUse['paymentMethods']): Misfit | undefined {
  const { integrationType, type: _, ...objects } = sent
  const foreign = Object.keys(objects).find(key => key !== method.key)
  if (foreign !== undefined)
    return { field: `paymentMethods.${foreign}`, error: `${method.type} takes only the object ${method.key}` }
  const needed = directMembers[method.key]?.needed ?? []
  if (integrationType === 'DIRECT' && needed.length > 0 && !Object.hasOwn(objects, method.key))
    return { field: `paymentMethods.${method.key}`, error: `is required for ${method.type} and DIRECT` }
  return undefined
}

const misfit = (field: string, given: string, method: Method, allowed: readonly string[]): Misfit => ({
  field,
  error: `${method.type} does not support ${given}; allowed: ${allowed.join(', ')}`,
})
