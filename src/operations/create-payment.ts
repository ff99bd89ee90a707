/** Creating a payment: take the card in, record, ask the provider, record what it said. */
import type { AuthorizationOutcome, AuthorizationRequest, CardData, Connector } from '#connectors/contract.ts'
import type { Merchant } from '#domain/merchant.ts'
import type { Refusal } from '#domain/response-codes.ts'
import { type CreateCommand, openPayment } from '#lifecycle/create.ts'
import type { Instrument, Payment } from '#lifecycle/payment.ts'
import { answerRefusal, type OperationAnswer } from '#operations/answer.ts'
import { believe, type CallContext, callProvider } from '#operations/call-provider.ts'
import { type Engine, merchantNow, newPayId, newXId } from '#operations/engine.ts'
import { keyReference, keyRow, type OperationKey, storeRefusal } from '#operations/key.ts'
import { CommitRefused, reconnectDelaysMs } from '#operations/payment-queue.ts'
import { recordOutcome } from '#operations/record-outcome.ts'
import { type Change, type Committed, CommitUnknown } from '#storage/change.ts'
import { isConnectionLost } from '#storage/database.ts'
import type { AdmittedCard } from '#vault/cards.ts'

export interface CreatePayment {
  readonly merchant: Merchant
  readonly command: CreateCommand
  readonly card?: CardData
  readonly key?: OperationKey
}

/** The pseudo card number is not one of this merchant's: the caller names the field. */
export class UnknownPseudoNumber extends Error {}

/** 5: two cards meeting on one of 10^12 pseudo numbers is a rarity; five times in a row is a broken generator. */
const maximumPseudoNumberTries = 5

export async function createPayment(request: CreatePayment, engine: Engine): Promise<OperationAnswer> {
  const connector = engine.connectors.find(request.command.method)
  if (!connector) return refuse(request, 'NO_CONNECTOR', engine)
  for (let attempt = 0; attempt < maximumPseudoNumberTries; attempt += 1) {
    const card = await admitCard(request, attempt, engine)
    const begun = begin(request, card, connector, engine)
    const committed = await insertOnce(
      {
        card: card?.row,
        insertPayment: begun.payment,
        insertOperations: [{ payment: begun.payment, operation: begun.authorization }],
        key: keyRow(request.key, request.merchant, begun.payment, begun.authorization.xId),
      },
      begun.payment,
      engine,
    )
    if (committed.committed) {
      if (card?.row) engine.vault.remember({ ...card, merchantId: request.merchant.merchantId })
      await engine.testCrash('afterRecord')
      return finish(request, begun, connector, engine)
    }
    if (committed.conflict === 'trans_id_taken') return refuse(request, 'TRANS_ID_TAKEN', engine)
    if (committed.conflict !== 'pseudo_number_taken') throw new CommitRefused(committed.conflict)
  }
  throw new Error(`no free pseudo card number in ${maximumPseudoNumberTries} tries`)
}

/**
 * A commit whose answer was lost is looked up before it is tried again: the payment may be there. Then only the call is
 * left to make. Nobody else can have settled it in these few seconds: a recovery waits much longer than they last.
 */
async function insertOnce(change: Change, payment: Payment, engine: Engine): Promise<Committed> {
  const isStored = async () =>
    (await engine.payments.byPayId(payment.merchantId, payment.payId)) !== undefined
  let lost: unknown
  for (const delayMs of [0, ...reconnectDelaysMs]) {
    try {
      if (lost) {
        await engine.clock.waitMs(delayMs)
        if (await isStored()) return { committed: true }
      }
      const committed = await engine.commit(change)
      // The first try may have been done after we looked: then what stands in the way is our own payment.
      return lost && !committed.committed && (await isStored()) ? { committed: true } : committed
    } catch (error) {
      if (!(error instanceof CommitUnknown) && !isConnectionLost(error)) throw error
      lost = error
    }
  }
  throw lost
}

