/**
 * A process dies while an intent is being confirmed, at each gap between two writes: the intent stays joined to its
 * payment, is never paid twice, and is open again exactly if the acquirer had received nothing.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestClock, secondMs } from '#test/support/clock.ts'
import { type Crash, type CrashName, crashNames, createCrash } from '#test/support/database/crash.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { confirmation, type IntentShop, openIntents } from '#test/support/intents.ts'
import { type Acquirer, createAcquirer } from '#test/support/providers/acquirer.ts'
import { refused } from '#test/support/shop.ts'
import { countEvents, findBrokenRules } from '#test/support/simulation/invariants.ts'

const clock = createTestClock()
let acquirer: Acquirer
let crash: Crash
let dying: TestGateway
let heir: TestGateway
let intents: IntentShop
beforeAll(async () => {
  acquirer = createAcquirer()
  crash = createCrash()
  const { connectors } = acquirer
  dying = await startTestGateway({ clock, connectors, testCrash: crash.testCrash })
  heir = await startTestGateway({ clock, connectors, beside: dying })
  intents = openIntents(heir, heir)
})
afterAll(async () => {
  expect(await findBrokenRules(heir.databaseUrl)).toEqual({})
  await heir.stop()
  await dying.stop()
})

type Happening = 'approved' | 'declined'
const happenings: readonly Happening[] = ['approved', 'declined']
const cells = crashNames.flatMap(point => happenings.map(happening => ({ point, happening })))

const isPaid = (point: CrashName, happening: Happening): boolean =>
  point !== 'afterRecord' && happening === 'approved'

let requests = 0

describe.each(cells)('a confirmation dies $point, $happening', ({ point, happening }) => {
  test('holds its intent until it is settled, and its key answers with the result', async () => {
    const id = await intents.intent(happening === 'declined' ? { simulationMode: '0351' } : {})
    const headers = { 'idempotency-key': `intent-crash-${++requests}` }
    const request = {
      verb: 'POST',
      path: `/payment-intents/${id}/confirm`,
      body: confirmation('CARD'),
      headers,
    }
    expect(await crash.die(point, dying, request)).toBeUndefined()
    if (point !== 'afterSettle') {
      expect(await intents.confirm(id, confirmation('CARD'))).toMatchObject(refused('20200010'))
    }
    await heir.gateway.settleWorker.recover(new Date(Date.now() + secondMs))
    clock.move(10 * secondMs)
    await heir.gateway.timerWorker.runDue()

    const paid = isPaid(point, happening)
    const replayed = await heir.send(request)
    expect(replayed.headers.get('idempotent-replayed')).toBe('true')
    expect(replayed).toMatchObject({ status: paid ? 200 : 422, body: { paymentIntentId: id } })
    expect(await countEvents(heir.databaseUrl, replayed.body.xId)).toBe(1)

    const next = await intents.confirm(id, confirmation('CARD'))
    if (paid) expect(next).toMatchObject(refused('20200010'))
    else if (happening === 'declined') expect(next).toMatchObject(refused('21000351'))
    else expect(next).toMatchObject({ status: 200, body: { status: 'OK', paymentIntentId: id } })

    const { body: record } = await heir.call('GET', `/payments/getByPayId/${replayed.body.payId}`)
    expect(record).toMatchObject({ status: paid ? 'OK' : 'FAILED', paymentIntentId: id })
    const references = acquirer.ledger.map(({ reference }) => reference)
    expect(new Set(references).size).toBe(references.length)
  })
})
