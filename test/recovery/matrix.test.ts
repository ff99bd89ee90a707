/**
 * The process dies during every operation, at every gap between two writes and with every kind of answer; another
 * process recovers the operation. Our books must then equal the provider's to the cent, the provider may get no request
 * twice, the key of the lost request must answer, and a merchant without an answer must get one event.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { secondMs } from '#test/support/clock.ts'
import { type Crash, crashNames } from '#test/support/database/crash.ts'
import {
  faultOf,
  type Inheritance,
  isApproved,
  lucks,
  openInheritance,
} from '#test/support/database/inheritance.ts'
import type { TestGateway, TestRequest } from '#test/support/gateway.ts'
import type { Acquirer } from '#test/support/providers/acquirer.ts'
import { currency, methodPayment, type Shop, tokenOf } from '#test/support/shop.ts'
import { countEvents } from '#test/support/simulation/invariants.ts'

const hourMs = 3_600 * secondMs

let scene: Inheritance
let acquirer: Acquirer
let crash: Crash
let dying: TestGateway
let heir: TestGateway
let shop: Shop
beforeAll(async () => {
  scene = await openInheritance()
  ;({ acquirer, crash, dying, heir, shop } = scene)
})
afterAll(() => scene.close())

/** The differences between the operations. */
interface Row {
  readonly name: string
  readonly type: Parameters<Acquirer['failNext']>[0]
  /** Creates the payment, and returns the request to send to it; a decline is part of that request. */
  readonly prepare: (decline: object) => Promise<Sent>
  /** The sums that the approved operation adds to the record. */
  readonly sums: Partial<Sums>
  /** The payment's status after an approval, and after a decline. */
  readonly status: readonly [approved: string, failed: string]
}

interface Sent {
  readonly path: string
  readonly body: Record<string, unknown>
  readonly payId?: string
}

interface Sums {
  readonly authorizedValue: number
  readonly capturedValue: number
  readonly reversedValue: number
  readonly refundedValue: number
}

const payment = (type: string) => (decline: object) => ({
  path: '/payments',
  body: methodPayment('CARD', { captureMethod: { type }, ...decline }),
})
const authorized = () => shop.authorize('CARD')
const followUp =
  (path: string, make: () => Promise<string>) =>
  async (decline: object): Promise<Sent> => {
    const payId = await make()
    const body = { transId: `step-${payId}`, amount: { value: 400, currency }, ...decline }
    return { path: `/payments/${payId}/${path}`, body, payId }
  }
const confirmation = (type: string) => async (decline: object) => {
  const { body } = await shop.create('PROVIDERK', { captureMethod: { type } })
  const sent = await followUp('confirms', async () => body.payId)(decline)
  return { ...sent, body: { ...sent.body, ...tokenOf(body) } }
}
const credit = async (decline: object): Promise<Sent> => {
  const { transId, paymentMethods: paid } = methodPayment('CARD') as {
    transId: string
    paymentMethods: { card: object }
  }
  const card = { ...paid.card, brand: 'visa' }
  return {
    path: '/payments/refunds',
    body: { transId, amount: { value: 400, currency }, paymentMethods: { card }, ...decline },
  }
}

