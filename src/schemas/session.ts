/** Checkout sessions and payment links, whose page lets the customer choose the method. */
import type { Static } from 'typebox'
import { eventToken, threeDsPolicy } from '#methods/fields/card.ts'
import { demand, paymentDetails, paysSomething } from '#schemas/create-payment.ts'
import { createAmount, operationAmount } from '#schemas/parts/amount.ts'
import { choice, closed, filled, formatted, optional, text } from '#schemas/parts/fields.ts'
import { methodType, payId, refNr, transId } from '#schemas/parts/identifiers.ts'
import { metadata } from '#schemas/parts/metadata.ts'
import { Type } from '#schemas/parts/type.ts'
import { links, responseCode, responseDescription } from '#schemas/result.ts'

const cardPreferences = closed(
  { eventToken: optional(eventToken), threeDsPolicy: optional(threeDsPolicy) },
  { title: 'CardPreferences', description: 'What holds if the customer pays by card.' },
)

/** The methods that the page offers. */
export const pageFields = {
  /** 1,000: more than the catalogue has. */
  allowedPaymentMethod: optional(
    Type.Array(methodType, {
      minItems: 1,
      maxItems: 1000,
      uniqueItems: true,
      description: 'The methods to choose from; all that fit unless given.',
    }),
  ),
  template: optional(
    text(64, "Name of the look of the page; the merchant's own unless given.", {
      pattern: '^[A-Za-z0-9_-]+$',
    }),
  ),
}

const body = {
  transId,
  amount: createAmount,
  ...paymentDetails,
  ...pageFields,
  paymentMethods: optional(
    closed(
      { card: optional(cardPreferences) },
      { title: 'SessionPaymentMethods', description: 'Preferences; the customer chooses the method.' },
    ),
  ),
}

export const createSession = closed(body, {
  title: 'CreateSession',
  description: 'A checkout page on which the customer chooses how to pay.',
  allOf: [{ properties: { urls: demand(['return', 'cancel']) }, required: ['urls'] }, paysSomething],
})
export type CreateSession = Static<typeof createSession>

export const linkFields = {
  description: optional(text(280, 'What the payment is for, shown to the customer.')),
  linkType: optional(
    choice(['ONE_TIME', 'TOKENIZE'], 'ONE_TIME pays once; TOKENIZE also keeps the card for later payments.'),
  ),
}

export const createLink = closed(
  { ...body, ...linkFields },
  {
    title: 'CreateLink',
    description: 'A page to pay on, for sending its address around.',
    allOf: [paysSomething],
  },
)
export type CreateLink = Static<typeof createLink>

const expirationTime = formatted('date-time', 'When the page is over, UTC.')

export const session = closed(
  {
    payId,
    transId,
    refNr: optional(refNr),
    status: choice(['AUTHORIZE_REQUEST'], 'The customer is to act.'),
    responseCode,
    responseDescription,
    expirationTime,
    metadata: optional(metadata),
    _links: links,
  },
  { title: 'Session', description: 'A checkout page and the payment behind it.' },
)

export const linkStates = ['ACTIVE', 'COMPLETED', 'EXPIRED', 'CANCELLED'] as const

const linkStatus = choice(linkStates, 'Whether the link can be paid, and if not, why.')

export const link = closed(
  {
    id: text(64, 'Id of the link.'),
    payId,
    transId,
    status: linkStatus,
    expirationTime,
    amount: optional(operationAmount),
    ...linkFields,
    creationDate: optional(formatted('date-time', 'When the link was made.')),
    _links: links,
  },
  { title: 'PaymentLink', description: 'A payment link.' },
)

export const linkQuery = closed(
  {
    status: optional(text(64, 'One state, or several separated by commas.')),
    limit: optional(
      text(3, 'How many on a page, 1 to 100; 20 unless given.', { pattern: '^(?:[1-9][0-9]?|100)$' }),
    ),
    cursor: filled(512, 'nextCursor of the page before, with the same filters.'),
  },
  { title: 'LinkQuery', description: 'Which links.' },
)
export type LinkQuery = Static<typeof linkQuery>

export const linkList = closed(
  {
    data: Type.Array(link, { maxItems: 100, description: 'The newest first.' }),
    nextCursor: optional(text(512, 'Where the next page begins; absent on the last one.')),
  },
  { title: 'LinkList', description: 'One page of links.' },
)

export const updateLink = closed(
  {
    expirationTime: optional(formatted('date-time', 'When the link is over.')),
    description: linkFields.description,
  },
  {
    title: 'UpdateLink',
    description: 'What is to be changed; at least one of both.',
    minProperties: 1,
  },
)
export type UpdateLink = Static<typeof updateLink>
