/**
 * The path of everything that belongs to one payment. Any text is accepted here: one that is not an id of ours is not
 * found.
 */
import { Type } from '#schemas/parts/type.ts'

export const paymentPath = Type.Object({
  id: Type.String({ maxLength: 64, description: 'The payId of the payment.' }),
})