async function admitCard(
  request: CreatePayment,
  attempt: number,
  engine: Engine,
): Promise<AdmittedCard | undefined> {
  if (!request.card) return undefined
  const { number, expiryDate } = request.card
  const admitted = await engine.vault.admit(request.merchant.merchantId, number, { expiryDate, attempt })
  if (!admitted) throw new UnknownPseudoNumber('the pseudo card number is not known')
  return admitted
}

interface Begun {
  readonly payment: Payment
  readonly authorization: Payment['operations'][number]
  readonly message: AuthorizationRequest
}

function begin(
  request: CreatePayment,
  card: AdmittedCard | undefined,
  connector: Connector,
  engine: Engine,
): Begun {
  const { command, merchant } = request
  const now = merchantNow(engine.clock, merchant)
  const payId = newPayId(engine)
  const xId = newXId(engine)
  const captureXId = command.captureMethod.type === 'AUTOMATIC' ? newXId(engine) : undefined
  const question = {
    merchantId: merchant.merchantId,
    payId,
    reference: xId,
    amount: command.amount,
    simulationMode: command.simulationMode,
    at: now,
    card: card && { ...request.card, number: card.number, expiryDate: card.expiryDate },
    captureReference: captureXId,
  }
  const prepared = connector.prepareAuthorization(question)
  const payment = openPayment({
    command,
    payId,
    xId,
    captureXId,
    instrument: card && toInstrument(card, request.card?.cardholderName),
    prepared,
    key: keyReference(request.key),
    now,
  })
  const [authorization] = payment.operations
  if (!authorization) throw new Error('a new payment has its authorisation')
  return { payment, authorization, message: { ...question, prepared } }
}

const toInstrument = (card: AdmittedCard, cardHolderName: string | undefined): Instrument => ({
  cardId: card.cardId,
  first6Digits: card.first6Digits,
  last4Digits: card.last4Digits,
  brand: card.brand,
  expiryDate: card.expiryDate,
  cardHolderName,
})

const unheard: AuthorizationOutcome = { authorization: { kind: 'unknown' } }

async function finish(
  request: CreatePayment,
  begun: Begun,
  connector: Connector,
  engine: Engine,
): Promise<OperationAnswer> {
  const { payment, authorization, message } = begun
  const context: CallContext = {
    question: { operation: 'AUTHORIZATION', reference: authorization.xId, amount: message.amount },
    engine,
  }
  const heard = await callProvider(
    () => connector.authorize(message),
    said => said.authorization,
    unheard,
    context,
  )
  const outcome = believeBoth(heard, message, context)
  engine.onOutcome('AUTHORIZATION', outcome.authorization.kind)
  if (outcome.capture) engine.onOutcome('CAPTURE', outcome.capture.kind)
  await engine.testCrash('afterCall')
  const answer = await recordOutcome(
    { merchant: request.merchant, payment, xId: authorization.xId, outcome },
    engine,
  )
  await engine.testCrash('afterSettle')
  return answer
}

/** A capture that was asked for and not answered is unknown, never forgotten. */
function believeBoth(
  heard: AuthorizationOutcome,
  message: AuthorizationRequest,
  context: CallContext,
): AuthorizationOutcome {
  const authorization = believe(heard.authorization, context)
  if (!message.captureReference || authorization.kind !== 'approved') return { authorization }
  const question = { operation: 'CAPTURE', reference: message.captureReference, amount: message.amount }
  return { authorization, capture: believe(heard.capture ?? { kind: 'unknown' }, { ...context, question }) }
}

function refuse(request: CreatePayment, refusal: Refusal, engine: Engine): Promise<OperationAnswer> {
  const { command } = request
  const answer = answerRefusal(refusal, {
    merchantId: command.merchantId,
    transId: command.transId,
    xId: newXId(engine),
    refNr: command.refNr,
    metadata: command.metadata,
  })
  return storeRefusal(answer, request, engine)
}
