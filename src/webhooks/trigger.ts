/**
 * Makes events happen in the test environment, each by a real test payment and a move of the merchant's clock: what a
 * developer sees is what a customer would have caused.
 */

import type { GatewayClient } from '#webhooks/gateway-client.ts'
import type { EventPage, ShownEvent } from '#webhooks/listen.ts'

interface Scenario {
  readonly meaning: string
  /** Absent: the customer pays on our page. */
  readonly card?: { readonly number: string; readonly eventToken?: string }
  /** What the customer does on the page. */
  readonly action?: 'approve' | 'cancel'
  readonly more?: object
  /** What the payment may take; then the customer has not come back. */
  readonly expiresAfterMs?: number
  /** How far the clock must move until it happens. */
  readonly advance: string
}

const approved = '4111111111111111'
const delayed = { captureMethod: { type: 'DELAYED', delayed: { delayedHours: 1 } } }

export const scenarios: Readonly<Record<string, Scenario>> = {
  'payment.completed': {
    meaning: 'a customer pays on the hosted page',
    action: 'approve',
    advance: 'PT1S',
  },
  'payment.cancelled': {
    meaning: 'a customer turns back on the hosted page',
    action: 'cancel',
    advance: 'PT1S',
  },
  'payment.settled': {
    meaning: 'the answer of the provider was lost and is found by asking again',
    card: { number: '4000000000000101' },
    advance: 'PT11S',
  },
  'payment.expired': {
    meaning: 'an order is not confirmed in time',
    card: { number: approved, eventToken: 'ORDER' },
    expiresAfterMs: 60_000,
    advance: 'PT2M',
  },
  'capture.completed': {
    meaning: 'a delayed capture takes the money',
    card: { number: approved },
    more: delayed,
    advance: 'PT1H1M',
  },
  'capture.failed': {
    meaning: 'a delayed capture is declined',
    card: { number: '4000000000000341' },
    more: delayed,
    advance: 'PT1H1M',
  },
  'authorization.lapsed': {
    meaning: 'an authorisation ends before it is captured',
    card: { number: approved },
    more: { captureMethod: { type: 'MANUAL' } },
    advance: 'P7DT1M',
  },
}

/** Where a customer with a browser would come back to. */
const shop = { return: 'https://shop.example/thanks', cancel: 'https://shop.example/basket' }

export interface Triggered {
  readonly payId: string
  readonly advance: string
  readonly now: string
  readonly events: readonly ShownEvent[]
}

/** `webhook`: where the event is to go instead of the merchant's own address. */
export async function triggerEvent(
  { name, webhook }: { name: string; webhook?: string },
  { client, say, nowMs }: { client: GatewayClient; say: (line: string) => void; nowMs: () => number },
): Promise<Triggered> {
  const scenario = scenarios[name]
  if (!scenario) throw new Error(`there is no scenario ${name}`)
  const { now } = await client.get<{ now: string }>('/test/clock')
  const { payId, status } = await client.post<{ payId: string; status: string }>('/payments', {
    transId: `trigger-${nowMs()}`,
    amount: { value: 1000, currency: 'EUR' },
    ...scenario.more,
    ...(scenario.expiresAfterMs === undefined
      ? {}
      : { expirationTime: new Date(Date.parse(now) + scenario.expiresAfterMs).toISOString() }),
    urls: { ...shop, webhook },
    paymentMethods: scenario.card
      ? {
          integrationType: 'DIRECT',
          type: 'CARD',
          // Three years ahead of the merchant's own clock.
          card: { ...scenario.card, expiryDate: `${new Date(now).getUTCFullYear() + 3}12` },
        }
      : { integrationType: 'HOSTED', type: 'CARD' },
  })
  if (scenario.action)
    await client.post(`/test/payments/${payId}/customer-action`, { action: scenario.action })
  say(`payment ${payId} is ${status}; moving the clock by ${scenario.advance}: ${scenario.meaning} …`)
  const moved = await client.post<{ now: string }>('/test/clock', { advance: scenario.advance })
  const { data } = await client.get<EventPage>(`/events?payId=${payId}`)
  return { payId, advance: scenario.advance, now: moved.now, events: data.toReversed() }
}
