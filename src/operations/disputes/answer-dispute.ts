/** The merchant's answer to a dispute: accept it, or send evidence, if the connector supports it. */
import { createHash } from 'node:crypto'
import type { Connector, Evidence, Outcome } from '#connectors/contract.ts'
import type { AnsweredDispute } from '#connectors/notice.ts'
import type { Merchant } from '#domain/merchant.ts'
import { describe, detailCode, type Refusal, refusalCodes } from '#domain/response-codes.ts'
import {
  acceptDispute,
  type Dispute,
  type DisputeChange,
  type DisputeId,
  refuseAnswer,
  submitEvidence,
} from '#lifecycle/dispute.ts'
import { approvingOperation, type Payment } from '#lifecycle/payment.ts'
import { changeDispute } from '#operations/disputes/dispute-book.ts'
import { type Engine, merchantNow } from '#operations/engine.ts'
import { keyRow, type OperationKey, storeAnswer, storeRefusal } from '#operations/key.ts'
import { ProviderSilent } from '#operations/lost-database.ts'
import type { OperationAnswer } from '#operations/payments/answer.ts'
import type { HeldAnswer } from '#storage/disputes/disputes.ts'
import type { RecordVault } from '#vault/sealed-records.ts'

export interface AnswerDeps {
  readonly engine: Engine
  readonly vault: RecordVault
}

export interface DisputeAnswer {
  readonly merchant: Merchant
  readonly disputeId: DisputeId
  readonly key?: OperationKey
}

/** 20 s: the longest that one call to a provider may take. */
const callMs = 20_000

interface AnswerStep {
  /** Returns undefined if the connector does not support it. */
  readonly hand: (
    actions: NonNullable<Connector['disputes']>,
    dispute: AnsweredDispute,
    signal: AbortSignal,
  ) => Promise<Outcome> | undefined
  /** Stores what the provider has taken, or may have, before the dispute is changed: a repetition of a call cut off here stores it. */
  readonly keep?: () => Promise<void>
  readonly change: (payment: Payment, dispute: Dispute, connector: Connector, now: Date) => DisputeChange
}

export const accept = (asked: DisputeAnswer, deps: AnswerDeps): Promise<OperationAnswer | undefined> =>
  answerDispute(
    asked,
    {
      hand: (actions, dispute, signal) =>
        actions.accept?.(dispute, `${asked.disputeId}-${dispute.stage}-accept`, signal),
      change: (payment, dispute, _, now) => acceptDispute(payment, dispute, now),
    },
    deps,
  )

export function sendEvidence(
  asked: DisputeAnswer & { readonly evidence: Evidence },
  deps: AnswerDeps,
): Promise<OperationAnswer | undefined> {
  const { evidence, disputeId, merchant } = asked
  // Derived from the evidence: the provider takes the same evidence as a repetition, different evidence as a new
  // message. The stage is part of it, because the same evidence may be sent again after a chargeback was reopened.
  const keyAt = (stage: string): string => `${disputeId}-${digest(evidence, stage)}`
  return answerDispute(
    asked,
    {
      hand: (actions, dispute, signal) =>
        actions.submitEvidence?.(dispute, evidence, keyAt(dispute.stage), signal),
      keep: () => keepEvidence(merchant, disputeId, evidence, deps),
      change: (payment, dispute, { disputes }, now) =>
        submitEvidence(payment, dispute, { kept: disputes?.keep?.(evidence) ?? dispute.kept, now }),
    },
    deps,
  )
}

/**
 * Two people may answer the same dispute at once, one with evidence and one by accepting it. The second waits for the
 * first, also if another process serves it, so that the provider is not told both and the second is not told that its
 * answer counts.
 */
const answerDispute = (
  asked: DisputeAnswer,
  step: AnswerStep,
  deps: AnswerDeps,
): Promise<OperationAnswer | undefined> =>
  deps.engine.disputeTurns.run([[`${asked.merchant.merchantId} ${asked.disputeId}`, 1]], () =>
    answerInTurn(asked, step, deps),
  )

async function answerInTurn(
  asked: DisputeAnswer,
  step: AnswerStep,
  deps: AnswerDeps,
): Promise<OperationAnswer | undefined> {
  const { engine } = deps
  const { merchant, disputeId } = asked
  const { merchantId } = merchant
  if (!(await engine.disputes.byId(merchantId, disputeId))) return undefined
  const held = { merchantId, disputeId, holder: engine.newId() }
  await holdDispute(held, engine)
  try {
    return await answerHeld(asked, step, deps)
  } finally {
    // A dispute that could not be released is free by itself a minute later, and the answer stands all the same.
    await engine.disputes.release(held).catch(() => undefined)
  }
}

/** 25 s: as long as another process may call the provider, and a little more for its commits. */
const holdTriesMs = 25_000

const holdPauseMs = 200

async function holdDispute(answer: HeldAnswer, { disputes, clock }: Engine): Promise<void> {
  for (let waitedMs = 0; waitedMs < holdTriesMs; waitedMs += holdPauseMs) {
    if (await disputes.hold(answer)) return
    await clock.waitMs(holdPauseMs)
  }
  throw new ProviderSilent(`another answer to ${answer.disputeId} is under way`)
}

