/**
 * The conformance suite that every connector must pass: each operation with each outcome, lost answers, notices in any
 * order, and crashes between the two commits. The provider keeps its own ledger, and in the end both ledgers must
 * agree. Independent of the test runner: a test passes a stage and runs the cases.
 */
import { strict as assert } from 'node:assert'
import type { OperationType } from '#lifecycle/payment.ts'

/**
 * How the provider handles the next request. `throttled`: rejects it and asks to wait half a minute (a provider without
 * such an answer rejects every attempt). `lostBefore`: the request never arrives, which the caller cannot know.
 * `lostAfter`: the request is carried out, and the answer is lost. `errorPage`: the request is carried out, and a proxy
 * answers 500 with an HTML page. `otherAmount`: the answer names another amount than the request.
 */
export type Behaviour =
  | 'approve'
  | 'decline'
  | 'unreached'
  | 'throttled'
  | 'lostBefore'
  | 'lostAfter'
  | 'errorPage'
  | 'throws'
  | 'hangs'
  | 'otherAmount'

export const behaviours: readonly Behaviour[] = [
  'approve',
  'decline',
  'unreached',
  'throttled',
  'lostBefore',
  'lostAfter',
  'errorPage',
  'throws',
  'hangs',
  'otherAmount',
]

/**
 * When notices arrive: before the answer is recorded, long after it, twice, among forged ones, the newest first, or
 * only after our own inquiries have ended.
 */
export type NoticeOrder = 'early' | 'late' | 'twice' | 'forged' | 'reversed' | 'never'

export const noticeOrders: readonly NoticeOrder[] = ['early', 'late', 'twice', 'forged', 'reversed', 'never']

export type CrashName = 'afterRecord' | 'afterCall' | 'afterSettle'

const crashNames: readonly CrashName[] = ['afterRecord', 'afterCall', 'afterSettle']

/** One entry in the provider's ledger. `undone`: carried out and then undone at our request. */
export interface LedgerEntry {
  readonly operation: OperationType
  readonly reference: string
  readonly amount: number
  readonly state: 'approved' | 'declined' | 'undone'
}

/** A payment as the API shows it. */
export interface ShownPayment {
  readonly payId: string
  readonly status: string
  readonly amount: {
    readonly authorizedValue: number
    readonly capturedValue: number
    readonly refundedValue: number
    readonly reversedValue: number
  }
  readonly operations: readonly {
    readonly xId: string
    readonly type: string
    readonly status: string
    readonly amount: { readonly value: number }
  }[]
}

export type FollowUpName = 'captures' | 'refunds' | 'reversals' | 'incrementals'

/** A gateway with an account at the provider, and a double of the provider. */
export interface Stage {
  /** Whether this provider sends notices at all. */
  readonly sendsNotices: boolean
  /** Sets the handling of the next request for that operation. Early notices are delivered before it is answered. */
  arm(operation: OperationType, behaviour: Behaviour, order: NoticeOrder): void
  ledger(): readonly LedgerEntry[]
  /** Creates a card payment of 1000. With `diesAt` the process dies at that point, and another one continues. */
  create(options: { readonly automatic: boolean; readonly diesAt?: CrashName }): Promise<string>
  follow(
    payId: string,
    name: FollowUpName,
    options: { readonly value: number; readonly diesAt?: CrashName },
  ): Promise<void>
  /** Delivers the provider's notices and advances the clock until nothing is open. */
  settle(order: NoticeOrder): Promise<void>
  read(payId: string): Promise<ShownPayment>
  /** The findings of `tollgate doctor`; empty if everything is consistent. */
  broken(): Promise<readonly string[]>
}

export interface ConformanceCase {
  readonly name: string
  run(stage: Stage): Promise<void>
}

interface Act {
  readonly operation: OperationType
  readonly name?: FollowUpName
  readonly value: number
  /** The state of the payment before the operation. */
  readonly after: 'nothing' | 'authorized' | 'captured'
}

const acts: readonly Act[] = [
  { operation: 'AUTHORIZATION', value: 1000, after: 'nothing' },
  { operation: 'CAPTURE', name: 'captures', value: 600, after: 'authorized' },
  { operation: 'REVERSAL', name: 'reversals', value: 1000, after: 'authorized' },
  { operation: 'INCREMENTAL', name: 'incrementals', value: 200, after: 'authorized' },
  { operation: 'REFUND', name: 'refunds', value: 400, after: 'captured' },
]

/**
 * Brings a payment to the state before the operation, performs the operation, waits until everything is settled, and
 * compares the ledgers.
 */
async function play(
  stage: Stage,
  act: Act,
  how: { behaviour: Behaviour; order: NoticeOrder; diesAt?: CrashName },
): Promise<void> {
  const { behaviour, order, diesAt } = how
  if (act.after === 'nothing') {
    stage.arm('AUTHORIZATION', behaviour, order)
    const payId = await stage.create({ automatic: false, diesAt })
    await settleBooks(stage, payId, order)
    return checkSendings(stage, payId, { act, behaviour })
  }
  stage.arm('AUTHORIZATION', 'approve', 'late')
  const payId = await stage.create({ automatic: act.after === 'captured' })
  // If notices arrive newest first, the notice of the approval is held back until the next one has overtaken it.
  const overtaken = order === 'reversed' && (await stage.read(payId)).amount.authorizedValue > 0
  if (!overtaken) await stage.settle('late')
  stage.arm(act.operation, behaviour, order)
  if (act.name) await stage.follow(payId, act.name, { value: act.value, diesAt })
  await settleBooks(stage, payId, order)
  await checkSendings(stage, payId, { act, behaviour })
}

