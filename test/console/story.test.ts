/** The page of one payment: its timeline, people's actions, and received transfers. */
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Outcome } from '#connectors/contract.ts'
import { simulatedBy } from '#connectors/registry.ts'
import { createSimulator } from '#connectors/simulator/simulator.ts'
import type { XId } from '#domain/ids.ts'
import { type Person, signUp } from '#test/support/browser/console.ts'
import { cardPayment, startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

let gateway: TestGateway
let owner: Person
/** Replaces the simulator's answer to the acceptance of a dispute. */
let acceptance: (() => Promise<Outcome>) | undefined

beforeAll(async () => {
  const simulator = createSimulator()
  const { disputes = {} } = simulator
  const accept: typeof disputes.accept = async (...asked) =>
    (acceptance ?? (() => disputes.accept?.(...asked)))() ?? { kind: 'unreached' }
  gateway = await startTestGateway({
    connectors: simulatedBy({ ...simulator, disputes: { ...disputes, accept } }),
  })
  owner = await signUp(gateway, { role: 'owner' })
})
afterAll(() => gateway.stop())

const at = (path: string) => `/console/m/${gateway.merchantId}${path}`
const read = async (path: string) => (await owner.get(path)).text()

test('200 the timeline of a payment shows all its events: the API lists twenty of them on a page', async () => {
  const { body } = await gateway.call('POST', '/payments', cardPayment())
  const sample = () =>
    gateway.call('POST', `/test/payments/${body.payId}/events`, { type: 'payment.captured' })
  await Promise.all(Array.from({ length: 21 }, sample))
  const story = await read(at(`/payments/${body.payId}`))
  expect(story.match(/<h3>Event payment\.captured/g)).toHaveLength(21)
})

/** A page while nothing can read a table. */
async function readWithout(table: string, path: string): Promise<readonly [number, string]> {
  const client = new pg.Client({ connectionString: gateway.databaseUrl })
  await client.connect()
  await client.query('BEGIN')
  await client.query(`LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`)
  const page = await owner.get(at(path))
  await client.end()
  return [page.status, await page.text()]
}

test('200 the timeline says that disputes are missing where their list cannot be read', async () => {
  const { body } = await gateway.call('POST', '/payments', cardPayment())
  const warning = 'The disputes could not be read'
  expect(await read(at(`/payments/${body.payId}`))).not.toContain(warning)
  const page = await readWithout('dispute', `/payments/${body.payId}`)
  expect(page).toEqual([200, expect.stringContaining(warning)])
})

test('200 the page of a customer does not say that there are no payments where their list cannot be read', async () => {
  const customerInfo = { merchantCustomerId: 'a-buyer', email: 'buyer@example.com' }
  const { body } = await gateway.call('POST', '/payments', cardPayment({ customerInfo }))
  const path = `/customers/${body.customerInfo.gatewayCustomerId}`
  const warning = 'They could not be read at the moment'
  expect(await read(at(path))).not.toContain(warning)
  expect(await readWithout('payment', path)).toEqual([200, expect.stringContaining(warning)])
})

/** Titles and times of the story, in its order. */
async function tellStory(id: string): Promise<readonly { readonly title: string; readonly ms: number }[]> {
  const page = await read(at(`/payments/${id}`))
  const moments = page.matchAll(/<li><time datetime="([^"]+)[^>]*>[^<]*<\/time><div><h3>(.*?)<\/h3>/gs)
  return [...moments].map(([, time = '', title = '']) => ({
    title: title.replace(/<[^>]+>/g, '').trim(),
    ms: Date.parse(time),
  }))
}

test('200 a person’s action keeps its place in the timeline when the test clock is moved later', async () => {
  const { body } = await gateway.call('POST', '/payments', cardPayment())
  const refund = async (key: string) => {
    const sent = await owner.post(at(`/payments/${body.payId}/refunds`), { amount: '100', key, sure: 'yes' })
    expect(sent.status).toBe(303)
    await gateway.call('POST', '/test/clock', { advance: 'P40D' })
  }
  await refund('k-clock')
  await refund('k-clock-2')
  const told = (await tellStory(body.payId)).filter(({ title }) => /refund/i.test(title))
  const asked = 'payment.refund €1.00'
  expect(told.map(({ title }) => title)).toEqual(['REFUND OK €1.00', asked, 'REFUND OK €1.00', asked])
  const dayMs = 24 * 60 * 60 * 1000
  const passed = told.map(({ ms }) => Math.round((ms - (told[0]?.ms ?? 0)) / dayMs))
  expect(passed).toEqual([0, 0, 40, 40])
})

