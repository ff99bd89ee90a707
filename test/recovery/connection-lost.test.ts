/**
 * The connection to the database breaks around a commit: before it arrives, or after it succeeded and before its
 * answer. The request still gets its answer, the provider is called once, and nothing is reserved or captured twice.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { type DatabaseProxy, startDatabaseProxy } from '#test/support/database/database-proxy.ts'
import { cardPayment, startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { type Acquirer, createAcquirer } from '#test/support/providers/acquirer.ts'
import { findBrokenRules, queryRows } from '#test/support/simulation/invariants.ts'

let acquirer: Acquirer
let direct: TestGateway
let proxy: DatabaseProxy
let gateway: TestGateway
let duringCall: () => void | Promise<void> = () => undefined
beforeAll(async () => {
  acquirer = createAcquirer()
  const connectors = acquirer.connectors
  direct = await startTestGateway({ connectors })
  proxy = await startDatabaseProxy(direct.databaseUrl)
  const testCrash = (point: string) => (point === 'afterCall' ? duringCall() : undefined)
  gateway = await startTestGateway({ connectors, testCrash, beside: direct, throughUrl: proxy.url })
})
afterEach(() => {
  duringCall = () => undefined
})
afterAll(async () => {
  expect(await findBrokenRules(direct.databaseUrl)).toEqual({})
  await gateway.stop()
  await proxy.close()
  await direct.stop()
})

const moments = ['before', 'after'] as const
let keys = 0
const keyed: [string, () => Record<string, string>][] = [
  ['with a key', () => ({ 'idempotency-key': `line-${++keys}` })],
  ['without a key', () => ({})],
]
const cells = moments.flatMap(moment => keyed.map(([label, headers]) => ({ moment, label, headers })))

/** The ledger has each reference at most once, and the record's sums follow from it. */
async function expectBooks(payId: string, captured: number, operations: number): Promise<void> {
  const { body } = await direct.call('GET', `/payments/getByPayId/${payId}`)
  expect(body.amount).toMatchObject({ authorizedValue: 1000, capturedValue: captured })
  expect(body.operations).toHaveLength(operations)
  const sent = acquirer.ledger.map(message => message.reference)
  expect(new Set(sent).size).toBe(sent.length)
}

describe.each(cells)('cut $moment the commit, $label', ({ moment, headers }) => {
  test.each([
    ['first', 0],
    ['second', 1],
  ])('create: the %s commit', async (_, skip) => {
    const request = cardPayment()
    const given = headers()
    proxy.cutNextCommit(moment, skip)
    const created = await gateway.call('POST', '/payments', request, given)
    expect(created, created.text).toMatchObject({ status: 200, body: { status: 'OK' } })
    await expectBooks(created.body.payId, 1000, 2)
    if (given['idempotency-key']) {
      const again = await direct.call('POST', '/payments', request, given)
      expect(again.text).toBe(created.text)
    }
  })

  test.each([
    ['first', 0],
    ['second', 1],
  ])('capture: the %s commit', async (_, skip) => {
    const { body } = await direct.call(
      'POST',
      '/payments',
      cardPayment({ captureMethod: { type: 'MANUAL' } }),
    )
    const path = `/payments/${body.payId}/captures`
    const request = { transId: 'parcel', amount: { value: 700, currency: 'EUR' } }
    const given = headers()
    proxy.cutNextCommit(moment, skip)
    const captured = await gateway.call('POST', path, request, given)
    expect(captured, captured.text).toMatchObject({ status: 200, body: { status: 'OK' } })
    await expectBooks(body.payId, 700, 2)
    // Nothing is left reserved: the rest can still be captured.
    expect(
      (await direct.call('POST', path, { ...request, amount: { value: 300, currency: 'EUR' } })).status,
    ).toBe(200)
  })
})

const steps: [string, string][] = [
  ['a form', 'CARD'],
  ['the page of a provider', 'PROVIDERP'],
]

// The customer's step has two commits as well, but no idempotency key: only the references show that it was done.
describe.each(moments)('cut %s the commit of the customer’s step', moment => {
  test.each(
    steps.flatMap(([name, type]) => [
      { name, type, which: 'first', skip: 0 },
      { name, type, which: 'second', skip: 1 },
    ]),
  )('$name: the $which commit', async ({ type, skip }) => {
    const urls = { return: 'https://shop.example/return', cancel: 'https://shop.example/cancel' }
    const request = { ...cardPayment(), urls, paymentMethods: { integrationType: 'HOSTED', type } }
    const { body } = await direct.call('POST', '/payments', request)
    const path = `/test/payments/${body.payId}/customer-action`
    proxy.cutNextCommit(moment, skip)
    const paid = await gateway.call('POST', path, { action: 'approve' })
    expect(paid, paid.text).toMatchObject({ status: 200, body: { status: 'OK' } })
    await expectBooks(body.payId, 1000, 2)
    expect(acquirer.ledger.filter(({ payId }) => payId === body.payId)).toHaveLength(2)
  })
})

test('the server ends all connections during the provider call', async () => {
  const request = cardPayment()
  duringCall = async () => {
    duringCall = () => undefined
    await endAllConnections()
  }
  const created = await gateway.call('POST', '/payments', request)
  expect(created, created.text).toMatchObject({ status: 200, body: { status: 'OK' } })
  await expectBooks(created.body.payId, 1000, 2)
})

test('the gateway takes its claim again, so that a new gateway leaves its work alone', async () => {
  await endAllConnections()
  await vi.waitFor(async () => expect(await countClaims()).toBe(2), { timeout: 20_000, interval: 50 })
  const pending = Promise.withResolvers<void>()
  const inCall = Promise.withResolvers<void>()
  duringCall = () => {
    inCall.resolve()
    return pending.promise
  }
  const request = cardPayment()
  const answer = gateway.call('POST', '/payments', request)
  await inCall.promise
  const newcomer = await startTestGateway({ connectors: acquirer.connectors, beside: direct })
  const inquiries = acquirer.inquiries()
  await newcomer.gateway.settleWorker.recoverAbandoned()
  expect(acquirer.inquiries()).toBe(inquiries)
  pending.resolve()
  expect(await answer).toMatchObject({ status: 200, body: { status: 'OK' } })
  await newcomer.stop()
})

const endAllConnections = () =>
  queryRows(
    direct.databaseUrl,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = 'tollgate'`,
  )

const countClaims = async () =>
  (
    await queryRows(
      direct.databaseUrl,
      `SELECT DISTINCT l.pid FROM pg_locks l JOIN pg_database d ON d.oid = l.database
     WHERE l.locktype = 'advisory' AND l.mode = 'ShareLock' AND d.datname = current_database()`,
    )
  ).length
