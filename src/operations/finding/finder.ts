/** Lets operators look up payments, movements and events of all merchants without a running server. */
import type { MerchantId, PayId } from '#domain/ids.ts'
import { createEventFinder, eventsMax, findMerchants, newestFirst } from '#operations/finding/event-finder.ts'
import { csvHeader, streamMovements } from '#operations/finding/movements.ts'
import { toRecord } from '#operations/payments/answer.ts'
import { operationTypes } from '#schemas/payment-record.ts'
import type { Database } from '#storage/database.ts'
import { createEventStore } from '#storage/events/events.ts'
import { createPaymentFinder, type PaymentFilter } from '#storage/payments/finding.ts'
import { createMovementReader, finalStates } from '#storage/payments/movements.ts'
import { createPaymentReader } from '#storage/payments/payments.ts'

/** 100: as many as a page of the API holds. An operator who wants others narrows the search. */
const perMerchant = 100

export interface PaymentSearch {
  readonly filter: PaymentFilter
  readonly merchant?: string | undefined
  /** Called for a merchant that has more payments than are shown. */
  readonly onCut: (merchantId: MerchantId, shown: number) => void
}

export function createFinder(database: Database) {
  const finder = createPaymentFinder(database)
  const payments = createPaymentReader(database)
  const events = createEventStore(database)

  return {
    ...createEventFinder(database),

    async findPayments({ filter, merchant, onCut }: PaymentSearch) {
      const found = []
      // One query per merchant, because every index begins with the merchant.
      for (const { merchantId } of await findMerchants(database, merchant)) {
        const newest = await finder.find({ merchantId, filter, limit: perMerchant + 1 })
        if (newest.length > perMerchant) onCut(merchantId, perMerchant)
        found.push(...newest.slice(0, perMerchant))
      }
      return found.sort(newestFirst).map(payment => ({ payment, record: toRecord(payment) }))
    },

    async showPayment(payId: PayId) {
      for (const { merchantId } of await findMerchants(database)) {
        const payment = await payments.byPayId(merchantId, payId)
        if (!payment) continue
        const page = await events.list(merchantId, { payId }, { offset: 0, limit: eventsMax })
        return { payment, record: toRecord(payment), events: page.events.toReversed() }
      }
      return undefined
    },

    async *exportOperations({ merchant, from, to }: { merchant: string; from: Date; to: Date }) {
      for (const { merchantId } of await findMerchants(database, merchant)) {
        yield csvHeader
        const question = { merchantId, from, to, types: operationTypes, states: finalStates }
        yield* streamMovements(question, createMovementReader(database))
      }
    },
  }
}
