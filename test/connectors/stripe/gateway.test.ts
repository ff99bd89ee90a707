/**
 * Payments through a real gateway to the double of Stripe; both books agree to the cent. The conformance suite covers
 * lost answers of other operations and crashes.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestClock, secondMs } from '#test/support/clock.ts'
import { commandsHere } from '#test/support/command-here.ts'
import { cardPayment, masterKeyOf, startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { planPayment } from '#test/support/plans.ts'
import { findBrokenRules } from '#test/support/simulation/invariants.ts'
import { openStripeShop, type StripeShop } from '#test/support/stripe/account.ts'
import { type Fault, StripeDouble } from '#test/support/stripe/double.ts'
import { deliverTo } from '#test/support/stripe/orders.ts'

const clock = createTestClock()
const minuteMs = 60 * secondMs
let shop: StripeShop
let heir: TestGateway
beforeAll(async () => {
  shop = await openStripeShop({
    clock,
    settings: { rawCards: 'true' },
    requestsPerSecond: 10_000,
  })
  heir = await startTestGateway({ clock, beside: shop.gateway })
})
afterAll(async () => {
  expect(await findBrokenRules(shop.gateway.databaseUrl)).toEqual({})
  await heir.stop()
  await shop.stop()
})

const euros = (value: number) => ({ value, currency: 'EUR' })
const manual = { captureMethod: { type: 'MANUAL' } }
const create = (change: Parameters<typeof cardPayment>[0] = {}) =>
  shop.gateway.call('POST', '/payments', cardPayment(change))
const read = async (payId: string) => (await shop.gateway.call('GET', `/payments/getByPayId/${payId}`)).body

/** The double's payment for one of ours, by the reference of its authorisation. */
function bookedAs(record: { operations: { xId: string }[] }) {
  const references = record.operations.map(({ xId }) => xId)
  return shop.double.books.ledger().filter(({ reference }) => references.includes(reference ?? ''))
}

async function expectSameBooks(payId: string): Promise<void> {
  const record = await read(payId)
  const booked = bookedAs(record)
  expect(booked.length).toBeLessThanOrEqual(1)
  expect({ captured: record.amount.capturedValue, refunded: record.amount.refundedValue }).toEqual({
    captured: booked[0]?.captured ?? 0,
    refunded: booked[0]?.refunded ?? 0,
  })
}

/** From one inquiry to the next. */
const inquirySteps = [10 * secondMs, 20 * secondMs, 30 * secondMs, 5 * minuteMs, 15 * minuteMs]

/** Runs all inquiries. */
async function settle(): Promise<void> {
  for (const step of inquirySteps) {
    clock.move(step)
    await heir.gateway.timerWorker.runDue()
  }
}

