/** Where the customer goes back to, and where we report to. */
import type { Static } from 'typebox'
import { closed, optional, url } from '#schemas/fields.ts'

export const urls = closed(
  {
    return: optional(url('Where the customer goes after paying.')),
    cancel: optional(url('Where the customer goes after giving up.')),
    webhook: optional(url('Where we report the result.')),
  },
  { title: 'Urls', description: "Addresses of the merchant's shop." },
)
export type Urls = Static<typeof urls>
