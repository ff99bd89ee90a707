/** Files as a bank would write them, for tests: statements, notifications and status reports. */
import { creditorIban } from '#test/support/bank/debits.ts'

export interface TestEntry {
  /** Of the bank; empty: it gives none. */
  readonly reference: string
  readonly cents: number
  readonly direction?: 'CRDT' | 'DBIT'
  readonly date?: string
  readonly endToEndId?: string
  readonly uetr?: string
  readonly reason?: string
  /** The bank's charges in cents, included in the amount. */
  readonly charges?: number
  readonly text?: string
  readonly blockId?: string
  /** For a batch that is booked as one sum by a bank that does not name the payment information. */
  readonly messageId?: string
  /** The entry takes back an earlier one. */
  readonly isReversal?: boolean
  /** Of the bank's transaction code, such as RRTN. */
  readonly subFamily?: string
  readonly payer?: { readonly name: string; readonly iban: string }
}

const euros = (cents: number): string => (cents / 100).toFixed(2)

function entryOf(entry: TestEntry): string {
  const {
    reference,
    cents,
    direction = 'CRDT',
    date = '2026-11-17',
    endToEndId,
    uetr,
    reason,
    charges,
    text,
    blockId,
    messageId,
  } = entry
  const ids = `${endToEndId ? `<EndToEndId>${endToEndId}</EndToEndId>` : ''}${uetr ? `<UETR>${uetr}</UETR>` : ''}`
  const refs = ids ? `<Refs>${ids}</Refs>` : ''
  const ofBank = reference ? `<AcctSvcrRef>${reference}</AcctSvcrRef>` : ''
  const payer = entry.payer
    ? `<RltdPties><Dbtr><Pty><Nm>${entry.payer.name}</Nm></Pty></Dbtr><DbtrAcct><Id><IBAN>${entry.payer.iban}</IBAN></Id></DbtrAcct></RltdPties>`
    : ''
  const reversal = entry.isReversal ? '<RvslInd>true</RvslInd>' : ''
  const code = entry.subFamily
    ? `<BkTxCd><Domn><Cd>PMNT</Cd><Fmly><Cd>ICDT</Cd><SubFmlyCd>${entry.subFamily}</SubFmlyCd></Fmly></Domn></BkTxCd>`
    : ''
  const details = [
    blockId ? `<Btch><PmtInfId>${blockId}</PmtInfId></Btch>` : '',
    messageId ? `<Btch><MsgId>${messageId}</MsgId></Btch>` : '',
    refs || payer || text || reason
      ? `<TxDtls>${refs}<Amt Ccy="EUR">${euros(cents)}</Amt>${charges ? `<Chrgs><Rcrd><Amt Ccy="EUR">${euros(charges)}</Amt></Rcrd></Chrgs>` : ''}${payer}${text ? `<RmtInf><Ustrd>${text}</Ustrd></RmtInf>` : ''}${reason ? `<RtrInf><Rsn><Cd>${reason}</Cd></Rsn></RtrInf>` : ''}</TxDtls>`
      : '',
  ].join('')
  return `<Ntry><Amt Ccy="EUR">${euros(cents)}</Amt><CdtDbtInd>${direction}</CdtDbtInd>${reversal}<Sts><Cd>BOOK</Cd></Sts>
<BookgDt><Dt>${date}</Dt></BookgDt>${ofBank}${code}<NtryDtls>${details}</NtryDtls></Ntry>`
}

export function statement(
  entries: readonly TestEntry[],
  { iban = creditorIban, message = '053', id = 'S1' } = {},
): string {
  const [body, name] = message === '053' ? ['BkToCstmrStmt', 'Stmt'] : ['BkToCstmrDbtCdtNtfctn', 'Ntfctn']
  return `<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.${message}.001.08"><${body}><GrpHdr><MsgId>M</MsgId></GrpHdr>
<${name}><Id>${id}</Id><Acct><Id><IBAN>${iban}</IBAN></Id></Acct>${entries.map(entryOf).join('\n')}</${name}></${body}></Document>`
}

export const statusReport = (
  messageId: string,
  rejections: readonly { readonly endToEndId: string; readonly reason: string }[],
): string => `<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.002.001.10"><CstmrPmtStsRpt><GrpHdr><MsgId>R1</MsgId></GrpHdr>
<OrgnlGrpInfAndSts><OrgnlMsgId>${messageId}</OrgnlMsgId><GrpSts>PART</GrpSts></OrgnlGrpInfAndSts>
<OrgnlPmtInfAndSts><OrgnlPmtInfId>${messageId}01</OrgnlPmtInfId>${rejections
  .map(
    ({ endToEndId, reason }) =>
      `<TxInfAndSts><OrgnlEndToEndId>${endToEndId}</OrgnlEndToEndId><TxSts>RJCT</TxSts><StsRsnInf><Rsn><Cd>${reason}</Cd></Rsn></StsRsnInf></TxInfAndSts>`,
  )
  .join('')}</OrgnlPmtInfAndSts></CstmrPmtStsRpt></Document>`