const rows: readonly Row[] = [
  {
    name: 'create AUTOMATIC',
    type: 'AUTHORIZATION',
    prepare: async decline => payment('AUTOMATIC')(decline),
    sums: { authorizedValue: 1000, capturedValue: 1000 },
    status: ['OK', 'FAILED'],
  },
  {
    name: 'create MANUAL',
    type: 'AUTHORIZATION',
    prepare: async decline => payment('MANUAL')(decline),
    sums: { authorizedValue: 1000 },
    status: ['AUTHORIZED', 'FAILED'],
  },
  {
    name: 'confirm AUTOMATIC',
    type: 'CONFIRM',
    prepare: confirmation('AUTOMATIC'),
    sums: { authorizedValue: 400, capturedValue: 400 },
    status: ['OK', 'FAILED'],
  },
  {
    name: 'confirm MANUAL',
    type: 'CONFIRM',
    prepare: confirmation('MANUAL'),
    sums: { authorizedValue: 400 },
    status: ['AUTHORIZED', 'FAILED'],
  },
  {
    name: 'incremental',
    type: 'INCREMENTAL',
    prepare: followUp('incrementals', authorized),
    sums: { authorizedValue: 1400 },
    status: ['AUTHORIZED', 'AUTHORIZED'],
  },
  {
    name: 'capture',
    type: 'CAPTURE',
    prepare: followUp('captures', authorized),
    sums: { capturedValue: 400 },
    status: ['OK', 'AUTHORIZED'],
  },
  {
    name: 'capture that closes',
    type: 'CAPTURE',
    prepare: async decline => {
      const sent = await followUp('captures', authorized)(decline)
      return { ...sent, body: { ...sent.body, captureMethod: { manual: { final: true } } } }
    },
    sums: { capturedValue: 400 },
    status: ['OK', 'AUTHORIZED'],
  },
  {
    name: 'reversal',
    type: 'REVERSAL',
    prepare: followUp('reversals', authorized),
    sums: { reversedValue: 400 },
    status: ['AUTHORIZED', 'AUTHORIZED'],
  },
  {
    name: 'refund',
    type: 'REFUND',
    prepare: followUp('refunds', () => shop.sell('CARD')),
    sums: { refundedValue: 400 },
    status: ['OK', 'OK'],
  },
  {
    name: 'credit',
    type: 'CREDIT',
    prepare: credit,
    sums: { refundedValue: 400 },
    status: ['OK', 'FAILED'],
  },
]

let requests = 0

const sumApproved = (references: readonly string[], ...types: string[]): number =>
  acquirer.ledger
    .filter(({ operation, approved }) => approved && types.includes(operation))
    .filter(({ reference }) => references.includes(reference))
    .reduce((sum, { amount }) => sum + amount, 0)

/** Our books equal the acquirer's to the cent, and it got no request twice. */
function expectBooksOf(record: { amount: Sums; operations: { xId: string; status: string }[] }): void {
  const references = record.operations.map(({ xId }) => xId)
  expect(record.amount).toMatchObject({
    authorizedValue: sumApproved(references, 'AUTHORIZATION', 'CONFIRM', 'INCREMENTAL'),
    capturedValue: sumApproved(references, 'CAPTURE'),
    reversedValue: sumApproved(references, 'REVERSAL'),
    refundedValue: sumApproved(references, 'REFUND', 'CREDIT'),
  })
  const sent = acquirer.ledger.map(({ reference }) => reference)
  expect(new Set(sent).size).toBe(sent.length)
  expect(record.operations.filter(({ status }) => status === 'PENDING')).toEqual([])
}

const toRequest = (sent: Sent): TestRequest => ({
  verb: 'POST',
  path: sent.path,
  body: sent.body,
  headers: { authorization: shop.authorization, 'idempotency-key': `matrix-${++requests}` },
})

const find = async (sent: Sent) => {
  const { transId } = sent.body as { transId: string }
  return sent.payId
    ? shop.read(sent.payId)
    : (await shop.call('GET', `/payments/getByTransId/${transId}`)).body
}

const cells = rows.flatMap(row => crashNames.flatMap(point => lucks.map(luck => ({ ...row, point, luck }))))

describe.each(cells)('$name dies $point, $luck', ({ point, luck, type, prepare, sums, status }) => {
  test("is settled once with the acquirer's result, and its key answers with it", async () => {
    const sent = await prepare(luck === 'declined' ? { simulationMode: '0351' } : {})
    const before = sent.payId
      ? (await shop.read(sent.payId)).amount
      : { authorizedValue: 0, capturedValue: 0 }
    const request = toRequest(sent)
    const fault = faultOf[luck]
    if (fault) acquirer.failNext(type, fault)
    expect(await crash.die(point, dying, request)).toBeUndefined()
    await scene.inherit()

    const record = await find(sent)
    const approved = isApproved(point, luck)
    const settled = record.operations.findLast((operation: { type: string }) => operation.type === type)
    expect(settled.status).toMatch(approved ? /^(OK|AUTHORIZED)$/ : /^FAILED$/)
    expectBooksOf(record)
    const untouched = { reversedValue: 0, refundedValue: 0, ...before }
    expect(record.amount).toMatchObject(approved ? { ...untouched, ...sums } : untouched)
    expect(record.status).toBe(status[approved ? 0 : 1])

    const messages = acquirer.ledger.length
    const retried = await heir.send(request)
    expect(retried.headers.get('idempotent-replayed')).toBe('true')
    expect(retried.body).toMatchObject({ payId: record.payId, xId: settled.xId })
    const wasToldPending = point === 'afterSettle' && luck === 'lost answer'
    const speaksOfPayment = type === 'AUTHORIZATION' || type === 'CONFIRM'
    const shown = speaksOfPayment ? record.status : settled.status
    expect(retried.body.status).toBe(wasToldPending ? 'PENDING' : shown)
    expect(retried.status).toBe(approved ? 200 : 422)
    expect(acquirer.ledger).toHaveLength(messages)

    const isToldLater = point !== 'afterSettle' || luck === 'lost answer'
    expect(await countEvents(heir.databaseUrl, settled.xId)).toBe(isToldLater ? 1 : 0)
  })
})

