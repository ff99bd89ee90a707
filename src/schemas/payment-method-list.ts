/** Query and answer of `GET /payment-methods`: the rows of the catalogue, with the capabilities of each method. */
import type { Static } from 'typebox'
import { choice, closed, flag, formatted, optional, text, whole } from '#schemas/parts/fields.ts'
import { Type } from '#schemas/parts/type.ts'

const integrationTypes = ['HOSTED', 'DIRECT'] as const
/** The operations of payment methods, in the order of rows and answers. */
export const methodOperations = [
  'capture',
  'partial_capture',
  'multi_capture',
  'increment',
  'reverse',
  'refund',
  'partial_refund',
  'credit',
  'recurring',
] as const
const families = [
  'card',
  'direct_debit',
  'bank_redirect',
  'open_banking',
  'bank_transfer',
  'qr',
  'wallet',
  'mobile',
  'bnpl',
  'instalment',
  'invoice',
  'voucher',
  'prepaid',
  'gift_card',
  'carrier_billing',
  'crypto',
  'cash_on_delivery',
] as const

export const methodFilter = closed(
  {
    currency: optional(formatted('currency', 'Methods that take this currency, ISO 4217.')),
    country: optional(
      formatted('country', 'Methods for customers in this country, ISO 3166-1 alpha-3 or alpha-2.'),
    ),
    integrationType: optional(choice(integrationTypes, 'Methods that can be integrated like this.')),
    operation: optional(choice(methodOperations, 'Methods whose payments can be followed by this.')),
    family: optional(choice(families, 'Methods of this kind.')),
  },
  { title: 'PaymentMethodFilter', description: 'Every condition that is given must hold.' },
)
export type MethodFilter = Static<typeof methodFilter>

/** `['*']` stands for any: `*` is no code of either standard, and the value is always a list. */
const codes = (description: string) =>
  Type.Array(Type.String({ pattern: '^([A-Z]{3}|\\*)$' }), { minItems: 1, description })

export const listedMethod = closed(
  {
    type: text(40, 'The name in `paymentMethods.type`.'),
    key: text(40, "The name of the method's object under `paymentMethods`."),
    name: text(128, 'The name shown to customers: the one that the account gives, where it gives one.'),
    family: choice(families, 'What kind of method it is.'),
    core: flag('Whether hosted pages offer it to merchants who have not chosen.'),
    flow: choice(
      ['direct', 'multi_step', 'redirect', 'qr', 'voucher', 'transfer'],
      'How the customer gets from the request to the approval.',
    ),
    integrationTypes: Type.Array(choice(integrationTypes, 'A way to integrate it.'), {
      minItems: 1,
      description: 'The ways to integrate it.',
    }),
    captureMethods: Type.Array(choice(['AUTOMATIC', 'MANUAL', 'DELAYED'], 'A capture method.'), {
      minItems: 1,
      description: 'The capture methods; the default is AUTOMATIC, or the first where that is missing.',
    }),
    operations: Type.Array(choice(methodOperations, 'An operation.'), {
      description: 'What can be done after the approval.',
    }),
    currencies: codes('ISO 4217 codes; `*` alone for any.'),
    countries: codes('ISO 3166-1 alpha-3 codes of the customers it is for; `*` alone for any.'),
    authorizationDays: optional(whole(1, 366, 'How long an authorisation lives, in days.')),
    capturePercentMax: optional(whole(100, 1_000, 'How much of the authorised amount captures may reach.')),
    clientTokenMinutes: optional(whole(1, 1_440, 'How long the client token of a create is good.')),
  },
  { title: 'PaymentMethod', description: 'A payment method and what it can do.' },
)
export type ListedMethod = Static<typeof listedMethod>

export const methodList = closed(
  {
    totalNumberOfItems: whole(0, 100_000, 'How many methods fit.'),
    data: Type.Array(listedMethod, { description: 'All of them, the core methods first.' }),
  },
  { title: 'PaymentMethodList', description: 'The payment methods that fit.' },
)
