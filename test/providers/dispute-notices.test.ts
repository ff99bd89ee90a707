/** Disputes reported by notices: in any order, more than once, before and after everything else. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ConnectorDefinition, DisputeFacts, NoticeItem, NoticeSubject } from '#connectors/contract.ts'
import { createSimulator, simulatorFacts } from '#connectors/simulator/simulator.ts'
import type { XId } from '#domain/ids.ts'
import type { Fact } from '#operations/payments/notices/noticed.ts'
import { examine } from '#storage/doctor/doctor.ts'
import type { AnyJson } from '#test/support/any-json.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { type AccountBench, openAccountBench } from '#test/support/providers/provider-accounts.ts'
import { tell, tellingProvider } from '#test/support/providers/telling-provider.ts'
import { openShop, type ServedType, type Shop } from '#test/support/shop.ts'

const secret = 'a word'

/** Pays like the simulator, sends notices like the telling provider, and takes no responses to disputes. */
const facts = { ...simulatorFacts, name: 'telling', secrets: tellingProvider.facts.secrets }
const provider: ConnectorDefinition = {
  facts,
  open: (account, tools) => ({
    ...createSimulator(),
    facts,
    disputes: undefined,
    readNotice: tellingProvider.open(account, tools).readNotice,
  }),
}

let gateway: TestGateway
let bench: AccountBench
beforeAll(async () => {
  gateway = await startTestGateway({ definitions: [provider] })
  bench = openAccountBench(gateway, [provider])
})
afterAll(async () => {
  expect((await examine(gateway.databaseUrl)).filter(({ found }) => found > 0)).toEqual([])
  await bench.close()
  await gateway.stop()
})

interface Sale {
  readonly shop: Shop
  readonly accountId: string
  readonly payId: string
  readonly capture: AnyJson
}

async function sell(type: ServedType = 'CARD'): Promise<Sale> {
  const shop = await openShop(gateway)
  const account = { connector: 'telling', name: 'T', settings: {}, secrets: { word: secret } }
  const { accountId } = await bench.add(shop.merchantId, account)
  const payId = await shop.sell(type)
  const { operations } = await shop.read(payId)
  return { shop, accountId, payId, capture: operations.find((one: AnyJson) => one.type === 'CAPTURE') }
}

let keys = 0

async function notify(
  accountId: string,
  subject: NoticeSubject,
  change: Partial<DisputeFacts> = {},
  { occurredAt, ...more }: Pick<NoticeItem, 'occurredAt'> & Partial<Fact<'dispute'>> = {},
) {
  const dispute: DisputeFacts = {
    providerDisputeId: 'du_1',
    stage: 'CHARGEBACK',
    status: 'OPEN',
    amount: { value: 1000, currency: 'EUR' },
    reasonCode: '4837',
    reasonGroup: 'FRAUD',
    evidenceDueBy: new Date('2099-01-01T00:00:00Z'),
    ...change,
  }
  keys += 1
  const fact = { ...more, kind: 'dispute', subject, dispute } as const
  const item: NoticeItem = { key: `notice-${keys}`, ...(occurredAt && { occurredAt }), fact }
  const url = `${gateway.url}/providers/${accountId}/notices`
  const { status } = await fetch(url, { method: 'POST', body: tell(secret, [item]) })
  expect(status).toBe(202)
  await gateway.gateway.notices.runDue()
}

const disputes = async ({ shop }: Sale): Promise<AnyJson[]> => (await shop.call('GET', '/disputes')).body.data

const told = async ({ shop, payId }: Sale): Promise<string[]> =>
  (await shop.call('GET', `/events?payId=${payId}`)).body.data
    .map((event: AnyJson) => event.body.type)
    .reverse()

