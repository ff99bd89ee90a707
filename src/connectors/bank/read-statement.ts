/** Reads camt.053 (statement) and camt.054 (notification), versions 02 to 08, entry by entry. */

import { createHash } from 'node:crypto'
import type { BankFact, TransactionFact } from '#connectors/bank/bank-facts.ts'
import {
  BankFileError,
  find,
  findAll,
  type RecordHandler,
  readAmount,
  textOf,
  type XmlNode,
} from '#connectors/bank/xml-records.ts'
import { isBic } from '#domain/iban.ts'
import type { Money } from '#domain/money/money.ts'
import { isDate } from '#domain/time/dates.ts'

interface Entry {
  readonly node: XmlNode
  /** The first transaction is held back until it is known whether its entry has others. */
  first?: { readonly node: XmlNode; readonly batch: XmlNode | undefined }
  transactions: number
  batch: XmlNode | undefined
  /** How many transactions have had each key so far. */
  readonly keys: Map<string, number>
  /** Of several transactions: the sum of the amounts that they state, in the entry's direction. */
  stated: number
  /** Of several transactions: whether one states no amount. */
  isSilent: boolean
}

const newEntry = (node: XmlNode): Entry => ({
  ...{ node, transactions: 0, batch: undefined, keys: new Map() },
  ...{ stated: 0, isSilent: false },
})

export function statementHandler(
  { body, statement }: { readonly body: string; readonly statement: string },
  emit: (fact: BankFact) => void,
): RecordHandler {
  let place: Place = { statementId: '', statementDate: undefined, entries: 0, alike: new Map() }
  let announced = false
  let entry: Entry | undefined
  const announce = (node: XmlNode | undefined): void => {
    if (announced) return
    announced = true
    const statementId = textOf(node, 'Id') ?? ''
    place = { statementId, statementDate: textOf(node, 'CreDtTm'), entries: 0, alike: new Map() }
    const id = find(node, 'Acct', 'Id')
    const account = textOf(id, 'IBAN') ?? textOf(id, 'Othr', 'Id')
    if (account === undefined) throw new BankFileError('has a statement that does not name its account')
    emit({ kind: 'statement', statementId, account })
  }
  const emitPart = (of: Entry, details: XmlNode, batch: XmlNode | undefined, ordinal: number): void => {
    if (!countPart(of, details)) return
    const { node, keys } = of
    emit(toTransaction({ entry: node, details, batch, alone: false, ordinal, keys, ...place }))
  }
  const emitAlone = ({ first, batch, transactions, keys }: Entry, node: XmlNode, rest?: Money): void => {
    const source = { entry: node, details: first?.node, ordinal: transactions, keys, ...place }
    emit(toTransaction({ ...source, batch: first?.batch ?? batch, alone: true, rest }))
  }

  return {
    records: new Set(['TxDtls']),
    containers: new Set([body, statement, 'Ntry', 'NtryDtls']),
    open(name, parent) {
      if (name === statement) announced = false
      if (name === 'Ntry') announce(parent)
      // In every version an entry's own elements come before its details.
      if (name === 'NtryDtls' && parent && !entry) entry = newEntry(parent)
    },
    record(node, details) {
      if (!entry || !isBooked(entry.node)) return
      entry.batch = find(details, 'Btch') ?? entry.batch
      entry.transactions++
      if (entry.transactions === 1) {
        entry.first = { node, batch: entry.batch }
        return
      }
      if (entry.first) {
        emitPart(entry, entry.first.node, entry.first.batch, 1)
        entry.first = undefined
      }
      emitPart(entry, node, entry.batch, entry.transactions)
    },
    close(name, node) {
      if (name === 'NtryDtls' && entry) entry.batch = find(node, 'Btch') ?? entry.batch
      if (name === statement) announce(node)
      if (name !== 'Ntry') return
      const closed = entry ?? newEntry(node)
      entry = undefined
      if (isBooked(node)) {
        if (closed.transactions < 2) emitAlone(closed, node)
        const rest = restOf(closed, node)
        if (rest) emitAlone(closed, node, rest)
      }
      place.entries++
    },
  }
}

/**
 * Adds up what the transactions of an entry state. Returns false if this one states no amount: it tells nothing then,
 * because the amount of the entry belongs to all of them together.
 */
function countPart(entry: Entry, details: XmlNode): boolean {
  const amount = amountOf(details)
  if (!amount) {
    entry.isSilent = true
    return false
  }
  const isSameWay = directionOf(details, entry.node) === directionOf(undefined, entry.node)
  if (amount.currency === readAmount(find(entry.node, 'Amt'), 'an entry').currency)
    entry.stated += isSameWay ? amount.value : -amount.value
  return true
}

