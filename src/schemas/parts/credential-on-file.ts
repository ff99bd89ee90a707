/** Permission to charge the card or account again without the customer. */
import type { Static } from 'typebox'
import { choice, closed, flag, formatted, optional } from '#schemas/parts/fields.ts'

const recurring = closed(
  {
    frequency: optional(choice(['DAILY', 'WEEKLY', 'MONTHLY', 'YEARLY'], 'How often a payment is due.')),
    startDate: optional(formatted('date', 'Day of the first payment.')),
    expiryDate: optional(formatted('date', 'Last day of the plan.')),
    useCase: optional(
      choice(['FIXED', 'FLEXIBLE_AMOUNT', 'FLEXIBLE_FREQUENCY'], 'What may change from payment to payment.'),
    ),
    autoCharge: optional(flag('Whether we charge by ourselves on each due day.')),
  },
  { title: 'Recurring', description: 'The plan of a recurring payment.' },
)

const unscheduled = closed(
  { subType: optional(choice(['CIT', 'MIT'], 'Who starts the payment: customer (CIT) or merchant (MIT).')) },
  { title: 'Unscheduled', description: 'A payment without a plan.' },
)

export const credentialOnFile = closed(
  {
    type: choice(['RECURRING', 'UNSCHEDULED'], 'With a plan or without.'),
    initialPayment: optional(flag('Whether this payment is the first, made with the customer.')),
    recurring: optional(recurring),
    unscheduled: optional(unscheduled),
  },
  { title: 'CredentialOnFile', description: 'Permission to use the card or account again.' },
)
export type CredentialOnFile = Static<typeof credentialOnFile>
