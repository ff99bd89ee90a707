/** With one cell nothing changes: no other schema, an empty directory that nobody reads, and the statements of any cell. */
import pg from 'pg'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { moveMerchant } from '#cells/move.ts'
import { prepareCells } from '#cells/prepare.ts'
import { withClient } from '#storage/cells/create-cell.ts'
import { markName } from '#storage/payments/unanswered.ts'
import { createCellStage } from '#test/support/database/cells.ts'
import { createTestDatabase } from '#test/support/database/database.ts'
import { cardPayment, startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'
import { createMasterRing, toMasterKey } from '#vault/master-key.ts'

// Without timers no background work begins; only what requests ask is compared.
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout'] }))
afterEach(() => void vi.useRealTimers())

/** Waits for the search after what an earlier process left, which every cell begins when it starts. */
const searched = (urls: readonly string[]): Promise<void> =>
  vi.waitFor(async () => {
    for (const url of urls) {
      const { rows } = await withClient(url, client =>
        client.query('SELECT 1 FROM installation WHERE name = $1', [markName]),
      )
      expect(rows).toHaveLength(1)
    }
  }, 30_000)

/** Heartbeats, deliveries and the look at the audit trail after a start come at moments of their own. */
const isBackground = (text: string): boolean => /\b(gateway_process|leased_until|audit_head)\b/.test(text)

/** The statements that requests send while `work` runs. */
async function recordStatements(work: () => Promise<void>): Promise<ReadonlySet<string>> {
  const query = vi.spyOn(pg.Client.prototype, 'query')
  try {
    await work()
    const asked = query.mock.calls.map(([statement]) => statement as unknown as string | pg.QueryConfig)
    const texts = asked.map(statement => (typeof statement === 'string' ? statement : statement.text))
    return new Set(texts.filter(text => !isBackground(text)))
  } finally {
    query.mockRestore()
  }
}

/** A merchant's day: paid, captured, refunded, read, listed, with a customer and a page. */
async function trade({ call }: TestGateway): Promise<void> {
  const manual = cardPayment({ captureMethod: { type: 'MANUAL' } })
  const { body: payment } = await call('POST', '/payments', manual, { 'idempotency-key': 'one' })
  const part = { transId: 'part', amount: { value: 400, currency: 'EUR' } }
  const urls = { return: 'https://shop.example/done', cancel: 'https://shop.example/stop' }
  const requests: [string, string, unknown?][] = [
    ['POST', `/payments/${payment.payId}/captures`, part],
    ['POST', `/payments/${payment.payId}/refunds`, part],
    ['GET', `/payments/getByPayId/${payment.payId}`],
    ['GET', '/payments'],
    ['GET', '/customers?page=1'],
    ['GET', '/events'],
    ['POST', '/payments/sessions', { ...part, transId: 'page', urls }],
  ]
  for (const [verb, path, body] of requests) {
    const answer = await call(verb, path, body)
    expect([path, answer.status], answer.text).toEqual([path, 200])
    const page = answer.body._links?.redirect?.href
    if (page) expect((await fetch(page)).status).toBe(200)
  }
}

const readsDirectory = (text: string): boolean => /\b(merchant_cell|FROM cell|INTO cell)\b/.test(text)

test('one cell has no schema of its own and no directory, and its requests send what those of any cell send', async () => {
  const { url: databaseUrl, drop } = await createTestDatabase()
  const masterKey = createMasterRing(async () => [toMasterKey(Buffer.alloc(32).toString('base64'), 'a key')])
  const made = await prepareCells({
    home: { url: databaseUrl, place: 'home' },
    ...{ urls: [], wanted: 1, masterKey, describePlace: () => '', onProgress: () => undefined },
  })
  expect(made.map(({ name, url }) => [name, url])).toEqual([['cell_00', databaseUrl]])
  const single = await startTestGateway({ databaseUrl, masterKey, cells: made.slice(1) })
  await searched([databaseUrl])
  const ofOne = await recordStatements(() => trade(single))
  await single.stop()
  const schemas = `SELECT 1 FROM pg_namespace WHERE nspname LIKE 'cell%'`
  expect(await queryRows(databaseUrl, schemas)).toEqual([])
  for (const table of ['cell', 'merchant_cell'])
    expect(await queryRows(databaseUrl, `SELECT 1 FROM ${table}`)).toEqual([])
  await drop()

  const stage = await createCellStage()
  const several = await startTestGateway({ ...stage, cells: stage.cells.slice(1) })
  await moveMerchant({ cells: stage.cells, merchantId: several.merchantId, to: 0 })
  await searched(stage.cells.map(({ url }) => url))
  const ofMany = await recordStatements(() => trade(several))
  await several.stop()
  await stage.drop()

  expect(ofOne.size).toBeGreaterThan(10)
  expect([...ofOne].filter(readsDirectory)).toEqual([])
  expect([...ofMany].filter(text => !readsDirectory(text)).toSorted()).toEqual([...ofOne].toSorted())
})