/** What the entry booked beyond the transactions that state their amounts; undefined if all of them do. */
function restOf({ isSilent, stated }: Entry, node: XmlNode): Money | undefined {
  if (!isSilent) return undefined
  const { value, currency } = readAmount(find(node, 'Amt'), 'an entry')
  return value > stated ? { value: value - stated, currency } : undefined
}

/** Pending and informational entries are ignored. Version 02 writes the code without an element around it. */
const isBooked = (entry: XmlNode): boolean => (textOf(entry, 'Sts', 'Cd') ?? textOf(entry, 'Sts')) === 'BOOK'

/** The position of an entry in the file. */
interface Place {
  readonly statementId: string
  readonly statementDate: string | undefined
  /** The number of entries before it in its statement. */
  entries: number
  /** How many transactions of the statement have had each key without a reference of the bank. */
  readonly alike: Map<string, number>
}

interface Source extends Readonly<Place> {
  readonly entry: XmlNode
  readonly details: XmlNode | undefined
  readonly batch: XmlNode | undefined
  /** The only transaction of its entry. */
  readonly alone: boolean
  readonly ordinal: number
  readonly keys: Map<string, number>
  /** The transaction stands for those of its entry that state no amount. This is what they come to. */
  readonly rest?: Money | undefined
}

function toTransaction(source: Source): TransactionFact {
  const { entry, details, alone, rest, statementDate } = source
  const entryAmount = rest ?? readAmount(find(entry, 'Amt'), 'an entry')
  const direction = directionOf(details, entry)
  const amount = amountOf(details) ?? entryAmount
  const refs = find(details, 'Refs')
  const returned = find(details, 'RtrInf')
  const original = find(details, 'AmtDtls', 'InstdAmt', 'Amt')
  const bankReference = meaningful(textOf(entry, 'AcctSvcrRef'))
  const endToEndId = meaningful(textOf(refs, 'EndToEndId'))
  const key = numbered(keyOf(source, direction, alone ? entryAmount : amount), source.keys)
  return {
    kind: 'transaction',
    key,
    ...formerKeyOf(source, direction, key),
    ...(bankReference === undefined ? {} : { bankReference }),
    direction,
    // A single transaction in another currency was converted, so the amount booked on the account counts.
    amount: alone && amount.currency !== entryAmount.currency ? entryAmount : amount,
    bookedOn: dayIn(entry, statementDate),
    ...(endToEndId === undefined ? {} : { endToEndId }),
    ...optional('messageId', textOf(refs, 'MsgId')),
    ...wholeBlockOf(source),
    ...(returned ? { returned: optional('reason', reasonOf(returned)) } : {}),
    ...(returned || takesBack(entry, details) ? { takesBack: true } : {}),
    ...(original ? { originalAmount: readAmount(original, 'a transaction') } : {}),
    // The charges of an entry are those of its transactions together, so it may repeat them.
    charges:
      chargesOf(details, amount.currency) ?? (alone ? chargesOf(entry, amount.currency) : undefined) ?? 0,
    remittance: remittanceOf(
      find(details, 'RmtInf'),
      alone && !rest ? textOf(entry, 'AddtlNtryInf') : undefined,
    ),
    ...partyOf(details, direction),
  }
}

/** In version 02 the amount of a transaction is only in the amount details. */
function amountOf(details: XmlNode | undefined): Money | undefined {
  const node = find(details, 'Amt') ?? find(details, 'AmtDtls', 'TxAmt', 'Amt')
  return node && readAmount(node, 'a transaction')
}

function directionOf(details: XmlNode | undefined, entry: XmlNode): 'CRDT' | 'DBIT' {
  const word = textOf(details, 'CdtDbtInd') ?? textOf(entry, 'CdtDbtInd')
  if (word !== 'CRDT' && word !== 'DBIT')
    throw new BankFileError('has an entry that is neither a credit (CRDT) nor a debit (DBIT)')
  return word
}

/**
 * The key of a transaction, the same in every file that contains it. An entry is identified by the bank's reference and
 * the amount, because some banks book a return and its charges under one reference. Several transactions of one entry
 * are told apart by their own references. Without any reference of the bank, the UETR is used, which all banks pass on
 * with a transfer, without that one what the transaction says, and only without that the position in the statement.
 */
function keyOf(source: Source, direction: string, { value, currency }: Money): string {
  const { ofEntry, own, uetr } = referencesOf(source)
  const named = own ?? uetr ?? (ofEntry === undefined ? contentOf(source) : undefined)
  const single = source.alone ? (ofEntry ?? named) : ofEntry === undefined ? named : undefined
  const whole = [direction, single, `${value}${currency}`].join('|')
  if (single === undefined) return keyByPlace(source, direction)
  // A statement books a transfer once: what it has twice were two transfers, which are alike.
  return single === ofEntry || single === own ? whole : numbered(whole, source.alike)
}

