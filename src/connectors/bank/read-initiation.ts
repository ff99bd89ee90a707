/** Reads pain.008 and pain.001 files, for the simulated bank of the test environment. */
import {
  BankFileError,
  createXmlRecordReader,
  readAmount,
  textOf,
  type XmlNode,
} from '#connectors/bank/xml-records.ts'

/** One payment as the bank sees it. */
export interface Instruction {
  readonly kind: 'debit' | 'transfer'
  readonly messageId: string
  readonly blockId: string
  readonly batchBooking: boolean
  /** YYYY-MM-DD: when the money moves. */
  readonly day: string
  readonly endToEndId: string
  readonly cents: number
  /** The account of the customer. */
  readonly iban: string
  readonly name: string
}

export async function readInstructions(bytes: AsyncIterable<Uint8Array>): Promise<Instruction[]> {
  const instructions: Instruction[] = []
  let messageId = ''
  const reader = createXmlRecordReader(namespace => {
    if (!/:pain\.00[18]\.001\.[0-9]{2}$/.test(namespace))
      throw new BankFileError('is not a file for a bank (pain.001 or pain.008)')
    return {
      records: new Set(['GrpHdr', 'DrctDbtTxInf', 'CdtTrfTxInf']),
      containers: new Set(['CstmrDrctDbtInitn', 'CstmrCdtTrfInitn', 'PmtInf']),
      record(node, block) {
        if (node.name === 'GrpHdr') messageId = textOf(node, 'MsgId') ?? ''
        else instructions.push(toInstruction(node, block, messageId))
      },
      close() {},
    }
  })
  for await (const chunk of bytes) reader.write(chunk)
  reader.close()
  return instructions
}

function toInstruction(node: XmlNode, block: XmlNode | undefined, messageId: string): Instruction {
  const isDebit = node.name === 'DrctDbtTxInf'
  const [party, amount] = isDebit
    ? (['Dbtr', node.children.find(({ name }) => name === 'InstdAmt')] as const)
    : (['Cdtr', node.children.find(({ name }) => name === 'Amt')?.children[0]] as const)
  return {
    kind: isDebit ? 'debit' : 'transfer',
    messageId,
    blockId: textOf(block, 'PmtInfId') ?? '',
    batchBooking: textOf(block, 'BtchBookg') === 'true',
    day: textOf(block, 'ReqdColltnDt') ?? textOf(block, 'ReqdExctnDt', 'Dt') ?? '',
    endToEndId: textOf(node, 'PmtId', 'EndToEndId') ?? '',
    cents: readAmount(amount, 'a payment').value,
    iban: textOf(node, `${party}Acct`, 'Id', 'IBAN') ?? '',
    name: textOf(node, party, 'Nm') ?? '',
  }
}
