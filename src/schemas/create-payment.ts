/** The request of `POST /payments`. The limits of the chosen method are checked against its row, not here. */
import type { Static } from 'typebox'
import { maximumAmount } from '#domain/money/money.ts'
import { createObjects, directMembers, otherObject } from '#methods/fields/objects.ts'
import { billingAddress, shipping } from '#schemas/parts/address.ts'
import { createAmount } from '#schemas/parts/amount.ts'
import { browserInfo } from '#schemas/parts/browser-info.ts'
import { captureMethod } from '#schemas/parts/capture-method.ts'
import { credentialOnFile } from '#schemas/parts/credential-on-file.ts'
import { customerInfo } from '#schemas/parts/customer-info.ts'
import { device } from '#schemas/parts/device.ts'
import { closed, closedBut, formatted, optional, text, when } from '#schemas/parts/fields.ts'
import { fraudData } from '#schemas/parts/fraud-data.ts'
import {
  channel,
  expirationTime,
  externalIntegrationId,
  integrationType,
  language,
  namedType,
  ownId,
  refNr,
  simulationMode,
  statementDescriptor,
  transId,
} from '#schemas/parts/identifiers.ts'
import { metadata } from '#schemas/parts/metadata.ts'
import { order } from '#schemas/parts/order.ts'
import { urls } from '#schemas/parts/urls.ts'

const line = (description: string) => optional(text(64, description))

/** The shop on whose behalf a merchant collects. */
export const paymentFacilitator = closed(
  {
    subMerchantId: line('Id of the shop.'),
    subMerchantName: line('Name of the shop.'),
    subMerchantCity: line('City.'),
    subMerchantCountry: optional(formatted('alpha2', 'Country, ISO 3166-1 alpha-2.')),
    subMerchantStreet: line('Street.'),
    subMerchantZip: optional(text(16, 'Postal code.')),
    subMerchantState: line('State, province or region.'),
  },
  { title: 'PaymentFacilitator', description: 'The shop a facilitator collects for.' },
)
export type PaymentFacilitator = Static<typeof paymentFacilitator>

/** A condition that these members exist. It repeats them as properties, because a strict validator requires that. */
export const demand = (names: readonly string[]) => ({
  type: 'object',
  properties: Object.fromEntries(names.map(name => [name, {}])),
  required: names,
})

/** A condition that these members do not exist. The schema `false` matches nothing, so the error names the member. */
export const refuse = (names: readonly string[]) => ({
  type: 'object',
  properties: Object.fromEntries(names.map(name => [name, false])),
})

const objectRules = (rule: (members: (typeof directMembers)[string]) => unknown) => ({
  properties: Object.fromEntries(Object.entries(directMembers).map(([key, members]) => [key, rule(members)])),
})

export const integratedBy = (type: string) => ({
  properties: { integrationType: { const: type } },
  required: ['integrationType'],
})

export const createPaymentMethods = closedBut(
  { integrationType, type: namedType, ...createObjects },
  otherObject,
  {
    title: 'CreatePaymentMethods',
    description: 'The method to pay with, and one object named by its key.',
    // Two conditions instead of an else, so that a missing integrationType is the only error.
    allOf: [
      when(
        integratedBy('DIRECT'),
        objectRules(members => demand(members.needed)),
      ),
      when(
        integratedBy('HOSTED'),
        objectRules(members => refuse(members.pageOnly)),
      ),
    ],
  },
)

/** All fields of a payment except its method, shared with sessions, links and intents. */
export const paymentDetails = {
  externalIntegrationId: optional(externalIntegrationId),
  refNr: optional(refNr),
  language: optional(language),
  captureMethod: optional(captureMethod),
  credentialOnFile: optional(credentialOnFile),
  order: optional(order),
  simulationMode: optional(simulationMode),
  urls: optional(urls),
  billingAddress: optional(billingAddress),
  shipping: optional(shipping),
  statementDescriptor: optional(statementDescriptor),
  customerInfo: optional(customerInfo),
  expirationTime: optional(expirationTime),
  fraudData: optional(fraudData),
  paymentFacilitator: optional(paymentFacilitator),
  browserInfo: optional(browserInfo),
  device: optional(device),
  channel: optional(channel),
  metadata: optional(metadata),
  referencePayId: optional(ownId('An earlier payment this one belongs to.')),
}

const hosted = {
  properties: {
    paymentMethods: {
      type: 'object',
      properties: { integrationType: { const: 'HOSTED' } },
      required: ['integrationType'],
    },
  },
  required: ['paymentMethods'],
}

/** A zero amount is allowed only for verifying a card. */
const verifiesAccount = {
  properties: {
    paymentMethods: {
      type: 'object',
      properties: {
        card: {
          type: 'object',
          properties: { eventToken: { const: 'ACCOUNT_VERIFICATION' } },
          required: ['eventToken'],
        },
      },
      required: ['card'],
    },
  },
  required: ['paymentMethods'],
}

/** Complete, so that the error about any wrong value tells this minimum. */
const something = { type: 'integer', minimum: 1, maximum: maximumAmount }

export const paysSomething = {
  if: verifiesAccount,
  else: { properties: { amount: { type: 'object', properties: { value: something } } } },
}

export const createPayment = closed(
  { transId, amount: createAmount, paymentMethods: createPaymentMethods, ...paymentDetails },
  {
    title: 'CreatePayment',
    description: 'A payment by one given method.',
    allOf: [
      when(hosted, { properties: { urls: demand(['return', 'cancel']) }, required: ['urls'] }),
      paysSomething,
    ],
  },
)
export type CreatePayment = Static<typeof createPayment>
