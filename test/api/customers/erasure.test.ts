/** Blanking personal data: with a deleted customer, and by the merchant's own retention. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openPage, sendForm } from '#test/support/browser/customer-page.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { openShop, type Shop } from '#test/support/shop.ts'
import { findBrokenRules, queryRows } from '#test/support/simulation/invariants.ts'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startTestGateway()
})
afterAll(async () => {
  expect(await findBrokenRules(gateway.databaseUrl)).toEqual({})
  await gateway.stop()
})

/** Every text about the person; the tests search all stored data for each of them. */
const person = {
  customerInfo: {
    merchantCustomerId: 'C-1',
    firstName: 'Xaviera',
    lastName: 'Quillfeather',
    email: 'xaviera.q@shop.example',
    phone: { countryCode: '+49', number: '1701234567' },
    companyName: 'Quillfeather Pens',
  },
  billingAddress: {
    streetName: 'Plumegasse',
    streetNumber: '77zz',
    city: 'Tintenburg',
    postalCode: 'QX 98',
    country: 'DEU',
  },
  browserInfo: { ipAddress: '203.0.113.77', javaScriptEnabled: false, userAgent: 'Quillzilla/5.0' },
  device: { deviceId: 'dev-plume-1' },
}
const traces =
  /Xaviera|Quillfeather|xaviera\.q|1701234567|Plumegasse|77zz|Tintenburg|QX 98|203\.0\.113\.77|Quillzilla|dev-plume/

async function pay(shop: Shop, change: object = {}, key = 'pay') {
  const answer = await shop.create(
    'CARD',
    {
      ...person,

      metadata: { order: 'kept' },
      card: { cardholderName: 'Xaviera Quillfeather' },
      ...change,
    },
    { 'idempotency-key': key },
  )
  expect(answer.status, answer.text).toBe(200)
  return answer.body
}

/** All stored data of a merchant, from all tables. */
async function stored(merchantId: string): Promise<string> {
  const tables = await queryRows<{ name: string }>(
    gateway.databaseUrl,
    `SELECT table_name AS name FROM information_schema.columns
     WHERE table_schema = current_schema() AND column_name = 'merchant_id'`,
  )
  return JSON.stringify(
    await Promise.all(
      tables.map(({ name }) =>
        queryRows(gateway.databaseUrl, `SELECT * FROM ${name} WHERE merchant_id = $1`, [merchantId]),
      ),
    ),
  )
}

test('200 deleting a customer with erase=payments removes all personal data and no accounting data', async () => {
  const shop = await openShop(gateway)
  const { payId, transId } = await pay(shop)
  const failed = await shop.create('CARD', {
    ...person,
    card: { number: '4000000000000002', cardholderName: 'Xaviera Q' },
  })
  await shop.act(payId, 'refunds', 100, {}, { 'idempotency-key': 'refund' })
  const before = await shop.read(payId)
  const customerId = before.customerInfo.gatewayCustomerId
  await shop.call(
    'PATCH',
    `/customers/${customerId}`,
    { firstName: 'Xaviera' },
    { 'idempotency-key': 'patch' },
  )
  expect(await stored(shop.merchantId)).toMatch(traces)

  const deleted = await shop.call('DELETE', `/customers/${customerId}?erase=payments`)
  expect(deleted).toMatchObject({ status: 200, body: { id: customerId, deleted: true } })
  expect(await stored(shop.merchantId)).not.toMatch(traces)
  const after = await shop.read(payId)
  expect(after).toMatchObject({
    payId,
    transId,
    status: before.status,
    amount: before.amount,
    creationDate: before.creationDate,
    metadata: { order: 'kept' },
    paymentMethods: { card: { first6Digits: '411111', last4Digits: '1111' } },
    customerInfo: { merchantCustomerId: 'C-1' },
    billingAddress: { country: 'DEU' },
  })
  expect((await shop.read(failed.body.payId)).status).toBe('FAILED')
  // The refund goes on as before, and the answer under its key is still there.
  expect(await shop.act(payId, 'refunds', 100, {}, { 'idempotency-key': 'refund' })).toMatchObject({
    status: 200,
  })
  expect(await shop.act(payId, 'refunds', 100)).toMatchObject({ status: 200 })
})

