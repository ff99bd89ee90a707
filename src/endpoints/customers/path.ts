/**
 * The paths of customers and their stored methods. Any text is accepted here: one that is not an id of ours is not
 * found.
 */

import { type CustomerId, parseCustomerId, parseStoredMethodId } from '#domain/ids.ts'
import { NotFound } from '#http/server/ports.ts'
import type { MethodPath } from '#operations/customers/customers.ts'
import { Type } from '#schemas/parts/type.ts'

const customer = Type.String({ maxLength: 64, description: 'Our id of the customer.' })

export const customerPath = Type.Object({ id: customer })

export const methodPath = Type.Object({
  customerId: customer,
  paymentMethodId: Type.String({ maxLength: 64, description: 'Our id of the stored payment method.' }),
})

export function requireCustomerId(text: string): CustomerId {
  const customerId = parseCustomerId(text)
  if (!customerId) throw new NotFound()
  return customerId
}

export function requireMethodPath(params: { customerId: string; paymentMethodId: string }): MethodPath {
  const methodId = parseStoredMethodId(params.paymentMethodId)
  if (!methodId) throw new NotFound()
  return { customerId: requireCustomerId(params.customerId), methodId }
}
