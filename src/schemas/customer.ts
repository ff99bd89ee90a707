/** Customers and their stored payment methods: lists, details and changes. */
import type { Static, TProperties } from 'typebox'
import { nameMax, phone } from '#schemas/parts/address.ts'
import {
  choice,
  closed,
  emailFilter,
  filled,
  flag,
  formatted,
  optional,
  text,
  whole,
} from '#schemas/parts/fields.ts'
import { methodType, ownId } from '#schemas/parts/identifiers.ts'
import { Type } from '#schemas/parts/type.ts'

/** In the API contract the times of customers have no zone; they are UTC. */
const moment = (description: string) =>
  text(23, `${description} UTC, without a zone.`, {
    pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{3})?$',
  })

const lines = {
  streetName: text(64, 'Street.'),
  city: text(64, 'City.'),
  postalCode: text(16, 'Postal code.'),
  state: text(64, 'State, province or region.'),
  country: formatted('alpha3', 'Country, ISO 3166-1 alpha-3.'),
}

export const customerAddress = closed(
  {
    streetName: optional(lines.streetName),
    city: optional(lines.city),
    postalCode: optional(lines.postalCode),
    state: optional(lines.state),
    country: optional(lines.country),
  },
  { title: 'CustomerAddress', description: 'Where the customer lives.' },
)
export type CustomerAddress = Static<typeof customerAddress>

const email = formatted('email', 'Email address.', { maxLength: 254 })

const listed = {
  id: ownId('Our id of the customer.'),
  merchantCustomerId: text(64, "The merchant's id of the customer."),
  firstName: optional(text(nameMax, 'First name.')),
  lastName: optional(text(nameMax, 'Last name.')),
  email,
  phone: optional(phone),
  scope: choice(['MERCHANT'], 'Who may use the customer: this merchant alone.'),
  createdAt: moment('When the first payment of the customer succeeded.'),
  updatedAt: moment('When the data of the customer last changed.'),
}

export const customerItem = closed(listed, { title: 'CustomerItem', description: 'A customer in a list.' })

export const customerDetail = closed(
  {
    ...listed,
    billingAddress: optional(customerAddress),
    lastUsedAt: moment('When a payment of the customer last succeeded.'),
  },
  { title: 'Customer', description: 'A customer of the vault.' },
)

/** The page size of the API contract. */
export const pageSize = 20

const wrapper = <Item extends TProperties>(item: ReturnType<typeof closed<Item>>, title: string) =>
  closed(
    {
      totalNumberOfPages: whole(0, Number.MAX_SAFE_INTEGER, 'How many pages there are.'),
      totalNumberOfItems: whole(0, Number.MAX_SAFE_INTEGER, 'How many there are on all pages.'),
      page: whole(1, 2_147_483_647, 'The page that was asked for.'),
      pageSize: whole(1, pageSize, 'How many fit on a page.'),
      data: Type.Array(item, { maxItems: pageSize, description: 'The newest first; empty beyond the end.' }),
    },
    { title, description: 'One page of a list.' },
  )

export const customerList = wrapper(customerItem, 'CustomerList')

/** Query parameters are text, so numbers and days are validated as text. */
export const customerQuery = closed(
  {
    page: text(10, 'The page, from 1.', { pattern: '^[1-9][0-9]{0,9}$' }),
    createdFrom: optional(formatted('date', 'Created on this day (UTC) or later.')),
    createdTo: optional(formatted('date', 'Created on this day (UTC) or earlier.')),
    merchantCustomerId: filled(64, "The merchant's id of the customer."),
    email: emailFilter('Email address; upper and lower case are the same.'),
    phoneCountry: optional(
      // A plus sign that is not percent-encoded arrives as a space.
      text(5, 'Country code of the telephone, with or without a plus sign.', {
        pattern: '^[+ ]?[0-9]{1,4}$',
      }),
    ),
    phoneNumber: optional(
      text(15, 'Telephone number without the country code.', { pattern: '^[0-9]{1,15}$' }),
    ),
  },
  { title: 'CustomerQuery', description: 'Which page, and which customers. All conditions must hold.' },
)
export type CustomerQuery = Static<typeof customerQuery>

const clearable = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) =>
  optional(Type.Union([schema, Type.Null({ description: 'Clears it.' })]))

export const customerPatch = closed(
  {
    firstName: clearable(text(nameMax, 'First name.')),
    lastName: clearable(text(nameMax, 'Last name.')),
    email: optional(email),
    phone: clearable(phone),
    billingAddress: clearable(
      closed(
        {
          streetName: clearable(lines.streetName),
          city: clearable(lines.city),
          postalCode: clearable(lines.postalCode),
          state: clearable(lines.state),
          country: clearable(lines.country),
        },
        { title: 'CustomerAddressPatch', description: 'The lines that change.', minProperties: 1 },
      ),
    ),
  },
  {
    title: 'CustomerPatch',
    description: 'What changes; at least one field. Null clears it, what is left out stays.',
    minProperties: 1,
  },
)
export type CustomerPatch = Static<typeof customerPatch>

const method = {
  id: ownId('Our id of the stored payment method.'),
  type: methodType,
  last4Digits: text(4, 'Last four digits of a card, last four characters of the IBAN of an account.'),
  pseudoCardNumber: optional(
    text(16, 'Number that stands for the card at this merchant. Cards always have one.'),
  ),
  cardHolderName: optional(text(45, 'Name on the card.')),
  brand: optional(text(64, 'Card network. Cards always have one.')),
  expiryDate: optional(formatted('expiry-date', 'Last month of the card, YYYYMM.')),
  pseudoBankAccountNumber: optional(
    text(22, 'Number that stands for the account at this merchant. Accounts always have one.'),
  ),
  accountHolderName: optional(text(nameMax, 'Name of the holder of the account.')),
  createdAt: moment('When it was stored.'),
  updatedAt: moment('When its data last changed.'),
  lastUsedAt: moment('When a payment with it last succeeded.'),
}

export const storedMethodItem = closed(method, {
  title: 'StoredMethodItem',
  description: 'What a customer may pay with again, masked.',
})

export const storedMethodDetail = closed(
  { ...method, gatewayCustomerId: ownId('Our id of the customer.') },
  { title: 'StoredMethod', description: 'One stored payment method of a customer.' },
)

/** 1000: more cards than any person has. If there are more, the last used ones are shown. */
export const methodsMax = 1_000

export const storedMethodList = closed(
  {
    gatewayCustomerId: ownId('Our id of the customer.'),
    data: Type.Array(storedMethodItem, { maxItems: methodsMax, description: 'The one used last first.' }),
  },
  { title: 'StoredMethodList', description: 'All stored payment methods of a customer.' },
)

export const deletion = closed(
  { id: ownId('What is gone.'), deleted: flag('Always true.') },
  { title: 'Deletion', description: 'Something was deleted and will not be found again.' },
)
