/**
 * A second model of the life of a payment, as simple as possible: one mutable record, every operation kept in a list,
 * every sum added up from that list when it is read. Written from the contract's tables; it knows nothing of the
 * gateway and imports nothing from it, so that the two can only agree by being right.
 */

/** The provider's decision, and whether its answer arrives. */
export type Luck = 'approved' | 'declined' | 'unheard' | 'unheard decline' | 'lost twice' | 'lost'

export interface MethodFacts {
  readonly prefix: string
  readonly days: number
  readonly raises: boolean
  readonly capturesOften: boolean
}

type Kind = 'AUTHORIZATION' | 'CAPTURE' | 'REVERSAL' | 'REFUND' | 'INCREMENTAL'

interface Entry {
  readonly kind: Kind
  readonly amount: number
  readonly at: number
  state: 'unknown' | 'done' | 'failed'
  /** The result that an inquiry will find. */
  readonly truth: boolean
  /** The response code that the merchant sees. */
  code?: string
  readonly days?: number
  readonly final?: boolean
  /** For a refund: the refunded capture. */
  readonly of?: Entry
}

export interface BookedPayment {
  readonly facts: MethodFacts
  readonly capture: 'AUTOMATIC' | 'MANUAL' | 'DELAYED'
  readonly delayedHours: number
  readonly amount: number
  readonly transId: string
  readonly payId: string
  /** For a payment on a page: its deadline, and how it ended if it ended unpaid. */
  readonly hosted?: Hosted
  readonly entries: Entry[]
  /** When the approval arrived. */
  approvedAt?: number
  /** Released by time, not by a reversal. */
  lapsed: number
}

interface Hosted {
  readonly deadline: number
  /** The customer has left the provider's page open. */
  leftOpen: boolean
  /** The last four digits of the end: expired, cancelled, or tried too often. */
  ended?: string
}

export interface Asked {
  readonly amount: number
  readonly at: number
  readonly luck: Luck
  readonly days?: number
  readonly final?: boolean
  /** Number of the capture to refund, from 0; by default the last one. */
  readonly captureNumber?: number
}

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const inquiryMs = 10_000

const sum = (entries: readonly Entry[]): number => entries.reduce((total, { amount }) => total + amount, 0)

const of = (payment: BookedPayment, kind: Kind, ...states: Entry['state'][]): Entry[] =>
  payment.entries.filter(entry => entry.kind === kind && states.includes(entry.state))

const counted = (payment: BookedPayment, kind: Kind): number => sum(of(payment, kind, 'done', 'unknown'))

export const sums = (payment: BookedPayment) => ({
  authorizedValue: sum(of(payment, 'AUTHORIZATION', 'done')) + sum(of(payment, 'INCREMENTAL', 'done')),
  capturedValue: sum(of(payment, 'CAPTURE', 'done')),
  refundedValue: sum(of(payment, 'REFUND', 'done')),
  reversedValue: sum(of(payment, 'REVERSAL', 'done')) + payment.lapsed,
})

export const open = (payment: BookedPayment): number =>
  sums(payment).authorizedValue - counted(payment, 'CAPTURE') - counted(payment, 'REVERSAL') - payment.lapsed

export const captureNumbers = (payment: BookedPayment): number => of(payment, 'CAPTURE', 'done').length

export function status(payment: BookedPayment): string {
  if (of(payment, 'AUTHORIZATION', 'done').length === 0) return undecided(payment)
  const { authorizedValue, capturedValue, reversedValue } = sums(payment)
  if (capturedValue > 0) return 'OK'
  if (reversedValue === authorizedValue) return 'REVERSED'
  const isToCome =
    payment.capture === 'DELAYED' && !afterItsHour(payment).some(({ state }) => state === 'failed')
  return isToCome ? 'CAPTURE_REQUEST' : 'AUTHORIZED'
}

/** A payment fails when its provider declines; on a page the customer may try again until the payment has ended. */
function undecided(payment: BookedPayment): string {
  const isUnknown = of(payment, 'AUTHORIZATION', 'unknown').length > 0
  if (!payment.hosted) return isUnknown ? 'PENDING' : 'FAILED'
  if (payment.hosted.ended !== undefined) return 'FAILED'
  return isUnknown || payment.hosted.leftOpen ? 'PENDING' : 'AUTHORIZE_REQUEST'
}

/** The tries as the merchant sees them, in order, and the outstanding step. */
export function tries(payment: BookedPayment): string[] {
  const codes = payment.entries.filter(({ kind }) => kind === 'AUTHORIZATION').map(({ code = '' }) => code)
  const { hosted, facts } = payment
  if (!hosted || of(payment, 'AUTHORIZATION', 'done', 'unknown').length > 0) return codes
  // Tried too often, or declined past the deadline, it ends with its last try.
  if (hosted.ended === 'tried') return codes
  if (hosted.ended !== undefined) return [...codes, `${facts.prefix}${hosted.ended}`]
  if (hosted.leftOpen) return [...codes, '60000200']
  return codes.length === 0 ? ['60000100'] : codes
}

