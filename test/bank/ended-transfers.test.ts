/** Payments that end while their money is being imported: the money is given back, exactly once. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Bank, BankCrashPoint } from '#operations/bank/bank.ts'
import { testIbans } from '#test/support/bank/debits.ts'
import { statement, statusReport } from '#test/support/bank/files.ts'
import { type BankStage, importFiles, openBankStage } from '#test/support/bank/stage.ts'
import { signUp } from '#test/support/browser/console.ts'
import type { CommandsHere } from '#test/support/command-here.ts'
import type { TestGateway } from '#test/support/gateway.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

let stage: BankStage
let gateway: TestGateway
let commands: CommandsHere
beforeAll(async () => {
  stage = await openBankStage()
  ;({ gateway, commands } = stage)
})
afterAll(() => stage.close())

/** An order of 10 euros, with a method that allows refunds or one that does not. */
const order = async (method: string, transId: string): Promise<string> => {
  const [type, key] =
    method === 'a refundable method' ? ['SEPACREDITTRANSFER', 'sepaCreditTransfer'] : ['INVOICE', 'invoice']
  const { body } = await gateway.call('POST', '/payments', {
    transId,
    amount: { value: 1000, currency: 'EUR' },
    ...(type === 'INVOICE' ? { captureMethod: { type: 'MANUAL' } } : {}),
    paymentMethods: { integrationType: 'DIRECT', type, [key as string]: {} },
  })
  return body.payId
}

const cancel = async (payId: string): Promise<void> => {
  const { status } = await gateway.call('POST', `/payments/${payId}/cancellations`, {})
  expect(status).toBe(200)
}

const fileWith = (text: string, cents: number): string => {
  const payer = { name: 'Ann Mueller', iban: testIbans.good }
  return commands.file(`${text}.xml`, statement([{ reference: text, cents, text, payer }]))
}

const bankThat = (act: (point: BankCrashPoint) => void | Promise<void>): Bank => ({
  ...gateway.gateway.bank,
  testCrash: act,
})

const givenBack = async (folder: string) => {
  const files = await stage.batch(folder)
  return files.map(({ payments, sum }) => ({ payments, sum }))
}

const linesOf = async (payId: string) => {
  const { body } = await gateway.call('GET', `/settlements?payId=${payId}`)
  return body.data.map(({ type, gross }: Record<string, unknown>) => [type, gross]).toSorted()
}

const expectEnded = async (payId: string, received: number, folder: string): Promise<void> => {
  const { body } = await gateway.call('GET', `/payments/getByPayId/${payId}`)
  expect(body).toMatchObject({
    status: 'FAILED',
    amount: { capturedValue: 0, receivedValue: received, refundedValue: 0 },
  })
  expect(await linesOf(payId)).toEqual([['RESERVE', received]])
  expect(await givenBack(folder)).toEqual([{ payments: 1, sum: received }])
  expect(await givenBack(`${folder}-again`)).toEqual([])
  const range = ['--from', '2026-01-01', '--to', '2199-01-01']
  expect(await commands.json('reconcile', '--account', stage.accountId, ...range)).toEqual({
    oursWithoutTheirs: [],
    theirsWithoutOurs: [],
    amountsDiffer: [],
  })
  expect(await commands.json('doctor')).toMatchObject({ healthy: true })
}

let orders = 0
const methods = ['a refundable method', 'a method without refunds']
const amounts = [
  { much: 'the amount', cents: 1000 },
  { much: 'more than the amount', cents: 1200 },
]
const cases = methods.flatMap(method => amounts.map(amount => ({ method, ...amount })))

test.each(cases)(
  '$much by $method is given back once when the payment ends at that moment',
  async ({ method, cents }) => {
    const name = `meanwhile ${++orders}`
    const payId = await order(method, name)
    const path = fileWith(name, cents)
    const bank = bankThat(async point => {
      if (point === 'receiptKept') await cancel(payId)
    })
    expect(await importFiles([path], bank)).toMatchObject({ booked: 1, unmatched: [] })
    await expectEnded(payId, cents, name)
  },
)

test.each(cases)(
  '$much by $method is given back once when the payment ends after a crash',
  async ({ method, cents }) => {
    const name = `crashed ${++orders}`
    const payId = await order(method, name)
    const path = fileWith(name, cents)
    const dying = bankThat(point => {
      if (point === 'receiptKept') throw new Error(`died at ${point}`)
    })
    await expect(importFiles([path], dying)).rejects.toThrow('died')
    await cancel(payId)
    await importFiles([path], gateway.gateway.bank)
    await expectEnded(payId, cents, name)
  },
)

