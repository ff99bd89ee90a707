/** A debit from the shop's request to the bank's booking, rejection and return, over HTTP and in the bank's files. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addDays, dayOf } from '#domain/time/calendar.ts'
import { creditorId, testIbans } from '#test/support/bank/debits.ts'
import { statement, statusReport } from '#test/support/bank/files.ts'
import { type BankStage, openBankStage, textOf } from '#test/support/bank/stage.ts'
import type { CommandsHere } from '#test/support/command-here.ts'
import type { TestGateway } from '#test/support/gateway.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

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
const debit = (change: object = {}, fields: object = {}) =>
  gateway.call('POST', '/payments', {
    transId: `debit-${++number}`,
    amount: { value: 1000, currency: 'EUR' },
    paymentMethods: {
      integrationType: 'DIRECT',
      type: 'DIRECTDEBIT',
      directDebit: {
        account: { number: testIbans.good, accountHolderName: 'Ann Müller' },
        mandateId: `MANDATE-${number}`,
        dateOfSignature: '01.11.2026',
        ...fields,
      },
    },
    ...change,
  })
const record = async (payId: string) => (await gateway.call('GET', `/payments/getByPayId/${payId}`)).body

const batch = () => stage.batch(`out-${number}`)
const endToEndIdIn = (file: Parameters<typeof textOf>[0]): string =>
  /<EndToEndId>(\w+)</.exec(textOf(file))?.[1] ?? ''
const importText = (text: string) => stage.import(commands.file(`f${++number}.xml`, text))

/** DD.MM.YYYY, this many days from now. */
const inDays = (days: number): string => addDays(dayOf(new Date()), days).split('-').toReversed().join('.')

describe('an authorisation', () => {
  test('400 names the missing field of a mandate', async () => {
    const answer = await debit({}, { mandateId: undefined, dateOfSignature: undefined })
    expect(answer.status).toBe(400)
    expect(answer.text).toContain('paymentMethods.directDebit.mandateId')
  })

  test('400 for a mandate that is signed in the future, 200 for tomorrow', async () => {
    const field = 'paymentMethods.directDebit.dateOfSignature'
    const isLate = (answer: { status: number; text: string }) => {
      expect(answer.status).toBe(400)
      expect(answer.text).toContain(field)
    }
    isLate(await debit({}, { dateOfSignature: inDays(2) }))
    isLate(
      await gateway.call('POST', '/payments', {
        transId: `debit-${++number}`,
        amount: { value: 700, currency: 'EUR' },
        urls: { return: 'https://shop.example/back', cancel: 'https://shop.example/cancel' },
        paymentMethods: {
          ...{ integrationType: 'HOSTED', type: 'DIRECTDEBIT' },
          directDebit: { mandateId: 'LATE-1', dateOfSignature: inDays(2) },
        },
      }),
    )
    const tomorrow = await debit({ captureMethod: { type: 'MANUAL' } }, { dateOfSignature: inDays(1) })
    expect(tomorrow.body).toMatchObject({ status: 'AUTHORIZED' })
    isLate(
      await gateway.call('POST', `/payments/${tomorrow.body.payId}/captures`, {
        transId: `debit-${++number}-c`,
        amount: { value: 400, currency: 'EUR' },
        paymentMethods: { directDebit: { mandateId: 'LATE-2', dateOfSignature: inDays(2) } },
      }),
    )
    expect(await record(tomorrow.body.payId)).toMatchObject({ status: 'AUTHORIZED' })
  })

  test('200 with a complete mandate, and its capture waits for the bank', async () => {
    const { status, body } = await debit()
    expect(status).toBe(200)
    expect(body).toMatchObject({ status: 'CAPTURE_REQUEST' })
    expect(await record(body.payId)).toMatchObject({
      status: 'CAPTURE_REQUEST',
    })
  })
})

