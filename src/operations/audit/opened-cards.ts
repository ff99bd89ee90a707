/** The audit trail's rows for card and account numbers that are opened for another purpose than paying. Written before they are. */
import type { MerchantId } from '#domain/ids.ts'
import type { AuditStore } from '#storage/audit/audit.ts'

export interface Opening {
  readonly merchantId: MerchantId
  /** The address that asked for it. */
  readonly from: string
  readonly purpose: 'account updater' | 'tokenization' | 'offer of a currency'
  readonly cards: number
}

export type OpeningLog = Pick<AuditStore, 'append'>

export async function auditOpening(
  { merchantId, from, purpose, cards }: Opening,
  store: OpeningLog,
): Promise<void> {
  if (cards === 0) return
  const after = { purpose, cards }
  await store.append([{ actor: merchantId, from, act: 'cards.opened', object: merchantId, after }])
}