test('late money that is being given back when the process crashes is not kept, even if the setting allows it by then', async () => {
  const name = `late ${++orders}`
  const payId = await order('a method without refunds', name)
  const { text } = await gateway.call('GET', `/payments/getByPayId/${payId}`)
  await cancel(payId)
  const newer = await order('a method without refunds', name)
  const path = fileWith(/RF[0-9]{2}[A-Z0-9]{12}/.exec(text)?.[0] ?? '', 1000)
  await gateway.gateway.merchants.set(gateway.merchantId, { paidLate: 'keep' })
  const dying = bankThat(point => {
    if (point === 'entryApplied') throw new Error(`died at ${point}`)
  })
  await expect(importFiles([path], dying)).rejects.toThrow('died')
  await cancel(newer)
  expect(await importFiles([path], gateway.gateway.bank)).toMatchObject({ booked: 1, unmatched: [] })
  await gateway.gateway.merchants.set(gateway.merchantId, { paidLate: 'return' })
  const { body } = await gateway.call('GET', `/payments/getByPayId/${payId}`)
  expect(body).toMatchObject({ status: 'FAILED', amount: { capturedValue: 0, receivedValue: 1000 } })
  expect(await linesOf(payId)).toEqual([['CORRECTION', 1000]])
  expect(await givenBack(name)).toEqual([{ payments: 1, sum: 1000 }])
  expect(await commands.json('doctor')).toMatchObject({ healthy: true })
})

test.each([
  ['cancelled', 'The payment was cancelled'],
  ['expired', 'This payment page has expired'],
])('410 the page of a %s payment of which a part had arrived says that it goes back', async (end, title) => {
  const name = `page ${++orders}`
  const { body } = await gateway.call('POST', '/payments', {
    transId: name,
    amount: { value: 1000, currency: 'EUR' },
    paymentMethods: { integrationType: 'DIRECT', type: 'SEPACREDITTRANSFER', sepaCreditTransfer: {} },
  })
  await importFiles([fileWith(name, 400)], gateway.gateway.bank)
  if (end === 'cancelled') await cancel(body.payId)
  else await gateway.call('POST', '/test/clock', { advance: 'P31D' })
  const shown = await fetch(body._links.redirect.href)
  const page = await shown.text()
  const texts = /<h1>(.*?)<\/h1>\s*<p class="lead">(.*?)<\/p>/.exec(page)?.slice(1)
  expect([shown.status, texts]).toEqual([410, [title, 'What you have paid is sent back to your account.']])
  expect(await givenBack(name)).toEqual([{ payments: 1, sum: 400 }])
})

test('the console asks before it cancels a payment, and shows the money that has arrived and is given back', async () => {
  const support = await signUp(gateway, { role: 'support' })
  const name = `console ${++orders}`
  const payId = await order('a refundable method', name)
  const page = `/console/m/${gateway.merchantId}/payments/${payId}`
  const action = `${page}/cancellations`
  const ask = async () =>
    /<p>(Cancel this payment\?.*?)<\/p>/.exec(await (await support.post(action)).text())?.[1]
  const warning = 'The customer can no longer pay, and this cannot be undone.'
  expect(await ask()).toBe(`Cancel this payment? ${warning}`)
  await importFiles([fileWith(name, 400)], gateway.gateway.bank)
  const early = await support.post(action, { sure: 'yes', asked: 'Cancel this payment?', key: 'early' })
  expect(early.status).toBe(409)
  expect(await (await support.get(page)).text()).toContain(`href="${action}">Cancel</a>`)
  expect(await ask()).toBe(`Cancel this payment? €4.00 has arrived and goes back. ${warning}`)
  await cancel(payId)
  expect(await givenBack(name)).toEqual([{ payments: 1, sum: 400 }])
})

/** Makes the next try to give late money back due, and runs it. */
const tryAgain = async (payId: string): Promise<void> => {
  await queryRows(
    gateway.databaseUrl,
    `UPDATE timer SET run_at = now() - interval '1 minute' WHERE pay_id = '${payId}'::uuid AND kind = 'GIVE_BACK'`,
  )
  await gateway.gateway.timerWorker.runDue()
}

