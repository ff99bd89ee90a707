/**
 * Random histories of a shop: what can be done next, what it does to the books that the test keeps, and the request
 * that does the same at the gateway. After every step both must agree.
 */
import fc from 'fast-check'
import { expect } from 'vitest'
import type { TestAnswer } from '#test/support/gateway.ts'
import { currency, type FollowUpName, methodPayment, type Shop, urls } from '#test/support/shop.ts'
import {
  type Asked,
  act,
  type BookedPayment,
  book,
  bookHosted,
  type CustomerAction,
  captureNumbers,
  elapse,
  type Luck,
  type MethodFacts,
  open,
  operate,
  refundable,
  status,
  sums,
  tries,
} from '#test/support/simulation/reference-books.ts'

const types = {
  CARD: { prefix: '2100', days: 7, raises: true, capturesOften: true },
  PROVIDERM: { prefix: '2400', days: 7, raises: false, capturesOften: true },
  DIRECTDEBIT: { prefix: '2300', days: 30, raises: false, capturesOften: false },
} satisfies Record<string, MethodFacts>
type Type = keyof typeof types

const hostedTypes = {
  CARD: types.CARD,
  DIRECTDEBIT: types.DIRECTDEBIT,
  PROVIDERT: { prefix: '2500', days: 30, raises: true, capturesOften: true },
  PROVIDERZ: { prefix: '2400', days: 30, raises: false, capturesOften: false },
} satisfies Record<string, MethodFacts>
type HostedType = keyof typeof hostedTypes

export interface Books {
  readonly payments: BookedPayment[]
  now: number
  requests: number
}

/** The fault that the shop requests from the simulator before a request. */
const faults: Partial<Record<Luck, { fault: string; times: number }>> = {
  unheard: { fault: 'lost_answer', times: 1 },
  'unheard decline': { fault: 'lost_answer', times: 1 },
  'lost twice': { fault: 'lost_request', times: 2 },
  lost: { fault: 'lost_request', times: 3 },
}
const isDecline = (luck: Luck): boolean => luck === 'declined' || luck === 'unheard decline'

interface Request {
  readonly path: string
  readonly body: object
  readonly luck: Luck
  /** Sends the request a second time with the same key, which must change nothing. */
  readonly twice: boolean
}

async function send({ path, body, luck, twice }: Request, books: Books, shop: Shop): Promise<TestAnswer> {
  const fault = faults[luck]
  if (fault) await shop.call('POST', '/test/faults', { operation: '*', ...fault })
  const whole = { ...body, ...(isDecline(luck) ? { simulationMode: '0305' } : {}) }
  const headers = { 'idempotency-key': `model-${++books.requests}` }
  const answer = await shop.call('POST', path, whole, headers)
  // A fault that a refused request did not use up must not affect the next one.
  if (fault) await shop.call('DELETE', '/test/faults')
  if (twice) expect((await shop.call('POST', path, whole, headers)).text).toBe(answer.text)
  return answer
}

async function compare(payment: BookedPayment, shop: Shop): Promise<void> {
  const record = await shop.read(payment.payId)
  expect({ status: record.status, ...record.amount }).toMatchObject({
    status: status(payment),
    ...sums(payment),
  })
  const authorizations = record.operations.filter(({ type }: { type: string }) => type === 'AUTHORIZATION')
  expect(authorizations.map((entry: { responseCode: string }) => entry.responseCode)).toEqual(tries(payment))
}

type Command = fc.AsyncCommand<Books, Shop>

interface Creation {
  readonly type: Type
  readonly capture: BookedPayment['capture']
  readonly delayedHours: number
  readonly amount: number
  readonly luck: Luck
  readonly twice: boolean
  /** Uses the transId of that earlier payment; a new one if there is none. */
  readonly reuse: number | undefined
}

class Create implements Command {
  readonly chosen: Creation

  constructor(chosen: Creation) {
    this.chosen = chosen
  }

  check = () => true

