/**
 * Keeps books of its own, from the answers to the merchant over HTTP and from the acquirer's ledger, and compares them
 * with the gateway's records in the end. It knows nothing of the gateway's code and imports nothing from it.
 */

export interface LedgerLine {
  readonly operation: string
  readonly reference: string
  readonly amount: number
  readonly approved: boolean
}

export interface AuditedRequest {
  readonly path: string
  readonly body: unknown
  readonly headers?: Record<string, string>
}

export interface AuditedAnswer {
  readonly status: number
  readonly text: string
  readonly headers: Headers
}

interface Told {
  readonly payId?: string
  readonly xId?: string
  readonly status: string
  readonly responseCode: string
}

interface Entry {
  readonly request: AuditedRequest
  /** A capture, a reversal or a refund of a payment that exists. */
  readonly isFollowUp: boolean
  /** Undefined: the process died before it could answer. */
  readonly answer?: AuditedAnswer
  readonly told?: Told
  /** The answer cannot have contained the result, so an event must report it. */
  readonly owedEvent: boolean
}

export interface AuditedRecord {
  readonly payId: string
  readonly transId: string
  readonly status: string
  readonly amount: {
    value: number
    authorizedValue: number
    capturedValue: number
    reversedValue: number
    refundedValue: number
    returnedValue: number
    disputedValue: number
  }
  readonly operations: { xId: string; type: string; status: string; amount: { value: number } }[]
}

/** The later fate of captured money, by the card or account that was charged. */
export type LaterFate = 'returned' | 'disputed'

/** The auditor's access to the gateway once all work has ended. */
export interface Inspection {
  byTransId(transId: string): Promise<AuditedRecord | undefined>
  byPayId(payId: string): Promise<AuditedRecord | undefined>
  resend(request: AuditedRequest): Promise<AuditedAnswer>
  countEvents(xId: string): Promise<number>
}

const isFollowUp = ({ path }: AuditedRequest): boolean => /\/(captures|reversals|refunds)$/.test(path)

export interface Auditor {
  /** Records a request and its answer. */
  hear(request: AuditedRequest, answer: AuditedAnswer): void
  /** A request whose process died; `settled` when it had already written the result. */
  lose(request: AuditedRequest, settled: boolean): void
  /** Returns every contradiction as a text. */
  audit(inspection: Inspection): Promise<string[]>
  readonly payIds: readonly string[]
  /** Requests with a key that were answered, to be sent again. */
  readonly repeatable: readonly AuditedRequest[]
}

const keyOf = (request: AuditedRequest): string | undefined => {
  const key = request.headers?.['idempotency-key']
  return key && `${request.path} ${key}`
}
const transIdOf = (request: AuditedRequest): string => (request.body as { transId: string }).transId
const amountOf = (request: AuditedRequest): number =>
  (request.body as { amount: { value: number } }).amount.value
/** Whether the answer is final: an unknown outcome and a customer's step are not. */
const isDecided = ({ status }: Told): boolean => status !== 'PENDING' && status !== 'AUTHORIZE_REQUEST'
const isRefusal = (told: Told): boolean => told.responseCode.startsWith('20')