describe('a card number', () => {
  test('200 captured at once, and refunded in part', async () => {
    const { status, body } = await create()
    expect([status, body.status]).toEqual([200, 'OK'])
    const refund = await shop.gateway.call('POST', `/payments/${body.payId}/refunds`, {
      transId: 'r',
      amount: euros(300),
    })
    expect(refund.status).toBe(200)
    expect(await read(body.payId)).toMatchObject({ amount: { capturedValue: 1000, refundedValue: 300 } })
    await expectSameBooks(body.payId)
  })

  // An intent of zero is an error at Stripe; a page of zero asks for no card, so its payment would never be decided.
  const eventToken = 'ACCOUNT_VERIFICATION'
  const urls = { return: 'https://shop.example/back', cancel: 'https://shop.example/back' }
  test.each([
    ['a number', { card: { eventToken } }],
    [
      'Stripe’s page',
      { paymentMethods: { integrationType: 'HOSTED', type: 'CARD', card: { eventToken } }, urls },
    ],
  ])('400 a card is not verified with a zero amount, by %s', async (_, change) => {
    const { status, text } = await create({ amount: euros(0), ...change })
    expect([status, text]).toEqual([400, expect.stringContaining('amount.value')])
  })

  test('200 incremented and captured twice', async () => {
    const { body } = await create(manual)
    const call = (path: string, value: number) =>
      shop.gateway.call('POST', `/payments/${body.payId}/${path}`, { transId: path, amount: euros(value) })
    expect((await call('incrementals', 500)).status).toBe(200)
    expect((await call('captures', 400)).status).toBe(200)
    expect((await call('captures', 300)).status).toBe(200)
    expect(await read(body.payId)).toMatchObject({
      amount: { authorizedValue: 1500, capturedValue: 700 },
    })
    await expectSameBooks(body.payId)
  })

  test('two concurrent increments: Stripe takes the new total, so the second is refused until the first is answered', async () => {
    const { body } = await create(manual)
    const raise = (transId: string, value: number) =>
      shop.gateway.call('POST', `/payments/${body.payId}/incrementals`, { transId, amount: euros(value) })
    const answers = await Promise.all([raise('i1', 100), raise('i2', 200)])
    const codes = answers.map(answer => answer.body.responseCode)
    expect(codes.toSorted()).toEqual(['00000000', '20200014'])
    const { intents } = shop.double.books
    const intent = [...intents.values()].find(({ metadata }) => metadata.tollgate === body.xId)
    expect((await read(body.payId)).amount.authorizedValue).toBe(intent?.amount)
  })

  test.each([
    ['the merchant says that it is the last one', false, { captureMethod: { manual: { final: true } } }],
    ['the account has no multicapture', true, {}],
  ])('a part releases the rest, which counts as reversed, where %s', async (_, capturesOnce, more) => {
    shop.double.books.capturesOnce = capturesOnce
    const { body } = await create(manual)
    const capture = (transId: string) =>
      shop.gateway.call('POST', `/payments/${body.payId}/captures`, { transId, amount: euros(400), ...more })
    expect((await capture('c1')).body).toMatchObject({ status: 'OK' })
    expect(await read(body.payId)).toMatchObject({
      status: 'OK',
      amount: { capturedValue: 400, reversedValue: 600 },
    })
    expect((await capture('c2')).body.responseCode).toBe('20200006')
    shop.double.books.capturesOnce = false
    await expectSameBooks(body.payId)
    const commands = commandsHere(shop.gateway.databaseUrl, {
      TOLLGATE_MASTER_KEY: masterKeyOf(shop.gateway.databaseUrl),
    })
    const { stdout } = await commands.run('doctor')
    commands.remove()
    expect(stdout).not.toContain('closed for capture, but its captures say otherwise')
  })

  // Stripe shows only the captured total, which may come from either of the two.
  test.each(['before', 'after'] as const)(
    'two unanswered captures of the same amount, one of which arrived: notices come %s the inquiry',
    async when => {
      const { body } = await create(manual)
      const capture = (transId: string) =>
        shop.gateway.call('POST', `/payments/${body.payId}/captures`, { transId, amount: euros(300) })
      shop.double.arm('POST', /capture$/, 'lost before')
      expect((await capture('c1')).body.status).toBe('PENDING')
      expect((await capture('c2')).body.status).toBe('PENDING')
      if (when === 'before') await deliverTo(shop)
      clock.move(11 * secondMs)
      await heir.gateway.timerWorker.runDue()
      await deliverTo(shop)
      await settle()
      expect((await read(body.payId)).amount.capturedValue).toBe(300)
      await expectSameBooks(body.payId)
    },
  )

  test('the rest is released even if the answer to the last capture was lost', async () => {
    const { body } = await create(manual)
    shop.double.arm('POST', /capture$/, 'lost after')
    const last = { transId: 'c', amount: euros(400), captureMethod: { manual: { final: true } } }
    const { body: answer } = await shop.gateway.call('POST', `/payments/${body.payId}/captures`, last)
    expect(answer.status).toBe('PENDING')
    await settle()
    expect((await read(body.payId)).amount).toMatchObject({ capturedValue: 400, reversedValue: 600 })
  })

  test('an increment whose answer comes after the capture that released the rest is released, too', async () => {
    const { body } = await create(manual)
    const call = (path: string, value: number, more = {}) =>
      shop.gateway.call('POST', `/payments/${body.payId}/${path}`, {
        transId: path,
        amount: euros(value),
        ...more,
      })
    shop.double.arm('POST', /increment_authorization$/, 'lost after')
    expect((await call('incrementals', 500)).body.status).toBe('PENDING')
    const last = { captureMethod: { manual: { final: true } } }
    expect((await call('captures', 400, last)).body.status).toBe('OK')
    await settle()
    expect((await read(body.payId)).amount).toMatchObject({
      authorizedValue: 1500,
      capturedValue: 400,
      reversedValue: 1100,
    })
    await expectSameBooks(body.payId)
  })

  test.each([
    ['capture that never arrived', 'captures', 'lost before', 400, 600],
    ['increment that arrived', 'incrementals', 'lost after', 500, 1000],
  ] as const)(
    'what an unanswered %s left can still be captured after the capture of all else',
    async (_, path, fault, value, beside) => {
      const { body } = await create(manual)
      const call = (to: string, amount: number) =>
        shop.gateway.call('POST', `/payments/${body.payId}/${to}`, { transId: to, amount: euros(amount) })
      shop.double.arm('POST', path === 'captures' ? /capture$/ : /increment_authorization$/, fault)
      expect((await call(path, value)).body.status).toBe('PENDING')
      expect((await call('captures', beside)).status).toBe(200)
      await settle()
      expect((await call('captures', value)).body.status).toBe('OK')
      await expectSameBooks(body.payId)
    },
  )

  test('422 a part of the authorisation cannot be released', async () => {
    const { body } = await create(manual)
    const path = `/payments/${body.payId}/reversals`
    const { status, body: answer } = await shop.gateway.call('POST', path, {
      transId: 'v',
      amount: euros(300),
    })
    expect([status, answer.responseCode]).toEqual([422, '20200009'])
  })

  test.each([
    ['4000000000009995', '21000351'],
    ['4000000000009979', '21000343'],
    ['4000000000000002', '21000305'],
  ])('%s is declined with %s', async (number, code) => {
    const { body } = await create({ card: { number } })
    expect(body).toMatchObject({ status: 'FAILED', responseCode: code })
    await expectSameBooks(body.payId)
  })

  test('400 an amount that Stripe cannot express is refused before anything is written', async () => {
    const calls = shop.double.calls.length
    const payment = cardPayment({ amount: { value: 1234, currency: 'KWD' } })
    const { status, text } = await shop.gateway.call('POST', '/payments', payment)
    expect([status, text.includes('amount.value')]).toEqual([400, true])
    expect((await shop.gateway.call('GET', `/payments/getByTransId/${payment.transId}`)).status).toBe(404)
    expect(shop.double.calls).toHaveLength(calls)
  })
})