  async run(books: Books, shop: Shop): Promise<void> {
    const { type, capture, delayedHours, amount, luck, twice, reuse } = this.chosen
    const earlier = reuse === undefined ? undefined : books.payments[reuse % (books.payments.length || 1)]
    const transId = earlier?.transId ?? `model-${books.payments.length}-${books.requests}`
    const delayed = capture === 'DELAYED' ? { delayed: { delayedHours } } : {}
    const body = methodPayment(type, {
      transId,
      amount: { value: amount, currency },
      captureMethod: { type: capture, ...delayed },
    })
    const answer = await send({ path: '/payments', body, luck, twice }, books, shop)
    const isHeld = books.payments.some(
      payment => payment.transId === transId && !/^(FAILED|REVERSED)$/.test(status(payment)),
    )
    if (isHeld) {
      expect(answer.body.responseCode).toBe('20170001')
      return
    }
    const birth = { facts: types[type], capture, delayedHours, amount, transId, payId: answer.body.payId }
    const { payment, code } = book(birth, { at: books.now, amount, luck })
    expect(answer.body).toMatchObject({ responseCode: code, status: status(payment) })
    expect(answer.status).toBe(status(payment) === 'FAILED' ? 422 : 200)
    books.payments.push(payment)
    await compare(payment, shop)
  }

  toString = () => `create ${JSON.stringify(this.chosen)}`
}

export interface HostedCreation {
  readonly type: HostedType
  readonly capture: 'AUTOMATIC' | 'MANUAL'
  readonly amount: number
}

export class CreateHosted implements Command {
  readonly chosen: HostedCreation

  constructor(chosen: HostedCreation) {
    this.chosen = chosen
  }

  check = () => true

  async run(books: Books, shop: Shop): Promise<void> {
    const { type, capture, amount } = this.chosen
    const transId = `hosted-${books.payments.length}-${++books.requests}`
    const { body } = await shop.call('POST', '/payments', {
      transId,
      amount: { value: amount, currency },
      captureMethod: { type: capture },
      urls,
      paymentMethods: { integrationType: 'HOSTED', type },
    })
    expect(body).toMatchObject({ status: 'AUTHORIZE_REQUEST', responseCode: '60000100' })
    const facts = hostedTypes[type]
    const birth = { facts, capture, delayedHours: 0, amount, transId, payId: body.payId }
    const payment = bookHosted(birth, books.now)
    books.payments.push(payment)
    await compare(payment, shop)
  }

  toString = () => `create hosted ${JSON.stringify(this.chosen)}`
}

export interface Visit {
  readonly which: number
  readonly action: CustomerAction
  readonly luck: Luck
  /** How often in a row. */
  readonly times: number
}

/** The result of a decline by the customer, for each fault on its way. */
const declineLucks: Readonly<Record<Luck, Luck>> = {
  approved: 'declined',
  declined: 'declined',
  'lost twice': 'declined',
  unheard: 'unheard decline',
  'unheard decline': 'unheard decline',
  lost: 'lost',
}

export class ActAsCustomer implements Command {
  readonly chosen: Visit

  constructor(chosen: Visit) {
    this.chosen = chosen
  }

  check = (books: Readonly<Books>) => books.payments.some(({ hosted }) => hosted !== undefined)

  async run(books: Books, shop: Shop): Promise<void> {
    const { which, action, times } = this.chosen
    const hosted = books.payments.filter(payment => payment.hosted !== undefined)
    const payment = hosted.at(-1 - (which % hosted.length))
    if (!payment) return
    const asks = action === 'approve' || action === 'decline'
    // A customer who approves cannot be declined by anybody else here.
    const luck = asks && !isDecline(this.chosen.luck) ? this.chosen.luck : 'approved'
    for (let n = 0; n < times; n += 1) {
      const fault = faults[luck]
      if (fault) await shop.call('POST', '/test/faults', { operation: 'AUTHORIZATION', ...fault })
      await shop.customer(payment.payId, action)
      if (fault) await shop.call('DELETE', '/test/faults')
      const heard = action === 'decline' ? declineLucks[luck] : luck
      act(payment, action, { amount: 0, at: books.now, luck: heard })
      await compare(payment, shop)
    }
  }

