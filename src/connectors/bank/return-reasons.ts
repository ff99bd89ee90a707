/** Why banks reject and return payments (ISO 20022 external reason codes), and our response codes for them. */
import type { ProviderFacts } from '#lifecycle/outcome.ts'

/** The last four digits of the response code: 03 and the code that a card issuer would have used. */
const details: Readonly<Record<string, string>> = {
  AM04: '0351',
  AC01: '0314',
  AC04: '0314',
  AC06: '0314',
  MD01: '0357',
  MD06: '0357',
  MS02: '0357',
}

export const detailOf = (reason: string | undefined): string => details[reason ?? ''] ?? '0305'

/** The bank's own reason code, as records and events show it. */
export const reasonFacts = (reason: string | undefined): Pick<ProviderFacts, 'responseCode' | 'fields'> =>
  reason === undefined ? {} : { responseCode: reason, fields: { reasonCode: reason.slice(0, 35) } }

/** The account is closed, there is no mandate, the customer wants the money back, or has died. */
const endings: ReadonlySet<string> = new Set(['AC04', 'MD01', 'MD06', 'MD07'])

/** Whether nothing may be collected under this mandate any more. */
export const endsMandate = (reason: string | undefined): boolean => endings.has(reason ?? '')