describe('a debit', () => {
  test('is booked once and returned once, with an event for each', async () => {
    await batch()
    const { body } = await debit()
    const [file] = await batch()
    expect(file).toMatchObject({ payments: 1, sum: 1000 })
    const text = textOf(file)
    expect(text).toContain(`<Id>${creditorId}</Id>`)
    const endToEndId = /<EndToEndId>(\w+)</.exec(text)?.[1] ?? ''
    const booking = statement([{ reference: 'B1', cents: 1000, endToEndId }])
    expect(await importText(booking)).toEqual({
      booked: 1,
      rejected: 0,
      returned: 0,
      repeated: 0,
      unmatched: [],
      undelivered: [],
    })
    expect(await importText(booking)).toEqual({
      booked: 0,
      rejected: 0,
      returned: 0,
      repeated: 1,
      unmatched: [],
      undelivered: [],
    })
    expect(await record(body.payId)).toMatchObject({ status: 'OK' })
    const back = {
      reference: 'R1',
      cents: 1300,
      charges: 300,
      direction: 'DBIT',
      endToEndId,
      reason: 'MD06',
    } as const
    expect(await importText(statement([back], { message: '054' }))).toMatchObject({ returned: 1 })
    expect(await importText(statement([back]))).toMatchObject({ returned: 0, repeated: 1 })
    const lines = await queryRows(
      gateway.databaseUrl,
      `SELECT type, gross, fee, net FROM settlement_line WHERE replace(pay_id::text, '-', '') = '${body.payId}' ORDER BY type`,
    )
    expect(lines).toEqual([
      { type: 'CAPTURE', gross: '1000', fee: '0', net: '1000' },
      { type: 'CHARGEBACK', gross: '-1000', fee: '0', net: '-1000' },
      { type: 'FEE', gross: '0', fee: '300', net: '-300' },
    ])
    const paid = await record(body.payId)
    expect(paid).toMatchObject({ status: 'OK', amount: { returnedValue: 1000 } })
    const operation = { type: 'RETURN', responseCode: '23000357', reasonCode: 'MD06' }
    expect(paid.operations.at(-1)).toMatchObject(operation)
    const { data } = (await gateway.call('GET', `/events?payId=${body.payId}`)).body
    expect(data.find(({ type }: { type: string }) => type === 'debit.returned')?.body).toMatchObject({
      operation,
    })
  })

  test('is returned once when the files of one import report the return under two references', async () => {
    await batch()
    const { body } = await debit()
    const endToEndId = endToEndIdIn((await batch())[0])
    await importText(statement([{ reference: 'T1', cents: 1000, endToEndId }]))
    const back = { cents: 1000, direction: 'DBIT', endToEndId, reason: 'AM04' } as const
    const paths = ['notified', 'stated'].map(reference =>
      commands.file(`${reference}-${++number}.xml`, statement([{ reference, ...back }])),
    )
    expect(await stage.import(...paths)).toMatchObject({
      ...{ booked: 0, returned: 1, repeated: 1, unmatched: [] },
    })
    const { amount, operations } = await record(body.payId)
    expect(amount).toMatchObject({ capturedValue: 1000, returnedValue: 1000 })
    expect(operations.filter(({ type }: { type: string }) => type === 'RETURN')).toHaveLength(1)
    const lines = await queryRows(
      gateway.databaseUrl,
      `SELECT 1 FROM settlement_line WHERE replace(pay_id::text, '-', '') = '${body.payId}' AND type = 'CHARGEBACK'`,
    )
    expect(lines).toHaveLength(1)
  })

  test('is returned in full after a partial refund', async () => {
    await batch()
    const { body } = await debit()
    const debited = endToEndIdIn((await batch())[0])
    await importText(statement([{ reference: 'W1', cents: 1000, endToEndId: debited }]))
    await gateway.call('POST', `/payments/${body.payId}/refunds`, {
      transId: `debit-${++number}-r`,
      amount: { value: 400, currency: 'EUR' },
    })
    const refunded = endToEndIdIn((await batch())[0])
    const entries = [
      { reference: 'W2', cents: 400, direction: 'DBIT', endToEndId: refunded },
      { reference: 'W3', cents: 1000, direction: 'DBIT', endToEndId: debited, reason: 'MD06' },
    ] as const
    expect(await importText(statement(entries))).toMatchObject({ booked: 1, returned: 1, unmatched: [] })
    const paid = await record(body.payId)
    expect(paid).toMatchObject({ status: 'OK', amount: { refundedValue: 400, returnedValue: 1000 } })
    expect(paid.operations.at(-1)).toMatchObject({ type: 'RETURN', amount: { value: 1000 } })
    expect(await commands.json('doctor')).toMatchObject({ healthy: true })
    const range = ['--from', '2026-01-01', '--to', '2199-01-01']
    const reconciled = await commands.json('reconcile', '--account', accountId, ...range)
    expect(reconciled.amountsDiffer).toEqual([])
  })

  test('cannot be refunded after it was returned', async () => {
    await batch()
    const { body } = await debit()
    const endToEndId = endToEndIdIn((await batch())[0])
    await importText(statement([{ reference: 'N1', cents: 1000, endToEndId }]))
    const refund = { transId: `debit-${++number}-r`, amount: { value: 400, currency: 'EUR' } }
    const waiting = await gateway.call('POST', `/payments/${body.payId}/refunds`, refund)
    expect(waiting.body).toMatchObject({ status: 'PENDING' })
    const back = { reference: 'N2', cents: 1000, direction: 'DBIT', endToEndId, reason: 'MD06' } as const
    expect(await importText(statement([back]))).toMatchObject({ returned: 1 })
    expect(await batch()).toEqual([])
    const left = await record(body.payId)
    expect(left).toMatchObject({ status: 'OK', amount: { refundedValue: 0, returnedValue: 1000 } })
    const failed = { xId: waiting.body.xId, type: 'REFUND', status: 'FAILED', responseCode: '23000312' }
    expect(left.operations).toContainEqual(expect.objectContaining(failed))
    const { data } = (await gateway.call('GET', `/events?payId=${body.payId}`)).body
    const told = data.filter(({ type }: { type: string }) => type === 'refund.failed')
    expect(told).toMatchObject([{ body: { operation: failed } }])
    expect(await batch()).toEqual([])
    expect(await commands.json('doctor')).toMatchObject({ healthy: true })
  })

  test.each([
    ['debit by debit, the returns first', false],
    ['as one sum', true],
  ])(
    'has a line of the day of each when one statement has its booking and its return: %s',
    async (_, inSum) => {
      await batch()
      for (let debits = 0; debits < 5; debits++) await debit()
      const [file] = await batch()
      const ids = [...textOf(file).matchAll(/<EndToEndId>(\w+)</g)].map(([, id]) => id ?? '')
      const blockId = /<PmtInfId>(\w+)</.exec(textOf(file))?.[1]
      const bookings = inSum
        ? [{ reference: 'sum', cents: 5000, blockId }]
        : ids.map((endToEndId, at) => ({ reference: `both-${at}`, cents: 1000, endToEndId }))
      const returns = ids.map((endToEndId, at) => ({
        ...{ reference: `back-${inSum}-${at}`, cents: 1000, endToEndId, date: '2026-11-20' },
        ...({ direction: 'DBIT', reason: 'AM04' } as const),
      }))
      const entries = inSum ? [...bookings, ...returns] : [...returns, ...bookings]
      expect(await importText(statement(entries))).toMatchObject({ booked: 5, returned: 5, unmatched: [] })
      const lines = await queryRows(
        gateway.databaseUrl,
        `SELECT type, date::text, count(*)::int AS lines, count(DISTINCT x_id)::int AS debits FROM settlement_line
       WHERE replace(x_id::text, '-', '') IN ('${ids.join("', '")}') GROUP BY type, date ORDER BY type, date`,
      )
      expect(lines).toEqual([
        { type: 'CAPTURE', date: '2026-11-17', lines: 5, debits: 5 },
        { type: 'CHARGEBACK', date: '2026-11-20', lines: 5, debits: 5 },
      ])
    },
  )

  test('fails when the bank rejects it', async () => {
    const { body } = await debit()
    const [file] = await batch()
    const text = textOf(file)
    const endToEndId = /<EndToEndId>(\w+)</.exec(text)?.[1] ?? ''
    const messageId = /<MsgId>(\w+)</.exec(text)?.[1] ?? ''
    const report = statusReport(messageId, [{ endToEndId, reason: 'AM04' }])
    expect(await importText(report)).toMatchObject({ rejected: 1, unmatched: [] })
    expect(await importText(report)).toMatchObject({ rejected: 0, repeated: 1 })
    // A second report on the same message, e.g. the clearing house's after the bank's.
    const second = report.replaceAll('01</OrgnlPmtInfId>', '1</OrgnlPmtInfId>').replace('AM04', 'AM05')
    expect(await importText(second)).toMatchObject({ rejected: 0, repeated: 1, unmatched: [] })
    const left = await record(body.payId)
    expect(left).toMatchObject({ status: 'AUTHORIZED' })
    expect(left.operations.at(-1)).toMatchObject({ type: 'CAPTURE', status: 'FAILED', reasonCode: 'AM04' })
  })
})

