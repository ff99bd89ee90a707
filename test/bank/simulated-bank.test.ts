/** A month in a minute: debits, the simulated bank, and payments on the test clock. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { validateXML } from 'xmllint-wasm'
import { isoFile, isoFilesAbsent } from '#connectors/bank/iso-files.test-support.ts'
import { examine } from '#storage/doctor/doctor.ts'
import { testIbans } from '#test/support/bank/debits.ts'
import { statusReport } from '#test/support/bank/files.ts'
import { type BankStage, openBankStage } from '#test/support/bank/stage.ts'
import type { CommandsHere } from '#test/support/command-here.ts'
import type { TestGateway } from '#test/support/gateway.ts'

let stage: BankStage
let gateway: TestGateway
let commands: CommandsHere
let accountId: string
beforeAll(async () => {
  stage = await openBankStage('--set', 'approveAfterDays=5', '--set', 'preNotificationDays=2')
  ;({ gateway, commands, accountId } = stage)
})
afterAll(() => stage.close())

const debit = async (transId: string, iban: string) =>
  (
    await gateway.call('POST', '/payments', {
      transId,
      amount: { value: 2500, currency: 'EUR' },
      paymentMethods: {
        integrationType: 'DIRECT',
        type: 'DIRECTDEBIT',
        directDebit: {
          account: { number: iban, accountHolderName: 'Ann Müller' },
          mandateId: `M-${transId}`,
          dateOfSignature: '01.11.2026',
        },
      },
    })
  ).body.payId
const record = async (payId: string) => (await gateway.call('GET', `/payments/getByPayId/${payId}`)).body
const advance = (duration: string) => gateway.call('POST', '/test/clock', { advance: duration })
const simulate = async () => {
  const { files } = await commands.json(
    'bank',
    'simulate',
    '--account',
    accountId,
    '--out',
    join(commands.folder, 'bank'),
  )
  return files as string[]
}

test('after a month of debits at the simulated bank both books are equal', async () => {
  const [good, rejected, returned] = [
    await debit('good', testIbans.good),
    await debit('rejected', testIbans.rejected),
    await debit('returned', testIbans.returned),
  ]
  const { files } = await commands.json(
    'bank',
    'batch',
    '--account',
    accountId,
    '--out',
    join(commands.folder, 'out'),
  )
  expect(files).toMatchObject([{ payments: 3, sum: 7500 }])
  const [dueDate] = readFileSync(files[0].path, 'utf8').match(/(?<=<ReqdColltnDt>)[^<]+/) ?? []

  const reports = await simulate()
  expect(reports).toHaveLength(1)
  expect(await commands.json('bank', 'import', ...reports)).toMatchObject({ rejected: 1, booked: 0 })
  expect(await record(rejected)).toMatchObject({ status: 'AUTHORIZED' })
  expect(await record(good)).toMatchObject({ status: 'CAPTURE_REQUEST' })

  await advance('P6D')
  const booked = await simulate()
  expect(await commands.json('bank', 'import', ...booked)).toMatchObject({ booked: 2, unmatched: [] })
  expect(await record(good)).toMatchObject({
    status: 'OK',
    amount: { capturedValue: 2500, returnedValue: 0 },
  })

  await advance('P20D')
  const all = await simulate()
  const last = await commands.json('bank', 'import', ...all.toReversed())
  expect(last).toMatchObject({ booked: 0, rejected: 0, unmatched: [] })
  expect(await record(returned)).toMatchObject({
    status: 'OK',
    amount: { capturedValue: 2500, returnedValue: 2500 },
  })
  expect(await commands.json('bank', 'import', ...all)).toMatchObject({
    booked: 0,
    rejected: 0,
    returned: 0,
    unmatched: [],
  })

  const events = await gateway.call('GET', `/events?payId=${good}`)
  const announced = events.body.data?.find((event: { type: string }) => event.type === 'debit.announced')
  expect(announced?.body).toMatchObject({
    type: 'debit.announced',
    mandateId: 'M-good',
    creditorId: 'DE98ZZZ09999999999',
    dueDate,
    operation: { type: 'CAPTURE', status: 'PENDING', amount: { value: 2500, currency: 'EUR' } },
  })

  if (!isoFilesAbsent)
    for (const path of all.filter(name => name.includes('camt'))) {
      const type = /camt\.05[34]/.exec(path)?.[0]
      const schema = [isoFile(`${type}.001.08.xsd`).toString()]
      const xml = [{ fileName: 'file.xml', contents: readFileSync(path, 'utf8') }]
      expect(await validateXML({ xml, schema })).toMatchObject({ valid: true, errors: [] })
    }
})

test('without a report of the bank a debit counts as paid after approveAfterDays', async () => {
  const payId = await debit('silent', testIbans.good)
  await commands.json('bank', 'batch', '--account', accountId, '--out', join(commands.folder, 'out2'))
  await advance('P1D')
  expect(await record(payId)).toMatchObject({ status: 'CAPTURE_REQUEST' })
  await advance('P20D')
  expect(await record(payId)).toMatchObject({ status: 'OK' })
})

/** A debit that counted as paid without a report, and the file in which the bank had rejected it. */
async function paidSilently(name: string): Promise<{ payId: string; rejection: string }> {
  const payId = await debit(name, testIbans.good)
  const { files } = await commands.json(
    ...['bank', 'batch', '--account', accountId, '--out', join(commands.folder, name)],
  )
  await advance('P21D')
  const paid = await record(payId)
  expect(paid).toMatchObject({ status: 'OK', amount: { capturedValue: 2500 } })
  const [, messageId = ''] = /<MsgId>(\w+)</.exec(readFileSync(files[0].path, 'utf8')) ?? []
  const report = statusReport(messageId, [{ endToEndId: paid.operations.at(-1).xId, reason: 'AC04' }])
  return { payId, rejection: commands.file(`${name}.xml`, report) }
}

