/** POST /payments/{id}/refunds over HTTP: per capture, whole and in part, unknown outcomes, every guard. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestClock } from '#test/support/clock.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import {
  declinePrefix,
  done,
  openShop,
  pending,
  refused,
  type ServedType,
  type Shop,
  servedTypes,
  toldByApproval,
} from '#test/support/shop.ts'
import { findBrokenRules } from '#test/support/simulation/invariants.ts'

let gateway: TestGateway
let shop: Shop
beforeAll(async () => {
  gateway = await startTestGateway({ clock: createTestClock() })
})
beforeEach(async () => {
  shop = await openShop(gateway)
})
afterAll(async () => {
  expect(await findBrokenRules(gateway.databaseUrl)).toEqual({})
  await gateway.stop()
})

const fields: Record<ServedType, object> = {
  CARD: {
    card: {
      providerResponseCode: '00',
      providerTransactionId: expect.stringMatching(/^sim/),
      providerApprovalCode: expect.any(Number),
    },
  },
  DIRECTDEBIT: { directDebit: { providerResponseCode: '00' } },
  PROVIDERK: { providerK: { providerResponseCode: '00', invoiceNumber: expect.stringMatching(/^K\d+$/) } },
  PROVIDERM: { providerM: { providerResponseCode: '00' } },
  // The contract defines a number here, and text everywhere else.
  PROVIDERR: { providerR: { providerResponseCode: 0 } },
  PROVIDERP: {
    providerP: {
      providerResponseCode: '00',
      // Of 400, at 2.9 %.
      grossRefundAmount: 400,
      feeRefundAmount: 11,
      netRefundAmount: 389,
    },
  },
  PROVIDERT: {
    providerT: {
      authorizationExpiry: expect.stringMatching(/^\d{4}-.*Z$/),
      paymentReference: expect.stringMatching(/^T\d+$/),
      providerTransactionId: expect.stringMatching(/^sim/),
    },
  },
  PROVIDERZ: {
    providerZ: {
      providerResponseCode: '00',
      providerStatus: 'Completed',
      chargeId: expect.stringMatching(/^S01-\d{7}-\d{7}-C\d{6}$/),
      refundId: expect.stringMatching(/^S01-\d{7}-\d{7}-R\d{6}$/),
    },
  },
}

const refundedOf = async (payId: string) => (await shop.read(payId)).amount.refundedValue

describe.each(servedTypes)('%s', type => {
  test('refunds in parts up to the last cent leave the payment OK', async () => {
    const payId = await shop.sell(type)
    const refunded = await shop.act(payId, 'refunds', 400, { refNr: 'r-1', metadata: { item: 1 } })
    expect(refunded).toMatchObject(done('OK'))
    expect(refunded.body).toMatchObject({ payId, transId: 'step', refNr: 'r-1', metadata: { item: 1 } })
    expect(refunded.body.paymentMethods).toEqual(fields[type])
    expect(await shop.act(payId, 'refunds', 601)).toMatchObject(refused('20200004'))
    expect(await shop.act(payId, 'refunds', 600)).toMatchObject(done('OK'))
    expect(await shop.act(payId, 'refunds', 1)).toMatchObject(refused('20200004'))
    const record = await shop.read(payId)
    expect(record).toMatchObject({ status: 'OK', amount: { capturedValue: 1000, refundedValue: 1000 } })
    expect(record.operations.at(-1)).toMatchObject({ type: 'REFUND', status: 'OK', amount: { value: 600 } })
  })

  test('a decline changes nothing', async () => {
    const payId = await shop.sell(type)
    const declined = await shop.act(payId, 'refunds', 1000, { simulationMode: 'Test:0313' })
    expect(declined).toMatchObject(refused(`${declinePrefix[type]}0313`))
    expect(Object.values(declined.body.paymentMethods)[0]).toMatchObject({
      providerResponseCode: type === 'PROVIDERR' ? 13 : '13',
      ...(type === 'PROVIDERP'
        ? { providerDeclineCategory: expect.any(String) }
        : { providerResponseText: 'Invalid amount' }),
    })
    expect(await shop.read(payId)).toMatchObject({ status: 'OK', amount: { refundedValue: 0 } })
    expect(await shop.act(payId, 'refunds', 1000)).toMatchObject(done('OK'))
  })

  test.each(['lost_answer', 'error'])('PENDING after %s counts as paid out, then settles', async fault => {
    const payId = await shop.sell(type)
    await shop.fail({ operation: 'REFUND', fault })
    const unheard = await shop.act(payId, 'refunds', 700)
    expect(unheard).toMatchObject(pending)
    expect(await refundedOf(payId)).toBe(0)
    expect(await shop.act(payId, 'refunds', 301)).toMatchObject(refused('20200004'))
    expect(await shop.act(payId, 'refunds', 300)).toMatchObject(done('OK'))
    await shop.advance('PT10S')
    expect(await refundedOf(payId)).toBe(1000)
    const told = (await shop.events(payId)).slice(toldByApproval(type))
    expect(told).toMatchObject([{ xId: unheard.body.xId, status: 'OK' }])
  })

  test('an unreached request is sent again twice, then FAILED and the amount is free', async () => {
    const payId = await shop.sell(type)
    await shop.fail({ operation: 'REFUND', fault: 'lost_request', times: 3 })
    expect(await shop.act(payId, 'refunds', 700)).toMatchObject(refused(`${declinePrefix[type]}0391`))
    await shop.fail({ operation: 'REFUND', fault: 'lost_request', times: 2 })
    expect(await shop.act(payId, 'refunds', 1000)).toMatchObject(done('OK'))
    expect(await refundedOf(payId)).toBe(1000)
  })
})

describe('refunds of several captures', () => {
  const named = (providerTransactionId: string) => ({ paymentMethods: { card: { providerTransactionId } } })

  async function sellInParts(...values: number[]) {
    const payId = await shop.authorize('CARD')
    const ids: string[] = []
    for (const value of values) {
      const { body } = await shop.act(payId, 'captures', value)
      ids.push(body.paymentMethods.card.providerTransactionId)
    }
    return { payId, ids }
  }

  test('a named capture is refunded, up to its amount', async () => {
    const { payId, ids } = await sellInParts(300, 500, 200)
    const [first = '', second = ''] = ids
    expect(await shop.act(payId, 'refunds', 301, named(first))).toMatchObject(refused('20200004'))
    expect(await shop.act(payId, 'refunds', 300, named(first))).toMatchObject(done('OK'))
    expect(await shop.act(payId, 'refunds', 1, named(first))).toMatchObject(refused('20200004'))
    expect(await shop.act(payId, 'refunds', 500, named(second))).toMatchObject(done('OK'))
    expect(await refundedOf(payId)).toBe(800)
  })

  test('without a name the last capture is refunded', async () => {
    const { payId, ids } = await sellInParts(300, 500, 200)
    expect(await shop.act(payId, 'refunds', 201)).toMatchObject(refused('20200004'))
    expect(await shop.act(payId, 'refunds', 150)).toMatchObject(done('OK'))
    expect(await shop.act(payId, 'refunds', 51, named(ids[2] ?? ''))).toMatchObject(refused('20200004'))
    expect(await shop.act(payId, 'refunds', 50)).toMatchObject(done('OK'))
    expect(await shop.act(payId, 'refunds', 1)).toMatchObject(refused('20200004'))
    expect(await refundedOf(payId)).toBe(200)
  })

  test('a failed capture is not the last one, and cannot be named', async () => {
    const { payId } = await sellInParts(400)
    const failed = await shop.act(payId, 'captures', 100, { simulationMode: '0305' })
    const { providerTransactionId } = failed.body.paymentMethods.card
    expect(await shop.act(payId, 'refunds', 1, named(providerTransactionId))).toMatchObject(
      refused('20200004'),
    )
    expect(await shop.act(payId, 'refunds', 400)).toMatchObject(done('OK'))
  })

  test('only certainly captured money can be refunded', async () => {
    const { payId } = await sellInParts(400)
    await shop.fail({ operation: 'CAPTURE', fault: 'lost_answer' })
    await shop.act(payId, 'captures', 600)
    expect(await shop.act(payId, 'refunds', 401)).toMatchObject(refused('20200004'))
    expect(await shop.act(payId, 'refunds', 400)).toMatchObject(done('OK'))
    await shop.advance('PT10S')
    expect(await shop.act(payId, 'refunds', 600)).toMatchObject(done('OK'))
  })

  const byVisa = { paymentMethods: { integrationType: 'DIRECT', type: 'VISA' } }

  test.each<[key: string, type: ServedType, change?: Parameters<Shop['authorize']>[1]]>([
    ['providerK', 'PROVIDERK'],
    ['providerM', 'PROVIDERM'],
    ['providerR', 'PROVIDERR'],
    ['providerT', 'PROVIDERT'],
    ['visa', 'PROVIDERM', byVisa],
  ])('each capture by %s can be named, so that all of them can be refunded', async (key, type, change) => {
    const payId = await shop.authorize(type, change)
    for (const value of [300, 700]) await shop.act(payId, 'captures', value)
    const captures = (await shop.read(payId)).operations.filter(
      (operation: { type: string }) => operation.type === 'CAPTURE',
    )
    const [first, last] = captures.map(({ providerTransactionId }: { providerTransactionId: string }) => ({
      paymentMethods: { [key]: { providerTransactionId } },
    }))
    expect(await shop.act(payId, 'refunds', 701)).toMatchObject(refused('20200004'))
    expect(await shop.act(payId, 'refunds', 300, first)).toMatchObject(done('OK'))
    expect(await shop.act(payId, 'refunds', 700, last)).toMatchObject(done('OK'))
    expect(await refundedOf(payId)).toBe(1000)
  })

  test('400 for an account that only vouchers have, and for a capture where there is only one', async () => {
    const visa = await shop.authorize('PROVIDERM', byVisa)
    const answer = await shop.act(visa, 'refunds', 1, { paymentMethods: { visa: { bankName: 'Bank' } } })
    const field = 'paymentMethods.visa.bankName'
    expect(answer).toMatchObject({
      status: 400,
      body: { errors: { [field]: [expect.stringMatching(/allowed: providerTransactionId$/)] } },
    })
    const debit = await shop.sell('DIRECTDEBIT')
    const named = { paymentMethods: { directDebit: { providerTransactionId: 'x' } } }
    expect((await shop.act(debit, 'refunds', 1, named)).body.errors).toEqual({
      'paymentMethods.directDebit.providerTransactionId': [expect.stringMatching(/is an empty object$/)],
    })
  })

  test('a declined refund of a capture frees it again', async () => {
    const { payId, ids } = await sellInParts(300, 700)
    const [first = ''] = ids
    await shop.act(payId, 'refunds', 300, { ...named(first), simulationMode: '0305' })
    expect(await shop.act(payId, 'refunds', 300, named(first))).toMatchObject(done('OK'))
  })

  test('20200004 a capture whose outcome is unknown', async () => {
    const { payId } = await sellInParts(300)
    expect(await shop.act(payId, 'refunds', 1, named('sim0'))).toMatchObject(refused('20200004'))
  })
})

describe('guards, the first that fails is the answer', () => {
  const wrong = { amount: { value: 5000, currency: 'USD' } }
  const wronglyRefund = (payId: string) => shop.act(payId, 'refunds', 1, wrong)

  test.each([
    ['authorised only', () => shop.authorize('CARD')],
    ['declined', () => shop.authorize('CARD', { card: { number: '4000000000000002' } })],
    ['waiting for its delayed capture', () => shop.authorize('CARD', delayed)],
    ['captured perhaps', capturePerhaps],
    ['lapsed', lapse],
  ])('20200004 %s', async (_, prepare) => {
    expect(await wronglyRefund(await prepare())).toMatchObject(refused('20200004'))
  })

  test('20200014 while the outcome of the authorisation is not known', async () => {
    const payId = await shop.authorize('CARD', { card: { number: '4000000000000101' } })
    expect(await wronglyRefund(payId)).toMatchObject(refused('20200014'))
  })

  const delayed = { captureMethod: { type: 'DELAYED', delayed: { delayedHours: 1 } } }
  async function capturePerhaps(): Promise<string> {
    const payId = await shop.authorize('CARD')
    await shop.fail({ operation: 'CAPTURE', fault: 'lost_answer' })
    await shop.act(payId, 'captures', 1000)
    return payId
  }
  async function lapse(): Promise<string> {
    const payId = await shop.authorize('CARD')
    await shop.advance('P7D')
    return payId
  }

  test('20200005 for another currency is checked before 20200004', async () => {
    const payId = await shop.sell('CARD')
    expect(await wronglyRefund(payId)).toMatchObject(refused('20200005'))
    expect(await shop.act(payId, 'refunds', 1001)).toMatchObject(refused('20200004'))
    expect((await shop.read(payId)).operations).toHaveLength(2)
  })

  test('a lapsed authorisation does not prevent the refund of the captured amount', async () => {
    const payId = await shop.authorize('CARD')
    await shop.act(payId, 'captures', 400)
    await shop.advance('P8D')
    expect(await shop.act(payId, 'refunds', 400)).toMatchObject(done('OK'))
  })

  test('the card whose refunds are declined', async () => {
    const payId = await shop.sell('CARD', { card: { number: '4000000000005126' } })
    expect(await shop.act(payId, 'refunds', 1)).toMatchObject(refused('21000305'))
    expect(await shop.act(payId, 'refunds', 1, { simulationMode: '0000' })).toMatchObject(done('OK'))
  })
})

describe('what each method takes', () => {
  test.each([
    ['PROVIDERM', { providerM: { textfield1: 'Ada Lovelace', textfield2: 'London' } }],
    ['PROVIDERR', { providerR: { refundType: 'RETURN', invoiceNumber: 'i-1' } }],
    ['PROVIDERK', { providerK: {} }],
    ['PROVIDERZ', { providerZ: { simulationCode: 'Refund:Declined' } }],
  ] as const)('200 %s %j', async (type, paymentMethods) => {
    const payId = await shop.sell(type)
    const more = { paymentMethods, order: { description: 'Shoes' }, statementDescriptor: 'SHOES' }
    expect(await shop.act(payId, 'refunds', 100, more)).toMatchObject(done('OK'))
  })

  test.each([
    ['transId', 'CARD', { transId: undefined }],
    ['amount', 'CARD', { amount: undefined }],
    ['amount.value', 'CARD', { amount: { value: 1.5, currency: 'EUR' } }],
    ['statementDescriptor', 'CARD', { statementDescriptor: 'x'.repeat(23) }],
    ['paymentMethods.providerR', 'CARD', { paymentMethods: { providerR: {} } }],
    [
      'paymentMethods.providerR.refundType',
      'PROVIDERR',
      { paymentMethods: { providerR: { refundType: 'X' } } },
    ],
    ['paymentMethods.providerK.bankName', 'PROVIDERK', { paymentMethods: { providerK: { bankName: 'X' } } }],
    ['paymentMethods.card.number', 'CARD', { paymentMethods: { card: { number: '4111111111111111' } } }],
    ['surprise', 'CARD', { surprise: 1 }],
  ] as const)('400 %s', async (field, type, change) => {
    const payId = await shop.sell(type)
    const answer = await shop.act(payId, 'refunds', 100, change)
    expect(answer).toMatchObject({ status: 400, body: { status: 400, traceId: expect.any(String) } })
    expect(Object.keys(answer.body.errors)).toEqual([field])
    expect(await refundedOf(payId)).toBe(0)
  })
})
