/** Bank files: samples of other projects, the differences between versions, and everything that must be refused. */
import { describe, expect, test } from 'vitest'
import { camt, details, entry, read } from '#connectors/bank/bank-files.test-support.ts'
import { isoFile, isoFilesAbsent } from '#connectors/bank/iso-files.test-support.ts'
import { readBankFile } from '#connectors/bank/read-bank-file.ts'

describe.skipIf(isoFilesAbsent)('sample files of other projects', () => {
  test('a statement of another project is read', async () => {
    expect(await read(isoFile('samples/camt053.v8.xml'))).toEqual([
      { kind: 'statement', statementId: '253EURNL26VAYB8060476890', account: 'NL26VAYB8060476890' },
      {
        kind: 'transaction',
        key: 'CRDT|AAAASESS-FP-CN_98765/01|885EUR',
        formerKey: 'CRDT|AAAASESS-FP-CN_98765/01|',
        bankReference: 'AAAASESS-FP-CN_98765/01',
        direction: 'CRDT',
        amount: { value: 885, currency: 'EUR' },
        bookedOn: '2014-12-31',
        endToEndId: 'MUELL/FINP/RA12345',
        charges: 0,
        remittance: '4654654654654654',
        partyName: 'NAME NAME',
        partyIban: 'NL56AGDH9619008421',
      },
    ])
  })

  test('a notification of another project is read', async () => {
    const facts = await read(isoFile('samples/camt054.v8.xml'))
    expect(facts.map(({ kind }) => kind)).toEqual(['statement', 'transaction', 'transaction', 'transaction'])
    expect(facts[1]).toMatchObject({
      key: 'CRDT|ACSR160617103200001|UXC06170000006PI00001EE00001',
      amount: { value: 310, currency: 'CHF' },
      endToEndId: 'UXC06170000006PI00001EE00001',
    })
  })
})