/** A request that was rejected with a longer wait than a caller can wait has failed and is not sent again. */
async function checkSendings(
  stage: Stage,
  payId: string,
  { act, behaviour }: { readonly act: Act; readonly behaviour: Behaviour },
): Promise<void> {
  if (behaviour !== 'throttled') return
  const sent = (await stage.read(payId)).operations.filter(({ type }) => type === act.operation)
  assert.deepEqual(
    sent.map(({ status }) => status),
    ['FAILED'],
    'what was turned away has failed',
  )
  const references = new Set(sent.map(({ xId }) => xId))
  const arrived = stage.ledger().filter(({ reference }) => references.has(reference))
  assert.deepEqual(arrived, [], 'what was turned away is not sent again before its time')
}

/**
 * Without a notice an operation may stay open, as long as our books do not contradict the provider's ledger. It must be
 * settled once the notice arrives.
 */
async function settleBooks(stage: Stage, payId: string, order: NoticeOrder): Promise<void> {
  await stage.settle(order)
  if (order === 'never') {
    const { operations } = await stage.read(payId)
    const open = operations.filter(({ status }) => status === 'PENDING').map(({ xId }) => xId)
    await compareBooks(stage, payId, new Set(open))
    await stage.settle('late')
  }
  await compareBooks(stage, payId)
}

/** The sums are equal, nothing is booked twice, and no operation is open except those in `stillOpen`. */
async function compareBooks(
  stage: Stage,
  payId: string,
  stillOpen: ReadonlySet<string> = new Set(),
): Promise<void> {
  const payment = await stage.read(payId)
  const references = new Set(payment.operations.map(({ xId }) => xId).filter(xId => !stillOpen.has(xId)))
  const booked = stage
    .ledger()
    .filter(({ reference, state }) => references.has(reference) && state === 'approved')
  const total = (...types: readonly OperationType[]): number =>
    booked.filter(({ operation }) => types.includes(operation)).reduce((sum, { amount }) => sum + amount, 0)
  assert.equal(
    new Set(booked.map(({ reference }) => reference)).size,
    booked.length,
    'nothing is booked twice',
  )
  // An approval that was reported only after we had it undone is booked together with its reversal.
  const shown = new Set(payment.operations.filter(({ status }) => status !== 'FAILED').map(({ xId }) => xId))
  const undone = stage
    .ledger()
    .filter(({ reference, state }) => state === 'undone' && references.has(reference) && shown.has(reference))
    .reduce((sum, { amount }) => sum + amount, 0)
  const { authorizedValue, capturedValue, refundedValue, reversedValue } = payment.amount
  assert.deepEqual(
    { authorizedValue, capturedValue, refundedValue, reversedValue },
    {
      authorizedValue: total('AUTHORIZATION', 'CONFIRM', 'INCREMENTAL') + undone,
      capturedValue: total('CAPTURE'),
      refundedValue: total('REFUND'),
      reversedValue: total('REVERSAL') + undone,
    },
    'the books of the gateway and of the provider agree',
  )
  const open = payment.operations.filter(({ status, xId }) => status === 'PENDING' && !stillOpen.has(xId))
  assert.deepEqual(open, [], 'nothing is left without an answer')
}

/** Every operation with every behaviour, with every order of notices, and with a crash at every point. */
export function conformanceCases({ sendsNotices }: Pick<Stage, 'sendsNotices'>): readonly ConformanceCase[] {
  // The cases by behaviour already have late notices.
  const orders = sendsNotices ? noticeOrders.filter(order => order !== 'late') : []
  return acts.flatMap(act => [
    ...behaviours.map(behaviour => ({
      name: `${act.operation}: ${behaviour}`,
      run: (stage: Stage) => play(stage, act, { behaviour, order: 'late' }),
    })),
    ...orders.flatMap(order =>
      (['approve', 'decline', 'lostAfter'] as const).map(behaviour => ({
        name: `${act.operation}: ${behaviour}, notices ${order}`,
        run: (stage: Stage) => play(stage, act, { behaviour, order }),
      })),
    ),
    ...crashNames.flatMap(diesAt =>
      (['approve', 'decline', 'lostAfter'] as const).map(behaviour => ({
        name: `${act.operation}: ${behaviour}, dies ${diesAt}`,
        run: (stage: Stage) => play(stage, act, { behaviour, order: 'late', diesAt }),
      })),
    ),
  ])
}

/**
 * Registers the suite with a test runner: `test` is the runner's function, `open` returns the stage that all cases
 * share.
 */
export function describeConnector(
  provider: { readonly name: string; readonly sendsNotices: boolean },
  open: () => Stage,
  test: (name: string, run: () => Promise<void>) => void,
): void {
  for (const { name, run } of conformanceCases(provider)) test(`${provider.name}, ${name}`, () => run(open()))
  test(`${provider.name}: after all of it the doctor finds nothing`, async () =>
    assert.deepEqual(await open().broken(), []))
}
