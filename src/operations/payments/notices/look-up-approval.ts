/**
 * Looks up an approval that a notice tells only in brief: an event of Stripe has at most the id of the charge, or tells
 * no more than that the customer is done.
 */
import type { AuthorizationOutcome } from '#connectors/contract.ts'
import type { OpenedAccount } from '#connectors/directory.ts'
import type { Outcome } from '#lifecycle/outcome.ts'
import type { Operation } from '#lifecycle/payment.ts'
import { beginsPlan } from '#lifecycle/plans/plan.ts'
import { type Engine, merchantNow } from '#operations/engine.ts'
import type { Noticed } from '#operations/payments/notices/noticed.ts'
import { lookUp, type Subject } from '#operations/payments/provider-calls/look-up.ts'

/** 10 s: less than the lease of a notice, 12 s. */
const longestNoticeCallMs = 10_000

/** 5: less than a minute, with the pauses of the inbox. */
const triesForToken = 5

interface Brief extends Noticed {
  /** What the notice itself tells. */
  readonly told: Outcome
}

/**
 * What the provider knows about an approval beyond the notice of it. Undefined: it cannot be asked now, or does not call
 * the operation approved. Throws then if it may store the method for later charges, so that the notice is tried again:
 * without its token no plan could ever be charged.
 */
export async function lookUpApproval(
  { merchant, payment, account: { merchantId, accountId, attempt = triesForToken }, told }: Brief,
  operation: Operation,
  engine: Engine,
): Promise<AuthorizationOutcome | undefined> {
  const opened = await engine.providers.open(merchantId, accountId)
  const now = merchantNow(engine.clock, merchant)
  const found = opened && (await askForApproval({ payment, operation, now }, opened, engine))
  const mayStore = told.kind === 'approved' && beginsPlan(payment.details)
  if (opened && !found && attempt < triesForToken && mayStore)
    throw new Error('the provider did not say under which token it stores the method')
  return found
}

async function askForApproval(
  subject: Subject,
  { connector, waitMs }: Pick<OpenedAccount, 'connector' | 'waitMs'>,
  engine: Engine,
): Promise<AuthorizationOutcome | undefined> {
  if ((waitMs?.() ?? 0) > 0) return undefined
  const timeoutMs = Math.min(connector.facts.timeoutMs, longestNoticeCallMs)
  const found = await lookUp({ ...subject, timeoutMs }, connector, engine)
  return found.authorization.kind === 'approved' ? found : undefined
}
