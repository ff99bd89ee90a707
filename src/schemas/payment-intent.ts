/**
 * Payment intents: the requests with which the shop's server prepares one and the app confirms it, and the answers. An
 * intent has the fields of a payment, except those that only the shop's server knows when the customer pays.
 */
import type { Static } from 'typebox'
import { directMembers, otherObject } from '#methods/fields/objects.ts'
import { providerMWallet } from '#methods/fields/provider-m.ts'
import {
  createPaymentMethods,
  demand,
  integratedBy,
  paymentDetails,
  refuse,
} from '#schemas/create-payment.ts'
import { amount } from '#schemas/parts/amount.ts'
import { browserInfo } from '#schemas/parts/browser-info.ts'
import { choice, closed, closedBut, formatted, optional, when } from '#schemas/parts/fields.ts'
import { payId, paymentIntentId, refNr, transId } from '#schemas/parts/identifiers.ts'
import { metadata } from '#schemas/parts/metadata.ts'
import { appUrls } from '#schemas/parts/urls.ts'
import { failedResult, operationResult } from '#schemas/result.ts'

const { credentialOnFile: _, referencePayId: __, ...intentDetails } = paymentDetails

export const createIntent = closed(
  { transId: optional(transId), amount: optional(amount), ...intentDetails, urls: optional(appUrls) },
  {
    title: 'CreatePaymentIntent',
    description: 'What the app is to pay. All may be left out; without an amount it cannot be confirmed.',
  },
)
export type CreateIntent = Static<typeof createIntent>

export const createdIntent = closed(
  { id: paymentIntentId },
  { title: 'CreatedPaymentIntent', description: 'The intent, for the app and for its access token.' },
)

/** As for a payment; also, a wallet must send its payload. */
export const intentMembers: typeof directMembers = {
  ...directMembers,
  providerM: {
    needed: ['merchantIdentifierOfPublicKey', 'token'],
    pageOnly: ['merchantIdentifierOfPublicKey', 'token'],
  },
}

const memberRules = (rule: (members: (typeof intentMembers)[string]) => unknown) => ({
  properties: Object.fromEntries(Object.entries(intentMembers).map(([key, members]) => [key, rule(members)])),
})

export const confirmIntent = closedBut(
  {
    ...createPaymentMethods.properties,
    providerM: optional(providerMWallet),
    browserInfo: optional(browserInfo),
  },
  otherObject,
  {
    title: 'ConfirmPaymentIntent',
    description: "The method to pay with, one object named by its key, and the customer's browser.",
    // Two conditions instead of an else, so that a missing integrationType is the only error.
    allOf: [
      when(
        integratedBy('DIRECT'),
        memberRules(members => demand(members.needed)),
      ),
      when(
        integratedBy('HOSTED'),
        memberRules(members => refuse(members.pageOnly)),
      ),
    ],
  },
)
export type ConfirmIntent = Static<typeof confirmIntent>

export const intentResult = closed(
  { ...operationResult.properties, paymentIntentId },
  { title: 'PaymentIntentResult', description: 'A payment from an intent that is done or under way.' },
)

/** The id is missing if a reused idempotency key was refused before the intent was read. */
export const failedIntent = closed(
  { ...failedResult.properties, paymentIntentId: optional(paymentIntentId) },
  { title: 'FailedPaymentIntent', description: 'A confirmation that was refused or declined.' },
)

export const intentRecord = closed(
  {
    id: paymentIntentId,
    status: choice(
      ['OPEN', 'PROCESSING', 'SUCCEEDED', 'FAILED', 'CANCELLED', 'EXPIRED'],
      'Whether the intent can be paid, is being paid, or why it cannot be any more.',
    ),
    amount: optional(amount),
    transId: optional(transId),
    refNr: optional(refNr),
    payId: optional(payId),
    expirationTime: formatted('date-time', 'Until when it can be paid.'),
    creationDate: formatted('date-time', 'When it was created.'),
    metadata: optional(metadata),
  },
  { title: 'PaymentIntent', description: 'A payment intent; metadata is for the merchant alone.' },
)
