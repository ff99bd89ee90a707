/** Successive tries on a page: the effect of each on the next, and of changes by the merchant. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { MerchantId, PayId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import { updatePayment } from '#operations/payments/update.ts'
import { examine } from '#storage/doctor/doctor.ts'
import { cardEntries, openPage, sendForm } from '#test/support/browser/customer-page.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { openShop, type Shop, urls } from '#test/support/shop.ts'
import { findBrokenRules } from '#test/support/simulation/invariants.ts'

let gateway: TestGateway
let shop: Shop
beforeAll(async () => {
  gateway = await startTestGateway()
  shop = await openShop(gateway)
})
afterAll(async () => {
  expect(await findBrokenRules(gateway.databaseUrl)).toEqual({})
  expect((await examine(gateway.databaseUrl)).filter(({ found }) => found > 0)).toEqual([])
  await gateway.stop()
})

const merchantOfTest: Omit<Merchant, 'merchantId'> = {
  name: 'Shop',
  disabled: false,
  webhookKind: 'ENHANCED',
  requestsPerSecond: 1_000,
  clockOffsetMs: 0,
}

let orders = 0
const amount = (value: number, currency = 'EUR') => ({ amount: { value, currency } })

async function post(path: string, more: object = {}) {
  orders += 1
  const { status, body } = await shop.call('POST', path, {
    transId: `tries-${orders}`,
    ...amount(1000),
    urls,
    ...more,
  })
  expect([status, body.status]).toEqual([200, 'AUTHORIZE_REQUEST'])
  return { payId: body.payId as string, page: body._links.redirect.href as string, body }
}

const create = (type: string, more: object = {}) =>
  post('/payments', { paymentMethods: { integrationType: 'HOSTED', type }, ...more })

const patch = (payId: string, body: object) => shop.call('PATCH', `/payments/${payId}`, body)

test('a try by a method with another capture type does not change the requested capture', async () => {
  const { payId, page } = await post('/payments/sessions', { allowedPaymentMethod: ['INVOICE', 'CARD'] })
  await shop.fail({ operation: 'AUTHORIZATION', fault: 'decline' })
  await sendForm(await openPage(page), { type: 'INVOICE' })
  expect(await shop.read(payId)).toMatchObject({
    status: 'AUTHORIZE_REQUEST',
    captureMethod: { type: 'MANUAL' },
    paymentMethods: { type: 'INVOICE' },
  })
  await sendForm(await openPage(page), cardEntries('4111111111111111'))
  expect(await shop.read(payId)).toMatchObject({
    status: 'OK',
    captureMethod: { type: 'AUTOMATIC' },
    amount: { capturedValue: 1000 },
    paymentMethods: { type: 'CARD', card: { last4Digits: '1111' } },
  })
})

test('all suitable methods are offered again after a try by one with another capture type', async () => {
  const { page } = await post('/payments/sessions', { allowedPaymentMethod: ['INVOICE', 'EPS', 'CARD'] })
  await shop.fail({ operation: 'AUTHORIZATION', fault: 'decline' })
  await sendForm(await openPage(page), { type: 'INVOICE' })
  const { html } = await openPage(page)
  for (const type of ['INVOICE', 'EPS', 'CARD']) expect(html).toContain(`value="${type}"`)
})

test('the account of a form is stored like that of a request; the next try has its own, or none', async () => {
  const { payId, page } = await post('/payments/sessions', { allowedPaymentMethod: ['DIRECTDEBIT', 'CARD'] })
  const account = { type: 'DIRECTDEBIT', accountHolder: 'Ada Lovelace', consent: 'yes' }
  await sendForm(await openPage(page), { ...account, iban: 'DE62 3704 0044 0532 0130 01' })
  const declined = await shop.read(payId)
  expect(declined).toMatchObject({
    status: 'AUTHORIZE_REQUEST',
    responseCode: '23000351',
    paymentMethods: { directDebit: { account: { last4Digits: '3001', accountHolderName: 'Ada Lovelace' } } },
  })
  const { pseudoBankAccountNumber } = declined.paymentMethods.directDebit.account
  expect(pseudoBankAccountNumber).toMatch(/^ZZ00[A-Z]{14}3001$/)
  await sendForm(await openPage(page), cardEntries('4000000000009995'))
  const byCard = await shop.read(payId)
  expect(byCard.paymentMethods.card.last4Digits).toBe('9995')
  expect(JSON.stringify(byCard)).not.toContain('"3001"')
  expect(JSON.stringify(byCard)).not.toContain(pseudoBankAccountNumber)
  await sendForm(await openPage(page), { ...account, iban: 'DE89370400440532013000' })
  expect(await shop.read(payId)).toMatchObject({
    status: 'OK',
    operations: [
      { responseCode: '23000351' },
      { responseCode: '21000351' },
      { status: 'OK' },
      { type: 'CAPTURE' },
    ],
    paymentMethods: { directDebit: { account: { last4Digits: '3000' } } },
  })
})

test('a debit that was filled in on the page can be returned as well', async () => {
  const { payId, page } = await create('DIRECTDEBIT')
  const account = { type: 'DIRECTDEBIT', accountHolder: 'Ada Lovelace', consent: 'yes' }
  await sendForm(await openPage(page), { ...account, iban: 'DE35370400440532013002' })
  expect((await shop.read(payId)).status).toBe('OK')
  await shop.advance('P2D')
  expect((await shop.read(payId)).amount.returnedValue).toBe(1000)
  expect(await shop.events(payId)).toMatchObject([{ responseCode: '00000000' }, { responseCode: '23000351' }])
})

test('200 another amount of a transfer is another code to scan, and what is paid then', async () => {
  const { payId, page, body } = await post('/payments', {
    paymentMethods: { integrationType: 'DIRECT', type: 'SEPACREDITTRANSFER' },
  })
  const told = body.paymentMethods.sepaCreditTransfer
  expect(told.qrCode).toContain('EUR10.00')
  const patched = await patch(payId, amount(2500))
  expect(patched.body.paymentMethods.sepaCreditTransfer).toMatchObject({
    paymentReference: told.paymentReference,
    qrCode: told.qrCode.replace('EUR10.00', 'EUR25.00'),
  })
  expect((await openPage(page)).html).toContain('25.00')
  const record = await shop.customer(payId, 'approve')
  expect(record).toMatchObject({ status: 'OK', amount: { capturedValue: 2500 } })
  expect(record.operations.map((entry: { amount: object }) => entry.amount)).toEqual([
    { value: 2500, currency: 'EUR' },
    { value: 2500, currency: 'EUR' },
  ])
})

test('an approval of an outdated amount has no effect; the page is shown anew', async () => {
  const { payId, page } = await create('PROVIDERP')
  const shown = await openPage(page)
  expect(shown.html).toContain('10.00')
  await patch(payId, amount(9900))
  expect(await sendForm(shown, { action: 'approve' })).toBe(303)
  expect(await shop.read(payId)).toMatchObject({
    status: 'AUTHORIZE_REQUEST',
    amount: { authorizedValue: 0 },
  })
  const again = await openPage(page)
  expect(again.html).toContain('99.00')
  await sendForm(again, { action: 'approve' })
  expect(await shop.read(payId)).toMatchObject({ status: 'OK', amount: { capturedValue: 9900 } })
})

test('a form with an outdated amount has no effect', async () => {
  const { payId, page } = await create('CARD')
  const shown = await openPage(page)
  await patch(payId, amount(9900))
  expect(await sendForm(shown, cardEntries('4111111111111111'))).toBe(422)
  expect((await shop.read(payId)).amount.authorizedValue).toBe(0)
  await sendForm(await openPage(page), cardEntries('4111111111111111'))
  expect((await shop.read(payId)).amount.capturedValue).toBe(9900)
})

test('a merchant’s PATCH that overlaps a try does not lose the card', async () => {
  const { payId, page } = await create('CARD')
  const form = await openPage(page)
  const { engine } = gateway.gateway
  const payments = {
    ...engine.payments,
    byPayId: async (...subject: Parameters<typeof engine.payments.byPayId>) => {
      const found = await engine.payments.byPayId(...subject)
      // Between the read and the write.
      await sendForm(form, cardEntries('4111111111111111'))
      return found
    },
  }
  const merchantId = shop.merchantId as MerchantId
  const merchant = { ...merchantOfTest, merchantId }
  const update = { merchant, payId: payId as PayId, command: { refNr: 'note' } }
  expect((await updatePayment(update, { ...engine, payments }))?.status).toBe(200)
  expect(await shop.read(payId)).toMatchObject({
    status: 'OK',
    refNr: 'note',
    paymentMethods: {
      card: { last4Digits: '1111', pseudoCardNumber: expect.stringMatching(/^0\d{12}111$/) },
    },
  })
})

test('422 20200014 the amount of a payment that its customer has left open at the provider', async () => {
  const { payId } = await create('PROVIDERP')
  await shop.customer(payId, 'pending')
  expect((await patch(payId, amount(9900))).body.responseCode).toBe('20200014')
})

test('an amount that declines only matters if it is the amount that is sent', async () => {
  const { payId } = await create('PROVIDERP', amount(99_990_351))
  await patch(payId, amount(1000))
  expect((await shop.customer(payId, 'approve')).status).toBe('OK')
  const other = await create('PROVIDERP')
  await patch(other.payId, amount(99_990_351))
  expect(await shop.customer(other.payId, 'approve')).toMatchObject({ responseCode: '24000351' })
})

test('a fault of captures applies to the capture of a try', async () => {
  const { payId, page } = await create('CARD')
  await shop.fail({ operation: 'CAPTURE', fault: 'decline', code: '61' })
  await sendForm(await openPage(page), cardEntries('4111111111111111'))
  expect(await shop.read(payId)).toMatchObject({
    status: 'AUTHORIZED',
    operations: [{ status: 'OK' }, { status: 'FAILED', responseCode: '21000361' }],
  })
  const wallet = await create('PROVIDERP')
  await shop.fail({ operation: 'CAPTURE', fault: 'lost_answer' })
  expect((await shop.customer(wallet.payId, 'approve')).status).toBe('AUTHORIZED')
  await shop.advance('PT10S')
  expect((await shop.read(wallet.payId)).status).toBe('OK')
})