const hourOf = ({ approvedAt, delayedHours }: BookedPayment): number =>
  (approvedAt ?? Number.POSITIVE_INFINITY) + delayedHours * hourMs

/** The captures made at the hour of the delayed one or later. */
const afterItsHour = (payment: BookedPayment): Entry[] =>
  payment.entries.filter(({ kind, at }) => kind === 'CAPTURE' && at >= hourOf(payment))

function expiry(payment: BookedPayment): number {
  const prolonged = of(payment, 'INCREMENTAL', 'done').reduce((days, entry) => days + (entry.days ?? 0), 0)
  return (payment.approvedAt ?? Number.POSITIVE_INFINITY) + (payment.facts.days + prolonged) * dayMs
}

/** The codes of the table of guards, row by row; undefined when all rows let it pass. */
function refusal(payment: BookedPayment, kind: Kind, asked: Asked): string | undefined {
  const { authorizedValue } = sums(payment)
  const state = status(payment)
  if (kind === 'REFUND') return refundRefusal(payment, asked)
  if (kind === 'INCREMENTAL' && !payment.facts.raises) return '20200009'
  if (state === 'PENDING') return '20200014'
  if (/^(AUTHORIZE_REQUEST|FAILED)$/.test(state)) return '20200001'
  const taken = counted(payment, 'CAPTURE')
  if (asked.at >= expiry(payment) && taken < authorizedValue) return '20200007'
  if (state === 'REVERSED') return '20200008'
  if (kind === 'CAPTURE' ? taken >= authorizedValue : taken > 0) return '20200002'
  if (kind === 'INCREMENTAL') return undefined
  const attempts = of(payment, 'CAPTURE', 'done', 'unknown')
  if (kind === 'CAPTURE' && attempts.some(({ final }) => final)) return '20200006'
  if (asked.amount > open(payment)) return '20200003'
  if (kind === 'CAPTURE' && attempts.length > 0 && !payment.facts.capturesOften) return '20200009'
  return undefined
}

function captureToRefund(payment: BookedPayment, { captureNumber }: Asked): Entry | undefined {
  return of(payment, 'CAPTURE', 'done').at(captureNumber ?? -1)
}

export function refundable(payment: BookedPayment, asked: Asked): number {
  const capture = captureToRefund(payment, asked)
  const given = of(payment, 'REFUND', 'done', 'unknown')
  return capture ? capture.amount - sum(given.filter(refund => refund.of === capture)) : 0
}

function refundRefusal(payment: BookedPayment, asked: Asked): string | undefined {
  if (status(payment) === 'PENDING') return '20200014'
  if (status(payment) !== 'OK') return '20200004'
  const left = sums(payment).capturedValue - counted(payment, 'REFUND')
  return asked.amount > left || asked.amount > refundable(payment, asked) ? '20200004' : undefined
}

const heard: Record<Luck, Entry['state']> = {
  approved: 'done',
  'lost twice': 'done',
  declined: 'failed',
  lost: 'failed',
  unheard: 'unknown',
  'unheard decline': 'unknown',
}
const isTaken = (luck: Luck): boolean => luck === 'approved' || luck === 'lost twice' || luck === 'unheard'

function answer(payment: BookedPayment, state: Entry['state'], luck: Luck): string {
  if (state === 'done') return '00000000'
  if (state === 'unknown') return '60000200'
  return `${payment.facts.prefix}${luck === 'lost' ? '0391' : '0305'}`
}

/** Books the operation and returns the code that the merchant must get. */
export function operate(payment: BookedPayment, kind: Kind, asked: Asked): string {
  const refused = refusal(payment, kind, asked)
  if (refused) return refused
  const { amount, at, luck, days, final } = asked
  const state = heard[luck]
  const of = kind === 'REFUND' ? captureToRefund(payment, asked) : undefined
  payment.entries.push({ kind, amount, at, state, truth: isTaken(luck), days, final, of })
  return answer(payment, state, luck)
}

type Birth = Omit<BookedPayment, 'entries' | 'lapsed' | 'approvedAt' | 'hosted'>

export function book(birth: Birth, asked: Asked): { payment: BookedPayment; code: string } {
  const payment: BookedPayment = { ...birth, entries: [], lapsed: 0 }
  return { payment, code: attempt(payment, asked) }
}

