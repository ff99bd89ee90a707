/**
 * One test per gap between two writes: the process dies there, and another one recovers its operation. The result is
 * what the acquirer had received by then, no money moves twice, and the key of the lost request answers with the
 * result.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestClock, secondMs } from '#test/support/clock.ts'
import { type Crash, type CrashName, crashNames, createCrash } from '#test/support/database/crash.ts'
import { cardPayment, startTestGateway, type TestGateway, type TestRequest } from '#test/support/gateway.ts'
import { type Acquirer, createAcquirer } from '#test/support/providers/acquirer.ts'
import { countEvents, findBrokenRules } from '#test/support/simulation/invariants.ts'

const clock = createTestClock()
let acquirer: Acquirer
let crash: Crash
let dying: TestGateway
let heir: TestGateway
beforeAll(async () => {
  acquirer = createAcquirer()
  crash = createCrash()
  const connectors = acquirer.connectors
  dying = await startTestGateway({ clock, connectors, testCrash: crash.testCrash })
  heir = await startTestGateway({ clock, connectors, beside: dying })
})
afterAll(async () => {
  expect(await findBrokenRules(heir.databaseUrl)).toEqual({})
  await heir.stop()
  await dying.stop()
})

type Operation = 'create AUTOMATIC' | 'create MANUAL' | 'capture'
type Happening = 'approved' | 'declined' | 'lost answer' | 'never arrives'

const operations: readonly Operation[] = ['create AUTOMATIC', 'create MANUAL', 'capture']
const happenings: readonly Happening[] = ['approved', 'declined', 'lost answer', 'never arrives']

/** Whether the acquirer's ledger has the operation at the end: not if the process died before the call. */
const isApproved = (point: CrashName, happening: Happening): boolean =>
  point !== 'afterRecord' && (happening === 'approved' || happening === 'lost answer')

/** Whether the merchant gets an event, because the answer to its request cannot have held the result. */
const isToldLater = (point: CrashName, happening: Happening): boolean =>
  point !== 'afterSettle' || happening === 'lost answer'

let requests = 0

async function prepareRequest(operation: Operation, happening: Happening): Promise<TestRequest> {
  const simulated = happening === 'declined' ? { simulationMode: '0351' } : {}
  const headers = { 'idempotency-key': `crash-${++requests}` }
  if (operation !== 'capture') {
    const type = operation === 'create MANUAL' ? 'MANUAL' : 'AUTOMATIC'
    const body = cardPayment({ captureMethod: { type }, ...simulated })
    return { verb: 'POST', path: '/payments', body, headers }
  }
  const created = await heir.call('POST', '/payments', cardPayment({ captureMethod: { type: 'MANUAL' } }))
  return {
    verb: 'POST',
    path: `/payments/${created.body.payId}/captures`,
    body: { transId: created.body.transId, amount: { value: 400, currency: 'EUR' }, ...simulated },
    headers,
  }
}

function sabotage(operation: Operation, happening: Happening): void {
  const type = operation === 'capture' ? 'CAPTURE' : 'AUTHORIZATION'
  if (happening === 'lost answer') acquirer.failNext(type, 'lost_answer')
  if (happening === 'never arrives') acquirer.failNext(type, 'lost_request')
}

const sumApproved = (type: string, references: readonly string[]): number =>
  acquirer.ledger
    .filter(
      message => message.operation === type && message.approved && references.includes(message.reference),
    )
    .reduce((sum, message) => sum + message.amount, 0)

/** Our books equal the acquirer's to the cent, and it got no request twice. */
function expectBooksOf(record: { amount: Record<string, number>; operations: { xId: string }[] }): void {
  const references = record.operations.map(operation => operation.xId)
  expect(record.amount.authorizedValue).toBe(sumApproved('AUTHORIZATION', references))
  expect(record.amount.capturedValue).toBe(sumApproved('CAPTURE', references))
  const sent = acquirer.ledger.map(message => message.reference)
  expect(new Set(sent).size).toBe(sent.length)
}

const cells = crashNames.flatMap(point =>
  operations.flatMap(operation => happenings.map(happening => ({ point, operation, happening }))),
)

