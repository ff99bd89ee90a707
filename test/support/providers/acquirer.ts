/**
 * A provider with its own ledger: the simulator decides, the ledger stores every message, inquiries are answered from
 * the ledger, and tests order faults. It survives every crash of a gateway, as a real provider would.
 */
import type { AuthorizationOutcome, Connector } from '#connectors/contract.ts'
import type { ProviderDirectory } from '#connectors/directory.ts'
import { simulatedBy } from '#connectors/registry.ts'
import { createSimulator, type SimulatorMessage } from '#connectors/simulator/simulator.ts'
import type { Outcome } from '#lifecycle/outcome.ts'

/** The last one is for an approval that captures as well: of its two answers the second is lost. */
export type Fault = 'lost_answer' | 'lost_request' | 'throws' | 'lost_capture_answer'

export interface Acquirer {
  readonly connectors: ProviderDirectory
  /** The same, for tests that change what it does. */
  readonly connector: Connector
  /** Every message that arrived, in order, also one that arrived twice. */
  readonly ledger: readonly SimulatorMessage[]
  /** Inquiries heard so far. */
  readonly inquiries: () => number
  /** What happens to the next messages of that kind, one each. */
  failNext(operation: SimulatorMessage['operation'], ...faults: Fault[]): void
  /** Forgets the faults that are still to come. */
  heal(): void
  /** While it is silent, inquiries get no result. */
  setSilent(silent: boolean): void
}

const unknown: Outcome = { kind: 'unknown' }
const unreached: Outcome = { kind: 'unreached' }

export function createAcquirer(settleTimeMs = 0): Acquirer {
  const ledger: SimulatorMessage[] = []
  const simulator = createSimulator({ onMessage: message => void ledger.push(message) })
  const faults: Record<SimulatorMessage['operation'], Fault[]> = {
    AUTHORIZATION: [],
    CONFIRM: [],
    INCREMENTAL: [],
    CAPTURE: [],
    REVERSAL: [],
    REFUND: [],
    CREDIT: [],
    RETURN: [],
  }
  let silent = false
  let inquiries = 0

  /** A request that never arrives is sent up to three times, so all three must get lost. */
  const loseThrice = (given: readonly Fault[]): Fault[] =>
    given.flatMap(fault => (fault === 'lost_request' ? [fault, fault, fault] : [fault]))

  async function suffer<T>(
    operation: SimulatorMessage['operation'],
    deliver: () => Promise<T>,
    say: (outcome: Outcome) => T,
  ): Promise<T> {
    const fault = faults[operation].shift()
    if (fault === 'lost_request') return say(unreached)
    const answer = await deliver()
    if (fault === 'throws') throw new Error('the line broke')
    if (fault === 'lost_capture_answer') return { ...answer, capture: unknown }
    return fault === 'lost_answer' ? say(unknown) : answer
  }

  /** Follow-ups and credits answer with one outcome; each suffers the faults of its own kind. */
  const single =
    <Request extends { operation: SimulatorMessage['operation'] }>(
      deliver: ((request: Request, signal: AbortSignal) => Promise<Outcome>) | undefined,
    ) =>
    (request: Request, signal: AbortSignal): Promise<Outcome> =>
      suffer<Outcome>(
        request.operation,
        async () => deliver?.(request, signal) ?? unknown,
        outcome => outcome,
      )

  /** An authorisation that only redirects the customer moves no money: its faults apply to the completion. */
  const whole =
    <Request extends { operation: SimulatorMessage['operation']; kept?: object }>(
      deliver: (request: Request, signal: AbortSignal) => Promise<AuthorizationOutcome>,
    ) =>
    (request: Request, signal: AbortSignal): Promise<AuthorizationOutcome> =>
      'awaits' in (request.kept ?? {})
        ? deliver(request, signal)
        : suffer<AuthorizationOutcome>(
            request.operation,
            () => deliver(request, signal),
            authorization => ({ authorization }),
          )

  const { complete, inquire } = simulator
  const connector: Connector = {
    ...simulator,
    facts: {
      ...simulator.facts,
      name: 'acquirer',
      lostAnswer: { noticeWithinMs: 0, lookUpSettledMs: settleTimeMs, undo: false },
    },
    authorize: whole(simulator.authorize),
    complete: complete && whole(complete),
    capture: single(simulator.capture),
    reverse: single(simulator.reverse),
    refund: single(simulator.refund),
    increment: single(simulator.increment),
    credit: single(simulator.credit),
    async inquire(inquiry, signal) {
      inquiries += 1
      if (silent) return { authorization: unknown }
      const arrived = ledger.some(message => message.reference === inquiry.reference)
      const waits = 'awaits' in (inquiry.kept ?? {})
      return inquire && (arrived || waits) ? inquire(inquiry, signal) : { authorization: unreached }
    },
  }
  return {
    connectors: simulatedBy(connector),
    connector,
    ledger,
    inquiries: () => inquiries,
    failNext: (operation, ...given) => void faults[operation].push(...loseThrice(given)),
    heal() {
      for (const waiting of Object.values(faults)) waiting.length = 0
    },
    setSilent(value) {
      silent = value
    },
  }
}