test('200 the timeline names the person who answered a dispute or replayed an event', async () => {
  const card = { number: '4000000000002685' }
  const { body } = await gateway.call('POST', '/payments', cardPayment({ card }))
  await gateway.call('POST', '/test/clock', { advance: 'P3D' })
  const [dispute] = (await gateway.call('GET', `/disputes?payId=${body.payId}`)).body.data
  const [event] = (await gateway.call('GET', `/events?payId=${body.payId}`)).body.data
  await owner.post(at(`/events/${event.id}/replay`), { key: 'k-again' })
  await owner.post(at(`/disputes/${dispute.disputeId}/accept`), { key: 'k-accept', sure: 'yes' })
  const told = (await tellStory(body.payId)).map(({ title }) => title)
  expect(told).toEqual(expect.arrayContaining(['event.replay', 'dispute.accept']))
})

test('200 the page of a payment with an unanswered refund refreshes itself', async () => {
  const { body } = await gateway.call('POST', '/payments', cardPayment())
  const amount = { value: 100, currency: 'EUR' }
  await gateway.call('POST', `/payments/${body.payId}/refunds`, { transId: 'waits', amount })
  expect(await read(at(`/payments/${body.payId}`))).toContain('data-refresh=""')
  // Written by SQL, because an inquiry could answer a real one at any moment.
  await queryRows(
    gateway.databaseUrl,
    `UPDATE operation SET state = 'PENDING', response_code = '60000200' WHERE trans_id = 'waits'`,
  )
  expect(await read(at(`/payments/${body.payId}`))).toContain('data-refresh="5"')
})

test('200 a payment by transfer shows the received part: its sums count only the whole amount', async () => {
  const urls = { return: 'https://shop.example/done', cancel: 'https://shop.example/back' }
  const transfer = { integrationType: 'HOSTED', type: 'SEPACREDITTRANSFER' }
  const amount = { value: 5_000, currency: 'EUR' }
  const wanted = { transId: 'by-transfer', amount, paymentMethods: transfer, urls }
  const { body } = await gateway.call('POST', '/payments', wanted)
  expect(await read(at(`/payments/${body.payId}`))).not.toContain('Received by transfer')
  await queryRows(
    gateway.databaseUrl,
    `UPDATE operation SET provider = '{"fields": {"receipts": [{"key": "r1", "value": 2000}]}}' WHERE trans_id = 'by-transfer'`,
  )
  const page = await read(at(`/payments/${body.payId}`))
  expect(page).toMatch(/<dt>Received by transfer<\/dt><dd>.*?€20\.00.*?<\/dd>/)
})

async function openDispute(): Promise<{ readonly payId: string; readonly disputeId: string }> {
  const card = { number: '4000000000002685' }
  const { body } = await gateway.call('POST', '/payments', cardPayment({ card }))
  await gateway.call('POST', '/test/clock', { advance: 'P3D' })
  const [{ disputeId }] = (await gateway.call('GET', `/disputes?payId=${body.payId}`)).body.data
  return { payId: body.payId, disputeId }
}

/** The echo of answers to disputes is not compared. */
const echo = { reference: '0'.repeat(32) as XId, amount: { value: 1000, currency: 'EUR' } }

test.each<[string, () => Promise<Outcome>, object]>([
  [
    'declined it',
    async () => ({ kind: 'declined', detail: '0305', provider: { echo } }),
    { status: 'FAILED', responseCode: '21000305' },
  ],
  ['not answered', async () => ({ kind: 'unknown' }), { status: 'UNKNOWN' }],
])(
  '422 who accepted a dispute is in the audit trail also where the provider has %s',
  async (_, answer, after) => {
    const { payId, disputeId } = await openDispute()
    acceptance = answer
    const accepted = await owner.post(at(`/disputes/${disputeId}/accept`), { key: disputeId, sure: 'yes' })
    acceptance = undefined
    expect(accepted.status).toBe(422)
    const rows = await queryRows(
      gateway.databaseUrl,
      `SELECT actor, act, after FROM audit WHERE object = '${disputeId}'`,
    )
    expect(rows).toEqual([
      { actor: owner.email, act: 'dispute.accept', after: { ...after, testClock: expect.any(String) } },
    ])
    expect((await tellStory(payId)).map(({ title }) => title)).toContain(
      `dispute.accept  ${Object.values(after)[0]}`,
    )
  },
)
