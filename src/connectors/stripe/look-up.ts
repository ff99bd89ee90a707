/**
 * Finds the outcome of a request whose answer was lost. Stripe's search by our reference may lag by minutes, so the
 * list by time, which is always up to date, decides. If it does not hold the reference either, the request never
 * arrived.
 */
import type { AuthorizationOutcome, Inquiry } from '#connectors/contract.ts'
import { isOtherKey, type StripeClient } from '#connectors/stripe/client.ts'
import { fromStripeAmount } from '#connectors/stripe/translate/amounts.ts'
import {
  hasReleasedRest,
  isCapturedWhole,
  readIntent,
  readRelease,
} from '#connectors/stripe/translate/intents.ts'
import { type Asked, both, readAnswer, unknown, unreached } from '#connectors/stripe/translate/outcomes.ts'
import { readRefund } from '#connectors/stripe/translate/refunds.ts'
import { readSession } from '#connectors/stripe/translate/sessions.ts'
import {
  idAt,
  listAt,
  numberAt,
  referenceAt,
  referenceKey,
  textAt,
  type Wire,
  wireAt,
} from '#connectors/stripe/translate/wire.ts'
import type { Outcome } from '#lifecycle/outcome.ts'

interface LookUp {
  readonly client: StripeClient
  readonly nowMs: () => number
  readonly signal: AbortSignal
}

const pageSize = 100
/**
 * 20 pages of 100: more payments than an account makes in the window. After that the look-up gives up without a proof.
 */
const pagesMax = 20
/** Stripe's clock and ours may differ by this much. */
const skewSeconds = 300
const daySeconds = 86_400
/** A request arrives within its time limit; one hour covers delays on the way. */
const windowSeconds = 3_600

const askedBy = ({ reference, amount, captureReference }: Inquiry): Asked => ({
  reference,
  amount,
  captureReference,
})

export async function lookUp(inquiry: Inquiry, tools: LookUp): Promise<AuthorizationOutcome> {
  switch (inquiry.operation) {
    case 'CAPTURE':
      return both(await lookUpTotal(inquiry, 'amount_received', tools))
    case 'INCREMENTAL':
      return both(await lookUpTotal(inquiry, 'amount', tools))
    case 'REVERSAL':
      return both(await lookUpRelease(inquiry, tools))
    case 'REFUND':
      return both(await lookUpRefund(inquiry, tools))
    default:
      return lookUpAuthorization(inquiry, tools)
  }
}

async function lookUpAuthorization(inquiry: Inquiry, tools: LookUp): Promise<AuthorizationOutcome> {
  const id = inquiry.provider?.transactionId
  const asked = askedBy(inquiry)
  if (id?.startsWith('cs_')) return lookUpSession(id, asked, tools)
  if (id?.startsWith('pi_')) {
    const intent = await fetchIntent(id, tools)
    return intent === undefined ? both(unknown) : readIntent(intent, asked)
  }
  const found = await findIntent(inquiry, tools)
  if (found === 'nothing') return both(isOtherKey(inquiry.kept, tools.client) ? unknown : unreached)
  return found === undefined ? both(unknown) : readIntent(found, asked)
}

/**
 * If the session contains only the intent's id, the intent is fetched too, because the session alone does not show
 * whether the payment was approved.
 */
async function lookUpSession(id: string, asked: Asked, tools: LookUp): Promise<AuthorizationOutcome> {
  const session = await fetchSession(id, tools)
  if (session === undefined) return both(unknown)
  const intentId = textAt(session, 'payment_intent')
  if (textAt(session, 'status') !== 'complete' || intentId === undefined) return readSession(session, asked)
  const intent = await fetchIntent(intentId, tools)
  return intent === undefined ? readSession(session, asked) : readIntent(intent, asked)
}

/** Fetches the intent of an approval, of which we may know only the session. */
async function fetchApproval(id: string | undefined, tools: LookUp): Promise<Wire | undefined> {
  if (id === undefined) return undefined
  if (!id.startsWith('cs_')) return fetchIntent(id, tools)
  const session = await fetchSession(id, tools)
  const intentId = idAt(session, 'payment_intent')
  return (
    wireAt(session, 'payment_intent') ?? (intentId === undefined ? undefined : fetchIntent(intentId, tools))
  )
}

