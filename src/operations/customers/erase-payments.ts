/** Erases personal data: of one customer's payments when the merchant asks, and of old payments automatically. */
import type { CustomerId, MerchantId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import { type Clock, merchantNow } from '#operations/engine.ts'
import type { Erasure } from '#storage/customers/erasure.ts'

/** Runs before the customer is deleted, so that after a crash in between the deletion can be requested again. */
export async function erasePaymentsOf(
  { merchantId }: Merchant,
  customerId: CustomerId,
  erasure: Erasure,
): Promise<void> {
  const payIds = await erasure.findPayments(merchantId, customerId)
  if (!payIds) return
  for (const payId of payIds) await erasure.erasePayment(merchantId, payId)
  await erasure.eraseIntentsOf(merchantId, customerId)
  await erasure.eraseCustomerAnswers(merchantId, customerId)
}

export interface RetentionWorker {
  /** Erases personal data past its retention period, of all merchants or of one. Returns how many payments are done with. */
  run(merchantId?: MerchantId): Promise<number>
}

export function createRetentionWorker(deps: {
  readonly erasure: Erasure
  readonly clock: Clock
  readonly findMerchant: (merchantId: MerchantId) => Promise<Merchant | undefined>
}): RetentionWorker {
  const { erasure, clock, findMerchant } = deps
  return {
    async run(only) {
      let erased = 0
      for (const retention of await erasure.listRetentions()) {
        const { merchantId } = retention
        if (only !== undefined && only !== merchantId) continue
        const merchant = await findMerchant(merchantId)
        if (!merchant) continue
        const now = merchantNow(clock, merchant)
        await erasure.eraseOverdueIntents(retention, now)
        for (let after: string | undefined; ; ) {
          const payIds = await erasure.findOverdue(retention, now, after)
          for (const payId of payIds) await erasure.erasePayment(merchantId, payId)
          after = payIds.at(-1)
          if (after === undefined) break
          erased += await erasure.markErased(retention, payIds, now)
        }
      }
      return erased
    },
  }
}
