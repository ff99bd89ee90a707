/**
 * A card or an account whose number came with an earlier step. The card's security code was never kept, so it does not
 * come along.
 */
import type { AccountData, CardData } from '#connectors/contract.ts'
import type { Payment } from '#lifecycle/payment.ts'
import type { Engine } from '#operations/engine.ts'

export async function reopenCard(
  { merchantId, instrument }: Payment,
  { vault }: Pick<Engine, 'vault'>,
): Promise<CardData | undefined> {
  const number = instrument && (await vault.reopen(merchantId, instrument.cardId))
  return number && { number, expiryDate: instrument?.expiryDate, cardholderName: instrument?.cardHolderName }
}

export async function reopenAccount(
  { merchantId, account }: Payment,
  { accounts }: Pick<Engine, 'accounts'>,
): Promise<AccountData | undefined> {
  const number = account && (await accounts.reopen(merchantId, account.accountId))
  if (!number || !account) return undefined
  const { accountHolderName, code, bankName, mandateId, dateOfSignature } = account
  return { number, holderName: accountHolderName, code, bankName, mandateId, dateOfSignature }
}