export async function fetchSession(id: string, { client, signal }: LookUp): Promise<Wire | undefined> {
  const path = `/v1/checkout/sessions/${encodeURIComponent(id)}`
  return objectOf(await client.get(path, { expand: ['payment_intent.latest_charge'] }, signal))
}

export async function fetchIntent(id: string, { client, signal }: LookUp): Promise<Wire | undefined> {
  const path = `/v1/payment_intents/${encodeURIComponent(id)}`
  return objectOf(await client.get(path, { expand: ['latest_charge'] }, signal))
}

function objectOf(answer: Parameters<typeof readAnswer>[0]): Wire | undefined {
  const reading = readAnswer(answer)
  return reading.kind === 'object' ? reading.object : undefined
}

const hitsIn = (list: Wire | undefined, { reference }: Pick<Inquiry, 'reference'>): readonly Wire[] =>
  listAt(list, 'data').filter(object => referenceAt(object) === reference)

/** The states of intents and refunds in which no money has moved or will move. */
const ended: ReadonlySet<string> = new Set(['canceled', 'requires_payment_method', 'failed'])

/**
 * If several objects have the same reference, the one that may have moved money counts, wherever it is in the list.
 * Undefined: there are several such objects, so an operator must look.
 */
function onlyOne(hits: readonly Wire[]): Wire | undefined {
  const open = hits.filter(hit => !ended.has(textAt(hit, 'status') ?? ''))
  return open.length > 1 ? undefined : (open[0] ?? hits[0])
}

/** `nothing`: the intent certainly does not exist. Undefined: the look-up could not tell. */
async function findIntent(inquiry: Inquiry, tools: LookUp): Promise<Wire | 'nothing' | undefined> {
  const { client, signal } = tools
  const query = `metadata['${referenceKey}']:'${inquiry.reference}'`
  const search = objectOf(
    await client.get(
      '/v1/payment_intents/search',
      { query, limit: 10, expand: ['data.latest_charge'] },
      signal,
    ),
  )
  const hits = hitsIn(search, inquiry)
  if (hits.length > 0) return onlyOne(hits)
  return findInList('/v1/payment_intents', inquiry, tools, windowOf(inquiry, tools))
}

/** The time window to search. If a merchant's test clock runs ahead of Stripe's, it is the last day. */
function windowOf({ sentAt }: Inquiry, { nowMs }: LookUp): { gte: number; lte?: number } {
  const sent = Math.floor(sentAt.getTime() / 1000)
  const now = Math.floor(nowMs() / 1000)
  if (sent > now + skewSeconds) return { gte: now - daySeconds }
  return { gte: sent - skewSeconds, lte: sent + windowSeconds }
}

async function findInList(
  path: string,
  inquiry: Inquiry,
  { client, signal }: LookUp,
  created: { gte: number; lte?: number },
): Promise<Wire | 'nothing' | undefined> {
  let after: string | undefined
  for (let page = 0; page < pagesMax; page++) {
    const list = objectOf(
      await client.get(
        path,
        {
          created: { gte: created.gte, lte: created.lte },
          limit: pageSize,
          starting_after: after,
          expand: ['data.latest_charge'],
        },
        signal,
      ),
    )
    if (list === undefined || !Array.isArray(list.data)) return undefined
    const hits = hitsIn(list, inquiry)
    if (hits.length > 0) return onlyOne(hits)
    after = textAt(listAt(list, 'data').at(-1), 'id')
    if (list.has_more !== true || after === undefined) return 'nothing'
  }
  return undefined
}

/** 10: about two thousand sums to try. With more unanswered captures, the notices decide. */
const besideMax = 10

/** Whether a subset of these amounts adds up to exactly this sum. */
const canMake = ([first, ...others]: readonly number[], sum: number): boolean =>
  first === undefined ? sum === 0 : canMake(others, sum) || canMake(others, sum - first)

/**
 * Whether the growth of a total includes this amount. Other unanswered operations may have contributed to it.
 * Undefined: the growth can be explained both with and without this operation, or not at all.
 */
