/**
 * Group commit: changes that are ready at the same time share one round trip and one durable commit. Each change is
 * still atomic, with its own guards and its own answer. A batch collects changes while the previous one is written.
 */

import { strict as assert } from 'node:assert'
import type { Pool } from 'pg'
import { textAt } from '#domain/json.ts'
import { BatchQuery, onHastyConnection, type Send } from '#storage/commit/batch-query.ts'
import { encodeBatch } from '#storage/commit/binary-columns.ts'
import {
  type Change,
  type Committed,
  CommitUnknown,
  type Conflict,
  conflicts,
} from '#storage/commit/change.ts'
import { fromCustomerUpdate, pushCustomer } from '#storage/commit/customer-change.ts'
import { fromDispute } from '#storage/commit/dispute-parts.ts'
import { endpointsRow } from '#storage/commit/event-parts.ts'
import { fromMark, fromUnmark, markBetween } from '#storage/commit/marks.ts'
import { pushPlan } from '#storage/commit/plan-change.ts'
import { fromReferences } from '#storage/commit/provider-references.ts'
import {
  fromAccount,
  fromCard,
  fromEvent,
  fromKey,
  fromKeyAnswer,
  fromOperation,
  fromOperationState,
  fromPayment,
  fromPaymentChoice,
  fromPaymentState,
  fromPaymentTerms,
  fromQuote,
  fromQuoteUse,
  fromReplay,
  fromTimer,
  fromTimerKey,
} from '#storage/commit/rows.ts'
import { commitStatement, encodePart, type Part, type PartRow, partNames } from '#storage/commit/statement.ts'
import { constraintOf, isOverdue, writerConnections } from '#storage/database.ts'
import { fromIntent, fromIntentClaim, fromIntentEnd } from '#storage/payments/intents.ts'

export interface GroupCommit {
  /** Resolves when the change is durable, or was refused and not written at all. */
  commit(change: Change): Promise<Committed>
}

export interface GroupCommitOptions {
  /** How long changes wait for the batches under way before they start a batch of their own. */
  readonly patienceMs?: number
  readonly onBatch?: (size: number) => void
  /**
   * Called after every commit with the version mark of the webhook endpoints. Callers get their answer when it
   * resolves.
   */
  readonly onEndpoints?: (mark: string) => Promise<void> | undefined
}

interface Waiting {
  readonly change: Change
  readonly resolve: (committed: Committed) => void
  readonly reject: (error: unknown) => void
}

/**
 * 32: with larger batches all callers wait for each other, and a single PostgreSQL process does all the work. While a
 * batch is under way, only a full one is begun beside it: with 16 changes a payment cost the gateway and PostgreSQL a
 * quarter more (measured).
 */
const maximumBatch = 32

/** 10 ms: a batch usually takes 2 to 8 ms; one that waits for a lock must not hold up the others. */
const defaultPatienceMs = 10

export function createGroupCommit(pool: Pool, options: GroupCommitOptions = {}): GroupCommit {
  const { patienceMs = defaultPatienceMs } = options
  let queue: Waiting[] = []
  let inFlight = 0
  let scheduled = false
  let patience: NodeJS.Timeout | undefined
  const writer: Writer = { pool, send: async query => pool.query(query), onEndpoints: options.onEndpoints }

  function schedule(): void {
    if (scheduled) return
    scheduled = true
    setImmediate(flush)
  }

  function flush(): void {
    scheduled = false
    while (queue.length > 0 && mayStart()) start()
    if (queue.length > 0 && inFlight < writerConnections) patience ??= setTimeout(start, patienceMs)
  }

  const mayStart = (): boolean =>
    inFlight === 0 || (inFlight < writerConnections && queue.length >= maximumBatch)

  function start(): void {
    clearTimeout(patience)
    patience = undefined
    const { batch, rest } = takeBatch(queue)
    queue = rest
    inFlight += 1
    options.onBatch?.(batch.length)
    void writeBatch(writer, batch).finally(() => {
      inFlight -= 1
      if (queue.length > 0) schedule()
    })
  }

  return {
    commit(change) {
      return new Promise((resolve, reject) => {
        queue.push({ change, resolve, reject })
        // Start now, not at the end of this turn of the event loop: PostgreSQL then works while further requests are
        // read.
        if (queue.length >= maximumBatch && mayStart()) start()
        else schedule()
      })
    },
  }
}

