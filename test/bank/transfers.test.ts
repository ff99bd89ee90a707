/** Incoming transfers: matched by reference, too little, too much, and unmatched. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { testIbans } from '#test/support/bank/debits.ts'
import { statement, type TestEntry } from '#test/support/bank/files.ts'
import { type BankStage, openBankStage, textOf } from '#test/support/bank/stage.ts'
import { signUp } from '#test/support/browser/console.ts'
import type { CommandsHere } from '#test/support/command-here.ts'
import type { TestGateway } from '#test/support/gateway.ts'

let stage: BankStage
let gateway: TestGateway
let commands: CommandsHere
let accountId: string
beforeAll(async () => {
  stage = await openBankStage()
  ;({ gateway, commands, accountId } = stage)
})
afterAll(() => stage.close())

let number = 0
const order = async (type: string, transId: string) => {
  const key =
    { SEPACREDITTRANSFER: 'sepaCreditTransfer', SEPAINSTANT: 'sepaInstant', INVOICE: 'invoice' }[type] ?? ''
  const answer = await gateway.call('POST', '/payments', {
    transId,
    amount: { value: 1000, currency: 'EUR' },
    ...(type === 'INVOICE' ? { captureMethod: { type: 'MANUAL' } } : {}),
    paymentMethods: { integrationType: 'DIRECT', type, [key]: {} },
  })
  if (answer.status >= 300) throw new Error(answer.text)
  return answer.body
}
const record = async (payId: string) => (await gateway.call('GET', `/payments/getByPayId/${payId}`)).body
const payer = { name: 'Ann Müller', iban: testIbans.good }
const arrive = (...entries: Omit<TestEntry, 'reference'>[]) =>
  stage.import(
    commands.file(
      `s${++number}.xml`,
      statement(entries.map((entry, at) => ({ reference: `I${number}-${at}`, payer, ...entry }))),
    ),
  )

test('200 with instructions; a transfer of the whole amount pays it, with any case and spaces in the reference', async () => {
  const made = await order('SEPACREDITTRANSFER', 'Order-2026/77')
  expect(made.status).toBe('AUTHORIZE_REQUEST')
  expect(await arrive({ cents: 1000, text: 'thanks for order 2026 77' })).toMatchObject({
    booked: 1,
    unmatched: [],
  })
  const paid = await record(made.payId)
  expect(paid).toMatchObject({ status: 'OK', amount: { capturedValue: 1000, receivedValue: 1000 } })
})

test('the console finds a transfer by the reference that its customer was shown, however it is written', async () => {
  const { payId } = await order('SEPACREDITTRANSFER', 'searched')
  const { paymentMethods } = await record(payId)
  const { paymentReference } = paymentMethods.sepaCreditTransfer
  expect(paymentReference).toMatch(/^RF/)
  const operator = await signUp(gateway, { role: 'viewer', merchants: [gateway.merchantId] })
  const spaced = paymentReference.replace(/(.{4})/g, '$1 ')
  for (const typed of [paymentReference, spaced, spaced.toLowerCase(), paymentReference.toLowerCase()]) {
    const page = await operator.get(`/console/search?q=${encodeURIComponent(typed)}`)
    expect([typed, (await page.text()).includes(`/payments/${payId}`)]).toEqual([typed, true])
  }
})

test('a partial transfer leaves the payment PENDING, the rest makes it OK', async () => {
  const made = await order('SEPAINSTANT', 'little-1')
  await arrive({ cents: 400, text: 'LITTLE 1' })
  expect(await record(made.payId)).toMatchObject({
    status: 'PENDING',
    amount: { receivedValue: 400, capturedValue: 0 },
  })
  await arrive({ cents: 600, text: 'little-1 rest' })
  expect(await record(made.payId)).toMatchObject({
    status: 'OK',
    amount: { receivedValue: 1000, capturedValue: 1000 },
  })
})

test('too much makes the payment OK, and the surplus is given back with the next batch', async () => {
  const made = await order('INVOICE', 'much-1')
  const reference = JSON.stringify(await record(made.payId)).match(/RF[0-9]{2}[A-Z0-9]{12}/)?.[0]
  expect(reference).toBeDefined()
  await arrive({ cents: 1250, text: `Rechnung ${reference?.replace(/(.{4})/g, '$1 ')}` })
  expect(await record(made.payId)).toMatchObject({
    status: 'OK',
    amount: { receivedValue: 1250, capturedValue: 1000 },
  })
  const files = await stage.batch('o')
  expect(files).toMatchObject([{ type: 'pain.001.001.09', payments: 1, sum: 250 }])
  const text = textOf(files[0])
  expect(text).toContain(`<IBAN>${testIbans.good}</IBAN>`)
  expect(text).toContain('<Nm>Ann Mueller</Nm>')
  const { data } = (await gateway.call('GET', `/events?payId=${made.payId}`)).body
  expect(data.map(({ type }: { type: string }) => type).toSorted()).toEqual([
    'capture.succeeded',
    'payment.authorized',
  ])
})

// A customer who pays the same order several times in one day: the entries of one statement are applied concurrently.
test.each(['SEPACREDITTRANSFER', 'SEPAINSTANT', 'INVOICE'])(
  'one statement with three payments of one order pays it once and gives the others back: %s',
  async type => {
    const transId = `thrice-${type}`
    const made = await order(type, transId)
    const entry = { cents: 1000, text: transId }
    expect(await arrive(entry, entry, entry)).toMatchObject({ booked: 3, unmatched: [] })
    expect(await record(made.payId)).toMatchObject({
      status: 'OK',
      amount: { receivedValue: 3000, capturedValue: 1000 },
    })
    const files = await stage.batch(transId)
    expect(files).toMatchObject([{ type: 'pain.001.001.09', payments: 2, sum: 2000 }])
    const { data } = (await gateway.call('GET', `/settlements?payId=${made.payId}`)).body
    const gross = data.map((line: { type: string; gross: number }) => `${line.type} ${line.gross}`)
    expect(gross.toSorted()).toEqual(['CAPTURE 1000', 'CORRECTION 1000', 'CORRECTION 1000'])
    // The line belongs to the capture, whichever of the three transfers made it.
    const { operations } = await record(made.payId)
    const capture = operations.find(({ type }: { type: string }) => type === 'CAPTURE')
    expect(data.find((line: { type: string }) => line.type === 'CAPTURE').xId).toBe(capture.xId)
  },
)

test('303 an invoice on our page shows the account for the transfer, and the transfer pays it', async () => {
  const begun = await gateway.call('POST', '/payments', {
    transId: 'page-invoice',
    amount: { value: 1000, currency: 'EUR' },
    captureMethod: { type: 'MANUAL' },
    urls: { return: 'https://shop.example/back', cancel: 'https://shop.example/cancel' },
    paymentMethods: { integrationType: 'HOSTED', type: 'INVOICE' },
  })
  const { href } = begun.body._links.redirect
  const page = await (await fetch(href)).text()
  expect(page).toContain('You will get the bank details for your transfer.')
  const attempt = /name="attempt" value="([^"]*)"/.exec(page)?.[1] ?? ''
  const body = new URLSearchParams({ type: 'INVOICE', attempt })
  const sent = await fetch(href, { method: 'POST', body, redirect: 'manual' })
  expect(sent.status).toBe(303)
  const instructions = await (await fetch(href)).text()
  expect(instructions).toContain('data-copy="DE02120300000000202051"')
  const [reference] = instructions.match(/(?<=data-copy=")RF[0-9]{2}[A-Z0-9]{12}/) ?? []
  expect(await arrive({ cents: 1000, text: reference })).toMatchObject({ booked: 1, unmatched: [] })
  expect(await record(begun.body.payId)).toMatchObject({ status: 'OK', amount: { capturedValue: 1000 } })
})

test('after a partial transfer the page asks for the rest', async () => {
  const made = await order('SEPACREDITTRANSFER', 'rest-on-page-1')
  const show = async () => (await fetch(made._links.redirect.href)).text()
  const codeIn = (shown: string) => /<figure class="qr">.*?<\/figure>/s.exec(shown)?.[0] ?? ''
  const before = await show()
  expect(codeIn(before)).toContain('<svg')
  expect(codeIn(await show())).toBe(codeIn(before))
  await arrive({ cents: 400, text: 'rest-on-page-1' })
  const page = await show()
  // The QR code has another amount.
  expect(codeIn(page)).not.toBe(codeIn(before))
  expect(/<h1>(.*?)<\/h1>/.exec(page)?.[1]).toBe('Almost done: now pay €6.00')
  const amounts = [...page.matchAll(/<dt>(Total|Amount)<\/dt><dd>(.*?)<\/dd>/g)]
  expect(amounts.map(([, name, amount]) => `${name} ${amount}`)).toEqual(['Total €10.00', 'Amount €6.00'])
  await arrive({ cents: 600, text: 'rest-on-page-1' })
  expect(await record(made.payId)).toMatchObject({ status: 'OK' })
})

test('a transfer that carries the sender’s own payment information id pays all the same', async () => {
  const made = await order('SEPACREDITTRANSFER', 'sender-1')
  const report = await arrive({ cents: 1000, text: 'sender-1', blockId: 'SENDER-BATCH-7' })
  expect(report).toMatchObject({ booked: 1, unmatched: [] })
  expect(await record(made.payId)).toMatchObject({ status: 'OK' })
})

test('two transfers in one entry pay their orders, although both customers chose the same reference', async () => {
  const orders = [
    await order('SEPACREDITTRANSFER', 'same-e2e-1'),
    await order('SEPACREDITTRANSFER', 'same-e2e-2'),
  ]
  const paid = (transId: string) =>
    `<TxDtls><Refs><EndToEndId>INVOICE</EndToEndId></Refs><Amt Ccy="EUR">10.00</Amt><RmtInf><Ustrd>${transId}</Ustrd></RmtInf></TxDtls>`
  const text = statement([{ reference: 'TWO', cents: 2000, text: 'x' }]).replace(
    /<TxDtls>.*<\/TxDtls>/,
    paid('same-e2e-1') + paid('same-e2e-2'),
  )
  const path = commands.file('two.xml', text)
  expect(await stage.import(path)).toMatchObject({ booked: 2, repeated: 0, unmatched: [] })
  expect(await stage.import(path)).toMatchObject({ booked: 0, repeated: 2 })
  for (const { payId } of orders)
    expect(await record(payId)).toMatchObject({ status: 'OK', amount: { receivedValue: 1000 } })
})

test('an unmatched transfer is listed and never guessed', async () => {
  const made = await order('SEPACREDITTRANSFER', 'guess-1')
  const report = await arrive(
    { cents: 1000, text: 'guess 2' },
    { cents: 70, direction: 'DBIT', text: 'Kontogebühr' },
  )
  expect(report.booked).toBe(0)
  // The entries of a statement are applied concurrently.
  const listed = report.unmatched.map(({ direction, amount }) => [direction, amount?.value, amount?.currency])
  expect(listed.toSorted()).toEqual([
    ['CRDT', 1000, 'EUR'],
    ['DBIT', 70, 'EUR'],
  ])
  expect(await record(made.payId)).toMatchObject({ status: 'AUTHORIZE_REQUEST' })
})

test('a payment that arrived in parts is one capture in the settlement, and reconciles', async () => {
  const made = await order('SEPACREDITTRANSFER', 'parts-1')
  await arrive({ cents: 400, text: 'parts-1' })
  await arrive({ cents: 800, text: 'parts-1' })
  const lines = (await gateway.call('GET', `/settlements?payId=${made.payId}`)).body.data
  const sums = lines.map(({ type, gross, xId }: Record<string, unknown>) => [type, gross, xId !== undefined])
  expect(sums.toSorted()).toEqual([
    ['CAPTURE', 1000, true],
    ['CORRECTION', 200, false],
    ['RESERVE', -400, false],
    ['RESERVE', 400, false],
  ])
  await expectReconciled()
  expect(await givenBack('parts')).toEqual([{ type: 'pain.001.001.09', payments: 1, sum: 200 }])
})

const expectReconciled = async () => {
  const range = ['--from', '2026-01-01', '--to', '2199-01-01']
  expect(await commands.json('reconcile', '--account', accountId, ...range)).toEqual({
    oursWithoutTheirs: [],
    theirsWithoutOurs: [],
    amountsDiffer: [],
  })
  expect(await commands.json('doctor')).toMatchObject({ healthy: true })
}

test.each(['after', 'before'])(
  'a statement that is also imported as a settlement, %s its entries are applied, reconciles',
  async when => {
    const transId = `settled-${when}`
    await order('SEPACREDITTRANSFER', transId)
    const entry = { reference: transId, cents: 1200, text: transId, endToEndId: 'CUSTOMER-7', payer }
    const path = commands.file(`${transId}.xml`, statement([entry]))
    const settle = () => commands.json('settlements', 'import', accountId, path)
    if (when === 'before') expect(await settle()).toMatchObject({ lines: 1, added: 1, unmatched: 1 })
    expect(await stage.import(path)).toMatchObject({ booked: 1 })
    expect(await settle()).toMatchObject({ lines: 1, added: 0, unmatched: 0 })
    await expectReconciled()
    await givenBack(transId)
  },
)

test('a refund goes to the account that paid, with the next batch', async () => {
  const made = await order('SEPACREDITTRANSFER', 'refund-1')
  await arrive({ cents: 1000, text: 'refund-1' })
  const back = await gateway.call('POST', `/payments/${made.payId}/refunds`, {
    transId: 'refund-1-r',
    amount: { value: 300, currency: 'EUR' },
  })
  expect(back.body).toMatchObject({ status: 'PENDING' })
  const files = await stage.batch('r')
  expect(files).toMatchObject([{ type: 'pain.001.001.09', payments: 1, sum: 300 }])
  const endToEndId = /<EndToEndId>(\w+)</.exec(textOf(files[0]))?.[1]
  expect(await arrive({ cents: 300, direction: 'DBIT', endToEndId })).toMatchObject({ booked: 1 })
  expect(await record(made.payId)).toMatchObject({ amount: { refundedValue: 300 } })
  await arrive({ cents: 300, endToEndId, reason: 'AC04' })
  const after = await record(made.payId)
  expect(after).toMatchObject({ amount: { refundedValue: 0 } })
  expect(after.operations.at(-1)).toMatchObject({ type: 'REFUND', status: 'FAILED' })
  const lines = (await gateway.call('GET', `/settlements?payId=${made.payId}`)).body.data
  const refunds = lines.filter(({ type }: Record<string, unknown>) => type === 'REFUND')
  expect(refunds.map(({ gross }: Record<string, unknown>) => gross).toSorted()).toEqual([-300, 300])
  await expectReconciled()
})

test('a booked payout and a returned one reconcile', async () => {
  const payOut = (transId: string) =>
    gateway.call('POST', '/payments/refunds', {
      transId,
      amount: { value: 123, currency: 'EUR' },
      paymentMethods: {
        directDebit: { account: { number: testIbans.good, accountHolderName: 'Ann Müller' } },
      },
    })
  await payOut('payout-kept')
  await payOut('payout-back')
  const files = await stage.batch('p')
  const [kept, back] = [...textOf(files[0]).matchAll(/<EndToEndId>(\w+)</g)].map(([, id]) => id)
  await arrive(
    { cents: 123, direction: 'DBIT', endToEndId: kept },
    { cents: 123, direction: 'DBIT', endToEndId: back },
  )
  expect(await arrive({ cents: 123, endToEndId: back, reason: 'AC04' })).toMatchObject({ returned: 1 })
  await expectReconciled()
})

test('422 above the limit on payouts, for which one that came back does not count', async () => {
  await gateway.gateway.merchants.set(gateway.merchantId, { payoutLimit: '500EUR/P1D' })
  try {
    const payOut = (transId: string) =>
      gateway.call('POST', '/payments/refunds', {
        transId,
        amount: { value: 400, currency: 'EUR' },
        paymentMethods: {
          directDebit: { account: { number: testIbans.good, accountHolderName: 'Ann Müller' } },
        },
      })
    expect(await payOut('limited-1')).toMatchObject({ status: 200 })
    const files = await stage.batch('limited')
    const endToEndId = /<EndToEndId>(\w+)</.exec(textOf(files[0]))?.[1]
    await arrive({ cents: 400, direction: 'DBIT', endToEndId })
    expect(await payOut('limited-2')).toMatchObject({ status: 422, body: { responseCode: '20200016' } })
    expect(await arrive({ cents: 400, endToEndId, reason: 'AC04' })).toMatchObject({ returned: 1 })
    expect(await payOut('limited-3')).toMatchObject({ status: 200 })
    expect(await givenBack('limited-3')).toEqual([{ type: 'pain.001.001.09', payments: 1, sum: 400 }])
  } finally {
    await gateway.gateway.merchants.set(gateway.merchantId, { payoutLimit: null })
  }
})

const givenBack = async (folder: string) => {
  const files = await stage.batch(folder)
  return files.map(({ type, payments, sum }) => ({ type, payments, sum }))
}

test('200 an awaited transfer can be cancelled, and its partial payments are given back with the next batch', async () => {
  const [untouched, begun] = [
    await order('SEPACREDITTRANSFER', 'cancel-1'),
    await order('SEPACREDITTRANSFER', 'cancel-2'),
  ]
  await arrive({ cents: 300, text: 'cancel-2' })
  for (const { payId } of [untouched, begun]) {
    const cancelled = await gateway.call('POST', `/payments/${payId}/cancellations`, {})
    expect({ code: cancelled.status, ...cancelled.body }).toMatchObject({ code: 200, status: 'FAILED' })
  }
  expect(await givenBack('cancelled')).toEqual([{ type: 'pain.001.001.09', payments: 1, sum: 300 }])
  expect(await givenBack('cancelled-again')).toEqual([])
})

test('two transfers of one statement pay together, and only the surplus is given back', async () => {
  const made = await order('SEPACREDITTRANSFER', 'both-1')
  expect(await arrive({ cents: 600, text: 'both-1' }, { cents: 700, text: 'both-1' })).toMatchObject({
    booked: 2,
  })
  expect(await record(made.payId)).toMatchObject({
    status: 'OK',
    amount: { capturedValue: 1000, receivedValue: 1300 },
  })
  expect(await givenBack('both')).toEqual([{ type: 'pain.001.001.09', payments: 1, sum: 300 }])
})

test('partial transfers of a payment that expires are given back', async () => {
  const made = await order('SEPACREDITTRANSFER', 'ended-1')
  await arrive({ cents: 400, text: 'ended-1' })
  await arrive({ cents: 100, text: 'ended-1' })
  expect(await givenBack('before')).toEqual([])
  await gateway.call('POST', '/test/clock', { advance: 'P31D' })
  expect(await record(made.payId)).toMatchObject({
    status: 'FAILED',
    amount: { receivedValue: 500, capturedValue: 0 },
  })
  expect(await givenBack('after')).toEqual([{ type: 'pain.001.001.09', payments: 2, sum: 500 }])
  expect(await givenBack('once')).toEqual([])
  expect(await arrive({ cents: 500, text: 'ended-1' })).toMatchObject({ booked: 1, unmatched: [] })
  expect(await record(made.payId)).toMatchObject({ status: 'FAILED', amount: { receivedValue: 1000 } })
  expect(await givenBack('rest')).toEqual([{ type: 'pain.001.001.09', payments: 1, sum: 500 }])
})

test('a second transfer of the whole amount is given back, and listed if the bank names no payer', async () => {
  const made = await order('SEPACREDITTRANSFER', 'twice-1')
  await arrive({ cents: 1000, text: 'twice-1' })
  expect(await arrive({ cents: 1000, text: 'twice-1' })).toMatchObject({ booked: 1, unmatched: [] })
  expect(await record(made.payId)).toMatchObject({
    status: 'OK',
    amount: { capturedValue: 1000, receivedValue: 2000, refundedValue: 0 },
  })
  expect(await givenBack('twice')).toEqual([{ type: 'pain.001.001.09', payments: 1, sum: 1000 }])
  expect(await arrive({ cents: 1000, text: 'twice-1', payer: undefined })).toMatchObject({
    booked: 0,
    unmatched: [{ text: 'twice-1' }],
  })
  await expectReconciled()
})

test('a transfer that the bank tells twice without a reference of its own is known by its UETR', async () => {
  const made = await order('SEPACREDITTRANSFER', 'told-twice')
  const uetr = '7c9d2b4e-1f3a-4d5c-8b6e-9a0f1e2d3c4b'
  const transfer = { reference: '', cents: 1000, text: 'told-twice', uetr, payer }
  const told = ['054', '053'].map(message =>
    commands.file(`uetr-${message}.xml`, statement([transfer], { message, id: `of ${message}` })),
  )
  expect(await commands.json('bank', 'import', ...told)).toMatchObject({ booked: 1, repeated: 1 })
  expect((await record(made.payId)).amount).toMatchObject({ capturedValue: 1000, receivedValue: 1000 })
  expect(await givenBack('uetr')).toEqual([])
  await expectReconciled()
})

const endedOrder = async (type: string, transId: string) => {
  const made = await order(type, transId)
  await gateway.call('POST', `/payments/${made.payId}/cancellations`, {})
  return made
}

test('the whole amount after the end is reported as payment.paid_late, and given back with the next batch', async () => {
  const made = await endedOrder('SEPACREDITTRANSFER', 'late-1')
  expect(await arrive({ cents: 1050, text: 'late 1' })).toMatchObject({ booked: 1, unmatched: [] })
  const paid = await record(made.payId)
  expect(paid).toMatchObject({ amount: { capturedValue: 1000, receivedValue: 1050 } })
  expect(paid.operations.at(-1)).toMatchObject({ type: 'REFUND', status: 'PENDING' })
  const { body } = await gateway.call('GET', `/events?payId=${made.payId}`)
  expect(body.data.map((event: { type: string }) => event.type)).toContain('payment.paid_late')
  const files = await stage.batch('late')
  expect(files).toMatchObject([{ type: 'pain.001.001.09', payments: 2, sum: 1050 }])
  const sent = textOf(files[0]).matchAll(/<EndToEndId>(\w+)<.*?Ccy="EUR">([0-9.]+)</g)
  const entries = [...sent].map(([, endToEndId, amount]) => ({
    cents: Number(amount?.replace('.', '')),
    direction: 'DBIT' as const,
    endToEndId,
  }))
  expect(await arrive(...entries)).toMatchObject({ booked: 2 })
  expect(await record(made.payId)).toMatchObject({ status: 'REVERSED', amount: { refundedValue: 1000 } })
  await expectReconciled()
})

test('late money of a method without refunds is given back outside the payment, or kept if so configured', async () => {
  const given = await endedOrder('INVOICE', 'late-2')
  await arrive({ cents: 1000, text: 'late 2' })
  expect(await record(given.payId)).toMatchObject({ status: 'FAILED', amount: { receivedValue: 1000 } })
  expect(await givenBack('late-2')).toEqual([{ type: 'pain.001.001.09', payments: 1, sum: 1000 }])
  await commands.json('merchant', 'set', gateway.merchantId, '--paid-late', 'keep')
  const kept = await endedOrder('INVOICE', 'late-3')
  await arrive({ cents: 1000, text: 'late 3' })
  expect(await record(kept.payId)).toMatchObject({ status: 'OK', amount: { capturedValue: 1000 } })
  expect(await givenBack('late-3')).toEqual([])
  await expectReconciled()
})

test('late money is given back outside the payment if another payment has its transId, even if it may be kept', async () => {
  await commands.json('merchant', 'set', gateway.merchantId, '--paid-late', 'keep')
  const made = await order('INVOICE', 'late-4')
  const reference = JSON.stringify(await record(made.payId)).match(/RF[0-9]{2}[A-Z0-9]{12}/)?.[0]
  await gateway.call('POST', `/payments/${made.payId}/cancellations`, {})
  const newer = await order('INVOICE', 'late-4')
  expect(await arrive({ cents: 1000, text: `${reference}` })).toMatchObject({ booked: 1, unmatched: [] })
  expect(await record(made.payId)).toMatchObject({
    status: 'FAILED',
    amount: { authorizedValue: 0, capturedValue: 0, receivedValue: 1000 },
  })
  expect(await record(newer.payId)).toMatchObject({ status: 'AUTHORIZE_REQUEST' })
  expect(await givenBack('late-4')).toEqual([{ type: 'pain.001.001.09', payments: 1, sum: 1000 }])
  expect(await commands.json('doctor')).toMatchObject({ healthy: true })
  await expectReconciled()
})
