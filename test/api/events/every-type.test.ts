/** Every type of event, caused as `tollgate trigger` does it, and validated against the OpenAPI document. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventTypeNames } from '#domain/event-types.ts'
import { webhooks } from '#endpoints/events/webhook-examples.ts'
import { eventBodies } from '#schemas/event-body.ts'
import { compileCheck } from '#test/support/docs/check-schema.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { type Receiver, startReceiver } from '#test/support/receiver.ts'
import { openShop } from '#test/support/shop.ts'
import { createGatewayClient } from '#webhooks/gateway-client.ts'
import { triggerEvent } from '#webhooks/trigger.ts'

let gateway: TestGateway
let receiver: Receiver
beforeAll(async () => {
  gateway = await startTestGateway()
  receiver = await startReceiver()
})
afterAll(async () => {
  await receiver.close()
  await gateway.stop()
})

const schemaOf = (type: string) => {
  const schema = [...eventBodies].find(([name]) => name === type)?.[1]
  if (!schema) throw new Error(`no schema for ${type}`)
  return compileCheck(schema)
}

test.each(eventTypeNames)('an event of type %s arrives as the document describes it', async type => {
  const shop = await openShop(gateway)
  const client = createGatewayClient({ ...shop, baseUrl: `${gateway.url}/api/v2` })
  const before = receiver.heard.length
  const triggered = await triggerEvent(
    { name: type, webhook: receiver.url },
    { client, say: () => undefined, nowMs: Date.now },
  )
  const heard = receiver.heard.slice(before).find(({ body }) => body.type === type)
  expect(
    heard?.body,
    JSON.stringify(receiver.heard.slice(before).map(({ body }) => body.type)),
  ).toMatchObject({
    payId: triggered.payId,
    merchantId: shop.merchantId,
  })
  expect(schemaOf(type)(heard?.body)).toEqual([])
})

test('plans of earlier triggers take no part in later ones', async () => {
  const shop = await openShop(gateway)
  const client = createGatewayClient({ ...shop, baseUrl: `${gateway.url}/api/v2` })
  const trigger = (name: string) => triggerEvent({ name }, { client, say: () => undefined, nowMs: Date.now })
  const names = ['plan.charged', 'plan.charge_failed', 'plan.suspended', 'plan.cancelled', 'payment.lapsed']
  for (const name of names) {
    const { events } = await trigger(name)
    expect(
      events.map(({ body }) => body.type),
      name,
    ).toContain(name)
  }
  // The week of payment.lapsed charges none of the plans; a decline for good is told before it suspends.
  const { data } = await client.get<{ data: { body: { type: string } }[] }>('/events?page=1')
  const heard = data.map(({ body }) => body.type).toSorted()
  expect(heard).toEqual([...names, 'plan.charge_failed'].toSorted())
})

describe('the OpenAPI document', () => {
  test('has a webhook for each type, with an example that fits its schema', async () => {
    const document = JSON.parse(await (await fetch(`${gateway.url}/openapi.json`)).text())
    expect(Object.keys(document.webhooks)).toEqual([...eventTypeNames])
    for (const { name, example } of webhooks) {
      const media = document.webhooks[name].post.requestBody.content['application/json']
      expect(media.examples.example.value).toEqual(example)
      expect([name, schemaOf(name)(example)]).toEqual([name, []])
    }
  })
})
