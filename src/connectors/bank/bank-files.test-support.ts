/** Statements of a bank with the given entries, and their facts. */
import type { BankFact } from '#connectors/bank/bank-facts.ts'
import { readBankFile } from '#connectors/bank/read-bank-file.ts'

/** In chunks of seven bytes, so that tags and characters are split everywhere. */
async function* inPieces(bytes: Uint8Array, size = 7): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

export async function read(text: string | Uint8Array, size?: number): Promise<BankFact[]> {
  const facts: BankFact[] = []
  const bytes = typeof text === 'string' ? Buffer.from(text) : text
  for await (const some of readBankFile(inPieces(bytes, size))) facts.push(...some)
  return facts
}

export const camt = (version: string, entries: string, message = '053'): string => {
  const [body, statement] =
    message === '053' ? ['BkToCstmrStmt', 'Stmt'] : ['BkToCstmrDbtCdtNtfctn', 'Ntfctn']
  return `<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.${message}.001.${version}"><${body}>
<GrpHdr><MsgId>M1</MsgId></GrpHdr>
<${statement}><Id>S1</Id><Acct><Id><IBAN>DE89370400440532013000</IBAN></Id></Acct>${entries}</${statement}>
</${body}></Document>`
}
export const entry = (inside: string, status = '<Sts><Cd>BOOK</Cd></Sts>', amount = '10.00'): string =>
  `<Ntry><Amt Ccy="EUR">${amount}</Amt><CdtDbtInd>CRDT</CdtDbtInd>${status}<BookgDt><Dt>2026-11-17</Dt></BookgDt>
<AcctSvcrRef>R1</AcctSvcrRef>${inside}</Ntry>`
export const details = (inside: string): string => `<NtryDtls>${inside}</NtryDtls>`