describe('bank statements', () => {
  const booked = { kind: 'transaction', direction: 'CRDT', amount: { value: 1000, currency: 'EUR' } }

  test('version 02 writes status, amount and charges differently', async () => {
    const facts = await read(
      camt(
        '02',
        entry(
          details(
            `<TxDtls><Refs><EndToEndId>E1</EndToEndId></Refs>
<AmtDtls><InstdAmt><Amt Ccy="EUR">7.00</Amt></InstdAmt><TxAmt><Amt Ccy="EUR">10.00</Amt></TxAmt></AmtDtls>
<Chrgs><Amt Ccy="EUR">2.50</Amt></Chrgs><Chrgs><Amt Ccy="EUR">0.5</Amt></Chrgs>
<RltdPties><Dbtr><Nm>Ann</Nm></Dbtr></RltdPties><RtrInf><Rsn><Cd>AM04</Cd></Rsn></RtrInf></TxDtls>`,
          ),
          '<Sts>BOOK</Sts>',
        ),
      ),
    )
    expect(facts[1]).toMatchObject({
      ...booked,
      endToEndId: 'E1',
      originalAmount: { value: 700, currency: 'EUR' },
      charges: 300,
      partyName: 'Ann',
      returned: { reason: 'AM04' },
    })
  })

  test('a batch that is booked as one sum names its payment information', async () => {
    const batch = details('<Btch><PmtInfId>B01</PmtInfId><NbOfTxs>300</NbOfTxs></Btch>')
    expect((await read(camt('08', entry(batch))))[1]).toMatchObject({
      ...booked,
      key: 'CRDT|R1|1000EUR',
      wholeBlock: { blockId: 'B01', payments: 300 },
    })
  })

  test.each([
    ['the payers chose the same reference', '<EndToEndId>1</EndToEndId>', ['CRDT|R1|1', 'CRDT|R1|1#2']],
    [
      'the bank repeats the reference of the entry',
      '<AcctSvcrRef>R1</AcctSvcrRef>',
      ['CRDT|R1|1', 'CRDT|R1|2'],
    ],
    ['the bank repeats a reference of its own', '<AcctSvcrRef>X</AcctSvcrRef>', ['CRDT|R1|X', 'CRDT|R1|X#2']],
  ])('several transactions of one entry have keys of their own where %s', async (_, refs, keys) => {
    const transaction = `<TxDtls><Refs>${refs}</Refs><Amt Ccy="EUR">5</Amt></TxDtls>`
    const facts = await read(camt('08', entry(details(transaction + transaction))))
    expect(facts.slice(1).map(fact => fact.kind === 'transaction' && fact.key)).toEqual(keys)
  })

  test.each([
    ['one transaction', 1, '<EndToEndId>1</EndToEndId>', ['CRDT|R1|']],
    ['one transaction without a reference of its entry', 1, '<AcctSvcrRef>X</AcctSvcrRef>', ['CRDT|X|'], ''],
    ['several transactions by their references', 2, '<EndToEndId>1</EndToEndId>', [undefined, undefined]],
    [
      'several transactions by the reference of their entry, of which the first was stored',
      2,
      '<AcctSvcrRef>R1</AcctSvcrRef>',
      ['CRDT|R1|R1', undefined],
    ],
    [
      'several transactions by their position in a statement',
      2,
      '<AcctSvcrRef>X</AcctSvcrRef>',
      ['CRDT|S1/0/1000EUR/|X', undefined],
      '',
    ],
  ])(
    'earlier releases identified %s',
    async (_, count, refs, formerKeys, ofEntry = '<AcctSvcrRef>R1</AcctSvcrRef>') => {
      const transaction = `<TxDtls><Refs>${refs}</Refs><Amt Ccy="EUR">5</Amt></TxDtls>`
      const text = entry(details(transaction.repeat(count))).replace(
        '<AcctSvcrRef>R1</AcctSvcrRef><N',
        `${ofEntry}<N`,
      )
      const facts = await read(camt('08', text))
      expect(facts.slice(1).map(fact => fact.kind === 'transaction' && fact.formerKey)).toEqual(formerKeys)
    },
  )

  test('a return and its charges may be two entries under one reference of the bank', async () => {
    const charge = entry('', undefined, '3.00')
    expect(await read(camt('08', charge + entry('')))).toMatchObject([
      { kind: 'statement' },
      { key: 'CRDT|R1|300EUR' },
      { key: 'CRDT|R1|1000EUR' },
    ])
  })

  test('an entry without a reference is identified by that of its transaction in every file', async () => {
    const transactions = ['T1', 'T2'].map(
      name => `<TxDtls><Refs><AcctSvcrRef>${name}</AcctSvcrRef></Refs><Amt Ccy="EUR">5</Amt></TxDtls>`,
    )
    const text = entry(details(transactions.join(''))).replace('<AcctSvcrRef>R1</AcctSvcrRef>', '')
    const one = entry(details(transactions[0] ?? ''), undefined, '5.00').replace(
      '<AcctSvcrRef>R1</AcctSvcrRef>',
      '',
    )
    expect(await read(camt('08', text))).toMatchObject([
      {},
      { key: 'CRDT|T1|500EUR' },
      { key: 'CRDT|T2|500EUR' },
    ])
    expect(await read(camt('08', one, '054'))).toMatchObject([{}, { key: 'CRDT|T1|500EUR' }])
  })

  test.each([
    ['its booking', '<BookgDt><DtTm>2026-11-17T09:00:00+01:00</DtTm></BookgDt>'],
    ['its value', '<ValDt><DtTm>2026-11-17T09:00:00+01:00</DtTm></ValDt>'],
    ['its statement', ''],
  ])('an entry has the day of %s', async (_, dates) => {
    const text = camt('08', entry('').replace('<BookgDt><Dt>2026-11-17</Dt></BookgDt>', dates))
    const created = text.replace('</Id><Acct>', '</Id><CreDtTm>2026-11-17T23:00:00</CreDtTm><Acct>')
    expect((await read(created))[1]).toMatchObject({ bookedOn: '2026-11-17' })
  })

  test('several transactions of one entry have keys of their own', async () => {
    const two = details(
      `<TxDtls><Refs><EndToEndId>E1</EndToEndId></Refs><Amt Ccy="EUR">4</Amt></TxDtls>
<TxDtls><Refs><EndToEndId>E2</EndToEndId></Refs><Amt Ccy="EUR">6.0</Amt></TxDtls>`,
    )
    expect(await read(camt('08', entry(two)))).toMatchObject([
      { kind: 'statement' },
      { key: 'CRDT|R1|E1', amount: { value: 400 } },
      { key: 'CRDT|R1|E2', amount: { value: 600 } },
    ])
  })

  test('statement and notification give one entry the same key', async () => {
    const one = details('<TxDtls><Refs><EndToEndId>E1</EndToEndId></Refs></TxDtls>')
    const [, inStatement] = await read(camt('04', entry(one)))
    const [, inNotification] = await read(camt('08', entry(''), '054'))
    expect((inStatement as { key: string }).key).toBe((inNotification as { key: string }).key)
  })

  test('pending entries are ignored', async () => {
    expect(await read(camt('08', entry('', '<Sts><Cd>PDNG</Cd></Sts>')))).toMatchObject([
      { kind: 'statement' },
    ])
  })

  test('a bank’s own supplementary data is ignored', async () => {
    const extra = '<SplmtryData><Envlp><x:Any xmlns:x="urn:bank">1</x:Any></Envlp></SplmtryData>'
    expect(await read(camt('08', entry('') + extra))).toHaveLength(2)
  })
})