async function answerHeld(
  { merchant, disputeId, key }: DisputeAnswer,
  { hand, keep, change }: AnswerStep,
  deps: AnswerDeps,
): Promise<OperationAnswer | undefined> {
  const { engine } = deps
  const { merchantId } = merchant
  const dispute = await engine.disputes.byId(merchantId, disputeId)
  const payment = dispute && (await engine.payments.byPayId(merchantId, dispute.payId))
  if (!dispute || !payment) return undefined
  const now = merchantNow(engine.clock, merchant)
  const refuse = (refusal: Refusal) =>
    storeRefusal(toRefusal(refusalCodes[refusal]), { key, merchant }, engine)
  const connector = (await engine.providers.open(merchantId, payment.provider?.account))?.connector
  const signal = AbortSignal.timeout(callMs)
  const refusal = refuseAnswer(dispute, now)
  if (!connector?.disputes) return refuse('METHOD_LACKS_OPERATION')
  if (refusal) return refuse(refusal)
  const { prepared: approval } = approvingOperation(payment)
  const sent = hand(connector.disputes, { ...dispute, approval }, signal)
  if (!sent) return refuse('METHOD_LACKS_OPERATION')
  const outcome = await hear(sent, { dispute, signal }, engine)
  if (outcome.kind === 'declined')
    return storeRefusal(
      toRefusal(detailCode(payment.method.family, outcome.detail)),
      { key, merchant },
      engine,
    )
  // A provider that has perhaps taken it may end the dispute before the merchant repeats the call.
  if (outcome.kind !== 'unreached') await keep?.()
  if (outcome.kind === 'unknown' || outcome.kind === 'unreached')
    throw new ProviderSilent(`the provider did not say whether it took the answer to ${disputeId}`)
  const changed = await changeDispute(
    { merchantId, payId: dispute.payId },
    {
      // A notice may have closed the dispute during the provider call: then there is nothing left to change.
      decide: (stored, disputes) => {
        const current = disputes.find(one => one.disputeId === disputeId)
        return current?.status === 'OPEN' ? change(stored, current, connector, now) : undefined
      },
      now,
      alongside: ({ dispute: next }) => ({ key: keyRow(key, { merchant, answer: toAnswer(next), now }) }),
    },
    engine,
  )
  if (changed) return toAnswer(changed.dispute)
  const current = await engine.disputes.byId(merchantId, disputeId)
  return current && storeAnswer(toAnswer(current), { key, merchant }, engine)
}

/** A connector that throws leaves open whether the provider took the answer. */
async function hear(
  sent: Promise<Outcome>,
  { dispute, signal }: { readonly dispute: Dispute; readonly signal: AbortSignal },
  { onAlarm }: Pick<Engine, 'onAlarm'>,
): Promise<Outcome> {
  const { disputeId, payId, xId } = dispute
  try {
    const outcome = await sent
    if (outcome.kind === 'declined' && outcome.callRefused) {
      const message = `the provider refused our credentials for the answer to ${disputeId}: ${outcome.provider.responseText ?? 'no reason given'}`
      onAlarm({ code: 'CREDENTIALS_REFUSED', message, payId, xId })
    }
    return outcome
  } catch (error) {
    const message = `the connector threw an error during the answer to ${disputeId}, which the merchant may repeat`
    if (!signal.aborted) onAlarm({ code: 'CONNECTOR_THREW', message, payId, xId, error })
    return { kind: 'unknown' }
  }
}

/** Text is stored like files, sealed. */
async function keepEvidence(
  { merchantId }: Merchant,
  disputeId: DisputeId,
  { text, files }: Evidence,
  { engine, vault }: AnswerDeps,
): Promise<void> {
  const texts = text === undefined ? [] : [{ name: 'text', type: 'text/plain', content: Buffer.from(text) }]
  const sealed = await Promise.all(
    [...texts, ...files].map(async ({ name, type, content }) => {
      const fileId = engine.newId()
      return { fileId, name, type, ...(await vault.seal('dispute file', merchantId, fileId, content)) }
    }),
  )
  await engine.disputes.insertFiles(merchantId, disputeId, sealed)
}

const toAnswer = (dispute: Dispute): OperationAnswer => ({
  status: 200,
  json: JSON.stringify(showDispute(dispute)),
})

const toRefusal = (responseCode: string): OperationAnswer => ({
  status: 422,
  json: JSON.stringify({
    status: 'FAILED',
    responseCode,
    responseDescription: describe(responseCode).description,
  }),
})

function digest({ text, files }: Evidence, stage: string): string {
  const hash = createHash('sha256').update(`${stage}\0${text ?? ''}`)
  for (const { name, type, content } of files) hash.update(`\0${name}\0${type}\0`).update(content)
  return hash.digest('hex').slice(0, 32)
}

/** A dispute as the wire shows it. */
export const showDispute = (dispute: Dispute) => ({
  disputeId: dispute.disputeId,
  payId: dispute.payId,
  xId: dispute.xId,
  amount: dispute.amount,
  stage: dispute.stage,
  status: dispute.status,
  reasonCode: dispute.reasonCode,
  reasonGroup: dispute.reasonGroup,
  evidenceDueBy: dispute.evidenceDueBy?.toISOString(),
  providerDisputeId: dispute.providerDisputeId,
  creationDate: dispute.createdAt.toISOString(),
  updatedAt: dispute.updatedAt.toISOString(),
  events: dispute.events.map(({ at, type, stage, status }) => ({ at, type, stage, status })),
})
