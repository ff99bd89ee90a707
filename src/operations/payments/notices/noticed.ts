/** Finds the payment and the operation that a provider's notice is about. */
import type { NoticeFact, NoticeSubject } from '#connectors/contract.ts'
import type { MerchantId, PayId, XId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import { findOperation, type Operation, type OperationType, type Payment } from '#lifecycle/payment.ts'
import type { Engine } from '#operations/engine.ts'

export interface NoticeAccount {
  readonly merchantId: MerchantId
  readonly accountId: string
  /** What an operator must do about the notice, if an earlier try has raised an alarm for it. */
  readonly needsPerson?: string | null
  /** How many tries the notice has had; undefined if nobody would try it again. */
  readonly attempt?: number
}

export type Fact<Kind extends NoticeFact['kind']> = Extract<NoticeFact, { kind: Kind }>

export type PaymentFact = Exclude<NoticeFact, Fact<'ignored'> | Fact<'report'>>

/** The payment that a notice is about, and the operation if it names one. */
export interface Noticed {
  readonly merchant: Merchant
  readonly account: NoticeAccount
  readonly payment: Payment
  readonly operation?: Operation
  /** The reference of a capture that was sent in the authorisation's message and has no operation yet. */
  readonly captureXId?: XId
}

/** Whether an operation of this payment holds the connector data that the notice refers to. */
export const wasKept = ({ operations }: Payment, { kept = {} }: NoticeSubject): boolean =>
  operations.some(({ prepared }) => Object.entries(kept).every(([name, value]) => prepared[name] === value))

/**
 * Looks up, in this order, our reference, the provider's id of the operation, and its id of the payment; the first that
 * is known decides. The id of an operation of another kind identifies the payment only: some providers name the
 * authorisation in notices about its capture or refund. Ids that lead to different payments match none.
 */
export async function findNoticed(
  merchant: Merchant,
  account: NoticeAccount,
  fact: PaymentFact,
  engine: Engine,
): Promise<Noticed | undefined> {
  const { reference, transactionId, paymentTransactionId }: NoticeSubject = fact.subject
  const kind = 'operation' in fact ? fact.operation : undefined
  const names = [reference, transactionId, paymentTransactionId]
  const approval = approvalOf(fact)
  const leads = await Promise.all(names.map(name => (name ? find(account, name, engine) : undefined)))
  if (new Set(leads.flatMap(lead => lead?.payId ?? [])).size > 1) return undefined
  // Every authorisation that we send carries our reference, so an approval with an unknown reference is not ours.
  if (reference && !leads[0] && kind && isOfKind(kind, 'AUTHORIZATION')) return undefined
  let other: Noticed | undefined
  for (const [index, found] of leads.entries()) {
    const payment = found && (await engine.payments.byPayId(account.merchantId, found.payId))
    if (!payment) continue
    const isOperation = index < 2
    const operation = isOperation ? findOperation(payment, found.xId) : undefined
    const captureXId = isOperation && !operation ? found.xId : undefined
    const noticed = { merchant, account, payment, operation, captureXId }
    const isNamed = operation !== undefined && kind !== undefined && isOfKind(operation.type, kind)
    if (isNamed) return noticed
    if (approval && !leads[names.indexOf(approval)] && isOther(payment, approval)) return undefined
    if (!operation || kind === undefined) return noticed
    other ??= { merchant, account, payment }
  }
  return other
}

/**
 * The operation that a provider takes back without naming it: the last approved one of that kind. It is a capture that
 * the provider made itself, for which we know only the id of its payment. An operation with another id of its own is
 * not meant.
 */
export function lastOf(
  { payment }: Noticed,
  { operation: kind, subject: { transactionId, paymentTransactionId } }: Fact<'takenBack'>,
): Operation | undefined {
  const isAnother = ({ provider }: Operation): boolean =>
    transactionId !== undefined &&
    provider?.transactionId !== undefined &&
    provider.transactionId !== transactionId &&
    provider.transactionId !== paymentTransactionId
  return payment.operations.findLast(
    operation => operation.type === kind && operation.state === 'OK' && !isAnother(operation),
  )
}

/** The provider's id of the payment in a notice about an operation or a lapse. */
const approvalOf = (fact: PaymentFact): string | undefined =>
  'operation' in fact
    ? fact.subject.paymentTransactionId
    : fact.kind === 'lapsed'
      ? fact.subject.transactionId
      : undefined

/**
 * Whether the notice is about another payment under the same reference: a customer may pay twice. The second payment is
 * not in our books, and its refund at the provider must not be booked on the first.
 */
function isOther({ operations }: Payment, approval: string): boolean {
  const known = operations
    .filter(({ type, state }) => isOfKind(type, 'AUTHORIZATION') && state !== 'FAILED')
    .flatMap(({ provider }) => provider?.transactionId ?? [])
  return known.length > 0 && !known.includes(approval)
}

/**
 * A confirm approves like an authorisation; a change of the authorised amount is an increment or a partial reversal.
 */
const kinds: readonly (readonly OperationType[])[] = [
  ['AUTHORIZATION', 'CONFIRM'],
  ['INCREMENTAL', 'REVERSAL'],
]

export const isOfKind = (type: OperationType, kind: OperationType): boolean =>
  type === kind || kinds.some(alike => alike.includes(type) && alike.includes(kind))

const find = (
  { merchantId, accountId }: NoticeAccount,
  name: string,
  engine: Engine,
): Promise<{ payId: PayId; xId: XId } | undefined> => engine.references.find(merchantId, accountId, name)
