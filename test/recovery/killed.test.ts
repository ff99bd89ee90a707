/**
 * kill -9 during traffic, on a database with durable commits as in live: of the database under a gateway, and of the
 * gateway together with its database. Afterwards every acknowledged payment is there, and no other was made twice.
 */
import { afterEach, expect, test } from 'vitest'
import { borrowDataFolder, login, readPids, startServer } from '#test/support/command-line.ts'
import {
  afterwards,
  cleanUpAll,
  makePreparedFolder,
  open,
  readPostmasterPid,
} from '#test/support/database/embedded.ts'
import { cardPayment, startTestGateway } from '#test/support/gateway.ts'
import { createAcquirer } from '#test/support/providers/acquirer.ts'
import { findBrokenRules } from '#test/support/simulation/invariants.ts'
import { startLoad } from '#test/support/simulation/load.ts'

afterEach(cleanUpAll)

const secondMs = 1_000
const makeBody = (transId: string) => cardPayment({ transId })

test('nothing is lost when PostgreSQL is killed under the gateway', async () => {
  const directory = makePreparedFolder()
  const database = await open(directory)
  const acquirer = createAcquirer()
  const gateway = await startTestGateway({ databaseUrl: database.url, connectors: acquirer.connectors })
  afterwards(() => gateway.stop())
  const send = async ({ body, key }: { body: unknown; key: string }) => {
    const answer = await gateway.call('POST', '/payments', body, { 'idempotency-key': key })
    return { status: answer.status, payId: answer.body?.payId }
  }
  const load = startLoad({ concurrency: 16, makeBody, send })
  await load.reached(200)
  process.kill(readPostmasterPid(directory), 'SIGKILL')
  await database.stop()
  const revived = await open(directory)
  expect(revived.url).toBe(database.url)
  await load.reached(load.acknowledged.length + 50)
  await load.stop()

  for (const { payId } of load.acknowledged) {
    const { body } = await gateway.call('GET', `/payments/getByPayId/${payId}`)
    expect(body).toMatchObject({ payId, status: 'OK', amount: { capturedValue: 1000 } })
  }
  // A client without an answer retries with its key, and gets one payment.
  await gateway.gateway.settleWorker.recover(new Date(Date.now() + secondMs))
  for (const sent of load.unheard)
    expect(await send(sent)).toMatchObject({ status: expect.toBeOneOf([200, 422]) })
  const references = acquirer.ledger.map(message => message.reference)
  expect(new Set(references).size).toBe(references.length)
  expect(await findBrokenRules(revived.url)).toEqual({})
})

test('nothing is lost when the gateway and its database are killed together and started again', async () => {
  const folder = borrowDataFolder()
  const settings = { TOLLGATE_DATA: folder, PORT: '0' }
  const first = startServer('node', settings)
  const banner = await first.ready()
  const send = async ({ body, key }: { body: unknown; key: string }) => {
    const response = await fetch(`${banner.baseUrl}/payments`, {
      method: 'POST',
      headers: { authorization: login(banner), 'content-type': 'application/json', 'idempotency-key': key },
      body: JSON.stringify(body),
    })
    return { status: response.status, payId: ((await response.json()) as { payId?: string }).payId }
  }
  const load = startLoad({ concurrency: 16, makeBody, send })
  await load.reached(200)
  const pids = readPids(folder)
  process.kill(pids.database, 'SIGKILL')
  process.kill(pids.server, 'SIGKILL')
  await load.stop()
  await first.exited

  const second = startServer('node', settings)
  const { baseUrl, merchantId } = await second.ready()
  expect(merchantId).toBe(banner.merchantId)
  for (const { payId } of load.acknowledged) {
    const response = await fetch(`${baseUrl}/payments/getByPayId/${payId}`, {
      headers: { authorization: login(banner) },
    })
    expect(await response.json()).toMatchObject({ payId, status: 'OK', amount: { capturedValue: 1000 } })
  }
  second.child.kill('SIGTERM')
  expect(await second.exited).toBe(0)
})
