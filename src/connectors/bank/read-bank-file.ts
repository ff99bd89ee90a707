/** Reads any bank file: the namespace of its root element identifies its kind and version. */
import type { BankFact } from '#connectors/bank/bank-facts.ts'
import { statementHandler } from '#connectors/bank/read-statement.ts'
import { statusReportHandler } from '#connectors/bank/read-status-report.ts'
import { BankFileError, createXmlRecordReader, type RecordHandler } from '#connectors/bank/xml-records.ts'

/** Yields the facts in small arrays as the bytes arrive. Throws `BankFileError` at the first error. */
export async function* readBankFile(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<readonly BankFact[]> {
  let facts: BankFact[] = []
  const reader = createXmlRecordReader((namespace, root) =>
    handlerFor(namespace, root, fact => facts.push(fact)),
  )
  const take = (): readonly BankFact[] => {
    const taken = facts
    facts = []
    return taken
  }
  for await (const chunk of bytes) {
    reader.write(chunk)
    if (facts.length > 0) yield take()
  }
  reader.close()
  if (facts.length > 0) yield take()
}

const knownDocuments = 'pain.002 (version 03 and later), camt.053 and camt.054 (versions 02 to 08)'

function handlerFor(namespace: string, root: string, emit: (fact: BankFact) => void): RecordHandler {
  const [, message, version] =
    /^urn:iso:std:iso:20022:tech:xsd:((?:pain|camt)\.[0-9]{3})\.[0-9]{3}\.([0-9]{2})$/.exec(namespace) ?? []
  if (message === undefined || root !== 'Document')
    throw new BankFileError(
      `is not a bank file: its root is ${root.slice(0, 40)} in the name space ${namespace.slice(0, 80) || '(none)'}; ${knownDocuments} are read`,
    )
  const number = Number(version)
  if (message === 'pain.002' && number >= 3) return statusReportHandler(emit)
  const isStatement = number >= 2 && number <= 8
  if (message === 'camt.053' && isStatement)
    return statementHandler({ body: 'BkToCstmrStmt', statement: 'Stmt' }, emit)
  if (message === 'camt.054' && isStatement)
    return statementHandler({ body: 'BkToCstmrDbtCdtNtfctn', statement: 'Ntfctn' }, emit)
  throw new BankFileError(`is ${message} in version ${version}, which is not read; ${knownDocuments} are`)
}
