/** The stages on which connectors prove themselves: two gateways on one database, a provider, and its own ledger. */
import type { Behaviour, LedgerEntry, NoticeOrder, ShownPayment, Stage } from '#connectors/conformance.ts'
import type { Connector, ConnectorDefinition, Kept, OperationRequest, Outcome } from '#connectors/contract.ts'
import { createSimulator, simulatorFacts } from '#connectors/simulator/simulator.ts'
import type { OperationType } from '#lifecycle/payment.ts'
import { examine } from '#storage/doctor/doctor.ts'
import { createTestClock, secondMs } from '#test/support/clock.ts'
import { createCrash } from '#test/support/database/crash.ts'
import { applyNotices, cardPayment, startTestGateway, type TestRequest } from '#test/support/gateway.ts'
import { createLateProvider } from '#test/support/providers/late-provider.ts'
import { addProviderAccount } from '#test/support/providers/provider-account.ts'
import { findBrokenRules, queryRows } from '#test/support/simulation/invariants.ts'

interface Provider {
  readonly definition: ConnectorDefinition
  readonly ledger: readonly LedgerEntry[]
  readonly secrets?: Readonly<Record<string, string>>
  readonly settings?: Readonly<Record<string, string>>
  arm(operation: OperationType, behaviour: Behaviour): void
  /** The due notices; absent for a provider that sends none. */
  tell?(): readonly ToldNotice[]
  /** The same notice with a signature that is not the provider's. */
  forge?(notice: ToldNotice): ToldNotice
  onEarly?(run: (() => Promise<void>) | undefined): void
}

export interface ToldNotice {
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
}

export interface OpenStage extends Stage {
  close(): Promise<void>
}

const minuteMs = 60 * secondMs

/** The times of inquiry of the first quarter of an hour, one after the other. */
const steps = [30 * secondMs, 30 * secondMs, 5 * minuteMs, 15 * minuteMs]

export async function openStage(provider: Provider): Promise<OpenStage> {
  const clock = createTestClock()
  const crash = createCrash()
  const options = { clock, definitions: [provider.definition] }
  const dying = await startTestGateway({ ...options, testCrash: crash.testCrash, requestsPerSecond: 10_000 })
  const heir = await startTestGateway({ ...options, beside: dying })
  const accountId = await addProviderAccount(dying, provider.definition, {
    secrets: provider.secrets,
    settings: provider.settings,
  })

  async function post({ body, headers }: ToldNotice): Promise<number> {
    const url = `${heir.url}/providers/${accountId}/notices`
    return (await fetch(url, { method: 'POST', body, headers: { ...headers } })).status
  }

  /** Returns how many there were. */
  async function deliver(order: NoticeOrder): Promise<number> {
    const notices = order === 'never' ? [] : (provider.tell?.() ?? [])
    if (notices.length === 0) return 0
    for (const notice of order === 'reversed' ? notices.toReversed() : notices) {
      if (order === 'forged' && provider.forge) {
        const status = await post(provider.forge(notice))
        if (status !== 401) throw new Error(`a forged notice was answered ${status}`)
      }
      await post(notice)
      if (order === 'twice') await post(notice)
    }
    await applyNotices(heir, dying)
    // Retries notices that arrived before their payment.
    await queryRows(
      heir.databaseUrl,
      `UPDATE notice_item SET due_at = now(), leased_until = NULL WHERE due_at IS NOT NULL`,
    )
    await applyNotices(heir, dying)
    return notices.length
  }

  async function send(request: TestRequest, diesAt: Parameters<typeof crash.die>[0] | undefined) {
    if (diesAt) await crash.die(diesAt, dying, request)
    else await dying.send(request)
  }

  const isOpen = async (): Promise<boolean> =>
    (await queryRows(heir.databaseUrl, "SELECT 1 FROM operation WHERE state IN ('SENT', 'PENDING') LIMIT 1"))
      .length > 0

  return {
    sendsNotices: provider.tell !== undefined,
    ledger: () => provider.ledger,
    arm(operation, behaviour, order) {
      provider.onEarly?.(order === 'early' ? async () => void (await deliver('late')) : undefined)
      provider.arm(operation, behaviour)
    },
    async create({ automatic, diesAt }) {
      const body = cardPayment(automatic ? {} : { captureMethod: { type: 'MANUAL' } })
      await send({ verb: 'POST', path: '/payments', body }, diesAt)
      const found = await dying.call('GET', `/payments/getByTransId/${body.transId}`)
      return found.body.payId
    },
    async follow(payId, name, { value, diesAt }) {
      const body = { transId: `${name}-${payId.slice(-8)}`, amount: { value, currency: 'EUR' } }
      await send({ verb: 'POST', path: `/payments/${payId}/${name}`, body }, diesAt)
    },
    async settle(order) {
      await heir.gateway.settleWorker.recover(new Date(Date.now() + secondMs))
      for (const step of steps) {
        let happened = await deliver(order)
        clock.move(step)
        for (let due = 1; due > 0; happened += due) due = await heir.gateway.timerWorker.runDue()
        if (happened === 0 && !(await isOpen())) return
      }
    },
    read: async payId => (await dying.call('GET', `/payments/getByPayId/${payId}`)).body as ShownPayment,
    async broken() {
      const rules = Object.keys(await findBrokenRules(heir.databaseUrl))
      const found = (await examine(heir.databaseUrl)).filter(check => check.found > 0)
      return [...rules, ...found.map(({ name }) => name)]
    },
    async close() {
      await heir.stop()
      await dying.stop()
    },
  }
}

