/** Identifiers and short labels of many requests and answers. */
import { choice, formatted, freeTextMax, text } from '#schemas/parts/fields.ts'

/** The form of payId and xId, which domain/ids.ts parses. */
export const ownId = (description: string) => text(32, description, { pattern: '^[0-9a-f]{32}$' })

export const payId = ownId('Our id of the payment, the same for its whole life.')

export const xId = ownId('Our id of this one operation.')

export const paymentIntentId = text(35, 'The payment intent.', { pattern: '^pi_[0-9a-f]{32}$' })

export const transId = text(64, "The merchant's own id of the payment.", {
  minLength: 1,
  format: 'printable',
})

export const refNr = text(40, "The merchant's reference for this one operation.", { format: 'printable' })

export const merchantId = text(30, 'The id the merchant signs in with.')

export const externalIntegrationId = text(64, 'Names the shop system or plug-in that sends the request.', {
  format: 'printable',
})

export const statementDescriptor = text(22, "What the customer's statement of account shows.", {
  format: 'printable',
})

export const language = formatted('bcp47', 'Language of pages and messages for the customer.', {
  maxLength: 35,
})

export const simulationMode = text(
  9,
  'Test environment only: 0000 approves, any other four digits decline.',
  {
    pattern: '^(?:Test:)?[0-9]{4}$',
  },
)

export const expirationTime = formatted(
  'date-time',
  'When the customer must be done. Without a zone it is UTC.',
)

export const channel = choice(
  ['ECOM', 'MOTO', 'APP', 'PAYBYLINK', 'POS'],
  'Where the sale happens; ECOM if absent.',
)

/** Long enough for any type of the catalogue (22 at most) with room to grow. */
export const methodType = text(40, 'Type of the payment method, as listed in the catalogue.', {
  title: 'PaymentMethodType',
  pattern: '^[A-Z0-9_]+$',
})

/**
 * The type in requests. Any spelling passes here, because only the code that knows the catalogue can suggest the
 * intended type.
 */
export const namedType = text(40, 'Type of the payment method, such as CARD; GET /payment-methods lists all.')

export const integrationType = choice(
  ['HOSTED', 'DIRECT'],
  "HOSTED sends the customer to our page, DIRECT uses the merchant's own.",
)

export const orderDescription = text(freeTextMax, 'Short summary of the order, shown to the customer.')
