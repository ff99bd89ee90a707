/**
 * What every connector must handle, whichever the provider: each operation with each outcome, lost answers, notices in
 * any order, a process that dies between two writes. The provider keeps a ledger of its own; in the end both ledgers
 * must agree. It does not depend on a test runner: a test passes a stage and runs the cases.
 */
import { strict as assert } from 'node:assert'
import type { OperationType } from '#lifecycle/payment.ts'

/**
 * What the provider does with the next request. `throttled`: it turns it away and wants to be left alone for half a minute; a
 * provider that cannot say so turns every sending away. `lostBefore`: it never arrives, and the caller cannot know. `lostAfter`: it is
 * carried out and the answer is lost. `errorPage`: it is carried out, and a proxy answers 500 with a page of HTML.
 * `otherAmount`: the answer names an amount that was not asked for.
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
 * Before the answer to the request is recorded, long after it, twice, among forged ones, the newest first, or not
 * before our own inquiries have ended.
 */
export type NoticeOrder = 'early' | 'late' | 'twice' | 'forged' | 'reversed' | 'never'

export const noticeOrders: readonly NoticeOrder[] = ['early', 'late', 'twice', 'forged', 'reversed', 'never']

export type CrashName = 'afterRecord' | 'afterCall' | 'afterSettle'

const crashNames: readonly CrashName[] = ['afterRecord', 'afterCall', 'afterSettle']

/** One movement in the provider's own books. `undone`: it was carried out and then undone at our request. */
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

/** A gateway with an account at the provider, and the provider itself. */
export interface Stage {
  /** Whether this provider sends notices at all. */
  readonly sendsNotices: boolean
  /** What happens to the next request of that kind; early notices are delivered before it is answered. */
  arm(operation: OperationType, behaviour: Behaviour, order: NoticeOrder): void
  ledger(): readonly LedgerEntry[]
  /** Creates a payment of 1000 by card; with a crash point the process dies there and another one continues. */
  create(options: { readonly automatic: boolean; readonly diesAt?: CrashName }): Promise<string>
  follow(
    payId: string,
    name: FollowUpName,
    options: { readonly value: number; readonly diesAt?: CrashName },
  ): Promise<void>
  /** Delivers the provider's notices, and lets time pass until nothing is open any more. */
  settle(order: NoticeOrder): Promise<void>
  read(payId: string): Promise<ShownPayment>
  /** What the doctor finds wrong; empty if everything is right. */
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
 * Brings a payment to the state before the operation, performs the operation, lets everything settle, and compares the
 * ledgers.
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
  // The approval's own notice is held back if a newer one is to overtake it.
  const overtaken = order === 'reversed' && (await stage.read(payId)).amount.authorizedValue > 0
  if (!overtaken) await stage.settle('late')
  stage.arm(act.operation, behaviour, order)
  if (act.name) await stage.follow(payId, act.name, { value: act.value, diesAt })
  await settleBooks(stage, payId, order)
  await checkSendings(stage, payId, { act, behaviour })
}

/** A request that was turned away with a wait that nobody can wait for has failed and is not sent a second time. */
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
 * Without a notice an operation may stay open, as long as we claim nothing that contradicts the provider's ledger. It
 * ends once the notice arrives.
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

/** Sums are equal, nothing happened twice, and nothing is open except what is named. */
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
  // An approval that was reported only after it was undone at our request appears with its reversal.
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

/** Every operation with every behaviour, then with every order of notices, then with every gap that a process can die in. */
export function conformanceCases({ sendsNotices }: Pick<Stage, 'sendsNotices'>): readonly ConformanceCase[] {
  // With every behaviour notices come late; here they come in every other order.
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

/** Runs the suite: `test` is the runner's own, `open` the stage that all cases share. */
export function describeConnector(
  provider: { readonly name: string; readonly sendsNotices: boolean },
  open: () => Stage,
  test: (name: string, run: () => Promise<void>) => void,
): void {
  for (const { name, run } of conformanceCases(provider)) test(`${provider.name}, ${name}`, () => run(open()))
  test(`${provider.name}: after all of it the doctor finds nothing`, async () =>
    assert.deepEqual(await open().broken(), []))
}
