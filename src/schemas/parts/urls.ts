/** The addresses for the customer's return and for webhooks. */
import type { Static } from 'typebox'
import { closed, formatted, givenUrl, optional } from '#schemas/parts/fields.ts'

export const urls = closed(
  {
    return: optional(givenUrl('Where the customer goes after paying.')),
    cancel: optional(givenUrl('Where the customer goes after giving up.')),
    webhook: optional(givenUrl('Where we report the result.')),
  },
  { title: 'Urls', description: "Addresses of the merchant's shop." },
)
export type Urls = Static<typeof urls>

const appUrl = (description: string) => formatted('app-uri', description, { maxLength: 2048 })

/** An app may use its own URL scheme for the customer's return. */
export const appUrls = closed(
  {
    return: optional(
      appUrl('Where the customer goes after paying: a web address, or one of your app (myapp://done).'),
    ),
    cancel: optional(appUrl('Where the customer goes after giving up.')),
    webhook: optional(givenUrl('Where we report the result.')),
  },
  { title: 'AppUrls', description: "Addresses of the merchant's shop or app." },
)