/** The ids of the plan, intent and quote that a change writes, if any. */
function rowsOf(change: Change): readonly string[] {
  const { startPlan, beginTurn, endTurn, holdPlan, movePlan, updatePlan, changePlan } = change
  const plan =
    startPlan ?? beginTurn ?? endTurn ?? holdPlan ?? movePlan ?? updatePlan?.plan ?? changePlan?.plan
  const intent = change.claimIntent ?? change.endIntent
  if (!plan && !intent && !change.useQuote) return nothing
  return [plan?.planId, intent?.intentId, change.useQuote?.quoteId].filter(id => id !== undefined)
}

const nothing: readonly string[] = []

/**
 * A single statement updates a row only once and silently skips further updates of it. So of two changes to the same
 * plan, such as its end and the outcome of its charge, the second waits for the next batch.
 */
function takeBatch(queue: readonly Waiting[]): { readonly batch: Waiting[]; readonly rest: Waiting[] } {
  const batch: Waiting[] = []
  const rest: Waiting[] = []
  const written = new Set<string>()
  for (const [index, waiting] of queue.entries()) {
    if (batch.length === maximumBatch) return { batch, rest: [...rest, ...queue.slice(index)] }
    const rows = rowsOf(waiting.change)
    if (rows.some(id => written.has(id))) rest.push(waiting)
    else batch.push(waiting)
    // Include the rows of a change that waits, so that a later change cannot overtake it.
    for (const id of rows) written.add(id)
  }
  return { batch, rest }
}

const done: Committed = { committed: true }

/** 5: one of two deadlocked statements always succeeds, so losing five times takes five different opponents. */
const maximumDeadlocks = 5

/** Writes a batch and answers every caller. Never throws. */
async function writeBatch(writer: Writer, batch: readonly Waiting[], deadlocks = 0): Promise<void> {
  try {
    const refused = await write(
      batch.map(waiting => waiting.change),
      writer,
    )
    for (const [index, waiting] of batch.entries()) {
      const conflict = refused.get(index)
      waiting.resolve(conflict ? { committed: false, conflict } : done)
    }
  } catch (error) {
    if (batch.length > 1 && isRolledBack(error)) return writeParts(writer, batch, error)
    if (isLostRace(error) && deadlocks < maximumDeadlocks) return writeBatch(writer, batch, deadlocks + 1)
    const conflict = batch.length === 1 ? conflictOf(error) : undefined
    for (const waiting of batch) {
      if (conflict) waiting.resolve({ committed: false, conflict })
      else waiting.reject(isRolledBack(error) ? error : new CommitUnknown(error))
    }
  }
}

/**
 * A change that violates a constraint, or a race with another process, fails the whole statement, and nothing was
 * written. Splits the batch in halves until the culprit is alone: one round trip per change would take longer. After a
 * wait for a lock the halves would wait for it one after the other, so each change is written by itself.
 */
async function writeParts(writer: Writer, batch: readonly Waiting[], error: unknown): Promise<void> {
  if (isOverdue(error)) return writeEach(writer, batch)
  const middle = batch.length >> 1
  await writeBatch(writer, batch.slice(0, middle))
  await writeBatch(writer, batch.slice(middle))
}

/**
 * Writes on one connection only, because the changes that need the lock would else occupy those that all other batches
 * need. They hardly wait, because their batch has waited for that lock.
 */