describe('a debit of a customer who is deleted before the file is made', () => {
  const customerOf = (merchantCustomerId: string) => ({
    customerInfo: { merchantCustomerId, email: 'ann@shop.example' },
  })

  test('is collected without the name if the personal data was erased, and so are the account’s other debits', async () => {
    // Another customer has the same account, so its number survives the deletion.
    const [erased, other] = [await debit(customerOf('erased')), await debit(customerOf('other'))]
    const { gatewayCustomerId } = erased.body.customerInfo
    const deleted = await gateway.call('DELETE', `/customers/${gatewayCustomerId}?erase=payments`)
    expect(deleted.status, deleted.text).toBe(200)
    const [file] = await batch()
    expect(file).toMatchObject({ payments: 2, sum: 2000 })
    const text = textOf(file)
    expect(text.match(/<Dbtr><Nm>[^<]*/g)).toEqual(['<Dbtr><Nm>NOTPROVIDED', '<Dbtr><Nm>Ann Mueller'])
    expect((await record(other.body.payId)).status).toBe('CAPTURE_REQUEST')
  })

  test.each(['', '?erase=payments'])(
    'is collected, and the number is destroyed once it is in the file: DELETE%s',
    async erase => {
      const { body } = await debit(customerOf('gone'), {
        account: { number: testIbans.returned, accountHolderName: 'Ann Müller' },
      })
      const { gatewayCustomerId } = body.customerInfo
      const path = `/customers/${gatewayCustomerId}`
      const [{ pseudoBankAccountNumber }] = (await gateway.call('GET', `${path}/paymentMethods`)).body.data
      expect((await gateway.call('DELETE', `${path}${erase}`)).status).toBe(200)
      const again = { account: { number: pseudoBankAccountNumber, accountHolderName: 'Ann Müller' } }
      expect((await debit({}, again)).status).toBe(400)
      const { deleteUnused } = gateway.gateway.engine.customers
      expect(await deleteUnused()).toBe(0)
      expect(await batch()).toMatchObject([{ type: 'pain.008.001.08', payments: 1, sum: 1000 }])
      expect(await record(body.payId)).toMatchObject({ status: 'CAPTURE_REQUEST' })
      expect(await deleteUnused()).toBe(1)
    },
  )

  test('refunds whose payer was blanked by the retention are paid', async () => {
    const { body } = await debit(customerOf('old'))
    await importText(
      statement([{ cents: 1000, endToEndId: endToEndIdIn((await batch())[0]), reference: 'OLD' }]),
    )
    await gateway.gateway.merchants.set(gateway.merchantId, { personalDataFor: 'P30D' })
    const { status, text } = await gateway.call('POST', '/test/clock', { advance: 'P31D' })
    expect(status, text).toBe(200)
    await gateway.gateway.merchants.set(gateway.merchantId, { personalDataFor: null })
    const refund = await gateway.call('POST', `/payments/${body.payId}/refunds`, {
      transId: 'back',
      amount: { value: 1000, currency: 'EUR' },
    })
    expect(refund.status, refund.text).toBe(200)
    expect(await batch()).toMatchObject([{ type: 'pain.001.001.09', payments: 1, sum: 1000 }])
  })
})

