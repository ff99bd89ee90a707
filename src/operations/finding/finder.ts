/** What an operator may look up without a running server: payments, movements and events of all merchants. */
import type { MerchantId, PayId } from '#domain/ids.ts'
import { csvHeader, streamMovements } from '#operations/finding/movements.ts'
import { toRecord } from '#operations/payments/answer.ts'
import { operationTypes } from '#schemas/payment-record.ts'
import { createGroupCommit } from '#storage/commit/group-commit.ts'
import type { Database } from '#storage/database.ts'
import { createEventStore, type EventStatus, type StoredEvent } from '#storage/events/events.ts'
import { createMerchantStore } from '#storage/merchants.ts'
import { createPaymentFinder, type PaymentFilter } from '#storage/payments/finding.ts'
import { createMovementReader, finalStates } from '#storage/payments/movements.ts'
import { createPaymentReader } from '#storage/payments/payments.ts'

/** 100: as many as a page of the API holds; for fewer results, narrow the search. */
const perMerchant = 100

/** 1,000 events of one merchant: a list for people. */
const eventsMax = 1_000

export interface EventFilter {
  readonly merchant?: string
  readonly since?: Date
  readonly status?: EventStatus
}

export type ListedEvent = StoredEvent & { readonly merchantId: MerchantId }

/** An operator named a merchant that does not exist. */
export class UnknownMerchant extends Error {}

export function createFinder(database: Database) {
  const finder = createPaymentFinder(database)
  const payments = createPaymentReader(database)
  const events = createEventStore(database)
  async function merchantIds(wanted?: string): Promise<readonly MerchantId[]> {
    const all = (await createMerchantStore(database).list()).map(({ merchantId }) => merchantId)
    if (wanted === undefined) return all
    const found = all.filter(merchantId => merchantId === wanted)
    if (found.length === 0) throw new UnknownMerchant(`there is no merchant "${wanted}"`)
    return found
  }

  const newestFirst = (a: { createdAt: Date }, b: { createdAt: Date }): number =>
    b.createdAt.getTime() - a.createdAt.getTime()

  async function findEvent(id: string): Promise<ListedEvent | undefined> {
    if (!/^[0-9a-f]{32}$/.test(id)) return undefined
    for (const merchantId of await merchantIds()) {
      const event = await events.find(merchantId, id)
      if (event) return { ...event, merchantId }
    }
    return undefined
  }

  return {
    findEvent,

    async findPayments(filter: PaymentFilter, merchant?: string) {
      const found = []
      // One after the other: each has its own place in every index.
      for (const merchantId of await merchantIds(merchant))
        found.push(...(await finder.find({ merchantId, filter, limit: perMerchant })))
      return found.sort(newestFirst).map(payment => ({ payment, record: toRecord(payment) }))
    },

    async showPayment(payId: PayId) {
      for (const merchantId of await merchantIds()) {
        const payment = await payments.byPayId(merchantId, payId)
        if (!payment) continue
        const page = await events.list(merchantId, { payId }, { offset: 0, limit: eventsMax })
        return { payment, record: toRecord(payment), events: page.events.toReversed() }
      }
      return undefined
    },

    async *exportOperations({ merchant, from, to }: { merchant: string; from: Date; to: Date }) {
      for (const merchantId of await merchantIds(merchant)) {
        yield csvHeader
        const question = { merchantId, from, to, types: operationTypes, states: finalStates }
        yield* streamMovements(question, createMovementReader(database))
      }
    },

    async listEvents({ merchant, since, status }: EventFilter): Promise<readonly ListedEvent[]> {
      const found: ListedEvent[] = []
      for (const merchantId of await merchantIds(merchant)) {
        const listed = await events.list(merchantId, { status }, { offset: 0, limit: eventsMax })
        found.push(...listed.events.map(event => ({ ...event, merchantId })))
      }
      return found.filter(({ createdAt }) => !since || createdAt >= since).sort(newestFirst)
    },

    /** False: there is no such event. */
    async replay(id: string): Promise<boolean> {
      const event = await findEvent(id)
      if (!event) return false
      const { merchantId, payId, sequence } = event
      const { commit } = createGroupCommit(database.writers)
      await commit({ replays: [{ merchantId, payId, sequence, dueAt: new Date() }] })
      return true
    },
  }
}
