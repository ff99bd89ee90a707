/** How often an intent may be tried, and what happens to a page that its customer has left for another way to pay. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { examine } from '#storage/doctor/doctor.ts'
import { cardEntries, openPage, sendForm } from '#test/support/browser/customer-page.ts'
import { createTestClock } from '#test/support/clock.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { confirmation, type IntentShop, openIntentStage } from '#test/support/intents.ts'
import { done, refused, type Shop, urls } from '#test/support/shop.ts'
import { findBrokenRules, queryRows } from '#test/support/simulation/invariants.ts'

let gateway: TestGateway
let other: TestGateway
let shop: Shop
let intents: IntentShop
beforeAll(async () => {
  const clock = createTestClock()
  ;({ gateway, shop, intents } = await openIntentStage({ clock }))
  other = await startTestGateway({ clock, beside: gateway })
})
afterAll(async () => {
  expect(await findBrokenRules(gateway.databaseUrl)).toEqual({})
  expect((await examine(gateway.databaseUrl)).filter(({ found }) => found > 0)).toEqual([])
  await other.stop()
  await gateway.stop()
})

const declined = confirmation('CARD', { number: '4000000000009995' })
const unreached = confirmation('CARD', { number: '4000000000000259' })
const hosted = (type: string) => ({ integrationType: 'HOSTED', type })

/** An intent whose customer was sent to a page. */
async function sendToPage(type: string) {
  const id = await intents.intent({ urls })
  const { body } = await intents.confirm(id, hosted(type))
  expect(body).toMatchObject({ status: 'AUTHORIZE_REQUEST' })
  return { id, payId: body.payId as string, page: body._links.redirect.href as string }
}

describe('ten declines', () => {
  test('422 20200010 from then on, for any card, without calling the provider', async () => {
    const id = await intents.intent()
    for (let tried = 0; tried < 9; tried++)
      expect(await intents.confirm(id, declined)).toMatchObject(refused('21000351'))
    // A request that never arrived does not count as a decline.
    expect(await intents.confirm(id, unreached)).toMatchObject(refused('21000391'))
    const last = await intents.confirm(id, declined)
    expect(last).toMatchObject(refused('21000351'))
    const over = await intents.confirm(id, confirmation('CARD'))
    expect(over).toMatchObject({ ...refused('20200010'), body: { payId: last.body.payId } })
    const made = await queryRows(
      gateway.databaseUrl,
      `SELECT 1 FROM payment WHERE details->>'paymentIntentId' = $1`,
      [id],
    )
    expect(made).toHaveLength(11)
  })

  test('declines on a page count too, and the tenth ends the intent', async () => {
    const { id, page } = await sendToPage('CARD')
    for (let tried = 0; tried < 9; tried++)
      await sendForm(await openPage(page), cardEntries('4000000000009995'))
    expect(await intents.confirm(id, declined)).toMatchObject(refused('21000351'))
    expect(await intents.confirm(id, confirmation('CARD'))).toMatchObject(refused('20200010'))
  })

  test('a customer who cancels ten times may still pay', async () => {
    const id = await intents.intent({ urls })
    for (let tried = 0; tried < 10; tried++) {
      const { body } = await intents.confirm(id, hosted('CARD'))
      await shop.customer(body.payId, 'cancel')
    }
    expect(await intents.confirm(id, confirmation('CARD'))).toMatchObject(done('OK'))
  })
})