test('303 on our page the customer agrees to our mandate and is debited with the next batch', async () => {
  const begun = await gateway.call('POST', '/payments', {
    transId: 'page-1',
    amount: { value: 700, currency: 'EUR' },
    language: 'de',
    urls: { return: 'https://shop.example/back', cancel: 'https://shop.example/cancel' },
    paymentMethods: { integrationType: 'HOSTED', type: 'DIRECTDEBIT' },
  })
  const href = begun.body._links.redirect.href
  const html = await (await fetch(href)).text()
  expect(html).toContain(creditorId)
  expect(html).toContain('Müller &amp; Söhne GmbH')
  expect(html).toContain(begun.body.payId)
  const attempt = /name="attempt" value="([^"]*)"/.exec(html)?.[1] ?? ''
  const entries = {
    type: 'DIRECTDEBIT',
    accountHolder: 'Ada King',
    iban: testIbans.good,
    consent: 'yes',
    attempt,
  }
  const sent = await fetch(href, { method: 'POST', body: new URLSearchParams(entries), redirect: 'manual' })
  expect(sent.status).toBe(303)
  expect(await record(begun.body.payId)).toMatchObject({
    status: 'CAPTURE_REQUEST',
    paymentMethods: { directDebit: { mandateId: begun.body.payId } },
  })
  const [file] = await batch()
  expect(textOf(file)).toContain(`<MndtId>${begun.body.payId}</MndtId>`)
})

