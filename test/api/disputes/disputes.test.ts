/** Disputes of the simulator over HTTP: opened, answered and decided by the test clock. */
import { strict as assert } from 'node:assert'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { foreignXId, type PayId } from '#domain/ids.ts'
import { writeCursor } from '#endpoints/page-cursor.ts'
import type { Outcome } from '#lifecycle/outcome.ts'
import { accept, sendEvidence } from '#operations/disputes/answer-dispute.ts'
import { lookForDispute } from '#operations/disputes/look-for-dispute.ts'
import type { Alarm, Engine } from '#operations/engine.ts'
import { ProviderSilent } from '#operations/lost-database.ts'
import { examine } from '#storage/doctor/doctor.ts'
import type { AnyJson } from '#test/support/any-json.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { findMerchant, openShop, type Shop } from '#test/support/shop.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'
import { createRecordVault } from '#vault/sealed-records.ts'

const disputedCard = { number: '4000000000002685' }

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startTestGateway()
})
afterAll(async () => {
  expect((await examine(gateway.databaseUrl)).filter(({ found }) => found > 0)).toEqual([])
  await gateway.stop()
})

/** A shop with one payment of 10.00 that is disputed. */
async function openDisputed(): Promise<{ shop: Shop; payId: string; dispute: AnyJson }> {
  const shop = await openShop(gateway)
  const payId = await shop.sell('CARD', { card: disputedCard })
  await shop.advance('P2D')
  const { body } = await shop.call('GET', '/disputes')
  expect(body.data).toHaveLength(1)
  return { shop, payId, dispute: body.data[0] }
}

const read = async (shop: Shop, id: string) => (await shop.call('GET', `/disputes/${id}`)).body

const disputedValue = async (shop: Shop, payId: string): Promise<number> =>
  (await shop.read(payId)).amount.disputedValue

/** The types of the events about the payment's disputes, the oldest first. */
async function eventTypes(shop: Shop, payId: string): Promise<string[]> {
  const { body } = await shop.call('GET', `/events?payId=${payId}`)
  const bodies: AnyJson[] = body.data.map((event: AnyJson) => event.body).reverse()
  for (const { disputeId, operation } of bodies) {
    expect(disputeId).toMatch(/^dsp_/)
    expect(operation.type).toBe('CAPTURE')
  }
  return bodies.map(({ type }) => type)
}

test('200: nothing is disputed before two days have passed, then the capture is', async () => {
  const shop = await openShop(gateway)
  const payId = await shop.sell('CARD', { card: disputedCard })
  await shop.advance('P1D')
  expect((await shop.call('GET', '/disputes')).body).toEqual({ data: [] })
  await shop.advance('P1D')
  const { status, body } = await shop.call('GET', '/disputes')
  expect(status).toBe(200)
  const [dispute] = body.data
  expect(dispute).toEqual({
    disputeId: expect.stringMatching(/^dsp_[0-9a-f]{32}$/),
    payId,
    xId: expect.stringMatching(/^[0-9a-f]{32}$/),
    amount: { value: 1000, currency: 'EUR' },
    stage: 'CHARGEBACK',
    status: 'OPEN',
    reasonCode: '10.4',
    reasonGroup: 'FRAUD',
    evidenceDueBy: expect.any(String),
    providerDisputeId: expect.any(String),
    creationDate: expect.any(String),
    updatedAt: dispute.creationDate,
    events: [{ at: dispute.creationDate, type: 'OPENED', stage: 'CHARGEBACK', status: 'OPEN' }],
  })
  const days = (Date.parse(dispute.evidenceDueBy) - Date.parse(dispute.creationDate)) / 86_400_000
  expect(days).toBe(14)
  expect(await read(shop, dispute.disputeId)).toEqual(dispute)
  expect(await disputedValue(shop, payId)).toBe(1000)
  expect(await eventTypes(shop, payId)).toEqual(['dispute.opened'])
})

test('an automatic capture is disputed as well', async () => {
  const shop = await openShop(gateway)
  await shop.create('CARD', { card: disputedCard })
  await shop.advance('P2D')
  expect((await shop.call('GET', '/disputes')).body.data).toHaveLength(1)
})

