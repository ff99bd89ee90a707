/** Payment plans: records and lists, charges, and unscheduled payments. */
import type { Static, TProperties } from 'typebox'
import { demand, refuse } from '#schemas/create-payment.ts'
import { pageSize } from '#schemas/customer.ts'
import { amount, operationAmount, plainAmount } from '#schemas/parts/amount.ts'
import { captureMethod } from '#schemas/parts/capture-method.ts'
import { credentialOnFile } from '#schemas/parts/credential-on-file.ts'
import {
  choice,
  closed,
  flag,
  formatted,
  freeTextMax,
  givenUrl,
  optional,
  text,
  when,
  whole,
} from '#schemas/parts/fields.ts'
import {
  merchantId,
  ownId,
  payId,
  refNr,
  simulationMode,
  statementDescriptor,
  transId,
  xId,
} from '#schemas/parts/identifiers.ts'
import { metadata } from '#schemas/parts/metadata.ts'
import { order } from '#schemas/parts/order.ts'
import { Type } from '#schemas/parts/type.ts'
import { responseCode, responseDescription } from '#schemas/result.ts'

const statuses = ['PENDING', 'ACTIVE', 'PAUSED', 'SUSPENDED', 'CANCELLED', 'COMPLETED'] as const
const types = ['RECURRING', 'UNSCHEDULED'] as const

const paymentStatus = choice(
  ['AUTHORIZE_REQUEST', 'PENDING', 'AUTHORIZED', 'CAPTURE_REQUEST', 'OK', 'FAILED', 'REVERSED'],
  'Where the payment stands.',
)

const lastPayment = closed(
  { payId, status: paymentStatus, responseCode, creationDate: formatted('date-time', 'When it was made.') },
  { title: 'LastPlanPayment', description: 'The newest payment of the plan, whatever became of it.' },
)

export const planRecord = closed(
  {
    paymentPlanId: ownId('Our id of the plan.'),
    merchantId,
    gatewayCustomerId: optional(ownId('Our id of the customer.')),
    merchantCustomerId: optional(text(64, "The merchant's id of the customer.")),
    paymentMethodId: optional(ownId('The stored payment method that is charged.')),
    type: choice(types, 'With a schedule or without.'),
    status: choice(
      statuses,
      'PENDING until the initial payment is approved; PAUSED by the merchant; SUSPENDED when it can no longer be charged; COMPLETED after expiryDate.',
    ),
    amount: operationAmount,
    recurring: optional(credentialOnFile.properties.recurring),
    initialPayId: ownId('The payment by which the customer agreed.'),
    schemeReferenceId: optional(text(64, "The scheme's reference of the initial payment.")),
    numberOfPayments: whole(0, Number.MAX_SAFE_INTEGER, 'Approved payments, the initial one included.'),
    nextPaymentDate: optional(formatted('date', 'The next due day (UTC), while the plan is active.')),
    lastPayment: optional(lastPayment),
    metadata: optional(metadata),
    createdAt: formatted('date-time', 'When the initial payment was made.'),
    updatedAt: formatted('date-time', 'When the plan last changed.'),
    cancelledAt: optional(formatted('date-time', 'When it was cancelled.')),
    cancellationReason: optional(text(freeTextMax, 'Why it was cancelled.')),
  },
  { title: 'PaymentPlan', description: 'Permission to charge a customer again, and what came of it so far.' },
)

const planPayment = closed(
  {
    payId,
    xId,
    transId,
    refNr: optional(refNr),
    status: paymentStatus,
    responseCode,
    responseDescription,
    amount: operationAmount,
    sequence: whole(
      1,
      Number.MAX_SAFE_INTEGER,
      'Number of the payment within the plan; the initial one is 1.',
    ),
    initialPayment: flag('Whether the plan began with it.'),
    creationDate: formatted('date-time', 'When it was made.'),
  },
  { title: 'PlanPayment', description: 'A payment of a plan.' },
)

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

export const planList = wrapper(planRecord, 'PaymentPlanList')
export const planPaymentList = wrapper(planPayment, 'PlanPaymentList')

const page = text(10, 'The page, from 1.', { pattern: '^[1-9][0-9]{0,9}$' })