/** A payment that waits for its customer, for a day. */
export const bookHosted = (birth: Birth, at: number): BookedPayment => ({
  ...birth,
  hosted: { deadline: at + dayMs, leftOpen: false },
  entries: [],
  lapsed: 0,
})

function attempt(payment: BookedPayment, { at, luck }: Pick<Asked, 'at' | 'luck'>): string {
  const state = heard[luck]
  const code = answer(payment, state, luck)
  const { amount } = payment
  payment.entries.push({ kind: 'AUTHORIZATION', amount, at, state, truth: isTaken(luck), code })
  if (state === 'done') approve(payment, at)
  if (state === 'failed') endIfOver(payment, at)
  return code
}

export type CustomerAction = 'approve' | 'decline' | 'cancel' | 'pending'

/** Books a customer's action on their page; it has no effect if there is nothing to do. */
export function act(payment: BookedPayment, action: CustomerAction, { at, luck }: Asked): void {
  const { hosted } = payment
  const waits = status(payment) === 'AUTHORIZE_REQUEST' || hosted?.leftOpen === true
  if (!hosted || !waits || hosted.ended !== undefined) return
  if (action === 'cancel') hosted.ended = '0703'
  hosted.leftOpen = action === 'pending'
  if (action === 'approve' || action === 'decline') attempt(payment, { at, luck })
}

/**
 * Ten declines, or one that is known after the deadline, end the payment. A request that never arrived is no decline.
 */
function endIfOver({ hosted, entries, facts }: BookedPayment, at: number): void {
  const declines = entries.filter(({ state, code }) => state === 'failed' && code !== `${facts.prefix}0391`)
  if (hosted && (declines.length >= 10 || at >= hosted.deadline)) hosted.ended = 'tried'
}

function approve(payment: BookedPayment, at: number): void {
  payment.approvedAt = at
  const { amount } = payment
  if (payment.capture === 'AUTOMATIC')
    payment.entries.push({ kind: 'CAPTURE', amount, at, state: 'done', truth: true })
}

type Due = { readonly at: number; readonly happen: () => void }

/** Books everything that becomes due until then, in the order of its times. Delayed captures have the given luck. */
export function elapse(payment: BookedPayment, until: number, luck: Luck): void {
  for (;;) {
    const [next] = findDue(payment, luck)
      .filter(({ at }) => at <= until)
      .sort((one, other) => one.at - other.at)
    if (!next) return
    next.happen()
  }
}

function findDue(payment: BookedPayment, luck: Luck): Due[] {
  const inquiries = payment.entries
    .filter(({ state }) => state === 'unknown')
    .map(entry => ({ at: entry.at + inquiryMs, happen: () => settle(payment, entry) }))
  return [...inquiries, ...findDelayed(payment, luck), ...findLapse(payment), ...findDeadline(payment)]
}

function settle(payment: BookedPayment, entry: Entry): void {
  const wasReversed = status(payment) === 'REVERSED'
  entry.state = entry.truth ? 'done' : 'failed'
  entry.code = entry.truth ? '00000000' : `${payment.facts.prefix}0305`
  if (entry.kind === 'AUTHORIZATION' && !entry.truth) endIfOver(payment, entry.at + inquiryMs)
  if (entry.kind === 'AUTHORIZATION' && entry.truth) approve(payment, entry.at + inquiryMs)
  // An increment of a reversed payment is released with it.
  if (entry.kind === 'INCREMENTAL' && entry.truth && wasReversed) payment.lapsed += entry.amount
}

/** A customer who has not paid by the deadline cannot pay any more; the payment waits for an outstanding answer. */
function findDeadline(payment: BookedPayment): Due[] {
  const { hosted } = payment
  if (!hosted || hosted.ended !== undefined) return []
  if (of(payment, 'AUTHORIZATION', 'done', 'unknown').length > 0) return []
  const end = () => {
    hosted.leftOpen = false
    hosted.ended = '0402'
  }
  return [{ at: hosted.deadline, happen: end }]
}

/** Delayed further while it would be refused, because an unknown outcome may turn out to be a decline. */
function findDelayed(payment: BookedPayment, luck: Luck): Due[] {
  if (payment.capture !== 'DELAYED' || afterItsHour(payment).length > 0) return []
  const asked: Asked = { amount: open(payment), at: hourOf(payment), luck }
  if (asked.amount === 0 || refusal(payment, 'CAPTURE', asked)) return []
  return [{ at: asked.at, happen: () => void operate(payment, 'CAPTURE', asked) }]
}

function findLapse(payment: BookedPayment): Due[] {
  const amount = open(payment)
  if (payment.approvedAt === undefined || amount === 0) return []
  const release = () => {
    payment.lapsed += amount
  }
  return [{ at: expiry(payment), happen: release }]
}
