/**
 * The dependencies of handlers, and the translation of errors from lower layers into the few that the HTTP layer knows.
 */
import type { OrderedFaults } from '#connectors/simulator/faults.ts'
import type { IssueToken } from '#http/authentication/issue-token.ts'
import { InvalidField, KeyTaken, NotFound, TooMany } from '#http/server/ports.ts'
import type { TestClock } from '#operations/clock.ts'
import type { Engine } from '#operations/engine.ts'
import type { LookUps } from '#operations/look-ups.ts'
import { ExpiryDateMissing, UnknownPseudoAccount, UnknownPseudoNumber } from '#operations/payments/admit.ts'
import { MethodMisfit } from '#operations/payments/follow-up.ts'
import { CommitRefused } from '#operations/payments/payment-queue.ts'
import { ReturnAddressMissing } from '#operations/payments/prepare-payment.ts'
import type { AuditStore } from '#storage/audit/audit.ts'
import type { EndpointStore } from '#storage/events/endpoints.ts'
import type { EventStore } from '#storage/events/events.ts'
import { TooManyLists } from '#storage/list-turns.ts'
import type { KeyReader } from '#storage/payments/keys.ts'
import type { SettlementStore } from '#storage/providers/settlements.ts'
import type { RecordVault } from '#vault/sealed-records.ts'

export interface Services {
  /** For decrypting card numbers for another purpose than paying. */
  readonly audit: Pick<AuditStore, 'append'>
  readonly environment: 'test' | 'live'
  readonly engine: Engine
  readonly issueToken: IssueToken
  readonly testTools: TestTools
  readonly lookUps: LookUps
  readonly events: {
    readonly store: EventStore
    readonly endpoints: EndpointStore
    readonly onEvents: () => void
  }
  /** Seals the evidence that merchants send. */
  readonly records: RecordVault
  readonly settlements: Pick<SettlementStore, 'list'>
}

/** The tools of the test environment. */
export interface TestTools {
  readonly clock: TestClock
  readonly faults: OrderedFaults
  /** For tools whose effect is not part of a commit. */
  readonly keys: Pick<KeyReader, 'find'>
}

/** Runs an operation; undefined from it means that the merchant has no such object. */
export async function perform<T>(operation: Promise<T | undefined>): Promise<T> {
  try {
    const result = await operation
    if (result === undefined) throw new NotFound()
    return result
  } catch (error) {
    throw translate(error)
  }
}

/** 1 s: most lists take a few milliseconds. */
const listRetrySeconds = 1

function translate(error: unknown): unknown {
  if (error instanceof CommitRefused && error.conflict === 'key_taken') return new KeyTaken()
  if (error instanceof MethodMisfit) return new InvalidField(error.field, error.message)
  if (error instanceof ReturnAddressMissing) return new InvalidField(error.field, error.message)
  if (error instanceof UnknownPseudoNumber)
    return new InvalidField('paymentMethods.card.number', error.message)
  if (error instanceof ExpiryDateMissing)
    return new InvalidField('paymentMethods.card.expiryDate', error.message)
  if (error instanceof UnknownPseudoAccount)
    return new InvalidField('paymentMethods.directDebit.account.number', error.message)
  if (error instanceof TooManyLists) return new TooMany(error.message, listRetrySeconds)
  return error
}
