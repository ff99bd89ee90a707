/** Helpers of tests about webhooks: a payment that raises an event later, and its events in the API. */
import type { AnyJson } from '#test/support/any-json.ts'
import type { Receiver } from '#test/support/receiver.ts'
import type { Shop } from '#test/support/shop.ts'

/** A card whose payment has no answer at first; the inquiry after ten seconds finds it approved. */
export const lostAnswer = { card: { number: '4000000000000101' } }

/** Fields of a payment whose events go to this receiver. */
export const tellingOf = (receiver: Receiver) => ({ urls: { webhook: `${receiver.url}/hook` } })

/** Makes a payment whose outcome is unknown at first, and moves the clock to the inquiry that settles it. */
export async function raiseEvent(shop: Shop, more: object): Promise<string> {
  const { body } = await shop.create('CARD', { ...lostAnswer, ...more })
  await shop.advance('PT11S')
  return body.payId
}

export const eventsOf = async (shop: Shop, payId: string): Promise<AnyJson> =>
  (await shop.call('GET', `/events?payId=${payId}`)).body.data

/** Headers for a verifier of signatures: every header once, as text. */
export const plainHeaders = (headers: Readonly<Record<string, unknown>> = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