describe('status reports', () => {
  const pain = (inside: string, version = '03'): string =>
    `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.002.001.${version}"><CstmrPmtStsRpt>
<GrpHdr><MsgId>X</MsgId></GrpHdr>${inside}</CstmrPmtStsRpt></Document>`
  const group = (status: string, reason = ''): string =>
    `<OrgnlGrpInfAndSts><OrgnlMsgId>D1</OrgnlMsgId><GrpSts>${status}</GrpSts>${reason}</OrgnlGrpInfAndSts>`
  const why = (code: string): string => `<StsRsnInf><Rsn><Cd>${code}</Cd></Rsn></StsRsnInf>`

  test.each(['03', '10', '12'])('version %s: single payments are rejected', async version => {
    const report = pain(
      `${group('PART')}<OrgnlPmtInfAndSts><OrgnlPmtInfId>B01</OrgnlPmtInfId>
<TxInfAndSts><OrgnlEndToEndId>E1</OrgnlEndToEndId><TxSts>RJCT</TxSts>${why('AC01')}</TxInfAndSts>
<TxInfAndSts><OrgnlEndToEndId>E2</OrgnlEndToEndId><TxSts>ACSC</TxSts></TxInfAndSts></OrgnlPmtInfAndSts>`,
      version,
    )
    expect(await read(report)).toEqual([
      { kind: 'report', messageId: 'D1' },
      { kind: 'rejection', messageId: 'D1', blockId: 'B01', endToEndId: 'E1', reason: 'AC01' },
    ])
  })

  test('a payment information is rejected', async () => {
    const report = pain(
      `${group('PART')}<OrgnlPmtInfAndSts><OrgnlPmtInfId>B01</OrgnlPmtInfId><PmtInfSts>RJCT</PmtInfSts>${why('DT01')}</OrgnlPmtInfAndSts>`,
    )
    expect(await read(report)).toContainEqual({
      kind: 'rejection',
      messageId: 'D1',
      blockId: 'B01',
      reason: 'DT01',
    })
  })

  test('a whole message is rejected, or accepted', async () => {
    expect(await read(pain(group('RJCT', why('FF01'))))).toContainEqual({
      kind: 'rejection',
      messageId: 'D1',
      reason: 'FF01',
    })
    expect(await read(pain(group('ACCP')))).toEqual([{ kind: 'report', messageId: 'D1' }])
  })

  test('a report on nothing is refused', async () => {
    await expect(read(pain(''))).rejects.toThrow('does not name the message that it reports on')
  })
})