const writeEach = (writer: Writer, batch: readonly Waiting[]): Promise<void> =>
  onHastyConnection(writer.pool, async send => {
    for (const waiting of batch) await writeBatch({ ...writer, send }, [waiting])
  }).catch(error => {
    for (const { reject } of batch) reject(new CommitUnknown(error))
  })

interface Writer {
  readonly pool: Pool
  readonly send: Send
  readonly onEndpoints: GroupCommitOptions['onEndpoints']
}

async function write(
  changes: readonly Change[],
  { send, onEndpoints }: Writer,
): Promise<Map<number, Conflict>> {
  const rows = collectRows(changes)
  const { name, text, shape } = commitStatement(partNames.filter(part => rows[part].length > 0))
  const encode = <P extends Part>(part: P) => encodePart(part, rows[part])
  const batch = encodeBatch(name, () => shape.forEach(encode))
  const answered = await send(new BatchQuery({ name, text, batch }))
  const refused = new Map<number, Conflict>()
  for (const [c, why = ''] of answered.rows) {
    if (Number(c) === endpointsRow) await noticeEndpoints(onEndpoints, why)
    else refused.set(Number(c), toConflict(why))
  }
  return refused
}

/** All rows but the endpoints' mark come from guards, which name a conflict. */
const toConflict = (why: string): Conflict =>
  conflicts.find(conflict => conflict === why) ?? assert.fail(`a guard named "${why}", which is no conflict`)

/** The commit is done, so an error is ignored: the endpoints are read with the next commit. */
async function noticeEndpoints(onEndpoints: GroupCommitOptions['onEndpoints'], mark: string): Promise<void> {
  await onEndpoints?.(mark)?.catch(() => undefined)
}

type Rows = { readonly [P in Part]: PartRow<P>[] }

const emptyRows = (): Rows => ({
  key: [],
  payment: [],
  settled: [],
  revised: [],
  chosen: [],
  paymentHold: [],
  card: [],
  account: [],
  quoted: [],
  quote: [],
  operation: [],
  mark: [],
  unmark: [],
  answered: [],
  keyAnswer: [],
  event: [],
  replay: [],
  providerReference: [],
  timer: [],
  customer: [],
  customerUse: [],
  customerUpdate: [],
  method: [],
  methodUse: [],
  timerDrop: [],
  intent: [],
  intentClaim: [],
  intentEnd: [],
  plan: [],
  planStart: [],
  planCharge: [],
  planTurn: [],
  planHold: [],
  planMethod: [],
  planResult: [],
  planProgress: [],
  planUpdate: [],
  planChange: [],
  dispute: [],
})

function collectRows(changes: readonly Change[]): Rows {
  const rows = emptyRows()
  for (const [c, change] of changes.entries()) {
    pushPayment(rows, change, c)
    pushOperations(rows, change, c)
    pushSurroundings(rows, change, c)
  }
  return rows
}

/** The payment itself, its idempotency key, and its card, account and quote. */
function pushPayment(rows: Rows, change: Change, c: number): void {
  if (change.key) rows.key.push(fromKey(change.key, c))
  if (change.insertPayment) rows.payment.push(fromPayment(change.insertPayment, c))
  const mark = change.mark ?? (change.insertPayment && markBetween(undefined, change.insertPayment).mark)
  if (mark) rows.mark.push(fromMark(mark, c))
  if (change.unmark) rows.unmark.push(fromUnmark(change.unmark, c))
  if (change.updatePayment) {
    const { payment, expectedVersion: expected_version, extent } = change.updatePayment
    if (extent === 'settled') rows.settled.push({ ...fromPaymentState(payment, c), expected_version })
    else if (extent === 'revised') rows.revised.push({ ...fromPaymentTerms(payment, c), expected_version })
    else rows.chosen.push({ ...fromPaymentChoice(payment, c), expected_version })
  }
  if (change.holdPayment) {
    const { merchantId: merchant_id, payId: pay_id, expectedVersion: expected_version } = change.holdPayment
    rows.paymentHold.push({ c, merchant_id, pay_id, expected_version })
  }
  if (change.card) rows.card.push(fromCard(change.card, c))
  if (change.account) rows.account.push(fromAccount(change.account, c))
  if (change.insertQuote) rows.quoted.push(fromQuote(change.insertQuote, c))
  if (change.useQuote) rows.quote.push(fromQuoteUse(change.useQuote, c))
}