/** The key of a transaction within its entry or, if the bank gives no reference of that, within its statement. */
function keyByPlace(source: Source, direction: string): string {
  const { ofEntry, own, other } = referencesOf(source)
  const within = source.alone ? '' : own === undefined || own === ofEntry ? other : own
  return [direction, ofEntry ?? placeOf(source), within].join('|')
}

/**
 * The other party, its reference and its text on that day, which a notification and a statement repeat. Undefined if
 * the bank tells none of them, or if several transactions are meant.
 */
function contentOf(source: Source): string | undefined {
  const { entry, details, alone, rest, statementDate } = source
  if (rest) return undefined
  const said = [
    meaningful(textOf(find(details, 'Refs'), 'EndToEndId')),
    remittanceOf(find(details, 'RmtInf'), alone ? textOf(entry, 'AddtlNtryInf') : undefined),
    partyOf(details, directionOf(details, entry)).partyIban,
    ...ourBatchOf(source),
  ]
  if (!said.some(text => text)) return undefined
  const text = JSON.stringify([dayIn(entry, statementDate), ...said])
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}

/** The batch of ours that was booked as one sum: two of one day may have the same sum, and the bank says the same of both. */
function ourBatchOf(source: Source): readonly string[] {
  const { blockId, messageId } = wholeBlockOf(source).wholeBlock ?? {}
  // The ids of other senders may be given by the bank, anew in each message.
  return [blockId ?? messageId ?? ''].filter(id => /^[DT][0-9a-f]{32}([0-9A-Z]{2})?$/.test(id))
}

function referencesOf({ entry, details, ordinal }: Source) {
  const refs = find(details, 'Refs')
  return {
    ofEntry: meaningful(textOf(entry, 'AcctSvcrRef')),
    /** The bank's own reference of the transaction. */
    own: meaningful(textOf(refs, 'AcctSvcrRef')),
    other: meaningful(textOf(refs, 'TxId')) ?? meaningful(textOf(refs, 'EndToEndId')) ?? String(ordinal),
    uetr: uetrAt(refs),
  }
}

/** Only zeros beside version and variant: a placeholder, which other transfers have as well. */
const placeholder = /^0{8}-0{4}-40{3}-[89ab]0{3}-0{12}$/

function uetrAt(refs: XmlNode | undefined): string | undefined {
  const uetr = textOf(refs, 'UETR')?.toLowerCase() ?? ''
  return /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/.test(uetr) &&
    !placeholder.test(uetr)
    ? uetr
    : undefined
}

function placeOf({ entry, details, statementId, entries }: Source): string {
  const { value, currency } = readAmount(find(entry, 'Amt'), 'an entry')
  const endToEndId = textOf(find(details, 'Refs'), 'EndToEndId') ?? ''
  return `${statementId}/${textOf(entry, 'NtryRef') ?? entries}/${value}${currency}/${endToEndId}`
}

/**
 * Neither payers' nor banks' references are unique within an entry, so a repeated key is another transaction and is
 * numbered.
 */
function numbered(key: string, keys: Map<string, number>): string {
  const short = key.slice(0, 240)
  const number = (keys.get(short) ?? 0) + 1
  keys.set(short, number)
  return number === 1 ? short : `${short}#${number}`
}

/**
 * The key of earlier releases, which identified an entry by the bank's reference alone. If several transactions of an
 * entry shared a key, they stored only the first, so only the first one has a former key.
 */
function formerKeyOf(source: Source, direction: string, key: string): Pick<TransactionFact, 'formerKey'> {
  const { alone, keys } = source
  const { ofEntry, own, other, uetr } = referencesOf(source)
  const byPlace = keyByPlace(source, direction)
  // The last release knew it by its place.
  if ([ofEntry, own, uetr].every(name => name === undefined) && !key.startsWith(byPlace.slice(0, 240)))
    return { formerKey: numbered(byPlace, keys) }
  const place = ofEntry ?? (alone ? own : undefined) ?? placeOf(source)
  const former = [direction, place, alone ? '' : (own ?? other)].join('|').slice(0, 250)
  // If the former key equals the new one, `numbered` has counted it already.
  const isFirst = !keys.has(former)
  if (isFirst) keys.set(former, 0)
  return isFirst ? { formerKey: former } : {}
}

/** Drops the placeholders that banks put into required fields. */
const meaningful = (text: string | undefined): string | undefined =>
  text === undefined || /^(NOTPROVIDED|NONREF|NOTPROVIDED\.|NOREF)$/i.test(text) ? undefined : text

