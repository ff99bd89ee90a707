/** Reads pain.002, version 03 and later: the bank's rejections of our payments. Other states are ignored. */
import type { BankFact } from '#connectors/bank/bank-facts.ts'
import { BankFileError, type RecordHandler, textOf, type XmlNode } from '#connectors/bank/xml-records.ts'

export function statusReportHandler(emit: (fact: BankFact) => void): RecordHandler {
  let messageId: string | undefined
  let rejected: XmlNode | undefined
  const known = (): string => {
    if (messageId === undefined) throw new BankFileError('does not name the message that it reports on')
    return messageId
  }
  return {
    records: new Set(['TxInfAndSts', 'OrgnlGrpInfAndSts']),
    containers: new Set(['CstmrPmtStsRpt', 'OrgnlPmtInfAndSts']),
    record(node, parent) {
      if (node.name === 'OrgnlGrpInfAndSts') {
        messageId = textOf(node, 'OrgnlMsgId')
        emit({ kind: 'report', messageId: known() })
        rejected = textOf(node, 'GrpSts') === 'RJCT' ? node : undefined
        return
      }
      if (textOf(node, 'TxSts') !== 'RJCT') return
      const endToEndId = textOf(node, 'OrgnlEndToEndId')
      const blockId = textOf(parent, 'OrgnlPmtInfId')
      if (endToEndId === undefined)
        throw new BankFileError('rejects a payment without naming it (OrgnlEndToEndId)')
      emit({
        kind: 'rejection',
        messageId: known(),
        ...(blockId === undefined ? {} : { blockId }),
        endToEndId,
        ...reasonOf(node),
      })
    },
    close(name, node) {
      if (name === 'CstmrPmtStsRpt') {
        known()
        // The rejection of the whole message comes last, because the reasons of its blocks and payments are more
        // precise.
        if (rejected) emit({ kind: 'rejection', messageId: known(), ...reasonOf(rejected) })
      }
      if (name !== 'OrgnlPmtInfAndSts' || textOf(node, 'PmtInfSts') !== 'RJCT') return
      const blockId = textOf(node, 'OrgnlPmtInfId')
      if (blockId === undefined)
        throw new BankFileError('rejects a payment information without naming it (OrgnlPmtInfId)')
      emit({ kind: 'rejection', messageId: known(), blockId, ...reasonOf(node) })
    },
  }
}

const reasonOf = (node: XmlNode): { readonly reason?: string } => {
  const reason = textOf(node, 'StsRsnInf', 'Rsn', 'Cd') ?? textOf(node, 'StsRsnInf', 'Rsn', 'Prtry')
  return reason === undefined ? {} : { reason }
}