test('200: evidence with the word WIN wins 21 days after the opening', async () => {
  const { shop, payId, dispute } = await openDisputed()
  const evidence = {
    text: 'This will WIN.',
    files: [
      { name: 'receipt.pdf', type: 'application/pdf', content: Buffer.from('%PDF-1.4').toString('base64') },
    ],
  }
  const sent = await shop.call('POST', `/disputes/${dispute.disputeId}/evidence`, evidence)
  expect(sent).toMatchObject({ status: 200, body: { disputeId: dispute.disputeId, status: 'UNDER_REVIEW' } })
  await shop.advance('P20D')
  expect(await read(shop, dispute.disputeId)).toMatchObject({ status: 'UNDER_REVIEW' })
  await shop.advance('P1D')
  expect(await read(shop, dispute.disputeId)).toMatchObject({ status: 'WON' })
  expect(await disputedValue(shop, payId)).toBe(0)
  expect(await eventTypes(shop, payId)).toEqual(['dispute.opened', 'dispute.won'])
  expect((await shop.act(payId, 'refunds', 1000)).status).toBe(200)
  const rows = await queryRows(
    gateway.databaseUrl,
    'SELECT type, sealed FROM dispute_file WHERE dispute_id = $1',
    [dispute.disputeId],
  )
  expect(rows.map(({ type }) => type).sort()).toEqual(['application/pdf', 'text/plain'])
  expect(rows.some(({ sealed }) => String(sealed).includes('WIN'))).toBe(false)
})

test.each([
  ['other evidence', 'evidence', { text: 'I do not know.' }, 'UNDER_REVIEW'],
  ['acceptance', 'accept', {}, 'ACCEPTED'],
  ['silence', undefined, undefined, 'OPEN'],
] as const)('%s loses 21 days after the opening', async (_, verb, body, status) => {
  const { shop, payId, dispute } = await openDisputed()
  if (verb)
    expect(await shop.call('POST', `/disputes/${dispute.disputeId}/${verb}`, body)).toMatchObject({
      status: 200,
      body: { status },
    })
  await shop.advance('P20D')
  expect(await read(shop, dispute.disputeId)).toMatchObject({ status })
  await shop.advance('P1D')
  expect(await read(shop, dispute.disputeId)).toMatchObject({ status: 'LOST' })
  expect(await disputedValue(shop, payId)).toBe(1000)
  expect(await eventTypes(shop, payId)).toEqual(['dispute.opened', 'dispute.lost'])
})

test('422 20200017: a refund beyond what is neither refunded nor disputed', async () => {
  const shop = await openShop(gateway)
  const payId = await shop.authorize('CARD', { card: disputedCard })
  await shop.act(payId, 'captures', 600)
  await shop.advance('P2D')
  await shop.act(payId, 'captures', 400)
  expect(await disputedValue(shop, payId)).toBe(600)
  expect(await shop.act(payId, 'refunds', 401)).toMatchObject({
    status: 422,
    body: { responseCode: '20200017' },
  })
  expect((await shop.act(payId, 'refunds', 400)).status).toBe(200)
})

test('422: answers to a dispute that is not open, or after its deadline', async () => {
  const { shop, dispute } = await openDisputed()
  const path = `/disputes/${dispute.disputeId}`
  await shop.advance('P14D')
  expect(await shop.call('POST', `${path}/evidence`, { text: 'late' })).toMatchObject({
    status: 422,
    body: { status: 'FAILED', responseCode: '20200007' },
  })
  await shop.advance('P7D')
  for (const verb of ['evidence', 'accept'])
    expect(
      await shop.call('POST', `${path}/${verb}`, verb === 'evidence' ? { text: 'x' } : {}),
    ).toMatchObject({
      status: 422,
      body: { responseCode: '20200015' },
    })
})

test.each([
  ['evidence', 'accept'],
  ['accept', 'evidence'],
  ['accept', 'accept'],
])('422 20200015 to one of two answers at the same moment: %s and %s', async (...answers) => {
  const { shop, dispute } = await openDisputed()
  const path = `/disputes/${dispute.disputeId}`
  const given = await Promise.all(
    answers.map(verb => shop.call('POST', `${path}/${verb}`, verb === 'evidence' ? { text: 'x' } : {})),
  )
  expect(given.map(({ status }) => status).sort()).toEqual([200, 422])
  expect(given.find(({ status }) => status === 422)?.body.responseCode).toBe('20200015')
  expect((await read(shop, dispute.disputeId)).events).toHaveLength(2)
})

