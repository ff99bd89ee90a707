/**
 * Runs before a new payment is stored: checks that its provider can take the request, and collects the data that the
 * connector needs later. Decides nothing about money and calls no provider.
 */
import type { AuthorizationRequest, KeepQuestion, Unsent, WalletData } from '#connectors/contract.ts'
import type { OpenedAccount } from '#connectors/directory.ts'
import type { CreateCommand } from '#lifecycle/create.ts'
import type { Payment, PaymentKind, Prepared } from '#lifecycle/payment.ts'
import { MethodMisfit } from '#operations/payments/follow-up.ts'
import { findMissingAddress } from '#operations/payments/provider-calls/payment-context.ts'

interface Prepares {
  readonly command: CreateCommand
  readonly kind?: PaymentKind
  readonly wallet?: WalletData
}

/** The customer must be sent to a 3-D Secure page, but the request has no return address. */
export class ReturnAddressMissing extends Error {
  readonly field: string

  constructor(field: string) {
    super(`${field} is missing: this card asks for 3-D Secure, and the customer must find back from there`)
    this.field = field
  }
}

/** Throws if the request lacks a field that the provider needs, or has one that it does not support. */
export function checkFit(
  unsent: Unsent<AuthorizationRequest>,
  { connector, accountId }: Pick<OpenedAccount, 'connector' | 'accountId'>,
): void {
  const misfit = accountId === undefined ? undefined : connector.findMisfit?.(unsent)
  if (misfit) throw new MethodMisfit(misfit)
}

export function checkReturnAddress(
  { command, kind }: Prepares,
  unsent: Unsent<AuthorizationRequest>,
  { connector }: Pick<OpenedAccount, 'connector'>,
): void {
  // A card taken for a later order is not authenticated with 3-D Secure, because the cardholder may not be present.
  if (kind === 'CREDIT' || command.confirmsLater || command.integrationType !== 'DIRECT') return
  const missing = connector.willChallenge?.(unsent) ? findMissingAddress(command.details.urls) : undefined
  if (missing !== undefined) throw new ReturnAddressMissing(missing)
}

/**
 * The connector data that is stored with the operation before the provider is called. Call it only after all our own
 * checks have passed, because the simulator uses up a requested fault here.
 */
export async function prepare(
  { command, wallet }: Prepares,
  question: KeepQuestion & { readonly request: Unsent<AuthorizationRequest> },
  { connector, accountId }: OpenedAccount,
): Promise<Prepared> {
  const kept = (await connector.keep?.(question)) ?? {}
  if (accountId === undefined) return kept
  // A wallet's payload and a provider's token are not stored with the payment, so the request cannot be repeated.
  const sentOnce = wallet !== undefined || command.atProvider !== undefined || undefined
  return { ...kept, account: accountId, ...(sentOnce ? { sentOnce } : {}) }
}

export const withPrepared = (payment: Payment, prepared: Prepared): Payment =>
  Object.keys(prepared).length === 0
    ? payment
    : { ...payment, operations: payment.operations.map(operation => ({ ...operation, prepared })) }
