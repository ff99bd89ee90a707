/** Lists, reads and changes payment links, which are payments with a page. */
import type { Merchant } from '#domain/merchant.ts'
import { type LinkState, linkState } from '#lifecycle/attempt.ts'
import type { Payment } from '#lifecycle/payment.ts'
import { untilPlanEnds } from '#lifecycle/plans/plan.ts'
import { type Engine, merchantNow, newXId } from '#operations/engine.ts'
import { cursorAfter, listPayments, type PaymentListRequest } from '#operations/finding/list-payments.ts'
import { keyRow, type OperationKey } from '#operations/key.ts'
import { answerRefusal, type OperationAnswer, toLink } from '#operations/payments/answer.ts'
import { expiryTimer } from '#operations/timer.ts'

type Links = Pick<Engine, 'finder' | 'clock' | 'pageAddress'>

function show(payment: Payment, merchant: Merchant, engine: Pick<Engine, 'clock' | 'pageAddress'>) {
  const state = linkState(payment, merchantNow(engine.clock, merchant))
  return toLink(payment, { page: engine.pageAddress(payment), state })
}

/** 100 per read and 1,000 in all: the most links that a request reads to find those in a rare state. */
const links = { atOnce: 100, looksMax: 10 }

/** A page filtered by state may hold fewer links than requested; only nextCursor says whether there are more. */
export async function listLinks(
  request: Omit<PaymentListRequest, 'filter'> & { readonly states?: readonly LinkState[] },
  engine: Links,
) {
  const { merchant, limit, states } = request
  const found: ReturnType<typeof show>[] = []
  let cursor = request.cursor
  let looks = 0
  do {
    const part = { ...request, cursor, limit: states ? links.atOnce : limit, filter: { link: true as const } }
    const page = await listPayments(part, engine)
    cursor = page.nextCursor
    for (const [index, payment] of page.payments.entries()) {
      const link = show(payment, merchant, engine)
      if (states?.includes(link.status) ?? true) found.push(link)
      if (found.length < limit) continue
      if (index + 1 < page.payments.length) cursor = cursorAfter(request, payment)
      break
    }
    looks += 1
  } while (cursor !== undefined && found.length < limit && looks < links.looksMax)
  return { data: found, nextCursor: cursor }
}

const findLink = async ({ merchantId }: Merchant, id: string, { finder }: Pick<Engine, 'finder'>) =>
  (await finder.find({ merchantId, filter: { link: id }, limit: 1 }))[0]

/** Undefined, here and below: the merchant has no such link. */
export async function getLink(merchant: Merchant, id: string, engine: Links) {
  const payment = await findLink(merchant, id, engine)
  return payment && show(payment, merchant, engine)
}

export interface LinkUpdate {
  readonly merchant: Merchant
  readonly id: string
  readonly expiresAt?: Date
  readonly description?: string
  readonly key?: OperationKey
}

export async function updateLink(
  { merchant, id, expiresAt, description, key }: LinkUpdate,
  engine: Engine,
): Promise<OperationAnswer | undefined> {
  const found = await findLink(merchant, id, engine)
  if (!found) return undefined
  const { merchantId, payId } = found
  return engine.queue.update({ merchantId, payId }, payment => {
    const now = merchantNow(engine.clock, merchant)
    const { transId, refNr } = payment
    if (linkState(payment, now) !== 'ACTIVE') {
      const xId = newXId(engine)
      const answer = answerRefusal('NOT_UPDATABLE', { payId, merchantId, transId, refNr, xId })
      const row = keyRow(key, { merchant, payId, answer, now })
      return { ...(row ? { alongside: { key: row } } : {}), result: answer }
    }
    const next: Payment = {
      ...payment,
      expiresAt: expiresAt ? untilPlanEnds(payment.details, expiresAt) : payment.expiresAt,
      details: {
        ...payment.details,
        ...(description === undefined ? {} : { description }),
        ...(expiresAt === undefined ? {} : { expirationTime: expiresAt.toISOString() }),
      },
      updatedAt: now,
      version: payment.version + 1,
    }
    const answer = { status: 200, json: JSON.stringify(show(next, merchant, engine)) }
    const row = keyRow(key, { merchant, payId, answer, now })
    const setTimers = expiryTimer(next, merchant)
    return { next, alongside: { setTimers, ...(row ? { key: row } : {}) }, result: answer }
  })
}
