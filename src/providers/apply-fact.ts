/** What a single fact of a notice does: each kind goes to the operation that knows how to apply it. */
import type { NoticeFact, NoticeSubject } from '#connectors/contract.ts'
import type { MerchantId, PayId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import { applyDispute } from '#operations/disputes/dispute-book.ts'
import { type Engine, merchantNow } from '#operations/engine.ts'
import type { Applied, ApplyNotice } from '#providers/apply-notices.ts'
import type { ReferenceFinder } from '#storage/providers/references.ts'

export interface ApplyFactDeps {
  readonly engine: Engine
  readonly references: ReferenceFinder
  readonly findMerchant: (merchantId: MerchantId) => Promise<Merchant | undefined>
  /** Outcomes, returns and operations that a provider takes back. */
  readonly applyOutcome: ApplyNotice
}

export const createApplyFact =
  (deps: ApplyFactDeps): ApplyNotice =>
  async (account, item) => {
    switch (item.fact.kind) {
      case 'dispute':
        return applyDisputeFact(account, item.fact, deps)
      case 'report':
      case 'ignored':
        return 'ignored'
      default:
        return deps.applyOutcome(account, item)
    }
  }

async function applyDisputeFact(
  { merchantId, accountId }: Parameters<ApplyNotice>[0],
  { subject, dispute }: Extract<NoticeFact, { kind: 'dispute' }>,
  { engine, references, findMerchant }: ApplyFactDeps,
): Promise<Applied> {
  const merchant = await findMerchant(merchantId)
  const payId = await findPaymentOf(subject, { merchantId, accountId }, references)
  if (!merchant || !payId) return 'unmatched'
  const now = merchantNow(engine.clock, merchant)
  return applyDispute({ merchantId, payId, capture: subject.reference }, { facts: dispute, now }, engine)
}

/** By our reference first, then by the provider's ids. */
export const findPaymentOf = (
  { reference, transactionId, paymentTransactionId }: NoticeSubject,
  { merchantId, accountId }: Parameters<ApplyNotice>[0],
  references: ReferenceFinder,
): Promise<PayId | undefined> =>
  references.findPayment(
    merchantId,
    accountId,
    [reference, transactionId, paymentTransactionId].filter(name => name !== undefined),
  )