describe('a card on file', () => {
  test('is set up with the customer, and charged later with the scheme reference', async () => {
    const { body } = await create(planPayment())
    const { paymentPlanId, paymentMethods } = await read(body.payId)
    expect(shop.double.calls.at(-1)?.fields).toMatchObject({ setup_future_usage: 'off_session' })
    const charge = await shop.gateway.call('POST', `/payment-plans/${paymentPlanId}/charge`, {
      transId: 'charge-1',
    })
    expect([charge.status, charge.body.status]).toEqual([200, 'OK'])
    const { fields } = shop.double.calls.findLast(({ path }) => path.endsWith('/payment_intents')) ?? {
      fields: {},
    }
    expect(fields).toMatchObject({
      off_session: 'true',
      payment_method_options: {
        card: { mit_exemption: { network_transaction_id: paymentMethods.card.schemeReferenceId } },
      },
    })
    await expectSameBooks(charge.body.payId)
  })

  test('is set up by the confirm of a two-step payment', async () => {
    const { body } = await create(planPayment({ payment: { card: { eventToken: 'ORDER' } } }))
    const path = `/payments/${body.payId}/confirms`
    const { body: confirmed } = await shop.gateway.call('POST', path, {
      transId: 'c',
      amount: euros(1000),
    })
    expect(confirmed.status).toBe('OK')
    expect(shop.double.calls.at(-1)?.fields).toMatchObject({ setup_future_usage: 'off_session' })
    await expectSameBooks(body.payId)
  })

  test('is charged by its number under an agreement made elsewhere', async () => {
    const { body } = await create({
      credentialOnFile: { type: 'UNSCHEDULED', unscheduled: { subType: 'MIT' } },
      card: { schemeReferenceId: 'agreed-elsewhere' },
    })
    expect(body.status).toBe('OK')
    expect(shop.double.calls.at(-1)?.fields).toMatchObject({
      off_session: 'true',
      payment_method_options: { card: { mit_exemption: { network_transaction_id: 'agreed-elsewhere' } } },
    })
    await expectSameBooks(body.payId)
  })
})