/** Instead of a request, an hour passes for the process that will die, and only for it. */
const firing = {
  send: async ({ signal }: TestRequest): Promise<never> => {
    const gone = new Promise<never>((_, reject) => {
      signal?.addEventListener('abort', () => reject(new Error('the process died')))
    })
    scene.pass(hourMs, 'dying')
    await Promise.race([gone, dying.gateway.timerWorker.runDue()])
    throw new Error('the timer should have died')
  },
}

describe.each(crashNames.flatMap(point => lucks.map(luck => ({ point, luck }))))(
  'a delayed capture by its timer dies $point, $luck',
  ({ point, luck }) => {
    test('has fired once, and one event was sent', async () => {
      const declining = luck === 'declined' ? { card: { number: '4000000000000341' } } : {}
      const captureMethod = { type: 'DELAYED', delayed: { delayedHours: 1 } }
      const payId = await shop.authorize('CARD', { captureMethod, ...declining })
      const fault = faultOf[luck]
      if (fault) acquirer.failNext('CAPTURE', fault)
      expect(await crash.die(point, firing, { verb: 'POST', path: '' })).toBeUndefined()
      scene.pass(hourMs, 'heir')
      await scene.inherit()

      const approved = isApproved(point, luck)
      const record = await shop.read(payId)
      const captures = record.operations.filter((operation: { type: string }) => operation.type === 'CAPTURE')
      expect(captures).toHaveLength(1)
      expect(captures[0].status).toBe(approved ? 'OK' : 'FAILED')
      expectBooksOf(record)
      expect(record.status).toBe(approved ? 'OK' : 'AUTHORIZED')
      expect(record.amount.capturedValue).toBe(approved ? 1000 : 0)
      expect(await countEvents(heir.databaseUrl, captures[0].xId)).toBe(1)
    })
  },
)

describe.each([
  ['create', 'AUTHORIZATION', payment('AUTOMATIC')],
  ['confirm', 'CONFIRM', confirmation('AUTOMATIC')],
] as const)('%s of which only the answer to the capture is lost', (_, type, prepare) => {
  test.each(crashNames)('dies %s: both halves are settled, and one event is sent', async point => {
    const sent: Sent = await prepare({})
    const request = toRequest(sent)
    acquirer.failNext(type, 'lost_capture_answer')
    expect(await crash.die(point, dying, request)).toBeUndefined()
    await scene.inherit()
    const record = await find(sent)
    expectBooksOf(record)
    expect(record.status).toBe(point === 'afterRecord' ? 'FAILED' : 'OK')
    const told = await shop.events(record.payId)
    expect(told).toHaveLength(1)
    expect((await heir.send(request)).headers.get('idempotent-replayed')).toBe('true')
  })
})

test('an inquiry without a result is repeated by the first process to claim its timer, and counts once', async () => {
  const sent = await followUp('refunds', () => shop.sell('CARD'))({})
  const request = toRequest(sent)
  acquirer.failNext('REFUND', 'lost_answer')
  expect((await heir.send(request)).body.status).toBe('PENDING')
  acquirer.setSilent(true)
  await scene.inherit()
  expect((await find(sent)).amount.refundedValue).toBe(0)
  acquirer.setSilent(false)
  scene.pass(30 * secondMs)
  const found = [heir, dying].map(({ gateway }) => gateway.timerWorker.runDue())
  expect((await Promise.all(found)).reduce((sum, count) => sum + count)).toBe(1)
  const record = await find(sent)
  expect(record.amount.refundedValue).toBe(400)
  expectBooksOf(record)
})