test('by our reference: opened, won, and opened again by a second chargeback', async () => {
  const sale = await sell()
  const subject = { reference: sale.capture.xId as XId }
  await notify(sale.accountId, subject)
  const [opened] = await disputes(sale)
  expect(opened).toMatchObject({
    payId: sale.payId,
    xId: sale.capture.xId,
    status: 'OPEN',
    reasonCode: '4837',
    evidenceDueBy: '2099-01-01T00:00:00.000Z',
    providerDisputeId: 'du_1',
  })
  await notify(sale.accountId, subject, { status: 'WON' })
  // An older state that arrives late changes nothing.
  await notify(sale.accountId, subject, { status: 'UNDER_REVIEW' })
  expect(await disputes(sale)).toMatchObject([{ disputeId: opened?.disputeId, status: 'WON' }])
  expect((await sale.shop.read(sale.payId)).amount.disputedValue).toBe(0)
  await notify(sale.accountId, subject, { stage: 'PRE_ARBITRATION' })
  expect(await disputes(sale)).toMatchObject([{ stage: 'PRE_ARBITRATION', status: 'OPEN' }])
  expect((await sale.shop.read(sale.payId)).amount.disputedValue).toBe(1000)
  await notify(sale.accountId, subject, { stage: 'PRE_ARBITRATION', status: 'LOST' })
  expect(await told(sale)).toEqual(['dispute.opened', 'dispute.won', 'dispute.opened', 'dispute.lost'])
})

test('the later of two results counts, also where it arrives first', async () => {
  const sale = await sell()
  const subject = { reference: sale.capture.xId as XId }
  const at = (hour: number) => new Date(Date.UTC(2026, 0, 1, hour))
  await notify(sale.accountId, subject, { status: 'LOST' }, { occurredAt: at(2) })
  await notify(sale.accountId, subject, { status: 'WON' }, { occurredAt: at(1) })
  const [lost] = await disputes(sale)
  expect(lost).toMatchObject({ status: 'LOST' })
  expect(Object.keys(lost?.events[0])).toEqual(['at', 'type', 'stage', 'status'])
  expect((await sale.shop.read(sale.payId)).amount.disputedValue).toBe(1000)
  // The cardholder has withdrawn the dispute.
  await notify(sale.accountId, subject, { status: 'WON' }, { occurredAt: at(3) })
  expect(await disputes(sale)).toMatchObject([{ status: 'WON' }])
  expect(await told(sale)).toEqual(['dispute.opened', 'dispute.lost', 'dispute.won'])
})

test('by the provider’s id of the capture, and by its id of the payment', async () => {
  const sale = await sell()
  await notify(sale.accountId, { transactionId: sale.capture.providerTransactionId })
  const { operations } = await sale.shop.read(sale.payId)
  const paymentTransactionId = operations[0].providerTransactionId
  await notify(
    sale.accountId,
    { paymentTransactionId },
    { providerDisputeId: 'du_2', amount: { value: 5, currency: 'EUR' } },
  )
  expect((await disputes(sale)).map(({ providerDisputeId }) => providerDisputeId).sort()).toEqual([
    'du_1',
    'du_2',
  ])
  expect((await sale.shop.read(sale.payId)).amount.disputedValue).toBe(1005)
})

test('a dispute of a payment that was charged as a debit is a return, at its opening and its end', async () => {
  const sale = await sell('PROVIDERP')
  const asDebit = { returnDetail: '0305', chargedAsDebits: ['PROVIDERP'] }
  const subject = { reference: sale.capture.xId as XId }
  for (const status of ['OPEN', 'LOST'] as const) await notify(sale.accountId, subject, { status }, asDebit)
  expect(await disputes(sale)).toEqual([])
  const { amount, operations } = await sale.shop.read(sale.payId)
  expect([amount.returnedValue, amount.disputedValue]).toEqual([1000, 0])
  expect(operations.at(-1)).toMatchObject({ type: 'RETURN', status: 'OK', responseCode: '24000305' })
})

test('422 20200009: a provider that takes no responses to disputes', async () => {
  const sale = await sell()
  await notify(sale.accountId, { reference: sale.capture.xId })
  const [dispute] = await disputes(sale)
  for (const [verb, body] of [
    ['accept', {}],
    ['evidence', { text: 'x' }],
  ] as const)
    expect(await sale.shop.call('POST', `/disputes/${dispute?.disputeId}/${verb}`, body)).toMatchObject({
      status: 422,
      body: { responseCode: '20200009' },
    })
})

test('a dispute about a payment of another account is unmatched', async () => {
  const [sale, other] = [await sell(), await sell()]
  await notify(other.accountId, { reference: sale.capture.xId })
  expect([await disputes(sale), await disputes(other)]).toEqual([[], []])
})