test('the same Idempotency-Key answers the same and changes nothing', async () => {
  const { shop, dispute } = await openDisputed()
  const accept = () =>
    shop.call(
      'POST',
      `/disputes/${dispute.disputeId}/accept`,
      {},
      { 'idempotency-key': `k-${dispute.disputeId}` },
    )
  const first = await accept()
  expect(first).toMatchObject({ status: 200, body: { status: 'ACCEPTED' } })
  expect((await accept()).text).toBe(first.text)
  expect((await read(shop, dispute.disputeId)).events).toHaveLength(2)
})

test.each([
  ['nothing', {}],
  ['an unknown field', { text: 'x', other: 1 }],
  ['a blank text', { text: ' \n\t' }],
  ['a file with a blank name', { files: [{ name: ' ', type: 'image/png', content: 'AAAA' }] }],
  ['another type of file', { files: [{ name: 'a', type: 'text/html', content: 'AAAA' }] }],
  ['content that is not base64', { files: [{ name: 'a', type: 'image/png', content: '%%%%' }] }],
])('400: evidence with %s', async (_, body) => {
  const { shop, dispute } = await openDisputed()
  expect((await shop.call('POST', `/disputes/${dispute.disputeId}/evidence`, body)).status).toBe(400)
  expect(await read(shop, dispute.disputeId)).toMatchObject({ status: 'OPEN' })
})

test('200 for a file of 5 MB, 400 for a larger one', async () => {
  const { shop, dispute } = await openDisputed()
  const send = (bytes: number) =>
    shop.call('POST', `/disputes/${dispute.disputeId}/evidence`, {
      files: [{ name: 'a.png', type: 'image/png', content: Buffer.alloc(bytes, 7).toString('base64') }],
    })
  const refused = await send(5_242_881)
  expect(refused).toMatchObject({ status: 400 })
  expect(refused.text).toContain('files[0].content')
  expect((await send(5_000_000)).status).toBe(200)
})

test('404: a dispute of another merchant, and an unknown one', async () => {
  const { dispute } = await openDisputed()
  const stranger = await openShop(gateway)
  for (const id of [dispute.disputeId, `dsp_${'0'.repeat(32)}`, 'x']) {
    expect((await stranger.call('GET', `/disputes/${id}`)).status).toBe(404)
    expect((await stranger.call('POST', `/disputes/${id}/accept`, {})).status).toBe(404)
    expect((await stranger.call('POST', `/disputes/${id}/evidence`, { text: 'x' })).status).toBe(404)
  }
  expect((await stranger.call('GET', '/disputes')).body).toEqual({ data: [] })
})

test('disputes are listed page by page, and filtered', async () => {
  const shop = await openShop(gateway)
  const payIds: string[] = []
  for (let n = 0; n < 3; n += 1) {
    payIds.push(await shop.sell('CARD', { card: disputedCard }))
    await shop.advance('PT1H')
  }
  await shop.advance('P3D')
  const all = (await shop.call('GET', '/disputes')).body.data
  expect(all.map((dispute: AnyJson) => dispute.payId)).toEqual(payIds.toReversed())
  const first = (await shop.call('GET', '/disputes?limit=2')).body
  expect(first.data).toEqual(all.slice(0, 2))
  const cursor = encodeURIComponent(first.nextCursor)
  expect((await shop.call('GET', `/disputes?limit=2&cursor=${cursor}`)).body).toEqual({ data: all.slice(2) })
  expect((await shop.call('GET', `/disputes?payId=${payIds[1]}`)).body.data).toEqual([all[1]])
  expect((await shop.call('GET', '/disputes?status=WON,LOST')).body.data).toEqual([])
  expect((await shop.call('GET', '/disputes?status=OPEN')).body.data).toHaveLength(3)
  const middle = encodeURIComponent(all[1].creationDate)
  expect((await shop.call('GET', `/disputes?from=${middle}`)).body.data).toEqual(all.slice(0, 2))
  expect((await shop.call('GET', `/disputes?to=${middle}`)).body.data).toEqual(all.slice(2))
  const scope = { merchantId: shop.merchantId, list: 'disputes', query: {} }
  for (const wrong of [
    `cursor=${writeCursor(scope, ['yesterday', 'x'])}`,
    `cursor=${writeCursor(scope, ['2026-01-02T00:00:00Z', '\u0000'])}`,
    `cursor=${cursor}&status=OPEN`,
    'cursor=x',
    'status=NOT',
    'limit=0',
    'limit=101',
    'from=yesterday',
    'from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z',
    'status=',
    'payId=',
    'other=1',
  ])
    expect([wrong, (await shop.call('GET', `/disputes?${wrong}`)).status]).toEqual([wrong, 400])
})