function isHeld(grown: number, amount: number, beside: readonly number[]): boolean | undefined {
  if (beside.length > besideMax) return undefined
  const [held, notHeld] = [canMake(beside, grown - amount), canMake(beside, grown)]
  return held === notHeld ? undefined : held
}

/** Captures and increments are found by the intent's total, which has grown by the amount or has not. */
async function lookUpTotal(
  inquiry: Inquiry,
  name: 'amount' | 'amount_received',
  tools: LookUp,
): Promise<Outcome> {
  const { reference, amount, payment, authorizationTransactionId: id, unansweredBeside = [] } = inquiry
  const intent = await fetchApproval(id, tools)
  const total = fromStripeAmount(numberAt(intent, name), textAt(intent, 'currency'))
  if (intent === undefined || total === undefined || total.currency !== amount.currency) return unknown
  const before = name === 'amount' ? payment.authorizedValue : payment.capturedValue
  const held = isHeld(total.value - before, amount.value, unansweredBeside)
  if (held === undefined) return unknown
  if (!held) return unreached
  const charge = name === 'amount_received' ? idAt(intent, 'latest_charge') : undefined
  return {
    kind: 'approved',
    provider: {
      echo: { reference, amount },
      transactionId: charge ?? textAt(intent, 'id'),
      responseCode: '00',
    },
    ...(name === 'amount_received' && hasReleasedRest(intent) ? { restReleased: true } : {}),
  }
}

async function lookUpRelease(inquiry: Inquiry, tools: LookUp): Promise<Outcome> {
  const { authorizationTransactionId: id } = inquiry
  const intent = id === undefined ? undefined : await fetchIntent(id, tools)
  if (intent === undefined || id === undefined) return unknown
  if (textAt(intent, 'status') === 'requires_capture' || isCapturedWhole(intent)) return unreached
  return readRelease(intent, askedBy(inquiry), id)
}

async function lookUpRefund(inquiry: Inquiry, tools: LookUp): Promise<Outcome> {
  const { authorizationTransactionId: intentId, provider } = inquiry
  const { client, signal } = tools
  const asked = askedBy(inquiry)
  const id = provider?.transactionId
  if (id?.startsWith('re_') || id?.startsWith('pyr_')) {
    const refund = objectOf(await client.get(`/v1/refunds/${encodeURIComponent(id)}`, {}, signal))
    return refund === undefined ? unknown : readRefund(refund, asked)
  }
  if (intentId === undefined) return unknown
  const list = await fetchRefunds(intentId, tools)
  if (list === undefined) return unknown
  const hits = hitsIn(list, inquiry)
  if (hits.length === 0)
    return list.has_more === true || isOtherKey(inquiry.kept, client) ? unknown : unreached
  const hit = onlyOne(hits)
  return hit === undefined ? unknown : readRefund(hit, asked)
}

/** The newest refunds of an intent, as a list object. */
async function fetchRefunds(
  intentId: string,
  { client, signal }: Pick<LookUp, 'client' | 'signal'>,
  expand?: readonly string[],
): Promise<Wire | undefined> {
  const query = { payment_intent: intentId, limit: pageSize, expand }
  const list = objectOf(await client.get('/v1/refunds', query, signal))
  return Array.isArray(list?.data) ? list : undefined
}

/**
 * The newest refunds of captured money. Stripe also lists released authorisations, after partial captures and
 * cancellations, as refunds; only their balance transactions tell them apart. Undefined: the look-up failed.
 */
export async function fetchMoneyBack(intentId: string, tools: LookUp): Promise<readonly Wire[] | undefined> {
  const intent = await fetchIntent(intentId, tools)
  const captured = numberAt(intent, 'amount_received')
  if (captured === undefined) return undefined
  if (captured === 0) return []
  const wholeCaptured = captured >= (numberAt(intent, 'amount') ?? 0)
  const list = await fetchRefunds(intentId, tools, wholeCaptured ? undefined : ['data.balance_transaction'])
  return (
    list &&
    listAt(list, 'data').filter(
      one => textAt(one, 'balance_transaction', 'reporting_category') !== 'partial_capture_reversal',
    )
  )
}