test('200 deleting a customer without it leaves the payments as they are; another value is 400', async () => {
  const shop = await openShop(gateway)
  const { payId } = await pay(shop)
  const customerId = (await shop.read(payId)).customerInfo.gatewayCustomerId
  expect(await shop.call('DELETE', `/customers/${customerId}?erase=everything`)).toMatchObject({
    status: 400,
    body: { errors: { erase: [expect.stringContaining('payments')] } },
  })
  expect(await shop.call('DELETE', `/customers/${customerId}`)).toMatchObject({ status: 200 })
  expect((await shop.read(payId)).customerInfo.lastName).toBe('Quillfeather')
  expect((await shop.call('DELETE', `/customers/${customerId}?erase=payments`)).status).toBe(404)
})

test("other customers' payments keep their data", async () => {
  const shop = await openShop(gateway)
  const { payId } = await pay(shop)
  const other = await pay(
    shop,
    {
      customerInfo: { ...person.customerInfo, merchantCustomerId: 'C-2' },
      card: { number: '5555555555554444' },
    },
    'other',
  )
  const customerId = (await shop.read(payId)).customerInfo.gatewayCustomerId
  await shop.call('DELETE', `/customers/${customerId}?erase=payments`)
  expect((await shop.read(other.payId)).customerInfo.lastName).toBe('Quillfeather')
})

test('a retention blanks payments by the merchant’s clock, once they are older', async () => {
  const shop = await openShop(gateway)
  await gateway.gateway.merchants.set(shop.merchantId, { personalDataFor: 'P2Y' })
  const old = await pay(shop)
  await shop.advance('P1Y')
  const young = await pay(shop, {}, 'young')
  await shop.advance('P1Y1D')
  expect((await shop.read(old.payId)).customerInfo.lastName).toBeUndefined()
  expect((await shop.read(young.payId)).customerInfo.lastName).toBe('Quillfeather')
  await shop.advance('P1Y')
  expect((await shop.read(young.payId)).customerInfo.lastName).toBeUndefined()
})

test('a retention blanks a payment that was made before a charge with an earlier date', async () => {
  const shop = await openShop(gateway)
  await gateway.gateway.merchants.set(shop.merchantId, { personalDataFor: 'P30D' })
  const before = await pay(shop)
  const charge = await pay(shop, {}, 'late-charge')
  // As a plan's charge that was made two days late: it is dated when it was due.
  const shift = `UPDATE payment SET created_at = created_at - interval '2 days' WHERE pay_id = $1`
  await queryRows(gateway.databaseUrl, shift, [charge.payId])
  await shop.advance('P29D')
  expect((await shop.read(charge.payId)).customerInfo.lastName).toBeUndefined()
  expect((await shop.read(before.payId)).customerInfo.lastName).toBe('Quillfeather')
  await shop.advance('P2D')
  expect((await shop.read(before.payId)).customerInfo.lastName).toBeUndefined()
})

const intentOf = (transId: string) => ({
  transId,
  amount: { value: 500, currency: 'EUR' },
  ...person,
  urls: { return: 'https://shop.example/a', cancel: 'https://shop.example/b' },
})

test('an intent without a payment is blanked with its customer, and stays payable', async () => {
  const shop = await openShop(gateway)
  const { payId } = await pay(shop)
  const { body: intent } = await shop.call('POST', '/payment-intents', intentOf('open'))
  const customerId = (await shop.read(payId)).customerInfo.gatewayCustomerId
  await shop.call('DELETE', `/customers/${customerId}?erase=payments`)
  expect(await stored(shop.merchantId)).not.toMatch(traces)
  expect((await shop.call('GET', `/payment-intents/${intent.id}`)).body.status).toBe('OPEN')
  const confirmed = await shop.call('POST', `/payment-intents/${intent.id}/confirm`, {
    integrationType: 'DIRECT',
    type: 'CARD',
    card: { number: '4242424242424242', expiryDate: '203012' },
  })
  expect(confirmed, confirmed.text).toMatchObject({ status: 200, body: { status: 'OK' } })
  await expectNobody(shop)
})

/** Expects no stored customer: the person asked to be forgotten. */
async function expectNobody(shop: Shop): Promise<void> {
  const { body } = await shop.call('GET', '/customers?page=1&merchantCustomerId=C-1')
  expect(body.data).toEqual([])
  expect(await stored(shop.merchantId)).not.toMatch(traces)
}

/** Payments that are approved after their personal data was erased: how each begins, and what approves it later. */
const underWay: Readonly<
  Record<
    string,
    { begin: (shop: Shop) => Promise<string>; approve: (shop: Shop, payId: string) => Promise<unknown> }
  >