test('settlement lines match the captures and refunds, and the books reconcile', async () => {
  const commands = commandsHere(shop.gateway.databaseUrl, {
    TOLLGATE_MASTER_KEY: masterKeyOf(shop.gateway.databaseUrl),
  })
  const { body: automatic } = await create()
  await shop.gateway.call('POST', `/payments/${automatic.payId}/refunds`, {
    transId: 'r',
    amount: euros(300),
  })
  const [{ body: byHand }, { body: inPart }, { body: twice }] = [
    await create(manual),
    await create(manual),
    await create(manual),
  ]
  const capture = ({ payId }: { payId: string }, value: number, final = false) =>
    shop.gateway.call('POST', `/payments/${payId}/captures`, {
      transId: `c${value}`,
      amount: euros(value),
      captureMethod: { manual: { final } },
    })
  await capture(byHand, 1000)
  await capture(inPart, 600, true)
  await capture(twice, 300)
  await capture(twice, 200, true)
  const list = { object: 'list', data: shop.double.balanceTransactions() }
  const file = commands.file('balance.json', JSON.stringify(list))
  const imported = await commands.json('settlements', 'import', shop.accountId, file)
  expect(JSON.stringify(imported)).toContain(String(list.data.length))
  const { body } = await shop.gateway.call('GET', '/settlements?limit=100')
  const lines: { payId?: string; type: string; gross: number }[] = body.data ?? body.settlements
  const ofPayment = (payId: string) =>
    lines.filter(line => line.payId === payId).map(({ type, gross }) => [type, gross])
  expect(ofPayment(automatic.payId).sort()).toEqual([
    ['CAPTURE', 1000],
    ['REFUND', -300],
  ])
  expect(ofPayment(byHand.payId)).toEqual([['CAPTURE', 1000]])
  // Stripe books the whole authorisation, and the uncaptured rest as taken back.
  const wholeAndRest = (rest: number) => [
    ['CAPTURE', rest],
    ['CAPTURE', 1000],
  ]
  expect(ofPayment(inPart.payId).sort()).toEqual(wholeAndRest(-400))
  expect(ofPayment(twice.payId).sort()).toEqual(wholeAndRest(-500))
  const days = ['--from', '2000-01-01', '--to', '2100-01-01']
  const differences = await commands.json('reconcile', '--account', shop.accountId, ...days)
  expect(differences).toEqual({ oursWithoutTheirs: [], theirsWithoutOurs: [], amountsDiffer: [] })
  commands.remove()
})