export function createAuditor(
  ledger: readonly LedgerLine[],
  fateOf: (request: AuditedRequest) => LaterFate | undefined = () => undefined,
): Auditor {
  const entries: Entry[] = []
  const byKey = new Map<string, Entry>()
  const findings: string[] = []
  const find = (text: string) => void findings.push(text)

  function hear(request: AuditedRequest, answer: AuditedAnswer): void {
    const key = keyOf(request)
    const first = key === undefined ? undefined : byKey.get(key)
    if (first) {
      hearAgain(first, request, answer)
      return
    }
    const told = JSON.parse(answer.text) as Told
    if (answer.status !== 200 && answer.status !== 422) find(`${answer.status}: ${answer.text}`)
    if (answer.headers.get('idempotent-replayed')) find(`a first request was replayed: ${answer.text}`)
    const follows = isFollowUp(request)
    enter({ request, isFollowUp: follows, answer, told, owedEvent: told.status === 'PENDING' })
    checkTold(told, amountOf(request), follows)
  }

  function enter(entry: Entry): void {
    entries.push(entry)
    const key = keyOf(entry.request)
    if (key !== undefined) byKey.set(key, entry)
  }

  function hearAgain(first: Entry, request: AuditedRequest, answer: AuditedAnswer): void {
    if (JSON.stringify(first.request.body) !== JSON.stringify(request.body)) {
      if (!answer.text.includes('"20170002"')) find(`a key was used twice: ${answer.text}`)
      return
    }
    if (!answer.headers.get('idempotent-replayed')) find(`not a replay: ${answer.text}`)
    if (first.answer && first.answer.text !== answer.text) {
      find(`${first.answer.text} became ${answer.text}`)
    }
  }

  /** The ledger must confirm the answer at the moment of the answer. */
  function checkTold(told: Told, amount: number, follows: boolean): void {
    const lines = ledger.filter(line => line.reference === told.xId)
    const approved = lines.some(line => line.approved && line.amount === amount)
    if (told.status === 'FAILED' && lines.some(line => line.approved)) find(`FAILED, but taken: ${told.xId}`)
    if (told.status === 'FAILED' && isRefusal(told) && lines.length > 0)
      find(`refused, but sent: ${told.xId}`)
    if (/^(OK|AUTHORIZED)$/.test(told.status) && !approved)
      find(`${told.status}, but never taken: ${told.xId}`)
    if (follows && told.status === 'AUTHORIZED') find(`a follow-up cannot be AUTHORIZED: ${told.xId}`)
  }

  async function audit(inspection: Inspection): Promise<string[]> {
    const records = await collectRecords(inspection)
    const references = ledger.map(line => line.reference)
    for (const reference of new Set(references)) {
      if (references.indexOf(reference) !== references.lastIndexOf(reference))
        find(`sent twice: ${reference}`)
    }
    const fates = new Map<string, LaterFate | undefined>()
    for (const { request, told } of entries)
      if (!isFollowUp(request) && told?.payId !== undefined) fates.set(told.payId, fateOf(request))
    for (const record of records.values()) {
      auditRecord(record, ledger, find)
      // Of a payment whose answer was lost, the auditor does not know the card.
      if (fates.has(record.payId)) auditFate(record, fates.get(record.payId), find)
    }
    const known = new Set([...records.values()].flatMap(({ operations }) => operations.map(({ xId }) => xId)))
    for (const reference of references) if (!known.has(reference)) find(`nobody knows of ${reference}`)
    for (const entry of entries) await auditEntry(entry, records, inspection)
    return findings
  }

  /** Reads the records of all payments, by the answers to the merchant, or by its own transIds where it got none. */
  async function collectRecords(inspection: Inspection): Promise<Map<string, AuditedRecord>> {
    const records = new Map<string, AuditedRecord>()
    for (const { told, request, isFollowUp: follows } of entries) {
      const payId = told?.payId
      const record = payId
        ? (records.get(payId) ?? (await inspection.byPayId(payId)))
        : follows
          ? undefined
          : await inspection.byTransId(transIdOf(request))
      if (record) records.set(record.payId, record)
      else if (payId) find(`${payId} was acknowledged and is gone`)
    }
    return records
  }

  async function auditEntry(
    entry: Entry,
    records: Map<string, AuditedRecord>,
    inspection: Inspection,
  ): Promise<void> {
    const { request, told } = entry
    if (told === undefined) return auditLost(entry, records, inspection)
    if (isRefusal(told) || told.xId === undefined) return
    const operation = records.get(told.payId ?? '')?.operations.find(({ xId }) => xId === told.xId)
    if (!operation) return find(`${told.xId} was acknowledged and is gone`)
    const wasFailed = told.status === 'FAILED'
    if (isDecided(told) && wasFailed !== (operation.status === 'FAILED')) {
      find(`${told.xId} was ${told.status} and is ${operation.status}`)
    }
    if (operation.amount.value !== amountOf(request)) find(`${told.xId} has another amount`)
    // The end of a customer's visit is reported under its last try.
    if (told.status === 'AUTHORIZE_REQUEST')
      return auditVisit(records.get(told.payId ?? ''), inspection, find)
    const events = await inspection.countEvents(told.xId)
    if (events !== (entry.owedEvent ? 1 : 0)) find(`${told.xId} ${told.status} has ${events} events`)
  }

  /** The answer was lost, but the key returns it, and repeating the request moves no money. */
  async function auditLost(
    entry: Entry,
    records: Map<string, AuditedRecord>,
    inspection: Inspection,
  ): Promise<void> {
    if (keyOf(entry.request) === undefined) return
    const before = ledger.length
    const answer = await inspection.resend(entry.request)
    if (ledger.length !== before) find(`a retry moved money: ${answer.text}`)
    if (!answer.headers.get('idempotent-replayed')) find(`a retry ran again: ${answer.text}`)
    const told = JSON.parse(answer.text) as Told
    if (told.payId === undefined || told.xId === undefined || isRefusal(told)) return
    const record = records.get(told.payId)
    const operation = record?.operations.find(({ xId }) => xId === told.xId)
    if (!operation) return find(`${told.xId} is answered and is nowhere`)
    const failed = operation.status === 'FAILED'
    if (isDecided(told) && failed !== (told.status === 'FAILED')) {
      find(`${told.xId} is answered ${told.status} and is ${operation.status}`)
    }
    if (told.status === 'AUTHORIZE_REQUEST') return auditVisit(record, inspection, find)
    if (entry.owedEvent && (await inspection.countEvents(told.xId)) !== 1) find(`${told.xId} was never told`)
  }

  return {
    hear,
    lose: (request, settled) => enter({ request, isFollowUp: isFollowUp(request), owedEvent: !settled }),
    audit,
    get payIds() {
      return [...new Set(entries.flatMap(({ told }) => (told?.payId ? [told.payId] : [])))]
    },
    get repeatable() {
      return entries.flatMap(({ request, answer }) => (answer && keyOf(request) ? [request] : []))
    },
  }
}