> = {
  'whose answer was lost': {
    async begin(shop) {
      await shop.fail({ operation: 'AUTHORIZATION', fault: 'lost_answer' })
      return (await pay(shop, { transId: 'lost' }, 'lost')).payId
    },
    approve: shop => shop.advance('PT1M'),
  },
  'that waits for its confirm': {
    begin: async shop =>
      (await pay(shop, { transId: 'order', card: { eventToken: 'ORDER' } }, 'order')).payId,
    approve: async (shop, payId) => {
      const { amount } = await shop.read(payId)
      return shop.act(payId, 'confirms', amount.value)
    },
  },
  'whose customer is on the page': {
    async begin(shop) {
      const { transId, amount, ...rest } = intentOf('session')
      const session = await shop.call('POST', '/payments/sessions', { transId, amount, ...rest })
      expect(session.status, session.text).toBe(200)
      return session.body.payId
    },
    approve: (shop, payId) => shop.customer(payId, 'approve'),
  },
}

test.each(Object.entries(underWay))(
  'a payment %s is approved although its customer was erased meanwhile',
  async (_, { begin, approve }) => {
    const shop = await openShop(gateway)
    const { customerInfo } = await shop.read((await pay(shop)).payId)
    const payId = await begin(shop)
    const erased = await shop.call('DELETE', `/customers/${customerInfo.gatewayCustomerId}?erase=payments`)
    expect(erased.status, erased.text).toBe(200)
    await approve(shop, payId)
    const { amount, status } = await shop.read(payId)
    expect({ status, captured: amount.capturedValue }).toEqual({ status: 'OK', captured: amount.value })
    await expectNobody(shop)
  },
)

test('a link that is paid after the retention has blanked it is paid, and adds its card to a customer who is known', async () => {
  const shop = await openShop(gateway)
  await gateway.gateway.merchants.set(shop.merchantId, { personalDataFor: 'P30D' })
  const { urls: _, ...request } = intentOf('link')
  const expirationTime = new Date(
    new Date(await shop.advance('PT1S')).getTime() + 60 * 86_400_000,
  ).toISOString()
  const { body: link } = await shop.call('POST', '/payments/links', { ...request, expirationTime })
  await shop.advance('P31D')
  const { customerInfo } = await shop.read((await pay(shop, { card: { number: '5555555555554444' } })).payId)
  expect(await shop.customer(link.payId, 'approve')).toMatchObject({
    status: 'OK',
    customerInfo: { gatewayCustomerId: customerInfo.gatewayCustomerId },
  })
})

const typedNames: readonly [string, Record<string, string>][] = [
  [
    'CARD',
    {
      number: '4242424242424242',
      expiry: '12/30',
      securityCode: '123',
      cardholderName: 'Xaviera Quillfeather',
    },
  ],
  ['DIRECTDEBIT', { accountHolder: 'Xaviera Quillfeather', iban: 'DE89370400440532013000', consent: 'yes' }],
]

// The retention visits a payment only once: data stored afterwards would stay for ever.
test.each(typedNames)(
  'what a customer types into the page of a payment that the retention has passed is sent and not kept: %s',
  async (type, typed) => {
    const shop = await openShop(gateway)
    await gateway.gateway.merchants.set(shop.merchantId, { personalDataFor: 'P30D' })
    const { urls: _, ...request } = intentOf(`late ${type}`)
    const expirationTime = new Date(
      new Date(await shop.advance('PT1S')).getTime() + 60 * 86_400_000,
    ).toISOString()
    const { body: link } = await shop.call('POST', '/payments/links', { ...request, expirationTime })
    await shop.advance('P31D')
    const page = await openPage(link._links.redirect.href)
    expect(await sendForm(page, { type, ...typed })).toBe(303)
    expect((await shop.read(link.payId)).status).toMatch(/^(?:OK|CAPTURE_REQUEST)$/)
    expect(await stored(shop.merchantId)).not.toMatch(traces)
  },
)

