/** What the entries of a statement say: amounts, charges and the other party. */
import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { camt, details, entry, read } from '#connectors/bank/bank-files.test-support.ts'
import { writeTransfer } from '#connectors/bank/credit-transfers.ts'
import { writeDebit } from '#connectors/bank/direct-debits.ts'
import { readSettlement } from '#connectors/bank/settlement.ts'

const booked = { kind: 'transaction', direction: 'CRDT', amount: { value: 1000, currency: 'EUR' } }

test.each([
  ['as records', '<Chrgs><Rcrd><Amt Ccy="EUR">2</Amt></Rcrd><Rcrd><Amt Ccy="EUR">1</Amt></Rcrd></Chrgs>', ''],
  ['as their total', '<Chrgs><TtlChrgsAndTaxAmt Ccy="EUR">3</TtlChrgsAndTaxAmt></Chrgs>', ''],
  ['at the entry', '', '<Chrgs><Rcrd><Amt Ccy="EUR">3</Amt></Rcrd></Chrgs>'],
  ['at both', ...Array<string>(2).fill('<Chrgs><Rcrd><Amt Ccy="EUR">3</Amt></Rcrd></Chrgs>')],
  [
    'in two currencies',
    '<Chrgs><Rcrd><Amt Ccy="EUR">3</Amt></Rcrd><Rcrd><Amt Ccy="CHF">1</Amt></Rcrd></Chrgs>',
    '',
  ],
])('charges are counted once: %s', async (_, ofTransaction, ofEntry = '') => {
  const facts = await read(camt('08', entry(ofEntry + details(`<TxDtls>${ofTransaction}</TxDtls>`))))
  expect(facts[1]).toMatchObject({ ...booked, charges: 300 })
})

describe('an entry whose transactions do not say their amounts', () => {
  const silent = (endToEndId: string) =>
    `<TxDtls><Refs><EndToEndId>${endToEndId}</EndToEndId></Refs><RmtInf><Ustrd>order 7</Ustrd></RmtInf></TxDtls>`
  const told = silent('E0').replace('<RmtInf>', '<Amt Ccy="EUR">4.00</Amt><RmtInf>')
  const readEntry = async (inside: string) => {
    const text = entry(details(inside)).replace(
      '</Ntry>',
      '<AddtlNtryInf>collected: order 7</AddtlNtryInf></Ntry>',
    )
    return (await read(camt('08', text))).slice(1)
  }

  test('is one transaction of its amount that names no payment', async () => {
    const [fact, ...others] = await readEntry(silent('E1') + silent('E2'))
    expect(others).toEqual([])
    expect(fact).toMatchObject({ ...booked, key: 'CRDT|R1|1000EUR', remittance: '' })
    expect(fact).not.toHaveProperty('endToEndId')
  })

  test('is the sum of its batch if it names one', async () => {
    const batch = '<Btch><PmtInfId>B01</PmtInfId><NbOfTxs>2</NbOfTxs></Btch>'
    expect(await readEntry(batch + silent('E1') + silent('E2'))).toMatchObject([
      { ...booked, wholeBlock: { blockId: 'B01', payments: 2 } },
    ])
  })

  test.each([
    ['first', told + silent('E1') + silent('E2')],
    ['between', silent('E1') + told + silent('E2')],
  ])('is the rest beside a transaction that says its own: %s', async (_, inside) => {
    const facts = await readEntry(inside)
    expect(facts).toMatchObject([
      { ...booked, amount: { value: 400 }, endToEndId: 'E0' },
      { ...booked, key: 'CRDT|R1|600EUR', amount: { value: 600 }, remittance: '' },
    ])
    expect(facts[1]).not.toHaveProperty('endToEndId')
  })

  test('has no rest if the others make its amount', async () => {
    expect(await readEntry(told.replace('4.00', '10.00') + silent('E1'))).toMatchObject([
      { amount: { value: 1000 }, endToEndId: 'E0' },
    ])
  })
})