/** The double that answers "pending", reports results only by notices and undoes operations with an unknown outcome. */
export function lateStage(): Promise<OpenStage> {
  const word = 'a word that only the provider knows'
  const provider = createLateProvider()
  return openStage({
    definition: provider.definition,
    ledger: provider.ledger,
    secrets: { word },
    arm: provider.arm,
    tell: () => provider.tell(word).map(body => ({ body })),
    forge: ({ body }) => ({ body: body.replace(/"mac":"./, '"mac":"x') }),
    onEarly: run => {
      provider.beforeAnswer = run ?? (async () => undefined)
    },
  })
}

/** The simulator, with a ledger of received messages and faults on its connection. */
export function simulatorStage(): Promise<OpenStage> {
  const ledger: LedgerEntry[] = []
  const armed = new Map<OperationType, Behaviour[]>()
  const simulator = createSimulator({
    onMessage: ({ operation, reference, amount, approved }) =>
      void ledger.push({ operation, reference, amount, state: approved ? 'approved' : 'declined' }),
  })

  /** Decides what happens to a message on its way, before it is recorded, as the simulator itself does. */
  const keep: Connector['keep'] = async question => {
    const behaviour = armed.get(question.request.operation)?.shift() ?? 'approve'
    const kept: Kept = { ...(await simulator.keep?.(question)), behaviour }
    return behaviour === 'decline' ? { ...kept, decline: '0305' } : kept
  }

  async function travel<T>(
    request: OperationRequest,
    signal: AbortSignal,
    answer: { readonly deliver: () => Promise<T>; readonly say: (outcome: Outcome) => T },
  ): Promise<T> {
    const { deliver, say } = answer
    switch (request.kept?.behaviour) {
      case 'unreached':
      case 'throttled':
        return say({ kind: 'unreached' })
      case 'lostBefore':
        return say({ kind: 'unknown' })
      case 'lostAfter':
      case 'errorPage':
        await deliver()
        return say({ kind: 'unknown' })
      case 'throws':
        await deliver()
        throw new Error('the line broke')
      case 'hangs':
        await deliver()
        return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      case 'otherAmount': {
        await deliver()
        const amount = { ...request.amount, value: request.amount.value + 1 }
        return say({ kind: 'approved', provider: { echo: { reference: request.reference, amount } } })
      }
      default:
        return deliver()
    }
  }

  const single =
    (name: 'capture' | 'reverse' | 'refund' | 'increment'): Connector['capture'] =>
    (request, signal) =>
      travel<Outcome>(request, signal, {
        deliver: async () => simulator[name]?.(request, signal) ?? { kind: 'unknown' },
        say: outcome => outcome,
      })

  // Short, so that a test which lets it hang does not wait.
  const facts = { ...simulatorFacts, timeoutMs: 50 }
  const connector: Connector = {
    ...simulator,
    facts,
    keep,
    authorize: (request, signal) =>
      travel(request, signal, {
        deliver: () => simulator.authorize(request, signal),
        say: authorization => ({ authorization }),
      }),
    capture: single('capture'),
    reverse: single('reverse'),
    refund: single('refund'),
    increment: single('increment'),
    async inquire(inquiry, signal) {
      const arrived = ledger.some(({ reference }) => reference === inquiry.reference)
      const found = arrived ? await simulator.inquire?.(inquiry, signal) : undefined
      return found ?? { authorization: { kind: 'unreached' } }
    },
  }
  return openStage({
    definition: { facts, open: () => connector },
    ledger,
    arm: (operation, behaviour) => void armed.set(operation, [...(armed.get(operation) ?? []), behaviour]),
  })
}
