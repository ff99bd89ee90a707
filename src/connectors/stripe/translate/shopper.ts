/** Translates customer, shipping and texts of a payment into Stripe's fields. */
import type { PaymentContext } from '#connectors/contract.ts'
import { type Form, textAt, type Wire, wireAt } from '#connectors/stripe/translate/wire.ts'
import { findCountryByAlpha3 } from '#domain/countries.ts'
import { toStatementText } from '#domain/text.ts'

const words = (...parts: readonly (string | undefined)[]): string | undefined => {
  const text = parts.filter(part => part !== undefined).join(' ')
  return text === '' ? undefined : text
}

function toAddress(address: Wire | undefined): Form | undefined {
  const line1 = words(textAt(address, 'streetName'), textAt(address, 'streetNumber'))
  const country = findCountryByAlpha3(textAt(address, 'country') ?? '')?.alpha2
  const form = {
    line1,
    line2: words(textAt(address, 'addressLine2'), textAt(address, 'addressLine3')),
    city: textAt(address, 'city'),
    state: textAt(address, 'state'),
    postal_code: textAt(address, 'postalCode'),
    country,
  }
  return Object.values(form).some(value => value !== undefined) ? form : undefined
}

function toPhone(phone: Wire | undefined): string | undefined {
  const country = textAt(phone, 'countryCode')?.replace('+', '')
  const number = textAt(phone, 'number')
  return country === undefined || number === undefined ? undefined : `+${country}${number}`
}

/** Uses the customer's name if the cardholder's is unknown. */
export function toBillingDetails(payment: PaymentContext, holderName?: string): Form | undefined {
  const { customer, billing } = payment
  const form = {
    name: holderName ?? words(textAt(customer, 'firstName'), textAt(customer, 'lastName')),
    email: textAt(customer, 'email'),
    phone: toPhone(wireAt(customer, 'phone')),
    address: toAddress(billing),
  }
  return Object.values(form).some(value => value !== undefined) ? form : undefined
}

/**
 * Stripe requires a name and a first address line; an address without them is left out, so that the payment is not
 * refused.
 */
export function toShipping({ shipping }: PaymentContext): Form | undefined {
  const place = wireAt(shipping, 'address')
  const address = toAddress(place)
  const name = words(textAt(place, 'firstName'), textAt(place, 'lastName')) ?? textAt(place, 'companyName')
  if (address?.line1 === undefined || name === undefined) return undefined
  return { name, address, phone: toPhone(wireAt(place, 'phone')), carrier: textAt(shipping, 'type') }
}

/** The description in Stripe's dashboard. 500 characters: far below Stripe's limit. */
export const toDescription = ({ order, transId }: PaymentContext): string =>
  (textAt(order, 'description') ?? transId).slice(0, 500)

/**
 * The text on the customer's statement: at most 22 plain characters that Stripe accepts, with at least one letter. For
 * cards it is a suffix of the account's own descriptor.
 */
export function toDescriptor({ descriptor }: PaymentContext, card: boolean): Form {
  const text = toStatementText(descriptor, /[<>\\'"*]/g)
  if (text === undefined || !/[A-Za-z]/.test(text)) return {}
  if (card) return { statement_descriptor_suffix: text }
  return text.length < 5 ? {} : { statement_descriptor: text }
}

/** The languages of Stripe's page. */
const locales: ReadonlySet<string> = new Set(
  `bg cs da de el en en-GB es es-419 et fi fil fr fr-CA hr hu id it ja ko lt lv ms mt nb nl pl pt pt-BR ro ru sk sl sv th
  tr vi zh zh-HK zh-TW`.split(/\s+/),
)

/** The language, without its region if Stripe does not support that. Undefined: Stripe uses the browser's language. */
export function toLocale(language: string | undefined): string | undefined {
  if (language === undefined) return undefined
  if (locales.has(language)) return language
  const [primary = ''] = language.split('-')
  return locales.has(primary) ? primary : undefined
}