/**
 * The merchant gets one event about the result of a page, however many tries it took, and the tries end with an
 * approval.
 */
async function auditVisit(
  record: AuditedRecord | undefined,
  { countEvents }: Inspection,
  find: (text: string) => void,
): Promise<void> {
  if (!record) return
  const tries = record.operations.filter(({ type }) => type === 'AUTHORIZATION')
  const events = await Promise.all(tries.map(({ xId }) => countEvents(xId)))
  const told = events.reduce((sum, count) => sum + count, 0)
  if (told !== 1) find(`${record.payId} was told of ${told} times`)
  const early = tries.slice(0, -1).filter(({ status }) => status !== 'FAILED')
  if (early.length > 0) find(`${record.payId} was tried again after an approval`)
}

/** Sums and operations against the ledger, line by line. */
function auditRecord(
  { payId, status, amount, operations }: AuditedRecord,
  ledger: readonly LedgerLine[],
  find: (text: string) => void,
): void {
  const sum = (type: string) =>
    ledger
      .filter(line => line.operation === type && line.approved)
      .filter(line => operations.some(({ xId }) => xId === line.reference))
      .reduce((total, line) => total + line.amount, 0)
  const [authorized, captured] = [sum('AUTHORIZATION'), sum('CAPTURE')]
  const [reversed, refunded] = [sum('REVERSAL'), sum('REFUND')]
  if (captured + reversed > authorized)
    find(`${payId}: ${captured} taken and ${reversed} freed of ${authorized}`)
  if (refunded + amount.returnedValue > captured)
    find(`${payId}: ${refunded} refunded and ${amount.returnedValue} returned of ${captured}`)
  if (amount.reversedValue !== reversed) find(`${payId}: ${amount.reversedValue} reversed, not ${reversed}`)
  if (amount.refundedValue !== refunded) find(`${payId}: ${amount.refundedValue} refunded, not ${refunded}`)
  if (amount.authorizedValue !== authorized)
    find(`${payId}: ${amount.authorizedValue} authorised, not ${authorized}`)
  if (amount.capturedValue !== captured) find(`${payId}: ${amount.capturedValue} captured, not ${captured}`)
  const open = authorized > reversed ? 'AUTHORIZED' : 'REVERSED'
  const expected = captured > 0 ? 'OK' : authorized > 0 ? open : 'FAILED'
  if (status !== expected) find(`${payId} is ${status}, not ${expected}`)
  for (const {
    xId,
    type,
    status: state,
    amount: { value },
  } of operations) {
    // A return comes from the customer's bank without a request.
    if (type === 'RETURN') continue
    if (state === 'PENDING') find(`${xId} never came to rest`)
    const line = ledger.find(({ reference }) => reference === xId)
    if (line && (line.amount !== value || line.operation !== type)) find(`${xId} is not what was sent`)
    if ((line?.approved ?? false) !== (state !== 'FAILED')) find(`${xId} is ${state} against the ledger`)
  }
}

/** A return takes the part of a debit that was not refunded before; a dispute covers every capture, refunded or not. */
function auditFate(
  { payId, amount, operations }: AuditedRecord,
  fate: LaterFate | undefined,
  find: (text: string) => void,
): void {
  const { capturedValue, refundedValue, returnedValue, disputedValue } = amount
  const returned = fate === 'returned' ? capturedValue - refundedValue : 0
  const disputed = fate === 'disputed' ? capturedValue : 0
  if (returnedValue !== returned) find(`${payId}: ${returnedValue} returned, not ${returned}`)
  if (disputedValue !== disputed) find(`${payId}: ${disputedValue} disputed, not ${disputed}`)
  const booked = operations
    .filter(({ type }) => type === 'RETURN')
    .reduce((sum, operation) => sum + operation.amount.value, 0)
  if (booked !== returnedValue) find(`${payId}: returns of ${booked} make ${returnedValue}`)
}
