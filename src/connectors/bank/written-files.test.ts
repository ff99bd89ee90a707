/**
 * Our files against two judges that are not ours: the ISO schemas through libxml2, and the writer of the package `sepa`,
 * whose file for the same payments must agree with ours field by field.
 */
import SEPA from 'sepa'
import { describe, expect, test } from 'vitest'
import { validateXML } from 'xmllint-wasm'
import { type Transfer, writeCreditTransfers } from '#connectors/bank/credit-transfers.ts'
import { type Debit, writeDirectDebits } from '#connectors/bank/direct-debits.ts'
import type { BlockHeader, FileHeader } from '#connectors/bank/initiation.ts'
import { isoFile, isoFilesAbsent } from '#connectors/bank/iso-files.test-support.ts'

const creditor = {
  name: 'Müller & Söhne GmbH',
  iban: 'DE89370400440532013000',
  creditorId: 'DE98ZZZ09999999999',
}
const block = (blockId: string, sequenceType: BlockHeader['sequenceType'], sums: number[]): BlockHeader => ({
  blockId,
  day: '2026-11-17',
  ...(sequenceType ? { sequenceType } : {}),
  payments: sums.length,
  sum: BigInt(sums.reduce((a, b) => a + b, 0)),
})
const header = (blocks: readonly BlockHeader[]): FileHeader => ({
  messageId: 'D0123456789abcdef0123456789abcdef',
  createdAt: new Date('2026-11-16T09:00:00Z'),
  creditor,
  batchBooking: true,
  blocks,
})

const debit: Debit = {
  endToEndId: '0123456789abcdef0123456789abcdef',
  cents: 5023,
  mandateId: 'MANDATE-1',
  signedOn: '2026-02-01',
  debtorName: 'Zoë <Ångström>',
  debtorIban: 'NL91ABNA0417164300',
  debtorBic: 'ABNANL2A',
  remittance: 'Rechnung 54 & mehr',
}
const amended: Debit = {
  ...debit,
  cents: 1,
  endToEndId: 'ffff',
  amendment: { originalCreditorId: 'IT66ZZZA1B2C3D4E5F6G7H8', originalCreditorName: 'Old', newAccount: true },
}
const transfer: Transfer = {
  endToEndId: 'aaaa',
  cents: 99,
  payeeName: 'Ivan',
  payeeIban: 'NL91ABNA0417164300',
  remittance: 'Refund of order 5',
}

async function join(pieces: AsyncIterable<string>): Promise<string> {
  let text = ''
  for await (const piece of pieces) text += piece
  return text
}
const paged = <T>(pages: Readonly<Record<string, readonly T[]>>) =>
  async function* ({ blockId }: BlockHeader): AsyncGenerator<readonly T[]> {
    for (const item of pages[blockId] ?? []) yield [item]
  }

const debitFile = (): Promise<string> =>
  join(
    writeDirectDebits(
      header([block('B01', 'OOFF', [5023]), block('B02', 'RCUR', [5023, 1])]),
      paged({ B01: [debit], B02: [debit, amended] }),
    ),
  )
const transferFile = (): Promise<string> =>
  join(writeCreditTransfers(header([block('T01', undefined, [99])]), paged({ T01: [transfer] })))

describe.skipIf(isoFilesAbsent)('the ISO schema', () => {
  const validate = (schema: string, contents: string) =>
    validateXML({
      xml: [{ fileName: 'file.xml', contents }],
      schema: [isoFile(schema).toString()],
    })

  test('accepts our direct debits', async () => {
    expect(await validate('pain.008.001.08.xsd', await debitFile())).toMatchObject({
      valid: true,
      errors: [],
    })
  })

  test('accepts our credit transfers', async () => {
    expect(await validate('pain.001.001.09.xsd', await transferFile())).toMatchObject({
      valid: true,
      errors: [],
    })
  })

  test('would refuse a wrong amount', async () => {
    const broken = (await debitFile()).replace('50.23', '50,23')
    expect(await validate('pain.008.001.08.xsd', broken)).toMatchObject({ valid: false })
  })
})

/** Every element with text inside and the path to it, for a comparison that does not care about white space. */
function leavesOf(xml: string): [string, string][] {
  const path: string[] = []
  const leaves: [string, string][] = []
  for (const [, close, open, text] of xml.matchAll(/<(?:\/([A-Za-z0-9]+)|([A-Za-z0-9]+)[^>]*)>([^<]*)/g)) {
    if (close !== undefined) path.pop()
    else path.push(open ?? '')
    if (close === undefined && text?.trim()) leaves.push([path.join('/'), text.trim()])
  }
  return leaves
}

describe('another writer', () => {
  test('writes the same direct debit, field by field', async () => {
    const doc = new SEPA.Document('pain.008.001.08')
    doc.grpHdr.id = 'D0123456789abcdef0123456789abcdef'
    doc.grpHdr.created = new Date('2026-11-16T09:00:00Z')
    doc.grpHdr.initiatorName = 'Mueller + Soehne GmbH'
    const info = doc.createPaymentInfo()
    info.id = 'B01'
    info.collectionDate = new Date('2026-11-17T00:00:00Z')
    info.creditorIBAN = creditor.iban
    info.creditorName = 'Mueller + Soehne GmbH'
    info.creditorId = creditor.creditorId
    info.batchBooking = true
    info.sequenceType = 'OOFF'
    info.localInstrumentation = 'CORE'
    doc.addPaymentInfo(info)
    const tx = info.createTransaction()
    tx.debtorName = 'Zoe .Angstroem.'
    tx.debtorIBAN = debit.debtorIban
    tx.debtorBIC = debit.debtorBic ?? ''
    tx.mandateId = debit.mandateId
    tx.mandateSignatureDate = new Date('2026-02-01T00:00:00Z')
    tx.amount = 50.23
    tx.remittanceInfo = 'Rechnung 54 + mehr'
    tx.end2endId = debit.endToEndId
    info.addTransaction(tx)
    const theirs = new Map(leavesOf(doc.toString()))
    const ours = new Map(
      leavesOf(
        await join(writeDirectDebits(header([block('B01', 'OOFF', [5023])]), paged({ B01: [debit] }))),
      ),
    )
    const differing = [...new Set([...theirs.keys(), ...ours.keys()])]
      .filter(path => theirs.get(path) !== ours.get(path))
      .map(path => [path.split('/').slice(2).join('/'), theirs.get(path), ours.get(path)])
    // They write local time, ids with a counter, and say of every debit that its mandate has not changed.
    expect(differing).toEqual([
      ['GrpHdr/CreDtTm', '2026-11-16T09:00:00', '2026-11-16T09:00:00Z'],
      ['PmtInf/PmtInfId', 'D0123456789abcdef0123456789abcdef.B01', 'B01'],
      ['PmtInf/DrctDbtTxInf/PmtId/InstrId', 'D0123456789abcdef0123456789abcdef.B01.0', undefined],
      ['PmtInf/DrctDbtTxInf/DrctDbtTx/MndtRltdInf/AmdmntInd', 'false', undefined],
    ])
  })
})

test('a block that does not hold what its header says is never finished', async () => {
  const file = join(writeDirectDebits(header([block('B01', 'OOFF', [1])]), paged({ B01: [debit] })))
  await expect(file).rejects.toThrow('block B01 announces 1 payments of 1 cents and holds 1 of 5023')
})

test('the same batch gives the same bytes', async () => {
  expect(await debitFile()).toBe(await debitFile())
})
