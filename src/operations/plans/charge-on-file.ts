/** Merchant-initiated payments without a plan: with a stored payment method, or with a card stored elsewhere. */
import type { CardData } from '#connectors/contract.ts'
import type { CustomerId, StoredMethodId } from '#domain/ids.ts'
import type { Money } from '#domain/money/money.ts'
import type { CreateCommand } from '#lifecycle/create.ts'
import { isStoredCard, type StoredMethod } from '#lifecycle/customer.ts'
import { defaultCapture, findMethod } from '#methods/catalogue.ts'
import type { Method } from '#methods/rows.ts'
import type { Engine } from '#operations/engine.ts'
import type { OperationAnswer } from '#operations/payments/answer.ts'
import { createPayment } from '#operations/payments/create-payment.ts'
import { MethodMisfit } from '#operations/payments/follow-up.ts'
import { CommitRefused } from '#operations/payments/payment-queue.ts'
import {
  type ChargeRequest,
  checkCharge,
  commonCommand,
  type Instruments,
  openStoredAccount,
  openStoredCard,
} from '#operations/plans/charge-plan.ts'

export type OnFileCharge = ChargeRequest & { readonly amount: Money }

/** Undefined: the customer has no such method, or it was deleted in the meantime. */
export async function chargeStoredMethod(
  request: OnFileCharge & { readonly customerId: CustomerId; readonly methodId: StoredMethodId },
  engine: Engine,
): Promise<OperationAnswer | undefined> {
  const { merchant, customerId, methodId, key } = request
  const { merchantId } = merchant
  const stored = await engine.storedMethods.findAny(merchantId, customerId, methodId)
  const instruments = stored && (await openStored(stored, engine))
  const method = stored && findMethod(stored.type)
  if (!stored || !instruments || !method) return undefined
  if (!isStoredCard(stored) && !method.operations.includes('recurring')) {
    const error = `is a ${stored.type}, which cannot be charged without the customer`
    throw new MethodMisfit({ field: 'paymentMethodId', error })
  }
  const schemeReferenceId = isStoredCard(stored)
    ? await engine.plans.findSchemeReference(merchantId, customerId, stored.cardId)
    : undefined
  const own = { chargedCustomerId: customerId }
  const command = { ...toCommand(request, method, schemeReferenceId), own }
  try {
    return await createPayment({ merchant, command, ...instruments, key }, engine)
  } catch (error) {
    if (error instanceof CommitRefused && error.conflict === 'card_gone') return undefined
    throw error
  }
}

/** Opens the stored card, or the account with the mandate of its last debit. Undefined: its number was deleted. */
async function openStored(stored: StoredMethod, engine: Engine): Promise<Instruments | undefined> {
  const { merchantId } = stored
  if (isStoredCard(stored)) {
    const storedCard = await openStoredCard(merchantId, stored, engine)
    return storedCard && { storedCard, cardholderName: stored.cardHolderName }
  }
  const { accountId, last4Digits, accountHolderName = '' } = stored
  const last = await engine.plans.findLastAccount(merchantId, stored)
  return openStoredAccount(merchantId, { ...last, accountId, last4Digits, accountHolderName }, engine)
}

/** Charges the card by its pseudo number, with the scheme's reference to the cardholder's agreement. */
export function chargeCardOnFile(
  request: OnFileCharge & {
    readonly card: CardData
    readonly method: Method
    readonly schemeReferenceId?: string
  },
  engine: Engine,
): Promise<OperationAnswer> {
  const { merchant, card, method, schemeReferenceId, key } = request
  const command = toCommand(request, method, schemeReferenceId)
  return createPayment({ merchant, command, card, key }, engine)
}

function toCommand(
  request: OnFileCharge,
  method: Method,
  schemeReferenceId: string | undefined,
): CreateCommand {
  checkCharge(method, request)
  return {
    ...commonCommand(request),
    merchantId: request.merchant.merchantId,
    method,
    captureMethod: request.captureMethod ?? { type: defaultCapture(method) },
    schemeReferenceId,
    details: {
      ...request.details,
      credentialOnFile: {
        type: 'UNSCHEDULED',
        initialPayment: false,
        unscheduled: { subType: 'MIT' },
      },
    },
  }
}