describe('bad files are refused with one sentence', () => {
  const good = camt('08', entry(''))
  const bomb = `<?xml version="1.0"?><!DOCTYPE d [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08">&b;</Document>`
  const doubled = (name: string): string => `<${name}>`.repeat(60)
  test.each<[string, string | Uint8Array, string]>([
    ['no XML at all', 'MT940 :20:STARTUMS', 'is not well-formed XML (line 1)'],
    ['an empty file', '', 'is not XML: it has no element'],
    ['a picture', Buffer.from([0x89, 0x50, 0x4e, 0x47, 0xff, 0xfe]), 'is not encoded in UTF-8'],
    ['another root', '<html/>', 'is not a bank file: its root is html'],
    ['another name space', good.replace('iso:20022', 'iso:20023'), 'is not a bank file'],
    [
      'a version that is too new',
      good.replace('.001.08', '.001.13'),
      'is camt.053 in version 13, which is not read',
    ],
    [
      'a version that is too old',
      good.replace('.001.08', '.001.01'),
      'is camt.053 in version 01, which is not read',
    ],
    ['one of our own files', good.replace('camt.053.001.08', 'pain.008.001.08'), 'is pain.008 in version 08'],
    ['an entity bomb', bomb, 'has a document type (DTD), which is not read'],
    ['an entity without a DTD', good.replace('S1', '&boom;'), 'uses an entity of its own'],
    ['a foreign element', good.replace('<Ntry>', '<Ntry xmlns="urn:x">'), 'of another name space (urn:x)'],
    ['a cut-off file', good.slice(0, -60), 'is cut off before its end'],
    ['another encoding, declared', good.replace('UTF-8', 'ISO-8859-1'), 'is encoded in ISO-8859-1'],
    [
      'another encoding, not declared',
      Buffer.from(good.replace('S1', 'Sü'), 'latin1'),
      'is not encoded in UTF-8',
    ],
    ['UTF-16', Buffer.from(`\ufeff${good}`, 'utf16le'), 'is not encoded in UTF-8'],
    [
      'five decimals',
      camt('08', entry('', undefined, '10.12345')),
      'has an amount with 5 decimals in an entry: 10.12345',
    ],
    [
      'five decimals that are zeros',
      camt('08', entry('', undefined, '10.00000')),
      'has an amount with 5 decimals',
    ],
    ['a negative amount', camt('08', entry('', undefined, '-1.00')), 'has an amount that is not a number'],
    ['no account', good.replace(/<Acct>.*<\/Acct>/, ''), 'does not name its account'],
    ['too deep', good.replace('<GrpHdr>', `${doubled('a')}<GrpHdr>`), 'has more than 48 levels'],
  ])('%s', async (_, text, sentence) => {
    await expect(read(text)).rejects.toThrow(sentence)
  })

  const text = `<Ustrd>${'x'.repeat(900)}</Ustrd>`
  test.each<[string, string, string]>([
    [
      'a transaction of more than a megabyte',
      camt('08', entry(details(`<TxDtls><RmtInf>${text.repeat(1_200)}</RmtInf></TxDtls>`))),
      'has an element RmtInf with more than 1,000,000 characters',
    ],
    [
      'a statement that keeps more than a megabyte between its entries',
      camt('08', `${entry('')}<Othr>${text.repeat(10)}</Othr>`.repeat(120)),
      'has an element Stmt with more than 1,000,000 characters',
    ],
  ])('%s', async (_, file, sentence) => {
    await expect(read(file, 50_000)).rejects.toThrow(sentence)
  })

  test('a file with a hundred megabytes in one element is refused after the first megabyte', async () => {
    let given = 0
    async function* endless(): AsyncGenerator<Uint8Array> {
      yield Buffer.from(good.slice(0, good.indexOf('S1')))
      const megabyte = Buffer.alloc(1 << 20, 'x')
      for (; given < 100; given++) yield megabyte
    }
    const reading = (async () => {
      for await (const _ of readBankFile(endless()));
    })()
    await expect(reading).rejects.toThrow('has more than 1,000,000 characters between two tags')
    expect(given).toBeLessThan(3)
  })
})