/** Late money in a file for the bank, and the bank's reports about that transfer. */
async function sentBackLate(name: string) {
  const payId = await order('a refundable method', name)
  await cancel(payId)
  await importFiles([fileWith(name, 1000)], gateway.gateway.bank)
  expect(await givenBack(name)).toEqual([{ payments: 1, sum: 1000 }])
  const [item] = await queryRows<{ name: string; message: string }>(
    gateway.databaseUrl,
    `SELECT replace(x_id::text, '-', '') AS name, message_id AS message FROM bank_item
     JOIN bank_file USING (merchant_id, batch_id) WHERE pay_id = '${payId}'::uuid`,
  )
  const { name: endToEndId = '', message = '' } = item ?? {}
  const tell = (reference: string, entry: { direction: 'CRDT' | 'DBIT'; reason?: string }) => {
    const text = statement([{ reference, cents: 1000, endToEndId, ...entry }])
    return importFiles([commands.file(`${reference}.xml`, text)], gateway.gateway.bank)
  }
  return {
    payId,
    book: async () =>
      expect(await tell(`${name} booked`, { direction: 'DBIT' })).toMatchObject({ booked: 1 }),
    return: async (reason: string) =>
      expect(await tell(`${name} back`, { direction: 'CRDT', reason })).toMatchObject({ returned: 1 }),
    async reject(reason: string) {
      const path = commands.file(`${name} rejected.xml`, statusReport(message, [{ endToEndId, reason }]))
      expect(await importFiles([path], gateway.gateway.bank)).toMatchObject({ rejected: 1 })
    },
  }
}

test('late money that the customer’s bank returns is given back once more', async () => {
  const name = `late ${++orders}`
  const { payId, ...bank } = await sentBackLate(name)
  await bank.book()
  await tryAgain(payId)
  await bank.return('MS03')
  expect(await commands.json('doctor')).toMatchObject({ healthy: true })
  await tryAgain(payId)
  expect(await givenBack(`${name} again`)).toEqual([{ payments: 1, sum: 1000 }])
})

test.each([
  ['comes back', 'AC04'],
  ['comes back', 'AC06'],
  ['is rejected', 'AC01'],
  ['is rejected', 'AG01'],
] as const)(
  'late money that %s with %s is not sent to that account again, and an operator is alerted at once',
  async (how, reason) => {
    const name = `dead end ${++orders}`
    const { payId, ...bank } = await sentBackLate(name)
    if (how === 'is rejected') await bank.reject(reason)
    else {
      await bank.book()
      await bank.return(reason)
    }
    await tryAgain(payId)
    await tryAgain(payId)
    expect(await givenBack(`${name} again`)).toEqual([])
    const { body } = await gateway.call('GET', `/payments/getByPayId/${payId}`)
    expect(body.amount).toMatchObject({ capturedValue: 1000, refundedValue: 0 })
    const refunds = body.operations.filter(({ type }: { type: string }) => type === 'REFUND')
    expect(refunds).toMatchObject([{ status: 'FAILED', reasonCode: reason }])
    const alarms = gateway.logged.filter(line => line.includes('NOT_GIVEN_BACK') && line.includes(payId))
    expect(alarms).toEqual([expect.stringContaining(reason)])
  },
)

describe('an account to which money must be given back', () => {
  let own: BankStage
  beforeAll(async () => {
    own = await openBankStage()
  })
  afterAll(() => own.close())

  test('is removed only after the money is in a file for the bank', async () => {
    const { body } = await own.gateway.call('POST', '/payments', {
      transId: 'late',
      amount: { value: 1000, currency: 'EUR' },
      captureMethod: { type: 'MANUAL' },
      paymentMethods: { integrationType: 'DIRECT', type: 'INVOICE', invoice: {} },
    })
    await own.gateway.call('POST', `/payments/${body.payId}/cancellations`, {})
    const payer = { name: 'Ann Mueller', iban: testIbans.good }
    const text = statement([{ reference: 'LATE', cents: 1000, text: 'late', payer }])
    await importFiles([own.commands.file('late.xml', text)], own.gateway.gateway.bank)
    const remove = () => own.commands.run('provider', 'remove', own.accountId)
    expect(await remove()).toMatchObject({ code: 1, stderr: expect.stringContaining('1 open payments') })
    await own.batch('out')
    expect(await remove()).toMatchObject({ code: 0 })
  })
})