test.each(typedNames)(
  'what an erased customer types into a page that is still open is sent and not kept: %s',
  async (type, typed) => {
    const shop = await openShop(gateway)
    const { customerInfo } = await shop.read((await pay(shop)).payId)
    const { urls: _, ...request } = intentOf(`open ${type}`)
    const { body: link } = await shop.call('POST', '/payments/links', request)
    await shop.call('DELETE', `/customers/${customerInfo.gatewayCustomerId}?erase=payments`)
    expect(await sendForm(await openPage(link._links.redirect.href), { type, ...typed })).toBe(303)
    expect((await shop.read(link.payId)).status).toMatch(/^(?:OK|CAPTURE_REQUEST)$/)
    await expectNobody(shop)
  },
)

/** Later requests about payments, with names and addresses in them. */
async function sendNamesLater(
  shop: Shop,
  { ordered, rented }: { readonly ordered: string; readonly rented: string },
): Promise<void> {
  const { amount } = await shop.read(ordered)
  const confirmed = await shop.call('POST', `/payments/${ordered}/confirms`, {
    transId: 'ordered',
    amount: { value: amount.value, currency: amount.currency },
    billingAddress: { streetName: 'Quillfeather Street', country: 'DEU' },
    shipping: { address: { firstName: 'Xaviera', country: 'DEU' } },
  })
  expect(confirmed, confirmed.text).toMatchObject({ status: 200, body: { status: 'OK' } })
  expect((await shop.read(ordered)).billingAddress).toEqual({ country: 'DEU' })
  const captured = await shop.call('POST', `/payments/${rented}/captures`, {
    transId: 'rented',
    amount: { value: 100, currency: amount.currency },
    enhancedData: {
      common: { amounts: { grossAmount: 100, netAmount: 80, taxAmount: 20 } },
      carRental: {
        schemeA: {
          rentalInformation: {
            carMake: 'Saab',
            milesDriven: 3,
            driver: { firstName: 'Xaviera', lastName: 'Quillfeather' },
            carRentalCompanyId: 'D',
          },
          billingAndInvoiceInformation: { countryCode: 'DEU' },
          mileageUnit: 'Km',
          odometerStart: 1,
          odometerReturn: 4,
        },
      },
    },
  })
  expect(captured, captured.text).toMatchObject({ status: 200, body: { status: 'OK' } })
}

test('names and addresses in later requests about payments of an erased customer are not kept', async () => {
  const shop = await openShop(gateway)
  const paid = await pay(shop, { transId: 'rented', captureMethod: { type: 'MANUAL' } }, 'rented')
  const { payId } = await pay(shop, { transId: 'ordered', card: { eventToken: 'ORDER' } }, 'ordered')
  const { customerInfo } = await shop.read(paid.payId)
  await shop.call('DELETE', `/customers/${customerInfo.gatewayCustomerId}?erase=payments`)
  await sendNamesLater(shop, { ordered: payId, rented: paid.payId })
  await expectNobody(shop)
})

test('names and addresses in later requests about payments that the retention has passed are not kept', async () => {
  const shop = await openShop(gateway)
  await gateway.gateway.merchants.set(shop.merchantId, { personalDataFor: 'P2D' })
  const now = new Date(await shop.advance('PT1S')).getTime()
  const open = { customerInfo: undefined, expirationTime: new Date(now + 5 * 86_400_000).toISOString() }
  const manual = { transId: 'rented', captureMethod: { type: 'MANUAL' }, customerInfo: undefined }
  const { payId: rented } = await pay(shop, manual, 'rented')
  const order = { ...open, transId: 'ordered', card: { eventToken: 'ORDER' } }
  const { payId: ordered } = await pay(shop, order, 'ordered')
  await shop.advance('P3D')
  expect(await stored(shop.merchantId)).not.toMatch(traces)
  await sendNamesLater(shop, { ordered, rented })
  expect(await stored(shop.merchantId)).not.toMatch(traces)
})

test('a name that is sent with the intent of an erased customer is not kept', async () => {
  const shop = await openShop(gateway)
  const { customerInfo } = await shop.read((await pay(shop)).payId)
  const { body: intent } = await shop.call('POST', '/payment-intents', intentOf('named'))
  await shop.call('DELETE', `/customers/${customerInfo.gatewayCustomerId}?erase=payments`)
  const confirmed = await shop.call('POST', `/payment-intents/${intent.id}/confirm`, {
    integrationType: 'DIRECT',
    type: 'CARD',
    card: { number: '4242424242424242', expiryDate: '203012', cardholderName: 'Xaviera Quillfeather' },
    browserInfo: { userAgent: 'Quillfeather OS' },
  })
  expect(confirmed, confirmed.text).toMatchObject({ status: 200, body: { status: 'OK' } })
  await expectNobody(shop)
})

