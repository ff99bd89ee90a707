/** Notices about authorisations and modifications: the outcomes that Adyen's answers leave open. */
import { type Loose, recordAt, textAt } from '#connectors/adyen/loose.ts'
import { toFacts } from '#connectors/adyen/translate/provider-facts.ts'
import { detailOfRefusal, generalDecline, timedOut } from '#connectors/adyen/translate/refusals.ts'
import type { NoticeFact, NoticeSubject, Outcome } from '#connectors/contract.ts'
import { foreignXId, parseXId, type XId } from '#domain/ids.ts'
import { entryOf } from '#domain/json.ts'
import type { Money } from '#domain/money/money.ts'
import type { Declined } from '#lifecycle/outcome.ts'
import type { OperationType } from '#lifecycle/payment.ts'

/** Adyen sends `success` as a text; some libraries write a boolean. */
export const isSuccess = (item: Loose): boolean => item.success === 'true' || item.success === true

type OutcomeFact = Extract<NoticeFact, { kind: 'outcome' }>
type Read = (item: Loose, amount: Money) => NoticeFact | undefined

const byEvent: Readonly<Record<string, Read>> = {
  AUTHORISATION: readAuthorisation,
  // The payment was begun and never finished: the customer left the page, or the voucher expired.
  OFFER_CLOSED: (item, amount) =>
    isSuccess(item)
      ? outcomeOf('AUTHORIZATION', item, amount, { ...refused(item, amount, timedOut), pageEnded: true })
      : undefined,
  // Names the payment itself and its uncaptured amount.
  EXPIRE: item => (isSuccess(item) ? { kind: 'lapsed', subject: approvalOf(item) } : undefined),
  CAPTURE: modification('CAPTURE'),
  REFUND: modification('REFUND'),
  CANCELLATION: withoutAmount('REVERSAL'),
  // Carries the new total; only the reference shows whether the amount was raised or lowered.
  AUTHORISATION_ADJUSTMENT: withoutAmount('INCREMENTAL'),
  CANCEL_OR_REFUND: (item, amount) =>
    textAt(recordAt(item, 'additionalData'), 'modification.action') === 'refund'
      ? modification('REFUND')(item, amount)
      : withoutAmount('REVERSAL')(item, amount),
  POSTPONED_REFUND: (item, amount) =>
    outcomeOf('REFUND', item, amount, { kind: 'pending', provider: facts(item, amount) }),
  TECHNICAL_CANCEL: readTechnicalCancel,
  CAPTURE_FAILED: takenBack('CAPTURE'),
  REFUND_FAILED: takenBack('REFUND'),
  REFUNDED_REVERSED: takenBack('REFUND'),
}

/** The fact of an event about an operation; undefined for other events. */
export const readModification = (name: string, item: Loose, amount: Money): NoticeFact | undefined =>
  entryOf(byEvent, name)?.(item, amount)

/**
 * The events that can be the outcome of an operation. All others of Webhooks v1 are about disputes or reports, or not
 * needed.
 */
export const modificationEvents: readonly string[] = Object.keys(byEvent)

function readAuthorisation(item: Loose, amount: Money): NoticeFact | undefined {
  if (isSuccess(item))
    return {
      ...outcomeOf('AUTHORIZATION', item, amount, { kind: 'approved', provider: facts(item, amount) }),
      // An automatic capture has no other notice. If no capture was requested, the engine ignores this outcome.
      capture: { kind: 'approved', provider: facts(item, amount) },
    }
  return outcomeOf(
    'AUTHORIZATION',
    item,
    amount,
    refused(item, amount, detailOfRefusal(undefined, reasonOf(item))),
  )
}

function readTechnicalCancel(item: Loose, amount: Money): NoticeFact | undefined {
  const paid = textAt(item, 'originalReference')
  const provider = { ...facts(item, amount), fields: { undone: paid } }
  const undone: Outcome = { kind: 'declined', detail: timedOut, provider }
  // "Not found": the request to undo never arrived. After any other failure the outcome stays unknown.
  if (!isSuccess(item) && !/not found/i.test(reasonOf(item) ?? '')) return undefined
  const subject = { reference: referenceOf(item), transactionId: paid }
  return { ...outcomeOf('AUTHORIZATION', item, amount, undone), subject, amount: undefined }
}

function modification(operation: OperationType): (item: Loose, amount: Money) => OutcomeFact {
  return (item, amount) =>
    outcomeOf(
      operation,
      item,
      amount,
      isSuccess(item)
        ? { kind: 'approved', provider: facts(item, amount) }
        : refused(item, amount, generalDecline),
    )
}

/** For events whose amount is not that of the operation. */
function withoutAmount(operation: OperationType): (item: Loose, amount: Money) => OutcomeFact {
  return (item, amount) => ({ ...modification(operation)(item, amount), amount: undefined })
}

function takenBack(operation: OperationType): Read {
  return (item, amount) =>
    isSuccess(item)
      ? { kind: 'takenBack', operation, subject: subjectOf(item), amount, detail: generalDecline }
      : undefined
}

const refused = (item: Loose, amount: Money, detail: string): Declined => ({
  kind: 'declined',
  detail,
  provider: { ...facts(item, amount), responseText: reasonOf(item)?.slice(0, 255) },
})

/** Adyen writes a missing reason as an empty text or as the word null. */
function reasonOf(item: Loose): string | undefined {
  const reason = textAt(item, 'reason')
  return reason === 'null' ? undefined : reason
}

function facts(item: Loose, amount: Money) {
  const { responseText: _, ...shown } = toFacts(item)
  return { ...shown, echo: { reference: referenceOf(item) ?? foreignXId, amount } }
}

const referenceOf = (item: Loose): XId | undefined => parseXId(textAt(item, 'merchantReference') ?? '')

const subjectOf = (item: Loose): NoticeSubject => ({
  reference: referenceOf(item),
  transactionId: textAt(item, 'pspReference'),
  paymentTransactionId: textAt(item, 'originalReference'),
})

const outcomeOf = (operation: OperationType, item: Loose, amount: Money, outcome: Outcome): OutcomeFact => ({
  kind: 'outcome',
  operation,
  subject: operation === 'AUTHORIZATION' ? approvalOf(item) : subjectOf(item),
  amount,
  outcome,
})

/**
 * Every authorisation that we requested carries our reference, so an approval with another text is not ours.
 * Modifications are different: those made in the Customer Area may have any text as their reference.
 */
const approvalOf = (item: Loose): NoticeSubject => ({
  ...subjectOf(item),
  reference: referenceOf(item) ?? (textAt(item, 'merchantReference') === undefined ? undefined : foreignXId),
})