export const planQuery = closed(
  {
    page,
    status: optional(choice(statuses, 'Plans with this status.')),
    type: optional(choice(types, 'Plans of this type.')),
    gatewayCustomerId: optional(ownId('Plans of this customer.')),
    createdFrom: optional(formatted('date', 'Created on this day (UTC) or later.')),
    createdTo: optional(formatted('date', 'Created on this day (UTC) or earlier.')),
  },
  { title: 'PaymentPlanQuery', description: 'Which page, and of which plans. All conditions must hold.' },
)
export type PlanQuery = Static<typeof planQuery>

export const pageQuery = closed(
  { page: optional(page) },
  { title: 'PageQuery', description: 'Which page; the first unless given.' },
)
export type PageQuery = Static<typeof pageQuery>

const webhookUrl = closed(
  { webhook: optional(givenUrl('Where we report the result.')) },
  {
    title: 'ChargeUrls',
    description: 'No customer is present, so there are no return addresses: only where we report to.',
  },
)

/** The fields of any merchant-initiated payment. */
const chargeFields = {
  refNr: optional(refNr),
  order: optional(order),
  statementDescriptor: optional(statementDescriptor),
  captureMethod: optional(captureMethod),
  simulationMode: optional(simulationMode),
  metadata: optional(metadata),
  urls: optional(webhookUrl),
}

export const chargeRequest = closed(
  { transId, amount: optional(amount), ...chargeFields },
  {
    title: 'PlanChargeRequest',
    description: 'A payment within a plan. The amount may be left out where the plan has a fixed one.',
  },
)
export type ChargeRequest = Static<typeof chargeRequest>

export const cancelRequest = closed(
  { reason: optional(text(freeTextMax, 'Why, for your own records.')), metadata: optional(metadata) },
  { title: 'PlanCancelRequest', description: 'Ends the plan. Both fields may be left out.' },
)

const cardOnFile = closed(
  {
    number: text(16, 'Pseudo card number.', { pattern: '^0[0-9]{15}$', sensitive: true }),
    expiryDate: optional(formatted('expiry-date', "The card's last month, YYYYMM.", { sensitive: true })),
    schemeReferenceId: optional(
      text(64, "The scheme's reference of the payment by which the customer agreed.", {
        minLength: 1,
        format: 'printable',
      }),
    ),
  },
  { title: 'CardOnFile', description: 'A card for which the customer has agreed elsewhere.' },
)

const cardMethods = closed(
  { card: cardOnFile },
  { title: 'CardOnFileMethods', description: 'The card, by its pseudo number.' },
)

/** Exactly one of the three ways to name the plan or method to charge. */
const oneWay = when(
  demand(['paymentPlanId']),
  refuse(['gatewayCustomerId', 'paymentMethodId', 'paymentMethods']),
  when(
    demand(['paymentMethods']),
    refuse(['gatewayCustomerId', 'paymentMethodId']),
    demand(['gatewayCustomerId', 'paymentMethodId']),
  ),
)

export const unscheduledRequest = closed(
  {
    transId,
    amount,
    paymentPlanId: optional(text(64, 'A plan whose card or account is charged.')),
    gatewayCustomerId: optional(text(64, 'A customer; goes with paymentMethodId.')),
    paymentMethodId: optional(text(64, 'A stored payment method of that customer.')),
    paymentMethods: optional(cardMethods),
    ...chargeFields,
  },
  {
    title: 'UnscheduledPaymentRequest',
    description:
      'A payment without its customer and outside of any schedule, by a plan, by a stored payment method or by a card.',
    ...oneWay,
  },
)
export type UnscheduledRequest = Static<typeof unscheduledRequest>

export const patchRequest = closed(
  {
    amount: optional(plainAmount),
    paymentMethodId: optional(ownId('Another stored payment method of the same customer.')),
    recurring: optional(
      closed(
        { expiryDate: formatted('date', 'The last day of the plan.') },
        { title: 'PlanTermsPatch', description: 'What may change of the terms.' },
      ),
    ),
    metadata: optional(metadata),
  },
  {
    title: 'PlanPatchRequest',
    description:
      'What is to be changed; at least one of them. `amount` is that of later charges of a FIXED plan.',
    minProperties: 1,
  },
)

export const resumeRequest = closed(
  { chargeNow: optional(flag('Charge at once instead of on the next due day.')) },
  { title: 'PlanResumeRequest', description: 'How the plan goes on.' },
)