  toString = () => `customer ${JSON.stringify(this.chosen)}`
}

interface Step {
  readonly kind: 'CAPTURE' | 'REVERSAL' | 'REFUND' | 'INCREMENTAL'
  readonly which: number
  readonly luck: Luck
  readonly twice: boolean
  /** A share of the possible amount, or of the amount ever authorised; sometimes a cent more or less. */
  readonly permille: number
  readonly from: 'possible' | 'authorised'
  readonly cent: -1 | 0 | 1
  readonly final: boolean
  readonly days: number
  readonly captureNumber: number | undefined
}

const paths: Record<Step['kind'], FollowUpName> = {
  CAPTURE: 'captures',
  REVERSAL: 'reversals',
  REFUND: 'refunds',
  INCREMENTAL: 'incrementals',
}

class Operate implements Command {
  readonly chosen: Step

  constructor(chosen: Step) {
    this.chosen = chosen
  }

  check = (books: Readonly<Books>) => books.payments.length > 0

  async run(books: Books, shop: Shop): Promise<void> {
    const { kind, which, luck, twice, permille, from, cent } = this.chosen
    // Counted from the newest, so that most steps use a recent payment.
    const payment = books.payments.at(-1 - (which % books.payments.length))
    if (!payment) return
    const asked = this.#ask(payment, books.now)
    const possible = kind === 'REFUND' ? refundable(payment, asked) : open(payment)
    const most = from === 'possible' ? possible : sums(payment).authorizedValue
    const amount = Math.max(1, Math.ceil((most * permille) / 1000) + cent)
    const path = `/payments/${payment.payId}/${paths[kind]}`
    const body = {
      transId: 'step',
      amount: { value: amount, currency },
      ...(await this.#extras(payment, asked, shop)),
    }
    const answer = await send({ path, body, luck, twice }, books, shop)
    expect(answer.body.responseCode).toBe(operate(payment, kind, { ...asked, amount }))
    await compare(payment, shop)
  }

  #ask(payment: BookedPayment, at: number): Asked {
    const { kind, luck, final, days, captureNumber } = this.chosen
    const captures = captureNumbers(payment)
    const isNamed =
      kind === 'REFUND' && captureNumber !== undefined && captures > 0 && payment.facts === types.CARD
    return {
      amount: 0,
      at,
      luck,
      final: kind === 'CAPTURE' && final,
      days: kind === 'INCREMENTAL' ? days : undefined,
      captureNumber: isNamed ? captureNumber % captures : undefined,
    }
  }

  async #extras(payment: BookedPayment, asked: Asked, shop: Shop): Promise<object> {
    if (asked.final) return { captureMethod: { manual: { final: true } } }
    if (asked.days) return { duration: asked.days }
    if (asked.captureNumber === undefined) return {}
    const { operations } = await shop.read(payment.payId)
    const taken = operations.filter(
      (entry: { type: string; status: string }) => entry.type === 'CAPTURE' && entry.status === 'OK',
    )
    const { providerTransactionId } = taken[asked.captureNumber]
    return { paymentMethods: { card: { providerTransactionId } } }
  }

  toString = () => `${this.chosen.kind} ${JSON.stringify(this.chosen)}`
}

class Advance implements Command {
  readonly seconds: number
  readonly luck: 'approved' | 'declined' | 'unheard'

  constructor(seconds: number, luck: Advance['luck']) {
    this.seconds = seconds
    this.luck = luck
  }

  check = () => true

