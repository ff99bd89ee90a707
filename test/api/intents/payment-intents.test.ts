/** Payment intents over HTTP: confirmations by an app, and the events for the shop. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findMethod } from '#methods/catalogue.ts'
import { createTestClock, secondMs } from '#test/support/clock.ts'
import { basic, type TestGateway } from '#test/support/gateway.ts'
import {
  confirmation,
  eur,
  type IntentShop,
  openIntentStage,
  openIntents,
  walletConfirmation,
} from '#test/support/intents.ts'
import { declinePrefix, directTypes, openShop, refused, type Shop, servedTypes } from '#test/support/shop.ts'
import { findBrokenRules, queryRows } from '#test/support/simulation/invariants.ts'

const clock = createTestClock()
let gateway: TestGateway
let shop: Shop
let intents: IntentShop
beforeAll(async () => {
  ;({ gateway, shop, intents } = await openIntentStage({ clock }))
})
afterAll(async () => {
  expect(await findBrokenRules(gateway.databaseUrl)).toEqual({})
  await gateway.stop()
})

const declined = { number: '4000000000009995' }

describe('confirming', () => {
  test.each(directTypes)('200 %s, as the payment by that method would be', async type => {
    const id = await intents.intent({
      refNr: 'r-1',
      metadata: { basket: 'b' },
      captureMethod: { type: 'MANUAL' },
    })
    const direct = await shop.create(type, { captureMethod: { type: 'MANUAL' } })
    const { status, body } = await intents.confirm(id, confirmation(type), await intents.bearer(id))
    expect(status).toBe(200)
    expect(Object.keys(body.paymentMethods ?? {})).toEqual(Object.keys(direct.body.paymentMethods ?? {}))
    expect(body).toMatchObject({
      merchantId: shop.merchantId,
      transId: id,
      refNr: 'r-1',
      status: direct.body.status,
      responseCode: direct.body.responseCode,
      paymentIntentId: id,
    })
    expect(await shop.read(body.payId)).toMatchObject({
      status: direct.body.status,
      paymentIntentId: id,
      amount: { value: 1000 },
      paymentMethods: { type, integrationType: 'DIRECT' },
    })
  })

  test.each(['basic', 'client_credentials'])('200 with %s', async credentials => {
    const form = { client_id: shop.merchantId, client_secret: shop.apiKey, grant_type: 'client_credentials' }
    const { body: issued } = await gateway.call(
      'POST',
      '/authorization/oauth/token',
      new URLSearchParams(form).toString(),
      { 'content-type': 'application/x-www-form-urlencoded' },
    )
    const authorization =
      credentials === 'basic' ? basic(shop.merchantId, shop.apiKey) : `Bearer ${issued.access_token}`
    const id = await intents.intent()
    expect((await intents.confirm(id, confirmation('CARD'), { authorization })).status).toBe(200)
  })

  test('422 a decline, and the intent stays open until one is approved', async () => {
    const id = await intents.intent({ transId: 'app-retry' })
    const first = await intents.confirm(id, confirmation('CARD', declined))
    expect(first).toMatchObject(refused('21000351'))
    expect(first.body).toMatchObject({ transId: 'app-retry', paymentIntentId: id })
    const second = await intents.confirm(id, confirmation('CARD'))
    expect(second).toMatchObject({ status: 200, body: { status: 'OK', transId: 'app-retry' } })
    expect(second.body.payId).not.toBe(first.body.payId)
    expect(await shop.read(first.body.payId)).toMatchObject({ status: 'FAILED', paymentIntentId: id })
    const third = await intents.confirm(id, confirmation('CARD'))
    expect(third).toMatchObject(refused('20200010'))
    expect(third.body).toMatchObject({ payId: second.body.payId, paymentIntentId: id })
    expect(await intents.confirm(id, confirmation('CARD', declined))).toMatchObject(refused('20200010'))
  })

  test('422 while the outcome is not known; open again when it turns out to have failed', async () => {
    await shop.fail({ operation: 'AUTHORIZATION', fault: 'error' })
    const approved = await intents.intent()
    expect(await intents.confirm(approved, confirmation('CARD'))).toMatchObject({
      body: { status: 'PENDING' },
    })
    expect(await intents.confirm(approved, confirmation('CARD'))).toMatchObject(refused('20200010'))

    const failed = await intents.intent({ simulationMode: '0351' })
    await shop.fail({ operation: 'AUTHORIZATION', fault: 'lost_answer' })
    const unknown = await intents.confirm(failed, confirmation('CARD'))
    expect(unknown.body.status).toBe('PENDING')
    expect(await intents.confirm(failed, confirmation('CARD'))).toMatchObject(refused('20200010'))
    await shop.advance('PT10S')
    expect(await shop.read(unknown.body.payId)).toMatchObject({ status: 'FAILED' })
    expect(await intents.confirm(failed, confirmation('CARD'))).toMatchObject(refused('21000351'))
  })

  test('422 held by a payment that waits for its confirmation, open again when that is declined', async () => {
    const id = await intents.intent()
    const waiting = await intents.confirm(id, confirmation('PROVIDERK'))
    expect(waiting.body).toMatchObject({ status: 'AUTHORIZE_REQUEST', paymentMethods: { providerK: {} } })
    expect(await intents.confirm(id, confirmation('CARD'))).toMatchObject(refused('20200010'))
    const { accessToken } = waiting.body.paymentMethods.providerK
    const confirmed = await shop.act(waiting.body.payId, 'confirms', 1000, {
      simulationMode: '0305',
      paymentMethods: { providerK: { accessToken } },
    })
    expect(confirmed).toMatchObject(refused('25000305'))
    expect(confirmed.body.paymentIntentId).toBeUndefined()
    expect(await intents.confirm(id, confirmation('CARD'))).toMatchObject({ body: { status: 'OK' } })
  })

  test.each(['default', 'given'])(
    '422 expired after its %s lifetime, on the merchant’s clock',
    async lifetime => {
      const { now } = (await shop.call('GET', '/test/clock')).body
      const expirationTime = new Date(Date.parse(now) + 3600 * secondMs).toISOString()
      const id = await intents.intent(lifetime === 'given' ? { expirationTime } : {})
      await shop.advance(lifetime === 'given' ? 'PT59M' : 'PT23H59M')
      expect(await intents.confirm(id, confirmation('CARD', declined))).toMatchObject(refused('21000351'))
      await shop.advance('PT1M')
      expect(await intents.confirm(id, confirmation('CARD'))).toMatchObject(refused('20200007'))
    },
  )

  test('422 a payment of an expired intent stays confirmed', async () => {
    const id = await intents.intent()
    await intents.confirm(id, confirmation('CARD'))
    await shop.advance('P2D')
    expect(await intents.confirm(id, confirmation('CARD'))).toMatchObject(refused('20200010'))
  })

  test('422 a transId that is live, and the intent stays open', async () => {
    const { body: earlier } = await shop.create('CARD', {
      transId: 'app-twice',
      captureMethod: { type: 'MANUAL' },
    })
    const id = await intents.intent({ transId: 'app-twice' })
    const taken = await intents.confirm(id, confirmation('CARD'))
    expect(taken).toMatchObject(refused('20170001'))
    expect(taken.body.paymentIntentId).toBe(id)
    await shop.act(earlier.payId, 'reversals', 1000)
    expect(await intents.confirm(id, confirmation('CARD'))).toMatchObject({ body: { status: 'OK' } })
  })

  test('422 as the simulation mode of the intent says', async () => {
    const id = await intents.intent({ simulationMode: '0397' })
    expect(await intents.confirm(id, confirmation('CARD'))).toMatchObject(
      refused(`${declinePrefix.CARD}0397`),
    )
  })

  test('200 with a pseudo card number', async () => {
    const first = await intents.confirm(await intents.intent(), confirmation('CARD'))
    const { paymentMethods } = await shop.read(first.body.payId)
    const card = { number: paymentMethods.card.pseudoCardNumber }
    const body = { integrationType: 'DIRECT', type: 'CARD', card }
    expect((await intents.confirm(await intents.intent(), body)).body.status).toBe('OK')
  })

  const direct = { integrationType: 'DIRECT', type: 'CARD' }
  const card = { number: '4111111111111111', expiryDate: '203012' }
  test.each<[string, unknown, string]>([
    ['nothing', {}, 'integrationType'],
    ['no type', { integrationType: 'DIRECT' }, 'type'],
    ['no method of ours', { ...direct, type: 'GOLD' }, 'type'],
    ['no card', direct, 'card'],
    ['a card without a number', { ...direct, card: { expiryDate: '203012' } }, 'card.number'],
    ['a wrong number', { ...direct, card: { ...card, number: '4111111111111112' } }, 'card.number'],
    ['a pseudo number of nobody', { ...direct, card: { number: '0123456789012345' } }, 'card.number'],
    ['no expiry', { ...direct, card: { number: card.number } }, 'card.expiryDate'],
    [
      'another method’s object',
      { ...direct, card, directDebit: confirmation('DIRECTDEBIT').directDebit },
      'directDebit',
    ],
    ['no account', { integrationType: 'DIRECT', type: 'DIRECTDEBIT' }, 'directDebit'],
    ['an amount', { ...direct, card, amount: eur(1) }, 'amount'],
    ['a note of its own', { ...direct, card, metadata: { a: 1 } }, 'metadata'],
    ['a name that is no method', { ...direct, card, noMethod: {} }, 'noMethod'],
    ['an unknown field of a known method', { ...direct, type: 'IDEAL', ideal: { a: 1 } }, 'ideal.a'],
    ['a way that the method lacks', { integrationType: 'HOSTED', type: 'PROVIDERR', providerR: {} }, 'urls'],
    ['no wallet', { integrationType: 'DIRECT', type: 'PROVIDERM' }, 'providerM'],
    [
      'an empty wallet',
      { integrationType: 'DIRECT', type: 'PROVIDERM', providerM: {} },
      'providerM.merchantIdentifierOfPublicKey',
    ],
    [
      'a wallet without a payload',
      { ...walletConfirmation(''), providerM: { merchantIdentifierOfPublicKey: 'x' } },
      'providerM.token',
    ],
    ['a payload that is no text', walletConfirmation({ data: 1 }), 'providerM.token'],
    ['a payload that is no JSON', walletConfirmation('secret-payload'), 'providerM.token'],
    ['a payload that is a list', walletConfirmation('[{}]'), 'providerM.token'],
    ['a payload that is nothing', walletConfirmation('null'), 'providerM.token'],
    ['an empty payload', walletConfirmation(''), 'providerM.token'],
    ['a payload beyond measure', walletConfirmation(`{"a":"${'x'.repeat(16_384)}"}`), 'providerM.token'],
  ])('400 %s', async (_, body, field) => {
    const id = await intents.intent()
    const answer = await intents.confirm(id, body)
    expect(answer).toMatchObject({ status: 400, body: { field, error: expect.stringContaining(field) } })
    expect(answer.text).not.toContain('secret-payload')
    expect((await intents.confirm(id, confirmation('CARD'))).status).toBe(200)
  })

  test.each<[string, object, string]>([
    ['no amount', { amount: undefined }, 'amount'],
    ['a currency that the method lacks', { amount: { value: 1000, currency: 'USD' } }, 'amount.currency'],
    ['a country that the method lacks', { billingAddress: { country: 'USA' } }, 'billingAddress.country'],
  ])('400 an intent of %s', async (_, request, field) => {
    const { body } = await intents.prepare({ amount: eur(1000), ...request })
    const type = field === 'amount' ? 'CARD' : 'DIRECTDEBIT'
    expect(await intents.confirm(body.id, confirmation(type))).toMatchObject({ status: 400, body: { field } })
  })

  test('404 the same for an unknown intent and for somebody else’s', async () => {
    const other = openIntents(await openShop(gateway), gateway)
    const ids = [`pi_${'0'.repeat(32)}`, 'nonsense', await other.intent()]
    const answers = await Promise.all(ids.map(id => intents.confirm(id, confirmation('CARD'))))
    const bodies = answers.map(({ status, body: { traceId: _, ...rest } }) => ({ status, rest }))
    expect(bodies[0]).toMatchObject({ status: 404 })
    expect(new Set(bodies.map(body => JSON.stringify(body))).size).toBe(1)
  })

  test('401 without credentials', async () => {
    const id = await intents.intent()
    const url = `${gateway.url}/api/v2/payment-intents/${id}/confirm`
    expect((await fetch(url, { method: 'POST', body: '{}' })).status).toBe(401)
  })
})

describe('HOSTED', () => {
  const urls = { return: 'https://shop.example/ok', cancel: 'https://shop.example/no' }
  const hosted = (type: string) => ({ integrationType: 'HOSTED', type })
  const act = (payId: string, action: string) =>
    shop.call('POST', `/test/payments/${payId}/customer-action`, { action })
  const types = servedTypes.filter(type => findMethod(type)?.integration.includes('HOSTED'))

  test.each(types)('200 %s waits for its customer as long as the intent lives, then is paid', async type => {
    const { now } = (await shop.call('GET', '/test/clock')).body
    const expirationTime = new Date(Date.parse(now) + 1800 * secondMs).toISOString()
    const id = await intents.intent({ urls, expirationTime })
    const waiting = await intents.confirm(id, hosted(type), await intents.bearer(id))
    expect(waiting).toMatchObject({
      status: 200,
      body: { status: 'AUTHORIZE_REQUEST', responseCode: '60000100', paymentIntentId: id },
    })
    expect(await shop.read(waiting.body.payId)).toMatchObject({ expirationTime, urls })
    expect(await intents.confirm(id, hosted(type))).toMatchObject(refused('20200010'))
    await act(waiting.body.payId, 'approve')
    expect(await shop.read(waiting.body.payId)).toMatchObject({ status: 'OK', paymentIntentId: id })
    expect(await shop.events(waiting.body.payId)).toMatchObject([{ status: 'OK' }])
    expect(await intents.confirm(id, hosted(type))).toMatchObject(refused('20200010'))
  })

  test.each(types)('%s: a customer who cancels leaves the intent open', async type => {
    const id = await intents.intent({ urls })
    const { body } = await intents.confirm(id, hosted(type))
    await act(body.payId, 'cancel')
    expect(await shop.read(body.payId)).toMatchObject({ status: 'FAILED' })
    expect(await intents.confirm(id, confirmation('CARD'))).toMatchObject({ body: { status: 'OK' } })
  })

  test.each<[string, object, string]>([
    ['nowhere to come back to', {}, 'urls'],
    ['nowhere to go when paid', { urls: { cancel: urls.cancel } }, 'urls.return'],
    ['nowhere to go when not', { urls: { return: urls.return } }, 'urls.cancel'],
  ])('400 %s', async (_, request, field) => {
    const id = await intents.intent(request)
    expect(await intents.confirm(id, hosted('PROVIDERK'))).toMatchObject({ status: 400, body: { field } })
  })

  test('400 an unknown field is named, with the known ones', async () => {
    const id = await intents.intent()
    const { body } = await intents.confirm(id, { ...confirmation('CARD'), transId: 'order-1' })
    expect(body).toEqual({
      field: 'transId',
      error: expect.stringMatching(
        /^transId is not a field that is known here; known are integrationType, type, /,
      ),
    })
  })

  test('400 fields that only DIRECT takes', async () => {
    const id = await intents.intent({ urls })
    const wallet = { ...walletConfirmation('{}'), integrationType: 'HOSTED' }
    expect(await intents.confirm(id, wallet)).toMatchObject({
      status: 400,
      body: { field: expect.stringMatching(/^providerM\.(token|merchantIdentifierOfPublicKey)$/) },
    })
  })
})

describe('the key of a confirmation', () => {
  test.each([
    ['approval', {}, 200],
    ['decline', declined, 422],
  ])('replays the %s', async (_, card, status) => {
    const id = await intents.intent()
    const headers = { 'idempotency-key': 'confirm-once' }
    const first = await intents.confirm(id, confirmation('CARD', card), headers)
    const again = await intents.confirm(id, confirmation('CARD', card), headers)
    expect(first.status).toBe(status)
    expect(again).toMatchObject({ status, text: first.text })
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    const rows = await queryRows(
      gateway.databaseUrl,
      `SELECT pay_id FROM payment WHERE details->>'paymentIntentId' = $1`,
      [id],
    )
    expect(rows).toHaveLength(1)
  })

  test('replays a refusal, and belongs to its intent', async () => {
    const id = await intents.intent()
    await intents.confirm(id, confirmation('CARD'))
    const headers = { 'idempotency-key': 'confirm-late' }
    const first = await intents.confirm(id, confirmation('CARD'), headers)
    expect(first).toMatchObject(refused('20200010'))
    expect((await intents.confirm(id, confirmation('CARD'), headers)).text).toBe(first.text)
    expect(await intents.confirm(id, confirmation('CARD', declined), headers)).toMatchObject(
      refused('20170002'),
    )
    expect((await intents.confirm(await intents.intent(), confirmation('CARD'), headers)).status).toBe(200)
  })
})

describe('events for the shop', () => {
  test('are sent for an approval and a decline that were in the answer to the app', async () => {
    const id = await intents.intent({ captureMethod: { type: 'MANUAL' } })
    const failed = await intents.confirm(id, confirmation('CARD', declined))
    const paid = await intents.confirm(id, confirmation('CARD'))
    expect(await shop.events(failed.body.payId)).toMatchObject([
      { status: 'FAILED', responseCode: '21000351' },
    ])
    expect(await shop.events(paid.body.payId)).toMatchObject([{ status: 'AUTHORIZED', xId: paid.body.xId }])
    await shop.act(paid.body.payId, 'captures', 1000)
    expect(await shop.events(paid.body.payId)).toHaveLength(1)
  })

  test('are sent once for a result that comes later', async () => {
    const id = await intents.intent()
    const { body } = await intents.confirm(id, confirmation('CARD', { number: '4000000000000101' }))
    expect(await shop.events(body.payId)).toEqual([])
    await shop.advance('PT10S')
    expect(await shop.events(body.payId)).toMatchObject([{ status: 'OK', sequence: 1 }])
  })

  test('are not sent for the merchant’s own payment', async () => {
    const { body } = await shop.create('CARD')
    expect(await shop.events(body.payId)).toEqual([])
  })
})

test('the payload of a wallet is never stored', async () => {
  const id = await intents.intent()
  const token = '{"data":"unmistakable-payload"}'
  expect((await intents.confirm(id, walletConfirmation(token))).status).toBe(200)
  const rows = await queryRows<{ text: string }>(
    gateway.databaseUrl,
    `SELECT row_to_json(p)::text AS text FROM payment p UNION ALL SELECT row_to_json(o)::text FROM operation o
     UNION ALL SELECT row_to_json(i)::text FROM payment_intent i
     UNION ALL SELECT row_to_json(k)::text FROM idempotency_key k UNION ALL SELECT row_to_json(e)::text FROM event e`,
  )
  expect(rows.filter(({ text }) => text.includes('unmistakable'))).toEqual([])
  expect(gateway.logged.join('')).not.toContain('unmistakable')
})
