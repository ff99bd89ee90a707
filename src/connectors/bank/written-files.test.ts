/**
 * Validates our files independently: against the ISO schemas with libxml2, and against the package `sepa`, whose file
 * for the same payments must agree with ours field by field.
 */
import SEPA from 'sepa'
import { describe, expect, test } from 'vitest'
import { validateXML } from 'xmllint-wasm'
import { creditTransferFrame, type Transfer, writeTransfer } from '#connectors/bank/credit-transfers.ts'
import { type Debit, directDebitFrame, writeDebit } from '#connectors/bank/direct-debits.ts'
import { type BlockHeader, type FileFrame, type FileHeader, inOrder } from '#connectors/bank/initiation.ts'
import { isoFile, isoFilesAbsent } from '#connectors/bank/iso-files.test-support.ts'
import { isSepaText } from '#connectors/bank/sepa-text.ts'

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

function assemble<T extends { readonly cents: number }>(
  frameOf: (header: FileHeader) => FileFrame,
  write: (payment: T) => string,
  blocks: readonly (readonly [BlockHeader, readonly T[]])[],
): string {
  const all = header(blocks.map(([block]) => block))
  const bodies = new Map(
    blocks.map(([{ blockId }, payments]) => [
      blockId,
      {
        payments: payments.length,
        sum: payments.reduce((total, { cents }) => total + BigInt(cents), 0n),
        pieces: payments.map(write),
      },
    ]),
  )
  return [...inOrder(all, frameOf(all), ({ blockId }) => bodies.get(blockId))].join('')
}

const debitFile = (): string =>
  assemble(directDebitFrame, writeDebit, [
    [block('B01', 'OOFF', [5023]), [debit]],
    [block('B02', 'RCUR', [5023, 1]), [debit, amended]],
  ])
const transferFile = (): string =>
  assemble(creditTransferFrame, writeTransfer, [[block('T01', undefined, [99]), [transfer]]])

describe.skipIf(isoFilesAbsent)('the ISO schema', () => {
  const validate = (schema: string, contents: string) =>
    validateXML({
      xml: [{ fileName: 'file.xml', contents }],
      schema: [isoFile(schema).toString()],
    })

  test('accepts our direct debits', async () => {
    expect(await validate('pain.008.001.08.xsd', debitFile())).toMatchObject({
      valid: true,
      errors: [],
    })
  })

  test('accepts our credit transfers', async () => {
    expect(await validate('pain.001.001.09.xsd', transferFile())).toMatchObject({
      valid: true,
      errors: [],
    })
  })

  test('would refuse a wrong amount', async () => {
    const broken = debitFile().replace('50.23', '50,23')
    expect(await validate('pain.008.001.08.xsd', broken)).toMatchObject({ valid: false })
  })
})

/** The path and text of every element with text, for a comparison that ignores white space. */
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

describe('a file compared with that of another project', () => {
  test('describes the same direct debit with the same fields', () => {
    const doc = new SEPA.Document('pain.008.001.08')
    // Local time: their writer uses the time zone of the machine.
    doc.grpHdr.id = 'D0123456789abcdef0123456789abcdef'
    doc.grpHdr.created = new Date('2026-11-16T09:00:00')
    doc.grpHdr.initiatorName = 'Mueller + Soehne GmbH'
    const info = doc.createPaymentInfo()
    info.id = 'B01'
    info.collectionDate = new Date('2026-11-17T00:00:00')
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
    tx.mandateSignatureDate = new Date('2026-02-01T00:00:00')
    tx.amount = 50.23
    tx.remittanceInfo = 'Rechnung 54 + mehr'
    tx.end2endId = debit.endToEndId
    info.addTransaction(tx)
    const theirs = new Map(leavesOf(doc.toString()))
    const ours = new Map(
      leavesOf(assemble(directDebitFrame, writeDebit, [[block('B01', 'OOFF', [5023]), [debit]]])),
    )
    const differing = [...new Set([...theirs.keys(), ...ours.keys()])]
      .filter(path => theirs.get(path) !== ours.get(path))
      .map(path => [path.split('/').slice(2).join('/'), theirs.get(path), ours.get(path)])
    // They write local time, ids with a counter, and for every debit that its mandate has not changed.
    expect(differing).toEqual([
      ['GrpHdr/CreDtTm', '2026-11-16T09:00:00', '2026-11-16T09:00:00Z'],
      ['PmtInf/PmtInfId', 'D0123456789abcdef0123456789abcdef.B01', 'B01'],
      ['PmtInf/DrctDbtTxInf/PmtId/InstrId', 'D0123456789abcdef0123456789abcdef.B01.0', undefined],
      ['PmtInf/DrctDbtTxInf/DrctDbtTx/MndtRltdInf/AmdmntInd', 'false', undefined],
    ])
  })
})

test('all texts of an amended debit use the SEPA character set, including the creditor’s former name', () => {
  const renamed = { ...amended, amendment: { ...amended.amendment, originalCreditorName: creditor.name } }
  expect(leavesOf(writeDebit(renamed)).filter(([, text]) => !isSepaText(text))).toEqual([])
  expect(writeDebit(renamed)).toContain('<Nm>Mueller + Soehne GmbH</Nm>')
})

test('a block whose contents differ from its header is not written', () => {
  expect(() => assemble(directDebitFrame, writeDebit, [[block('B01', 'OOFF', [1]), [debit]]])).toThrow(
    'block B01 announces 1 payments of 1 cents and holds 1 of 5023',
  )
})

test('the same batch gives the same bytes', () => {
  expect(debitFile()).toBe(debitFile())
})