test('a payout and a capture with its own mandate are in the next batch', async () => {
  await batch()
  const payout = await gateway.call('POST', '/payments/refunds', {
    transId: 'payout-1',
    amount: { value: 123, currency: 'EUR' },
    paymentMethods: {
      directDebit: { account: { number: testIbans.good, accountHolderName: 'Ann Müller' } },
    },
  })
  expect(payout.body).toMatchObject({ status: 'PENDING' })
  const manual = await debit({ captureMethod: { type: 'MANUAL' } })
  expect(manual.body).toMatchObject({ status: 'AUTHORIZED' })
  const captured = await gateway.call('POST', `/payments/${manual.body.payId}/captures`, {
    transId: `debit-${++number}-c`,
    amount: { value: 400, currency: 'EUR' },
    paymentMethods: { directDebit: { mandateId: 'OWN-1', dateOfSignature: '02.11.2026' } },
  })
  expect(captured.body).toMatchObject({ status: 'PENDING' })
  const files = await batch()
  expect(files).toMatchObject([
    { type: 'pain.008.001.08', payments: 1, sum: 400 },
    { type: 'pain.001.001.09', payments: 1, sum: 123 },
  ])
  const text = textOf(files[0])
  expect(text).toContain('<MndtId>OWN-1</MndtId><DtOfSgntr>2026-11-02</DtOfSgntr>')
})

test('after a return for a closed account no further debit is collected under the mandate', async () => {
  const fields = { mandateId: 'CLOSED-1' }
  await batch()
  await debit({}, fields)
  const [file] = await batch()
  const endToEndId = /<EndToEndId>(\w+)</.exec(textOf(file))?.[1] ?? ''
  const closed = { reference: 'CLOSED', cents: 1000, direction: 'DBIT', endToEndId, reason: 'AC04' } as const
  expect(await importText(statement([closed]))).toMatchObject({ returned: 1 })
  const next = await debit({}, fields)
  expect(await batch()).toEqual([])
  expect(await record(next.body.payId)).toMatchObject({ status: 'AUTHORIZED', amount: { capturedValue: 0 } })
  expect(await commands.json('doctor')).toMatchObject({ healthy: true })
})