test('payments that Stripe settles in another currency are reconciled by the customer’s amount', async () => {
  const dollars = (value: number) => ({ value, currency: 'USD' })
  const act = (payId: string, operation: string, value: number, final = false) =>
    shop.gateway.call('POST', `/payments/${payId}/${operation}`, {
      transId: `${operation}-${value}`,
      amount: dollars(value),
      ...(operation === 'captures' ? { captureMethod: { manual: { final } } } : {}),
    })
  const { body: whole } = await create({ amount: dollars(1000) })
  await act(whole.payId, 'refunds', 300)
  const { body: inPart } = await create({ ...manual, amount: dollars(1000) })
  await act(inPart.payId, 'captures', 600, true)
  const { body: twice } = await create({ ...manual, amount: dollars(1000) })
  await act(twice.payId, 'captures', 300)
  await act(twice.payId, 'captures', 200, true)
  const { body: wrong } = await create({ amount: dollars(1000) })
  const wrongCharge = (await read(wrong.payId)).operations.at(-1)?.providerTransactionId
  const toEuros = (amount: unknown) => Math.trunc((Number(amount) * 92) / 100)
  const settled = shop.double
    .balanceTransactions()
    .filter(({ currency }) => currency === 'usd')
    .map(({ source, amount, fee, ...transaction }) => ({
      ...transaction,
      currency: 'eur',
      exchange_rate: 0.92,
      amount: toEuros(amount),
      fee: toEuros(fee),
      net: toEuros(amount) - toEuros(fee),
      source:
        typeof source === 'string'
          ? { id: source, object: 'charge', currency: 'usd', amount: source === wrongCharge ? 1010 : amount }
          : source,
    }))
  const commands = commandsHere(shop.gateway.databaseUrl, {
    TOLLGATE_MASTER_KEY: masterKeyOf(shop.gateway.databaseUrl),
  })
  const file = commands.file('dollars.json', JSON.stringify(settled))
  const imported = await commands.json('settlements', 'import', shop.accountId, file)
  expect(imported).toMatchObject({ lines: 7, added: 7, unmatched: 0 })
  const days = ['--from', '2000-01-01', '--to', '2100-01-01']
  const found = await commands.json('reconcile', '--account', shop.accountId, ...days)
  commands.remove()
  expect(found).toMatchObject({ oursWithoutTheirs: [], theirsWithoutOurs: [] })
  expect(found.amountsDiffer).toMatchObject([
    {
      ours: { payId: wrong.payId, amount: 1000, currency: 'USD' },
      theirs: { gross: 920, paid: dollars(1010) },
    },
  ])
})

describe('a lost answer', () => {
  test.each<[Fault, string, string]>([
    ['lost before', 'FAILED', '21000391'],
    ['lost after', 'OK', '00000000'],
    ['error page', 'FAILED', '21000391'],
    ['error page after', 'OK', '00000000'],
    ['truncated', 'OK', '00000000'],
    ['wrong echo', 'OK', '00000000'],
  ])(
    'of an authorisation (%s) ends as %s %s, and the card was sent once',
    async (fault, status, responseCode) => {
      shop.double.arm('POST', /payment_intents$/, fault)
      const calls = shop.double.calls.length
      const { body } = await create()
      expect(body).toMatchObject({ status: 'PENDING', responseCode: '60000200' })
      await settle()
      expect(await read(body.payId)).toMatchObject({ status, responseCode })
      const sent = shop.double.calls
        .slice(calls)
        .filter(({ verb, path }) => verb === 'POST' && path.endsWith('/payment_intents'))
      expect(sent.length).toBeLessThanOrEqual(1)
      await expectSameBooks(body.payId)
    },
  )

  test('of a card is not FAILED because another Stripe account, whose key the account has got, lacks it', async () => {
    const keys = { secretKey: 'sk_test_elsewhere', webhookSecret: 'whsec_elsewhere' }
    const elsewhere = await StripeDouble.start(keys)
    const commands = commandsHere(shop.gateway.databaseUrl, {
      TOLLGATE_MASTER_KEY: masterKeyOf(shop.gateway.databaseUrl),
    })
    const turnTo = (origin: string, secretKey: string) => {
      const secret = `secretKey=@${commands.file('key', secretKey)}`
      const words = [shop.accountId, '--set', `baseUrl=${origin}`, '--secret', secret]
      return commands.json('provider', 'set', ...words)
    }
    // A process that has not cached the account before the change.
    const inquireAnew = async (...steps: readonly number[]) => {
      const fresh = await startTestGateway({ clock, beside: shop.gateway })
      for (const step of steps) {
        clock.move(step)
        await fresh.gateway.timerWorker.runDue()
      }
      await fresh.stop()
    }
    shop.double.arm('POST', /payment_intents$/, 'lost after')
    const { body } = await create()
    await turnTo(elsewhere.origin, keys.secretKey)
    await inquireAnew(...inquirySteps)
    expect(elsewhere.calls.map(({ path }) => path)).toContain('/v1/payment_intents')
    expect(await read(body.payId)).toMatchObject({ status: 'PENDING' })
    await turnTo(shop.double.origin, 'sk_test_double')
    await inquireAnew(12 * 60 * minuteMs)
    expect(await read(body.payId)).toMatchObject({ status: 'OK' })
    await expectSameBooks(body.payId)
    commands.remove()
    await elsewhere.stop()
  })
})
