/**
 * Triggers events in the test environment by a test payment and a move of the merchant's clock, so that developers get
 * the event that a customer would have caused. An event that only a real provider could cause is sent as a sample.
 */
import { type EventType, eventTypeNames, eventTypes } from '#domain/event-types.ts'
import type { GatewayClient } from '#webhooks/gateway-client.ts'
import type { EventPage, ShownEvent } from '#webhooks/listen.ts'

interface Stage {
  readonly client: GatewayClient
  /** The addresses in every payment: of its webhook, and of the customer's return. */
  readonly urls: object
  readonly transId: string
  readonly now: string
}

/** Creates the payment, and returns how far the clock must move until the event happens. */
interface Scenario {
  readonly begin: (stage: Stage) => Promise<Begun>
  /** Finds the payment of the event, if that is a later charge of the same plan. */
  readonly follow?: (begun: Begun, client: GatewayClient) => Promise<string>
  /** Pauses the plan afterwards; otherwise every later move of the clock would charge it. */
  readonly pausesPlan?: true
}

interface Begun {
  readonly payId: string
  readonly status: string
  readonly advance: string
  readonly paymentPlanId?: string
}

const approved = '4111111111111111'
const manual = { captureMethod: { type: 'MANUAL' } }
const delayed = { captureMethod: { type: 'DELAYED', delayed: { delayedHours: 1 } } }
/** An account whose bank returns every debit two days later. */
const returningAccount = 'DE35370400440532013002'
const approvingAccount = 'DE89370400440532013000'

const lastMonth = (now: string): string => `${new Date(now).getUTCFullYear() + 3}12`

type Created = Omit<Begun, 'advance'>

const create = ({ client, urls, transId }: Stage, more: object): Promise<Created> =>
  client.post<Created>('/payments', { transId, amount: { value: 1000, currency: 'EUR' }, urls, ...more })

type CardPayment = Readonly<Record<string, unknown>> & { readonly card?: object }

/** `more.card` adds to the card itself, everything else to the request. */
const byCard = (stage: Stage, number: string, more: CardPayment = {}): Promise<Created> =>
  create(stage, {
    ...more,
    paymentMethods: {
      integrationType: 'DIRECT',
      type: 'CARD',
      card: { number, expiryDate: lastMonth(stage.now), ...more.card },
    },
    card: undefined,
  })

/** The customer decides on the page. */
const onPage =
  (action: 'approve' | 'cancel', more: object = {}): Scenario['begin'] =>
  async stage => {
    const created = await create(stage, {
      ...more,
      paymentMethods: { integrationType: 'HOSTED', type: 'CARD' },
    })
    await stage.client.post(`/test/payments/${created.payId}/customer-action`, { action })
    return { ...created, advance: 'PT1S' }
  }

/** A follow-up whose answer is lost and found by an inquiry. `mode`: the response code with which it is declined. */
const lost =
  (path: 'captures' | 'reversals' | 'refunds', value: number, mode?: string): Scenario['begin'] =>
  async stage => {
    const created = await byCard(stage, approved, path === 'refunds' ? {} : manual)
    const operation = { captures: 'CAPTURE', reversals: 'REVERSAL', refunds: 'REFUND' }[path]
    await stage.client.post('/test/faults', { operation, fault: 'lost_answer', times: 1 })
    await stage.client.post(`/payments/${created.payId}/${path}`, {
      transId: stage.transId,
      amount: { value, currency: 'EUR' },
      ...(mode === undefined ? {} : { simulationMode: mode }),
    })
    return { ...created, advance: 'PT11S' }
  }

const dayMs = 86_400_000

/** Amounts of the test catalogue that are declined: with 51, which dunning retries, and with 05, which it does not. */
const [declinedSoftly, declinedForGood] = [99_990_351, 99_990_305]

/** A plan that charges every day. Its first charge or its end causes the event. */
const plan =
  ({ days, decline }: { days: number; decline?: number }): Scenario['begin'] =>
  async stage => {
    const expiryDate = new Date(Date.parse(stage.now) + days * dayMs).toISOString().slice(0, 10)
    const recurring = { frequency: 'DAILY', useCase: 'FIXED', autoCharge: true, expiryDate }
    const created = await byCard(stage, approved, {
      credentialOnFile: { type: 'RECURRING', initialPayment: true, recurring },
      customerInfo: { merchantCustomerId: stage.transId, email: 'ada@example.com' },
    })
    // Declined by its amount; a requested fault could be used up by another plan that is due on the same day.
    if (decline !== undefined)
      await stage.client.patch(`/payment-plans/${created.paymentPlanId}`, {
        amount: { value: decline, currency: 'EUR' },
      })
    return { ...created, advance: days === 0 ? 'P1DT1M' : 'P1D' }
  }

/** The payment of the plan's last charge. */
async function lastCharge({ paymentPlanId }: Begun, client: GatewayClient): Promise<string> {
  const { data } = await client.get<{ data: { payId: string }[] }>(`/payment-plans/${paymentPlanId}/payments`)
  const [last] = data
  if (!last)
    throw new Error(`the plan ${paymentPlanId} was not charged although the clock was moved to its due day`)
  return last.payId
}

const byDebit = (stage: Stage, number: string): Promise<Created> =>
  create(stage, {
    paymentMethods: {
      integrationType: 'DIRECT',
      type: 'DIRECTDEBIT',
      directDebit: { account: { number, accountHolderName: 'Ada Lovelace' } },
    },
  })

/** A card whose captures are disputed, and the time from the capture to the dispute. */
const disputedCard = '4000000000002685'
const untilDispute = 'P2DT1M'