/** A batch that was booked as one sum: the entry names its payment information or message, but not its payments. */
function wholeBlockOf({ details, batch, alone }: Source): Pick<TransactionFact, 'wholeBlock'> {
  if (!alone || meaningful(textOf(details, 'Refs', 'EndToEndId')) !== undefined) return {}
  const blockId = textOf(batch, 'PmtInfId') ?? textOf(details, 'Refs', 'PmtInfId')
  const messageId = textOf(batch, 'MsgId') ?? textOf(details, 'Refs', 'MsgId')
  if (blockId === undefined && messageId === undefined) return {}
  const name = blockId === undefined ? optional('messageId', messageId) : { blockId }
  const payments = Number(textOf(batch, 'NbOfTxs') ?? Number.NaN)
  return { wholeBlock: { ...name, ...(Number.isSafeInteger(payments) ? { payments } : {}) } }
}

/** Reversals of transfers: a return by the payee's bank, and one that was asked for. */
const reversalCodes: ReadonlySet<string> = new Set(['RRTN', 'RPCR'])

/** Some banks tell of a return in this way only, without its reason. */
const takesBack = (entry: XmlNode, details: XmlNode | undefined): boolean =>
  ['true', '1'].includes(textOf(entry, 'RvslInd') ?? '') ||
  [entry, details].some(node => reversalCodes.has(textOf(node, 'BkTxCd', 'Domn', 'Fmly', 'SubFmlyCd') ?? ''))

const reasonOf = (returned: XmlNode): string | undefined =>
  textOf(returned, 'Rsn', 'Cd') ?? textOf(returned, 'Rsn', 'Prtry')

/**
 * Version 02 has several `Chrgs` elements, later versions have `Rcrd` elements within one, or only their total. Charges
 * in another currency than the amount are not part of it. Undefined if the element states none.
 */
function chargesOf(node: XmlNode | undefined, currency: string): number | undefined {
  const lines = findAll(node, 'Chrgs').flatMap(charge => {
    const records = findAll(charge, 'Rcrd')
    return records.length > 0 ? records : [charge]
  })
  const charges = lines.flatMap(line => {
    const amount = find(line, 'Amt') ?? find(line, 'TtlChrgsAndTaxAmt')
    const charge = amount && readAmount(amount, 'the charges of an entry')
    if (charge?.currency !== currency) return []
    return textOf(line, 'CdtDbtInd') === 'CRDT' ? -charge.value : charge.value
  })
  return charges.length > 0 ? charges.reduce((sum, charge) => sum + charge) : undefined
}

function remittanceOf(node: XmlNode | undefined, fallback: string | undefined): string {
  const free = findAll(node, 'Ustrd').map(line => line.text)
  const structured = findAll(node, 'Strd').flatMap(line => textOf(line, 'CdtrRefInf', 'Ref') ?? [])
  return [...structured, ...free].join(' ') || (fallback ?? '')
}

/** The counterparty: the payer or the payee. Later versions wrap it in a `Pty` element. */
function partyOf(details: XmlNode | undefined, direction: 'CRDT' | 'DBIT') {
  const parties = find(details, 'RltdPties')
  const [role, agent] = direction === 'CRDT' ? ['Dbtr', 'DbtrAgt'] : ['Cdtr', 'CdtrAgt']
  const institution = find(details, 'RltdAgts', agent, 'FinInstnId')
  const bic = textOf(institution, 'BICFI') ?? textOf(institution, 'BIC') ?? ''
  return {
    ...optional('partyName', textOf(parties, role, 'Pty', 'Nm') ?? textOf(parties, role, 'Nm')),
    ...optional('partyIban', textOf(parties, `${role}Acct`, 'Id', 'IBAN')),
    ...optional('partyBic', isBic(bic) ? bic : undefined),
  }
}

/** The booking date, or else the value date, or else the day of the statement. */
function dayIn(entry: XmlNode, statementDate: string | undefined): string {
  const written = ['BookgDt', 'ValDt']
    .flatMap(name => ['Dt', 'DtTm'].map(form => textOf(entry, name, form)))
    .find(date => date !== undefined)
  const day = (written ?? statementDate)?.slice(0, 10) ?? ''
  if (!isDate(day)) throw new BankFileError(`has an entry without a booking date`)
  return day
}

/** The compiler widens a computed name to any text, hence the cast. */
const optional = <Name extends string>(
  name: Name,
  value: string | undefined,
): { readonly [N in Name]?: string } =>
  value === undefined ? {} : ({ [name]: value } as { readonly [N in Name]?: string })
