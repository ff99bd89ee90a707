/** Converts the request's card or account for the engine: numbers are wrapped in a Secret at once and stay there. */
import type { AccountData, CardData, WalletData } from '#connectors/contract.ts'
import { Secret } from '#domain/secret.ts'

interface SentCard {
  readonly number?: string
  readonly expiryDate?: string
  readonly cardholderName?: string
  readonly securityCode?: string
}

export function readCard(sent: SentCard | undefined): CardData | undefined {
  if (sent?.number === undefined) return undefined
  const { number, expiryDate, cardholderName, securityCode } = sent
  return {
    number: new Secret(number),
    expiryDate,
    cardholderName,
    securityCode: securityCode === undefined ? undefined : new Secret(securityCode),
  }
}

interface SentDebit {
  readonly account?: {
    readonly number: string
    readonly accountHolderName: string
    readonly code?: string
    readonly bankName?: string
  }
  readonly mandateId?: string
  readonly dateOfSignature?: string
}

export function readAccount(sent: SentDebit | undefined): AccountData | undefined {
  if (sent?.account === undefined) return undefined
  const { number, accountHolderName, code, bankName } = sent.account
  const { mandateId, dateOfSignature } = sent
  return {
    number: new Secret(number),
    holderName: accountHolderName,
    code,
    bankName,
    mandateId,
    dateOfSignature,
  }
}

export const readWallet = (
  sent: { readonly merchantIdentifierOfPublicKey?: string; readonly token?: string } | undefined,
): WalletData | undefined =>
  sent?.merchantIdentifierOfPublicKey === undefined || sent.token === undefined
    ? undefined
    : { merchantIdentifier: sent.merchantIdentifierOfPublicKey, payload: new Secret(sent.token) }
