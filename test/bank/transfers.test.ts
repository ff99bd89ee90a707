/** Money that customers send: found by its reference, too little, too much, and what nobody waits for. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { testIbans } from '#test/support/bank.ts'
import { statement, type TestEntry } from '#test/support/bank-files.ts'
import { type BankStage, openBankStage } from '#test/support/bank-stage.ts'
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
  commands.json(
    ...[
      'bank',
      'import',
      commands.file(
        `s${++number}.xml`,
        statement(entries.map((entry, at) => ({ reference: `I${number}-${at}`, payer, ...entry }))),
      ),
    ],
  )

test('200 with instructions; the whole amount pays it, whatever case and blanks', async () => {
  const made = await order('SEPACREDITTRANSFER', 'Order-2026/77')
  expect(made.status).toBe('AUTHORIZE_REQUEST')
  expect(await arrive({ cents: 1000, text: 'thanks for order 2026 77' })).toMatchObject({
    booked: 1,
    unmatched: [],
  })
  const paid = await record(made.payId)
  expect(paid).toMatchObject({ status: 'OK', amount: { capturedValue: 1000, receivedValue: 1000 } })
})

test('too little stays PENDING, the rest makes it OK', async () => {
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

test('too much is OK, and the surplus goes back with the next batch', async () => {
  const made = await order('INVOICE', 'much-1')
  const reference = JSON.stringify(await record(made.payId)).match(/RF[0-9]{2}[A-Z0-9]{12}/)?.[0]
  expect(reference).toBeDefined()
  await arrive({ cents: 1250, text: `Rechnung ${reference?.replace(/(.{4})/g, '$1 ')}` })
  expect(await record(made.payId)).toMatchObject({
    status: 'OK',
    amount: { receivedValue: 1250, capturedValue: 1000 },
  })
  const { files } = await commands.json(
    'bank',
    'batch',
    '--account',
    accountId,
    '--out',
    join(commands.folder, 'o'),
  )
  expect(files).toMatchObject([{ type: 'pain.001.001.09', payments: 1, sum: 250 }])
  const text = readFileSync(files[0].path, 'utf8')
  expect(text).toContain(`<IBAN>${testIbans.good}</IBAN>`)
  expect(text).toContain('<Nm>Ann Mueller</Nm>')
})

test('what fits nothing is listed and never guessed', async () => {
  const made = await order('SEPACREDITTRANSFER', 'guess-1')
  const report = await arrive(
    { cents: 1000, text: 'guess 2' },
    { cents: 70, direction: 'DBIT', text: 'Kontogebühr' },
  )
  expect(report).toMatchObject({
    booked: 0,
    unmatched: [{ direction: 'CRDT', amount: { value: 1000, currency: 'EUR' } }, { direction: 'DBIT' }],
  })
  expect(await record(made.payId)).toMatchObject({ status: 'AUTHORIZE_REQUEST' })
})

test('a refund goes to the account that paid, with the next batch', async () => {
  const made = await order('SEPACREDITTRANSFER', 'refund-1')
  await arrive({ cents: 1000, text: 'refund-1' })
  const back = await gateway.call('POST', `/payments/${made.payId}/refunds`, {
    transId: 'refund-1-r',
    amount: { value: 300, currency: 'EUR' },
  })
  expect(back.body).toMatchObject({ status: 'PENDING' })
  const { files } = await commands.json(
    'bank',
    'batch',
    '--account',
    accountId,
    '--out',
    join(commands.folder, 'r'),
  )
  expect(files).toMatchObject([{ type: 'pain.001.001.09', payments: 1, sum: 300 }])
  const endToEndId = /<EndToEndId>(\w+)</.exec(readFileSync(files[0].path, 'utf8'))?.[1]
  expect(await arrive({ cents: 300, direction: 'DBIT', endToEndId })).toMatchObject({ booked: 1 })
  expect(await record(made.payId)).toMatchObject({ amount: { refundedValue: 300 } })
  await arrive({ cents: 300, endToEndId, reason: 'AC04' })
  const after = await record(made.payId)
  expect(after).toMatchObject({ amount: { refundedValue: 0 } })
  expect(after.operations.at(-1)).toMatchObject({ type: 'REFUND', status: 'FAILED' })
})