const eventsOf = async (payId: string): Promise<string[]> =>
  (await gateway.call('GET', `/events?payId=${payId}`)).body.data.map(({ type }: { type: string }) => type)

const expectHealthy = async () =>
  expect((await examine(gateway.databaseUrl)).filter(({ found }) => found > 0)).toEqual([])

test('a debit that counted as paid fails when the bank’s rejection is imported', async () => {
  const { payId, rejection } = await paidSilently('rejectedLate')
  const imported = await commands.json('bank', 'import', rejection)
  expect(imported).toMatchObject({ rejected: 1, unmatched: [] })
  expect(await record(payId)).toMatchObject({
    status: 'AUTHORIZED',
    amount: { capturedValue: 0 },
    operations: [{ type: 'AUTHORIZATION' }, { type: 'CAPTURE', status: 'FAILED' }],
  })
  expect(await eventsOf(payId)).toContain('capture.failed')
  await expectHealthy()
  expect(await commands.json('bank', 'import', rejection)).toMatchObject({ rejected: 0, unmatched: [] })
})

test('a rejected debit that is about to be refunded is returned, and the refund is not paid', async () => {
  const { payId, rejection } = await paidSilently('refundedLate')
  const refund = { transId: 'refundedLate-r', amount: { value: 2500, currency: 'EUR' } }
  expect((await gateway.call('POST', `/payments/${payId}/refunds`, refund)).status).toBe(200)
  expect(await commands.json('bank', 'import', rejection)).toMatchObject({ rejected: 1, unmatched: [] })
  const { files } = await commands.json(
    ...['bank', 'batch', '--account', accountId, '--out', join(commands.folder, 'refundedLate-out')],
  )
  expect(files).toEqual([])
  const { operations } = await record(payId)
  expect(operations.map(({ type, status }: Record<string, string>) => [type, status])).toEqual([
    ['AUTHORIZATION', 'OK'],
    ['CAPTURE', 'OK'],
    ['REFUND', 'FAILED'],
    ['RETURN', 'OK'],
  ])
  await expectHealthy()
})