const disputed =
  (advance: string): Scenario['begin'] =>
  async stage => ({ ...(await byCard(stage, disputedCard)), advance })

/** Evidence with this text wins, three weeks after the dispute was opened. */
async function winDispute(stage: Stage): Promise<Begun> {
  const { client } = stage
  const created = await byCard(stage, disputedCard)
  await client.post('/test/clock', { advance: untilDispute })
  const { data } = await client.get<{ data: { disputeId: string }[] }>(`/disputes?payId=${created.payId}`)
  for (const { disputeId } of data) await client.post(`/disputes/${disputeId}/evidence`, { text: 'WIN' })
  return { ...created, advance: 'P21D' }
}

const sample =
  (type: EventType, begin = (stage: Stage) => byCard(stage, approved)): Scenario['begin'] =>
  async stage => {
    const created = await begin(stage)
    await stage.client.post(`/test/payments/${created.payId}/events`, { type })
    return { ...created, advance: 'PT1S' }
  }

const real: Partial<Record<EventType, Scenario>> = {
  'payment.authorized': { begin: onPage('approve', manual) },
  'payment.captured': { begin: onPage('approve') },
  'payment.failed': { begin: onPage('cancel') },
  'payment.reversed': { begin: lost('reversals', 1000) },
  'payment.lapsed': {
    begin: async stage => ({ ...(await byCard(stage, approved, manual)), advance: 'P7DT1M' }),
  },
  'capture.succeeded': {
    begin: async stage => ({ ...(await byCard(stage, approved, delayed)), advance: 'PT1H1M' }),
  },
  'capture.failed': {
    begin: async stage => ({ ...(await byCard(stage, '4000000000000341', delayed)), advance: 'PT1H1M' }),
  },
  'refund.succeeded': { begin: lost('refunds', 400) },
  'refund.failed': { begin: lost('refunds', 400, '0305') },
  'reversal.succeeded': { begin: lost('reversals', 400) },
  'reversal.failed': { begin: lost('reversals', 400, '0305') },
  'debit.returned': {
    begin: async stage => ({ ...(await byDebit(stage, returningAccount)), advance: 'P2D' }),
  },
  'debit.announced': { begin: sample('debit.announced', stage => byDebit(stage, approvingAccount)) },
  'dispute.opened': { begin: disputed(untilDispute) },
  'dispute.won': { begin: winDispute },
  // A dispute without an answer is lost.
  'dispute.lost': { begin: disputed('P23DT1M') },
  'intent.attempt_failed': { begin: declineIntent },
  'plan.charged': { begin: plan({ days: 30 }), follow: lastCharge, pausesPlan: true },
  'plan.charge_failed': {
    begin: plan({ days: 30, decline: declinedSoftly }),
    follow: lastCharge,
    pausesPlan: true,
  },
  'plan.suspended': { begin: plan({ days: 30, decline: declinedForGood }), follow: lastCharge },
  'plan.completed': { begin: plan({ days: 0 }) },
  'plan.cancelled': { begin: sample('plan.cancelled', plan({ days: 30 })), pausesPlan: true },
}

async function declineIntent({ client, urls, transId, now }: Stage): Promise<Begun> {
  const amount = { value: 1000, currency: 'EUR' }
  const { id } = await client.post<{ id: string }>('/payment-intents', { transId, amount, urls })
  await client
    .post(`/payment-intents/${id}/confirm`, {
      integrationType: 'DIRECT',
      type: 'CARD',
      card: { number: '4000000000009995', expiryDate: lastMonth(now) },
    })
    // 422: the decline is intended.
    .catch(() => undefined)
  const { payId, status } = await client.get<Created>(`/payments/getByTransId/${transId}`)
  return { payId, status, advance: 'PT1S' }
}

/** Events that the simulator cannot cause are sent as samples. */
const scenarios: Readonly<Record<string, Scenario>> = Object.fromEntries(
  eventTypeNames.map(type => [type, real[type] ?? { begin: sample(type) }]),
)

export const isTriggered = (name: string): boolean => Object.hasOwn(scenarios, name)

/** The names that help shows. */
export const triggered: readonly (readonly [name: EventType, meaning: string])[] = eventTypeNames.map(
  type => [type, eventTypes[type]],
)

/** The return addresses of the payment. */
const shop = { return: 'https://shop.example/thanks', cancel: 'https://shop.example/basket' }

export interface Triggered {
  readonly payId: string
  readonly advance: string
  readonly now: string
  readonly events: readonly ShownEvent[]
}

/** `webhook`: the address for the event instead of the merchant's own. */
export async function triggerEvent(
  { name, webhook }: { name: string; webhook?: string },
  { client, say, nowMs }: { client: GatewayClient; say: (line: string) => void; nowMs: () => number },
): Promise<Triggered> {
  const scenario = scenarios[name]
  if (!scenario) throw new Error(`there is no scenario ${name}`)
  const { now } = await client.get<{ now: string }>('/test/clock')
  const begun = await scenario.begin({
    client,
    urls: { ...shop, webhook },
    transId: `trigger-${nowMs()}`,
    now,
  })
  say(`payment ${begun.payId} is ${begun.status}; moving the clock by ${begun.advance} …`)
  const moved = await client.post<{ now: string }>('/test/clock', { advance: begun.advance })
  const payId = scenario.follow ? await scenario.follow(begun, client) : begun.payId
  if (scenario.pausesPlan) await client.post(`/payment-plans/${begun.paymentPlanId}/pause`)
  const { data } = await client.get<EventPage>(`/events?payId=${payId}`)
  return { payId, advance: begun.advance, now: moved.now, events: data.toReversed() }
}