/** The payment's operations, their provider references, and the events about them. */
function pushOperations(rows: Rows, change: Change, c: number): void {
  for (const operation of change.insertOperations ?? []) {
    rows.operation.push(fromOperation(operation, c))
    rows.providerReference.push(...fromReferences(operation, c))
  }
  for (const operation of change.updateOperations ?? []) {
    rows.answered.push(fromOperationState(operation, c))
    rows.providerReference.push(...fromReferences(operation, c))
  }
  if (change.keyAnswer) rows.keyAnswer.push(fromKeyAnswer(change.keyAnswer, c))
  for (const event of change.events ?? []) rows.event.push(fromEvent(event, c))
}

/** The customer, plan, intent and dispute of the payment, and the timers of all of them. */
function pushSurroundings(rows: Rows, change: Change, c: number): void {
  if (change.customer) pushCustomer(rows, change.customer, c)
  if (change.updateCustomer) rows.customerUpdate.push(fromCustomerUpdate(change.updateCustomer, c))
  for (const replay of change.replays ?? []) rows.replay.push(fromReplay(replay, c))
  for (const timer of change.setTimers ?? []) rows.timer.push(fromTimer(timer, c))
  for (const timer of change.dropTimers ?? []) rows.timerDrop.push(fromTimerKey(timer, c))
  if (change.insertIntent) rows.intent.push(fromIntent(change.insertIntent, c))
  if (change.claimIntent) rows.intentClaim.push(fromIntentClaim(change.claimIntent, c))
  if (change.endIntent) rows.intentEnd.push(fromIntentEnd(change.endIntent, c))
  pushPlan(rows, change, c)
  if (change.dispute) rows.dispute.push(fromDispute(change.dispute, c))
}

/**
 * An error reported by PostgreSQL has rolled the statement back; any other error leaves the outcome unknown. Errors of
 * the server and of the connection have no common class, only the member `code`.
 */
const isRolledBack = (error: unknown): boolean =>
  /^[0-9A-Z]{5}$/.test(textAt(error, 'code') ?? '') && !isConnectionClass(error)

/**
 * A deadlock or serialisation failure: nothing of this statement was written, and it may be retried.
 */
const isLostRace = (error: unknown): boolean => /^(40001|40P01)$/.test(textAt(error, 'code') ?? '')

/** Class 08 and 57P01–57P03: the server ended the connection, so the outcome of the statement is unknown. */
const isConnectionClass = (error: unknown): boolean => /^(08|57P0[1-3])/.test(textAt(error, 'code') ?? '')

const conflictByConstraint: Record<string, Conflict> = {
  idempotency_key_pkey: 'key_taken',
  payment_live_by_trans_id: 'trans_id_taken',
  vault_card_by_pseudo_number: 'pseudo_number_taken',
  vault_account_by_pseudo_number: 'pseudo_number_taken',
  // Two processes gave two operations of one payment the same number.
  operation_pkey: 'version_changed',
  // Two notices opened the same dispute.
  dispute_by_provider_id: 'version_changed',
  // Two payments created the same customer, or one arrived while its customer was deleted.
  customer_by_merchant_customer_id: 'customer_changed',
  stored_method_has_customer: 'customer_changed',
}

function conflictOf(error: unknown): Conflict | undefined {
  // By the constraint's name, not the error's code: a copy into a Citus shard reports a violation as an internal error.
  const constraint = constraintOf(error)
  return constraint === undefined ? undefined : conflictByConstraint[constraint]
}