test('a retention blanks intents without a payment', async () => {
  const shop = await openShop(gateway)
  await gateway.gateway.merchants.set(shop.merchantId, { personalDataFor: 'P30D' })
  await shop.call('POST', '/payment-intents', intentOf('forgotten'))
  await shop.advance('P29D')
  expect(await stored(shop.merchantId)).toMatch(traces)
  await shop.advance('P2D')
  expect(await stored(shop.merchantId)).not.toMatch(traces)
})

test('receivers’ answers, raw notices and evidence in ended disputes are deleted too; those still in use stay', async () => {
  const shop = await openShop(gateway)
  const { payId } = await pay(shop)
  const { merchantId } = shop
  const run = (text: string, ...values: unknown[]) =>
    queryRows(gateway.databaseUrl, text, [merchantId, ...values])
  const [{ x_id: xId } = { x_id: '' }] = await queryRows<{ x_id: string }>(
    gateway.databaseUrl,
    'SELECT x_id FROM operation WHERE merchant_id = $1 AND pay_id = $2',
    [merchantId, payId],
  )
  await run(
    `INSERT INTO event (merchant_id, pay_id, sequence, event_id, x_id, body, created_at, status)
     VALUES ($1, $2, 90, gen_random_uuid(), $3, '{}', now(), 'DELIVERED')`,
    ...[payId, xId],
  )
  await run(
    `INSERT INTO event_attempt (merchant_id, pay_id, sequence, number, at, duration_ms, answer)
     VALUES ($1, $2, 90, 1, now(), 1, 'thanks, Xaviera')`,
    payId,
  )
  for (const [at, { status, due }] of [
    { status: 'LOST', due: null },
    { status: 'OPEN', due: 'now' },
  ].entries()) {
    const dispute = `dsp_${String(at).repeat(32)}`
    await run(
      `INSERT INTO dispute (merchant_id, dispute_id, pay_id, x_id, provider_dispute_id, amount, currency, stage, status,
         reason_code, reason_group, events, created_at, updated_at)
       VALUES ($1, $2, $3, $4, $2, 0, 'EUR', 'INQUIRY', $5, 'r', 'FRAUD', '[]', now(), now())`,
      ...[dispute, payId, xId, status],
    )
    await run(
      `INSERT INTO dispute_file (merchant_id, file_id, dispute_id, name, type, key_version, sealed)
       VALUES ($1, gen_random_uuid(), $2, $3, 'application/pdf', 1, 'x')`,
      ...[dispute, `${status}.pdf`],
    )
    await run(
      `WITH n AS (INSERT INTO provider_notice (merchant_id, notice_id, provider_account_id, key_version, sealed)
           VALUES ($1, gen_random_uuid(), 'acc_1', 1, 'x') RETURNING notice_id),
         i AS (INSERT INTO notice_item (merchant_id, provider_account_id, item_key, notice_id, position, kind, reference,
             state, due_at)
           SELECT $1, 'acc_1', $2, notice_id, 0, 'outcome', $2, $3, $4 FROM n)
       INSERT INTO provider_reference (merchant_id, provider_account, reference, pay_id, x_id)
         VALUES ($1, 'acc_1', $2, $5, $6)`,
      ...[`ref-${at}`, due ? 'PENDING' : 'APPLIED', due, payId, xId],
    )
  }
  const customerId = (await shop.read(payId)).customerInfo.gatewayCustomerId
  await shop.call('DELETE', `/customers/${customerId}?erase=payments`)
  expect(await stored(merchantId)).not.toMatch(traces)
  expect(await run('SELECT name FROM dispute_file WHERE merchant_id = $1')).toEqual([{ name: 'OPEN.pdf' }])
  const notices = await run(
    `SELECT i.state, n.sealed IS NULL AS gone FROM provider_notice n JOIN notice_item i USING (merchant_id, notice_id)
     WHERE merchant_id = $1 ORDER BY 1`,
  )
  expect(notices).toEqual([
    { state: 'APPLIED', gone: true },
    { state: 'PENDING', gone: false },
  ])
  for (const table of [
    'notice_item',
    'provider_notice',
    'provider_reference',
    'dispute_file',
    'dispute',
    'event',
  ])
    await run(`DELETE FROM ${table} WHERE merchant_id = $1`)
})
