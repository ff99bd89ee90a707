/**
 * Confirms a payment that was created in a first step: the rule decides, the confirm is recorded, the provider is
 * called.
 */
import type { CardData } from '#connectors/contract.ts'
import type { XId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import { type ConfirmCommand, decideConfirm, recordConfirm } from '#lifecycle/confirm.ts'
import { withoutPersonalData } from '#lifecycle/customer.ts'
import { type Decision, refuse } from '#lifecycle/decision.ts'
import { lastOperation, type Payment } from '#lifecycle/payment.ts'
import { findCaptureMisfit } from '#methods/catalogue.ts'
import { type Engine, merchantNow, newXId } from '#operations/engine.ts'
import { keyReference, keyRow } from '#operations/key.ts'
import { isNameless } from '#operations/payments/admit.ts'
import { answerOperation, answerRefusal, type OperationAnswer } from '#operations/payments/answer.ts'
import { authorize } from '#operations/payments/authorize.ts'
import { checkObjects, type FollowUp, MethodMisfit } from '#operations/payments/follow-up.ts'
import type { Step } from '#operations/payments/payment-queue.ts'
import { beginOnce, releasing, withKept } from '#operations/payments/provider-calls/begin-once.ts'
import {
  amountMisfit,
  type Choice,
  chooseAccount,
  narrowed,
  providerOf,
} from '#operations/payments/provider-calls/choose-account.ts'
import { type Sending, toAuthorization } from '#operations/payments/provider-calls/fail-over.ts'
import { toConfirm } from '#operations/payments/provider-calls/question.ts'
import { triedBy } from '#operations/payments/velocity.ts'

type Begun =
  | { readonly answered: OperationAnswer }
  | { readonly answered?: undefined; readonly sending: Omit<Sending, 'merchant'> }

/** Undefined: the merchant has no such payment. */
export async function confirm(
  request: FollowUp<ConfirmCommand>,
  engine: Engine,
): Promise<OperationAnswer | undefined> {
  const { merchant, payId } = request
  const found = await engine.payments.byPayId(merchant.merchantId, payId)
  if (!found) return undefined
  // A confirm charges the card as a new payment does, so the limits on declines hold here too.
  return engine.velocity.inTurn(merchant, triedBy(found), () => confirmInTurn(request, engine))
}

async function confirmInTurn(
  request: FollowUp<ConfirmCommand>,
  engine: Engine,
): Promise<OperationAnswer | undefined> {
  const { merchant, payId } = request
  const ids = { xId: newXId(engine), captureXId: newXId(engine) }
  const begun = await engine.queue.update({ merchantId: merchant.merchantId, payId }, payment =>
    begin(payment, request, ids, engine),
  )
  if (!begun) return undefined
  if (begun.answered) return begun.answered
  await engine.testCrash('afterRecord')
  const { sending } = begun
  const card = await reopenCard(sending.payment, engine)
  return authorize(toAuthorization({ merchant, ...sending, message: { ...sending.message, card } }), engine)
}

function begin(
  payment: Payment,
  request: FollowUp<ConfirmCommand>,
  ids: { readonly xId: XId; readonly captureXId: XId },
  engine: Engine,
): Promise<Step<Begun>> {
  return beginOnce<Begun>(payment, {
    isIt: ({ xId }) => xId === ids.xId,
    record: () => record(payment, request, ids, engine),
    async resume(operation) {
      const { account } = await accountOf(payment, request.merchant, engine)
      return account
        ? { sending: { payment, account, message: toConfirm(payment, operation) } }
        : { answered: answerOperation(payment, operation.xId) }
    },
    settled: ({ xId }) => ({ answered: answerOperation(payment, xId) }),
  })
}

async function record(
  payment: Payment,
  { merchant, command, key }: FollowUp<ConfirmCommand>,
  { xId, captureXId }: { readonly xId: XId; readonly captureXId: XId },
  engine: Engine,
): Promise<Step<Begun>> {
  checkObjects(payment, command, 'confirm')
  const unsupported = findCaptureMisfit(payment.method, command.captureMethod?.type)
  if (unsupported) throw new MethodMisfit(unsupported)
  const now = merchantNow(engine.clock, merchant)
  const decision = decideWithinLimits(payment, { merchant, command, now }, engine)
  const choice = await chooseFor(command, { payment, merchant }, engine)
  if (!decision.accepted || !choice.account) {
    const { payId, merchantId } = payment
    const { transId, refNr, metadata } = command
    const refusal = decision.accepted ? (choice.account ? 'NO_CONNECTOR' : choice.refusal) : decision.refusal
    const refused = answerRefusal(refusal, { payId, merchantId, transId, xId, refNr, metadata })
    const row = keyRow(key, { merchant, answer: refused, now })
    return { ...(row ? { alongside: { key: row } } : {}), result: { answered: refused } }
  }
  const { account } = choice
  const misfit = amountMisfit(account, command.amount)
  if (misfit) throw new MethodMisfit(misfit)
  const captures = (command.captureMethod ?? payment.captureMethod).type === 'AUTOMATIC'
  const recording = {
    xId,
    prepared: {},
    key: keyReference(key),
    captureXId: captures ? captureXId : undefined,
    now,
  }
  const recorded = { ...recordConfirm(payment, command, recording), provider: providerOf(account) }
  const sent = await withKept(recorded, xId, account)
  const next = isNameless(merchant, payment, now) ? withoutPersonalData(sent) : sent
  const row = keyRow(key, { merchant, payId: payment.payId, xId, now })
  return {
    next,
    ...(row ? { alongside: { key: row } } : {}),
    release: releasing(payment, xId, account),
    result: { sending: { payment: next, account, message: toConfirm(sent, lastOperation(sent)) } },
  }
}

/** A confirm that is otherwise allowed is refused after too many declines of its card or from its address. */
function decideWithinLimits(
  payment: Payment,
  { merchant, command, now }: Pick<FollowUp<ConfirmCommand>, 'merchant' | 'command'> & { readonly now: Date },
  { velocity }: Pick<Engine, 'velocity'>,
): Decision {
  const decision = decideConfirm(payment, command, now)
  return decision.accepted && velocity.blocks(merchant, triedBy(payment), now) ? refuse('VELOCITY') : decision
}

/** The account that takes the confirm. It must support the capture method that replaces the one of the first step. */
async function chooseFor(
  { captureMethod }: ConfirmCommand,
  { payment, merchant }: { readonly payment: Payment; readonly merchant: Merchant },
  engine: Engine,
): Promise<Choice> {
  const choice = await accountOf(payment, merchant, engine)
  if (!choice.account || !captureMethod) return choice
  const { capture } = narrowed(payment, choice.account).method
  return capture.includes(captureMethod.type) ? choice : { refusal: 'METHOD_LACKS_OPERATION' }
}

/** The provider account of the first step; if that step called no provider, an account is chosen now. */
async function accountOf(payment: Payment, merchant: Merchant, engine: Engine): Promise<Choice> {
  const sendsCard = payment.instrument !== undefined
  if (!payment.provider)
    return chooseAccount({ ...payment, merchant, brand: payment.instrument?.brand, sendsCard }, engine)
  const account = await engine.providers.open(payment.merchantId, payment.provider.account)
  return account ? { account, others: [] } : { refusal: 'NO_CONNECTOR' }
}

/** The card of the first step, from the vault. Its security code was never stored, so it is not sent. */
async function reopenCard(
  { merchantId, instrument }: Payment,
  { vault }: Pick<Engine, 'vault'>,
): Promise<CardData | undefined> {
  const number = instrument && (await vault.reopen(merchantId, instrument.cardId))
  return number && { number, expiryDate: instrument?.expiryDate, cardholderName: instrument?.cardHolderName }
}
