/**
 * The tries of a customer that notices report under one reference: on a provider's page a declined one may be followed
 * by another, so its decline is not that of the payment.
 */
import type { Declined, ProviderFacts } from '#lifecycle/outcome.ts'
import type { Operation } from '#lifecycle/payment.ts'
import type { Engine } from '#operations/engine.ts'
import { isOfKind, type Noticed } from '#operations/payments/notices/noticed.ts'

/** The end of the page itself, and an approval that was undone, are no tries. */
const isTry = ({ pageEnded, provider }: Declined): boolean =>
  pageEnded !== true && provider.fields?.undone === undefined

/**
 * Whether the customer may still pay after this decline of an operation without an outcome. The notice is kept: the
 * provider may tell later that this try was the last one.
 */
export async function mayTryAgain(
  { account: { merchantId, accountId } }: Noticed,
  { provider }: Operation,
  outcome: Declined,
  engine: Engine,
): Promise<boolean> {
  if (!isTry(outcome)) return false
  const opened = await engine.providers.open(merchantId, accountId)
  return opened?.connector.isLastTry?.(outcome.provider, provider) === false
}

/** Whether the provider's id in the notice is not that of the approval. */
export function isOtherTry({ type, provider }: Operation, { fields, transactionId }: ProviderFacts): boolean {
  const named = fields?.undone ?? transactionId
  const approved = isOfKind(type, 'AUTHORIZATION') ? provider?.transactionId : undefined
  return named !== undefined && approved !== undefined && named !== approved
}

/** Under the approval's own id a decline is that of an earlier try, unless it says that the approval was undone. */
export const isEarlierTry = ({ provider }: Operation, { fields, transactionId }: ProviderFacts): boolean =>
  fields?.undone === undefined && transactionId !== undefined && transactionId === provider?.transactionId