  async run(books: Books, shop: Shop): Promise<void> {
    // The delayed capture that fires in the meantime gets this fault.
    const fault = { approved: undefined, declined: 'decline', unheard: 'lost_answer' }[this.luck]
    if (fault) await shop.fail({ operation: 'CAPTURE', fault, times: 1000 })
    await shop.advance(`PT${this.seconds}S`)
    if (fault) await shop.call('DELETE', '/test/faults')
    books.now += this.seconds * 1000
    for (const payment of books.payments) {
      elapse(payment, books.now, this.luck)
      await compare(payment, shop)
    }
  }

  toString = () => `advance ${this.seconds} s, captures ${this.luck}`
}

const luck = fc.oneof(
  { weight: 6, arbitrary: fc.constant<Luck>('approved') },
  { weight: 4, arbitrary: fc.constantFrom<Luck>('unheard', 'unheard decline') },
  { weight: 2, arbitrary: fc.constantFrom<Luck>('declined', 'lost twice', 'lost') },
)
const creation = fc.record({
  type: fc.constantFrom<Type>('CARD', 'CARD', 'PROVIDERM', 'DIRECTDEBIT'),
  capture: fc.constantFrom<BookedPayment['capture']>('MANUAL', 'MANUAL', 'DELAYED', 'AUTOMATIC'),
  delayedHours: fc.constantFrom(1, 2, 30, 100),
  amount: fc.integer({ min: 1, max: 2000 }),
  luck,
  twice: fc.integer({ min: 0, max: 4 }).map(n => n === 0),
  reuse: fc.option(fc.nat(9), { nil: undefined, freq: 4 }),
})
const hostedCreation = fc.record({
  type: fc.constantFrom<HostedType>('CARD', 'DIRECTDEBIT', 'PROVIDERT', 'PROVIDERZ'),
  capture: fc.constantFrom<HostedCreation['capture']>('MANUAL', 'AUTOMATIC'),
  amount: fc.integer({ min: 1, max: 2000 }),
})
const visit = fc.record({
  which: fc.constantFrom(0, 0, 0, 1, 2),
  action: fc.constantFrom<CustomerAction>('approve', 'decline', 'decline', 'pending', 'cancel'),
  luck,
  times: fc.constantFrom(1, 1, 1, 1, 7),
})
const step = fc.record({
  kind: fc.constantFrom<Step['kind']>('CAPTURE', 'CAPTURE', 'REVERSAL', 'REFUND', 'REFUND', 'INCREMENTAL'),
  which: fc.constantFrom(0, 0, 0, 0, 1, 1, 2, 5),
  luck,
  twice: fc.integer({ min: 0, max: 4 }).map(n => n === 0),
  permille: fc.constantFrom(200, 500, 700, 1000),
  from: fc.constantFrom<Step['from']>('possible', 'authorised'),
  cent: fc.constantFrom<Step['cent']>(0, 0, 0, 1, -1),
  final: fc.integer({ min: 0, max: 9 }).map(n => n === 0),
  days: fc.constantFrom(0, 0, 2),
  captureNumber: fc.option(fc.nat(5), { nil: undefined }),
})
const hour = 3_600
export const history = fc.commands(
  [
    creation.map(chosen => new Create(chosen)),
    hostedCreation.map(chosen => new CreateHosted(chosen)),
    visit.map(chosen => new ActAsCustomer(chosen)),
    visit.map(chosen => new ActAsCustomer(chosen)),
    ...Array.from({ length: 6 }, () => step.map(chosen => new Operate(chosen))),
    fc
      .tuple(
        fc.constantFrom(
          5,
          10,
          60,
          hour,
          2 * hour,
          23 * hour,
          31 * hour,
          72 * hour,
          7 * 24 * hour,
          30 * 24 * hour,
        ),
        fc.constantFrom<Advance['luck']>('approved', 'approved', 'declined', 'unheard'),
      )
      .map(([seconds, chosen]) => new Advance(seconds, chosen)),
  ],
  // 100 at most: long enough for several payments to be captured, refunded and to lapse.
  { maxCommands: 100, size: 'max' },
)