test('503 and not a refusal if it is unknown whether the provider took the answer, and the same call succeeds later', async () => {
  const { shop, dispute } = await openDisputed()
  const { answer, alarms } = await answerAs(shop, dispute)
  const breaks = () => Promise.reject(new Error('the line broke'))
  await expect(answer(breaks)).rejects.toThrow(ProviderSilent)
  expect(alarms).toMatchObject([{ code: 'CONNECTOR_THREW', error: { message: 'the line broke' } }])
  expect((await read(shop, dispute.disputeId)).status).toBe('OPEN')
  expect((await answer())?.status).toBe(200)
  expect((await read(shop, dispute.disputeId)).status).toBe('ACCEPTED')
})

test('evidence that the provider does not take is not stored', async () => {
  const { shop, dispute } = await openDisputed()
  const { engine } = gateway.gateway
  const merchant = await findMerchant(shop, gateway)
  const provider = { echo: { reference: dispute.xId, amount: dispute.amount } }
  const refusing: Engine['providers'] = {
    ...engine.providers,
    open: async (...asked) => {
      const account = await engine.providers.open(...asked)
      const disputes = {
        ...account?.connector.disputes,
        submitEvidence: async () => ({ kind: 'declined', detail: '0305', provider }) as const,
      }
      return account && { ...account, connector: { ...account.connector, disputes } }
    },
  }
  const stored = () =>
    queryRows(gateway.databaseUrl, 'SELECT name FROM dispute_file WHERE dispute_id = $1', [dispute.disputeId])
  const evidence = { text: 'The parcel was signed for.' }
  const refused = await sendEvidence(
    { merchant, disputeId: dispute.disputeId, evidence: { ...evidence, files: [] } },
    {
      engine: { ...engine, providers: refusing },
      vault: createRecordVault({ current: assert.fail, byVersion: assert.fail }),
    },
  )
  expect(refused?.status).toBe(422)
  expect(await stored()).toEqual([])
  expect((await shop.call('POST', `/disputes/${dispute.disputeId}/evidence`, evidence)).status).toBe(200)
  expect(await stored()).toEqual([{ name: 'text' }])
})

test('operators are told if the provider refuses our credentials for the answer', async () => {
  const { shop, dispute } = await openDisputed()
  const { answer, alarms } = await answerAs(shop, dispute)
  const echo = { reference: foreignXId, amount: dispute.amount }
  const provider = { echo, responseText: 'Expired API Key' }
  const refused = await answer(async () => ({
    kind: 'declined',
    detail: '0312',
    callRefused: true,
    provider,
  }))
  expect(refused?.status).toBe(422)
  expect(alarms).toMatchObject([{ code: 'CREDENTIALS_REFUSED', payId: dispute.payId }])
  expect(alarms[0]?.message).toContain('Expired API Key')
})

/** Accepts the dispute at a provider that answers as given, or as the simulator does. */
async function answerAs(shop: Shop, { disputeId }: AnyJson) {
  const { engine } = gateway.gateway
  const merchant = await findMerchant(shop, gateway)
  const alarms: Alarm[] = []
  const answer = (instead?: () => Promise<Outcome>) => {
    const open: Engine['providers']['open'] = async (...asked) => {
      const account = await engine.providers.open(...asked)
      const disputes = account && { ...account.connector.disputes, ...(instead && { accept: instead }) }
      return account && { ...account, connector: { ...account.connector, disputes } }
    }
    const providers = { ...engine.providers, open }
    const onAlarm = (alarm: Alarm) => void alarms.push(alarm)
    const vault = createRecordVault({ current: assert.fail, byVersion: assert.fail })
    return accept({ merchant, disputeId }, { engine: { ...engine, providers, onAlarm }, vault })
  }
  return { answer, alarms }
}