test.each([
  ['COBADEFF', 'COBADEFF'],
  ['COBADEFFXXX', 'COBADEFFXXX'],
  ['NOTPROVIDED', undefined],
  ['COBADEFF XXX', undefined],
  ['cobadeff', undefined],
])('of the BIC %s of the other bank %s is kept and written into files', async (bic, kept) => {
  const agent = `<RltdAgts><DbtrAgt><FinInstnId><BICFI>${bic}</BICFI></FinInstnId></DbtrAgt></RltdAgts>`
  const [, fact] = await read(camt('08', entry(details(`<TxDtls>${agent}</TxDtls>`))))
  expect(fact && 'partyBic' in fact ? fact.partyBic : undefined).toBe(kept)
  const party = { endToEndId: 'E1', cents: 1, remittance: '' }
  const written = [
    writeTransfer({ ...party, payeeName: 'Ann', payeeIban: 'DE89370400440532013000', payeeBic: bic }),
    writeDebit({
      ...{ ...party, mandateId: 'M1', signedOn: '2026-11-01' },
      ...{ debtorName: 'Ann', debtorIban: 'DE89370400440532013000', debtorBic: bic },
    }),
  ]
  for (const text of written) expect(/<BICFI>(.*)<[/]BICFI>/.exec(text)?.[1]).toBe(kept)
})

test('settlement lines have the currency of their transaction, and charges only in that currency', async () => {
  const original = '<AmtDtls><InstdAmt><Amt Ccy="USD">5</Amt></InstdAmt></AmtDtls>'
  const returned = `<TxDtls><Amt Ccy="CHF">10</Amt>${original}<RtrInf><Rsn><Cd>AC04</Cd></Rsn></RtrInf></TxDtls>`
  const inFrancs = (inside: string) => entry(inside).replaceAll('"EUR"', '"CHF"')
  const text = camt('08', inFrancs('') + inFrancs(details(returned)).replace('CRDT', 'DBIT'))
  const lines = []
  for await (const line of readSettlement(Readable.from([Buffer.from(text)]))) lines.push(line)
  expect(lines.map(({ type, gross, currency }) => [type, gross, currency])).toEqual([
    ['CAPTURE', 1000, 'CHF'],
    ['CHARGEBACK', -1000, 'CHF'],
  ])
})

test.each([
  ['with a reason', '<RtrInf><Rsn><Cd>AC04</Cd></Rsn></RtrInf>', ''],
  ['as a reversal', '', '<RvslInd>true</RvslInd>'],
])(
  'our transfer that comes back is the opposite of its own line, told %s',
  async (_, ofTransaction, ofEntry) => {
    const xId = '0123456789abcdef0123456789abcdef'
    const inside = `<TxDtls><Refs><EndToEndId>${xId}</EndToEndId></Refs><Amt Ccy="EUR">10</Amt>${ofTransaction}</TxDtls>`
    const sent = entry(details(inside.replace(ofTransaction, ''))).replace('CRDT', 'DBIT')
    const cameBack = entry(ofEntry + details(inside)).replace('R1', 'R2')
    const strange = cameBack.replace(xId, 'E1').replace('R2', 'R3')
    const lines = []
    for await (const line of readSettlement(
      Readable.from([Buffer.from(camt('08', sent + cameBack + strange))]),
    ))
      lines.push(line)
    expect(lines.map(({ type, gross, reference }) => [type, gross, reference])).toEqual([
      ['REFUND', -1000, xId],
      ['REFUND', 1000, xId],
      ['CORRECTION', 1000, undefined],
    ])
  },
)

test('a debit that comes back without a reason is a chargeback, a strange reversal is none', async () => {
  const xId = '0123456789abcdef0123456789abcdef'
  const inside = `<TxDtls><Refs><EndToEndId>${xId}</EndToEndId></Refs><Amt Ccy="EUR">10</Amt></TxDtls>`
  const cameBack = entry(`<RvslInd>true</RvslInd>${details(inside)}`).replace('CRDT', 'DBIT')
  const lines = []
  const text = camt('08', cameBack + cameBack.replace(xId, 'E1').replace('R1', 'R2'))
  for await (const line of readSettlement(Readable.from([Buffer.from(text)]))) lines.push(line)
  expect(lines.map(({ type, gross, reference }) => [type, gross, reference])).toEqual([
    ['CHARGEBACK', -1000, xId],
    ['CORRECTION', -1000, undefined],
  ])
})

