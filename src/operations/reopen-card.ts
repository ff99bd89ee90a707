/** A card whose number came with an earlier step. Its security code was never kept, so it does not come along. */
import type { CardData } from '#connectors/contract.ts'
import type { Payment } from '#lifecycle/payment.ts'
import type { Engine } from '#operations/engine.ts'

export async function reopenCard(
  { merchantId, instrument }: Payment,
  { vault }: Pick<Engine, 'vault'>,
): Promise<CardData | undefined> {
  const number = instrument && (await vault.reopen(merchantId, instrument.cardId))
  return number && { number, expiryDate: instrument?.expiryDate, cardholderName: instrument?.cardHolderName }
}