describe('a page that was left open', () => {
  test.each<[string, unknown]>([
    ['pays in the app', confirmation('CARD')],
    ['goes to another page', hosted('DIRECTDEBIT')],
  ])('200 the customer %s, and the first page ends', async (_, body) => {
    const { id, payId, page } = await sendToPage('CARD')
    const form = await openPage(page)
    const paid = await intents.confirm(id, body)
    expect(paid.status).toBe(200)
    expect(paid.body.payId).not.toBe(payId)
    expect(await shop.read(payId)).toMatchObject({ status: 'FAILED', responseCode: '21000703' })
    expect(await shop.events(payId)).toMatchObject([{ status: 'FAILED', responseCode: '21000703' }])
    await sendForm(form, cardEntries('4111111111111111'))
    expect(await shop.read(payId)).toMatchObject({ status: 'FAILED', operations: [{ status: 'FAILED' }] })
  })

  test('422 the same page again, so that a repeated request makes no second payment', async () => {
    const { id, payId } = await sendToPage('CARD')
    const again = await intents.confirm(id, hosted('CARD'))
    expect(again).toMatchObject({ ...refused('20200010'), body: { payId } })
    expect((await shop.read(payId)).status).toBe('AUTHORIZE_REQUEST')
  })

  test('422 after fifty payments of one intent; the last page can still be paid', async () => {
    const { id } = await sendToPage('CARD')
    const bearer = await intents.bearer(id)
    let page = ''
    for (let paid = 2; paid <= 50; paid += 1) {
      const { status, body } = await intents.confirm(id, hosted(paid % 2 ? 'CARD' : 'DIRECTDEBIT'), bearer)
      expect([paid, status]).toEqual([paid, 200])
      page = body._links.redirect.href
    }
    expect(await intents.confirm(id, hosted('CARD'), bearer)).toMatchObject(refused('20200010'))
    expect((await fetch(page)).status).toBe(200)
    expect((await shop.call('GET', `/payment-intents/${id}`)).body.status).toBe('PROCESSING')
  })

  test('422 while the customer may be at a provider', async () => {
    const { id, payId } = await sendToPage('PROVIDERP')
    expect(await intents.confirm(id, confirmation('CARD'))).toMatchObject(refused('20200010'))
    await shop.customer(payId, 'approve')
    expect((await shop.read(payId)).status).toBe('OK')
  })

  test('400 for a bad request, which leaves the page open', async () => {
    const { id, payId } = await sendToPage('CARD')
    expect((await intents.confirm(id, confirmation('CARD', { number: '4111111111111112' }))).status).toBe(400)
    expect((await shop.read(payId)).status).toBe('AUTHORIZE_REQUEST')
  })

  test('it expires with the intent: FAILED, with one event, and no further confirmation', async () => {
    const { id, payId } = await sendToPage('PROVIDERP')
    await shop.advance('PT23H59M')
    expect((await shop.read(payId)).status).toBe('AUTHORIZE_REQUEST')
    await shop.advance('PT1M')
    expect(await shop.read(payId)).toMatchObject({ status: 'FAILED', responseCode: '24000402' })
    expect(await shop.events(payId)).toHaveLength(1)
    expect(await intents.confirm(id, confirmation('CARD'))).toMatchObject(refused('20200007'))
  })

  test('a page filled in while the app pays in another process: one of them is paid', async () => {
    for (let round = 0; round < 10; round++) {
      const { id, payId, page } = await sendToPage('CARD')
      const form = await openPage(page)
      const inApp = () =>
        other.call('POST', `/payment-intents/${id}/confirm`, confirmation('CARD'), {
          authorization: shop.authorization,
        })
      const onPage = () => sendForm(form, cardEntries('4111111111111111'))
      const [answer] = await Promise.all(round % 2 ? [inApp(), onPage()] : [onPage().then(inApp), undefined])
      const first = (await shop.read(payId)).status
      expect([answer.status, first]).toEqual(answer.status === 200 ? [200, 'FAILED'] : [422, 'OK'])
    }
  })

  test('a page left for ten payments at once: one of them is paid', async () => {
    const { id } = await sendToPage('CARD')
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        (index % 2 ? gateway : other).call('POST', `/payment-intents/${id}/confirm`, confirmation('CARD'), {
          authorization: shop.authorization,
        }),
      ),
    )
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    for (const answer of answers.filter(({ status }) => status !== 200))
      expect(answer).toMatchObject(refused('20200010'))
  })
})