describe('a transfer without a reference of the bank', () => {
  const uetr = '3F2B8C1D-77aa-4c11-9e5d-0123456789ab'
  const told = (inside: string, message: string): string =>
    camt('08', entry(details(inside)).replace('<AcctSvcrRef>R1</AcctSvcrRef>', ''), message).replace(
      '<Id>S1</Id>',
      `<Id>${message}</Id>`,
    )
  const keyIn = async (refs: string, message: string): Promise<string | undefined> => {
    const inside = `<TxDtls><Refs>${refs}</Refs><Amt Ccy="EUR">10.00</Amt></TxDtls>`
    const [, fact] = await read(told(inside, message))
    return fact && 'key' in fact ? fact.key : undefined
  }

  test('is known by its UETR in every message', async () => {
    const [notified, booked] = [
      await keyIn(`<UETR>${uetr}</UETR>`, '054'),
      await keyIn(`<EndToEndId>E1</EndToEndId><UETR>${uetr.toLowerCase()}</UETR>`, '053'),
    ]
    expect(notified).toBe(`CRDT|${uetr.toLowerCase()}|1000EUR`)
    expect(booked).toBe(notified)
  })

  test('is another one if a statement has its UETR twice', async () => {
    const inside = `<TxDtls><Refs><UETR>${uetr}</UETR></Refs><Amt Ccy="EUR">10.00</Amt></TxDtls>`
    const text = told(inside, '053').replace(/<Ntry>.*<[/]Ntry>/s, twice => twice + twice)
    const keys = (await read(text)).flatMap(fact => ('key' in fact ? [fact.key] : []))
    expect(keys).toEqual([1, 2].map(at => `CRDT|${uetr.toLowerCase()}|1000EUR${at === 1 ? '' : '#2'}`))
  })

  describe('and without a UETR', () => {
    const written = `<TxDtls><Refs><EndToEndId>NOTPROVIDED</EndToEndId></Refs><Amt Ccy="EUR">10.00</Amt>
      <RltdPties><DbtrAcct><Id><IBAN>DE89370400440532013000</IBAN></Id></DbtrAcct></RltdPties>
      <RmtInf><Ustrd>order 7</Ustrd></RmtInf></TxDtls>`
    const factsIn = async (text: string) =>
      (await read(text)).flatMap(fact => (fact.kind === 'transaction' ? [fact] : []))

    test('is known by payer, text, day and amount in every message', async () => {
      const [notified] = await factsIn(told(written, '054'))
      const [booked] = await factsIn(told(written, '053'))
      expect(notified?.key).toMatch(/^CRDT[|][0-9a-f]{32}[|]1000EUR$/)
      expect(booked?.key).toBe(notified?.key)
      // The last release knew it by its statement and its place there.
      expect([notified?.formerKey, booked?.formerKey]).toEqual([
        'CRDT|054/0/1000EUR/NOTPROVIDED|',
        'CRDT|053/0/1000EUR/NOTPROVIDED|',
      ])
      for (const [from, to] of [
        ['order 7', 'order 8'],
        ['DE89370400440532013000', 'DE02120300000000202051'],
      ] as const)
        expect((await factsIn(told(written.replace(from, to), '053')))[0]?.key).not.toBe(notified?.key)
    })

    test('is another one if it is the sum of another batch of ours', async () => {
      const sumOf = (digit: string) =>
        `<Btch><PmtInfId>D${digit.repeat(32)}01</PmtInfId></Btch><TxDtls><RmtInf><Ustrd>SEPA debits</Ustrd></RmtInf></TxDtls>`
      const keysOf = async (digit: string) =>
        (await Promise.all(['054', '053'].map(message => factsIn(told(sumOf(digit), message)))))
          .flat()
          .map(({ key }) => key)
      const [notified, booked] = await keysOf('a')
      expect(booked).toBe(notified)
      expect(await keysOf('b')).not.toContain(notified)
    })

    test('is another one if a statement has it twice, in one entry or in two', async () => {
      const inTwo = told(written, '053').replace(/<Ntry>.*<[/]Ntry>/s, twice => twice + twice)
      for (const text of [inTwo, told(written + written, '053')]) {
        const [first, second, ...others] = await factsIn(text)
        expect([second?.key, others]).toEqual([`${first?.key}#2`, []])
        expect(second?.formerKey).not.toBe(first?.formerKey)
      }
    })
  })

  test.each([
    ['none', ''],
    ['a placeholder', '<UETR>00000000-0000-4000-8000-000000000000</UETR>'],
    ['no UUID', '<UETR>NOTPROVIDED</UETR>'],
  ])('is another one in another message if it says nothing else and its UETR is %s', async (_, refs) => {
    expect(await keyIn(refs, '054')).not.toBe(await keyIn(refs, '053'))
  })
})
