/** Reads a statement with that many entries and prints how many facts it held. A process of its own: its heap is bounded. */
import { readBankFile } from '#connectors/bank/read-bank-file.ts'

/** 200 MB of entries, made while they are read. */
async function* hugeStatement(entries: number): AsyncGenerator<Uint8Array> {
  yield Buffer.from(`<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt><GrpHdr><MsgId>M</MsgId></GrpHdr>
<Stmt><Id>S</Id><Acct><Id><IBAN>DE02120300000000202051</IBAN></Id></Acct>`)
  for (let from = 0; from < entries; from += 100) {
    let text = ''
    for (let n = from; n < from + 100; n++)
      text += `<Ntry><Amt Ccy="EUR">1.00</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts><BookgDt><Dt>2026-11-17</Dt></BookgDt><AcctSvcrRef>R${n}</AcctSvcrRef><NtryDtls><TxDtls><Refs><EndToEndId>E${n}</EndToEndId></Refs><RltdPties><Dbtr><Pty><Nm>Somebody with a name of usual length</Nm></Pty></Dbtr></RltdPties><RmtInf><Ustrd>${'text '.repeat(20)}${n}</Ustrd></RmtInf></TxDtls></NtryDtls></Ntry>\n`
    yield Buffer.from(text)
  }
  yield Buffer.from('</Stmt></BkToCstmrStmt></Document>')
}

let read = 0
for await (const facts of readBankFile(hugeStatement(Number(process.argv[2])))) read += facts.length
console.log(read)