/** The process's engine; its provider is told of each acceptance by `take`. */
function withAccept(
  process: TestGateway,
  take: () => Promise<void>,
  waitMs?: Engine['clock']['waitMs'],
): Engine {
  const { engine } = process.gateway
  return {
    ...engine,
    clock: { ...engine.clock, waitMs: waitMs ?? engine.clock.waitMs },
    providers: {
      ...engine.providers,
      open: async (...asked) => {
        const account = await engine.providers.open(...asked)
        const actions = account?.connector.disputes
        assert(account && actions?.accept)
        const { accept } = actions
        const disputes: typeof actions = {
          ...actions,
          accept: (...given) => take().then(() => accept(...given)),
        }
        return { ...account, connector: { ...account.connector, disputes } }
      },
    },
  }
}

test('of two answers at the same moment in two processes the provider gets one', async () => {
  const { shop, dispute } = await openDisputed()
  const other = await startTestGateway({ beside: gateway })
  const asked = { merchant: await findMerchant(shop, gateway), disputeId: dispute.disputeId }
  const vault = createRecordVault({ current: assert.fail, byVersion: assert.fail })
  const [taken, leave] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const slow = withAccept(gateway, () => {
    taken.resolve()
    return leave.promise
  })
  const first = accept(asked, { engine: slow, vault })
  await taken.promise
  // The second process waits, and meanwhile the provider answers the first.
  const meanwhile = async () => {
    leave.resolve()
    await first
  }
  const told: string[] = []
  const engine = withAccept(other, async () => void told.push('second'), meanwhile)
  const second = await accept(asked, { engine, vault })
  leave.resolve()
  expect((await first)?.status).toBe(200)
  expect(JSON.parse(second?.json ?? '')).toMatchObject({ responseCode: '20200015' })
  expect(told).toEqual([])
  await other.stop()
})

test('503 while another process answers for longer than a call to the provider takes, and its silence ends', async () => {
  const { shop, dispute } = await openDisputed()
  const other = await startTestGateway({ beside: gateway })
  const asked = { merchant: await findMerchant(shop, gateway), disputeId: dispute.disputeId }
  const vault = createRecordVault({ current: assert.fail, byVersion: assert.fail })
  const taken = Promise.withResolvers<void>()
  const frozen = withAccept(gateway, () => {
    taken.resolve()
    return new Promise(() => undefined)
  })
  void accept(asked, { engine: frozen, vault })
  await taken.promise
  const answer = () =>
    accept(asked, {
      engine: withAccept(
        other,
        () => Promise.resolve(),
        () => Promise.resolve(),
      ),
      vault,
    })
  await expect(answer()).rejects.toThrow(ProviderSilent)
  await queryRows(
    gateway.databaseUrl,
    `UPDATE dispute SET answer_held_until = now() WHERE dispute_id = '${dispute.disputeId}'`,
  )
  expect((await answer())?.status).toBe(200)
  await other.stop()
})

test('a provider that has not decided yet is asked again, 21 days later', async () => {
  const { shop, payId, dispute } = await openDisputed()
  const { engine } = gateway.gateway
  const merchant = await findMerchant(shop, gateway)
  const undecided: Engine['providers'] = {
    ...engine.providers,
    open: async (...asked) => {
      const account = await engine.providers.open(...asked)
      const disputes = { ...account?.connector.disputes, findDecision: async () => undefined }
      return account && { ...account, connector: { ...account.connector, disputes } }
    },
  }
  const key = { merchantId: merchant.merchantId, payId: payId as PayId, xId: dispute.xId }
  const at = new Date(Date.parse(dispute.creationDate) + 21 * 86_400_000)
  const due = { timer: { ...key, kind: 'RETURN', attempt: 0 }, merchant, dueAt: at, at } as const
  await lookForDispute(due, { ...engine, providers: undecided })
  await shop.advance('P41D')
  expect((await read(shop, dispute.disputeId)).status).toBe('OPEN')
  await shop.advance('P1D')
  expect((await read(shop, dispute.disputeId)).status).toBe('LOST')
})