describe.each(cells)('$operation dies $point, $happening', ({ point, operation, happening }) => {
  test("is settled once with the acquirer's result, and its key answers with it", async () => {
    const request = await prepareRequest(operation, happening)
    sabotage(operation, happening)
    expect(await crash.die(point, dying, request)).toBeUndefined()
    acquirer.heal()

    await heir.gateway.settleWorker.recover(new Date(Date.now() + secondMs))
    clock.move(10 * secondMs)
    await heir.gateway.timerWorker.runDue()

    const { transId } = request.body as { transId: string }
    const { body: record } = await heir.call('GET', `/payments/getByTransId/${transId}`)
    const settled = record.operations[operation === 'capture' ? 1 : 0]
    const approved = isApproved(point, happening)
    expect(settled.status).toMatch(approved ? /^(OK|AUTHORIZED)$/ : /^FAILED$/)
    expectBooksOf(record)
    expect(record.amount.capturedValue).toBe(
      approved ? { capture: 400, 'create AUTOMATIC': 1000, 'create MANUAL': 0 }[operation] : 0,
    )

    const messages = acquirer.ledger.length
    const retried = await heir.send(request)
    expect(retried.headers.get('idempotent-replayed')).toBe('true')
    expect(retried.body).toMatchObject({ payId: record.payId, xId: settled.xId })
    const wasToldPending = point === 'afterSettle' && happening === 'lost answer'
    const shown = operation === 'capture' ? settled.status : record.status
    expect(retried.body.status).toBe(wasToldPending ? 'PENDING' : shown)
    expect(retried.status).toBe(approved ? 200 : 422)
    expect(acquirer.ledger).toHaveLength(messages)

    expect(await countEvents(heir.databaseUrl, settled.xId)).toBe(isToldLater(point, happening) ? 1 : 0)
  })
})

test('an operation under way in another live process is left alone', async () => {
  const request = await prepareRequest('create MANUAL', 'approved')
  expect(await crash.die('afterRecord', dying, request)).toBeUndefined()
  expect(await heir.gateway.settleWorker.recoverAbandoned()).toBe(0)
  const { transId } = request.body as { transId: string }
  const { body } = await heir.call('GET', `/payments/getByTransId/${transId}`)
  expect(body.status).toBe('PENDING')
  await heir.gateway.settleWorker.recover(new Date(Date.now() + secondMs))
})

test('an operation of a silent acquirer stays PENDING, counts against the ceiling and gets further inquiries', async () => {
  const request = await prepareRequest('capture', 'approved')
  expect(await crash.die('afterCall', dying, request)).toBeUndefined()
  acquirer.setSilent(true)
  await heir.gateway.settleWorker.recover(new Date(Date.now() + secondMs))
  const { transId } = request.body as { transId: string }
  const read = async () => (await heir.call('GET', `/payments/getByTransId/${transId}`)).body
  expect(await read()).toMatchObject({
    amount: { capturedValue: 0 },
    operations: [{}, { status: 'PENDING' }],
  })
  const tooMuch = { transId, amount: { value: 601, currency: 'EUR' } }
  expect((await heir.call('POST', request.path, tooMuch)).body.responseCode).toBe('20200003')
  acquirer.setSilent(false)
  clock.move(30 * secondMs)
  expect(await heir.gateway.timerWorker.runDue()).toBe(1)
  expect(await read()).toMatchObject({ status: 'OK', amount: { capturedValue: 400 } })
})

test('two processes that recover the same operation settle it once', async () => {
  const request = await prepareRequest('create AUTOMATIC', 'approved')
  expect(await crash.die('afterCall', dying, request)).toBeUndefined()
  const third = await startTestGateway({ clock, connectors: acquirer.connectors, beside: heir })
  const later = new Date(Date.now() + secondMs)
  await Promise.all([heir, third, dying].map(gateway => gateway.gateway.settleWorker.recover(later)))
  const { transId } = request.body as { transId: string }
  const { body: record } = await third.call('GET', `/payments/getByTransId/${transId}`)
  expect(record).toMatchObject({ status: 'OK', amount: { capturedValue: 1000 } })
  expectBooksOf(record)
  expect(await countEvents(heir.databaseUrl, record.operations[0].xId)).toBe(1)
  await third.stop()
})
