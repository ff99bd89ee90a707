/**
 * The provider of the test environment: offline, deterministic, and a connector like any other. What it will do with an
 * operation is decided in `keep` (scenario.ts) and passed to every later call, so it needs no state of its own.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type {
  AuthorizationRequest,
  Capabilities,
  Connector,
  ConnectorDefinition,
  ConnectorFacts,
  CustomerAction,
  CustomerActionOutcome,
  CustomerReturn,
  Inquiry,
  Kept,
  OperationRequest,
  Outcome,
} from '#connectors/contract.ts'
import { updateCard } from '#connectors/simulator/card-updates.ts'
import { simulatedDisputes } from '#connectors/simulator/disputes.ts'
import { createFaultBook, type FaultBook, type OrderedFaults } from '#connectors/simulator/faults.ts'
import { planInstalments } from '#connectors/simulator/instalments.ts'
import {
  type Asked,
  toInstructions,
  toProviderFacts,
  toReturnFacts,
} from '#connectors/simulator/provider-facts.ts'
import { sandbox } from '#connectors/simulator/sandbox.ts'
import {
  allSends,
  captureScenario,
  decideScenario,
  isChallenged,
  textOf,
  withoutGaps,
} from '#connectors/simulator/scenario.ts'
import { drawPage, readDecision, sitePath } from '#connectors/simulator/site.ts'
import type { XId } from '#domain/ids.ts'
import { findCurrency } from '#domain/money/currencies.ts'
import type { OperationType } from '#lifecycle/payment.ts'

/** A message that reached the simulator, for tests that keep a ledger of their own. */
export interface SimulatorMessage {
  readonly operation: OperationType
  readonly payId: string
  readonly reference: string
  readonly amount: number
  readonly approved: boolean
}

export interface SimulatorOptions {
  /** Called with every message that moves money or is declined, before it is answered. */
  readonly onMessage?: (message: SimulatorMessage) => void
  readonly faults?: Pick<OrderedFaults, 'use'> | FaultBook
  /** How long it takes to answer anything; 0 unless given. */
  readonly latencyMs?: number
}

/** Two days: a bank sends back what it cannot collect within a few working days. */
const returnAfterMs = 2 * 24 * 60 * 60 * 1000

/** 20 s: shorter than the 30 s at which merchants' clients commonly give up, so that they still get our PENDING answer. */
const timeoutMs = 20_000

/** The decline of a page that ended before its customer had decided. */
const endedPage = '0704'

const dayMs = 24 * 60 * 60 * 1000

export const simulatorFacts: ConnectorFacts = {
  name: 'simulator',
  liveHosts: [],
  settings: {},
  secrets: {},
  serves: () => true,
  exponent: currency => findCurrency(currency)?.exponent,
  // It knows every reference at once, so a look-up that finds nothing is final.
  lostAnswer: { noticeWithinMs: 0, lookUpSettledMs: 0, undo: false },
  timeoutMs,
  pendingMs: () => dayMs,
  sitePath,
  testOnly: true,
}

/** The simulator can do what the method's row says, whatever that is. */
const everything: Capabilities = {
  rawCards: true,
  capture: 'several',
  partialCaptureReleasesRest: false,
  partialReversal: true,
  reversal: true,
  refund: true,
  partialRefund: true,
  increment: true,
  credit: true,
  storedCredentials: true,
  confirm: true,
}

export const simulatorDefinition = (options: SimulatorOptions): ConnectorDefinition => ({
  facts: simulatorFacts,
  open: () => createSimulator(options),
})

export function createSimulator(options: SimulatorOptions = {}): Connector {
  const { faults = createFaultBook() } = options
  const { travel, single, approve } = createMessages(options)

  return {
    facts: simulatorFacts,
    supports: () => everything,
    willChallenge: isChallenged,
    keep: question => faults.use(question.request.payment.merchantId, book => decideScenario(question, book)),
    drawPage,
    readReturn: readDecision,
    sandbox,
    instalments: planInstalments,

    async authorize(request: AuthorizationRequest, signal) {
      const action = actionFor(request)
      if (!action) return approve(request, signal)
      await travel(signal)
      return { authorization: action }
    },

    /** The kept data includes the customer's decision; the message is then like any other. */
    complete: (returned: CustomerReturn, signal) =>
      approve({ ...returned, at: returned.sentAt, send: returned.send ?? 1 }, signal),

    /** Its page shows our own record of the open try and ends with it, so ending it needs no message. */
    cancelAction: async inquiry => ({
      kind: 'declined',
      detail: endedPage,
      provider: { echo: { reference: inquiry.reference, amount: inquiry.amount } },
    }),

    capture: single,
    reverse: single,
    refund: single,
    increment: single,
    updateCards: async (_, cards) => cards.map(updateCard),
    credit: single,

    async inquire(inquiry, signal) {
      await travel(signal)
      const { operation, kept = {} } = inquiry
      const action = operation === 'CAPTURE' ? undefined : actionFor(inquiry)
      if (action) return { authorization: action }
      const { decline, lostSends } = operation === 'CAPTURE' ? captureScenario(kept) : kept
      if (Number(lostSends ?? 0) >= allSends) return { authorization: { kind: 'unreached' } }
      return { authorization: decide(inquiry, textOf(decline)) }
    },

    returnCheckMs: ({ kept }) => (kept?.laterReturn === undefined ? undefined : returnAfterMs),

    async findReturn(inquiry) {
      const detail = textOf(inquiry.kept?.laterReturn)
      return detail === undefined ? undefined : { detail, provider: toReturnFacts(inquiry, detail) }
    },

    disputes: simulatedDisputes,

    check: async () => [{ name: 'simulator', ok: true, detail: 'answers without a network' }],
  }
}

/** The messages to the simulated provider: how long they travel, which are lost, and what its ledger records. */
function createMessages({ onMessage, latencyMs = 0 }: SimulatorOptions) {
  /** Decides, records it in the ledger, and returns the answer that reaches us. */
  async function receive(
    request: OperationRequest,
    detail: string | undefined,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const { kept = {}, send, operation, reference, amount, payment } = request
    if (kept.delayMs) await delay(Number(kept.delayMs), undefined, { signal })
    if (send <= Number(kept.lostSends ?? 0)) return { kind: 'unreached' }
    const outcome = decide(request, detail)
    const approved = outcome.kind === 'approved'
    onMessage?.({ operation, payId: payment.payId, reference, amount: amount.value, approved })
    return kept.lostAnswer ? { kind: 'unknown' } : outcome
  }

  /** Once for each message, however much is asked in it. */
  const travel = async (signal: AbortSignal): Promise<void> =>
    void (latencyMs > 0 && (await delay(latencyMs, undefined, { signal })))

  async function single(request: OperationRequest, signal: AbortSignal): Promise<Outcome> {
    await travel(signal)
    return receive(request, textOf(request.kept?.decline), signal)
  }

  async function approve(
    request: OperationRequest & { readonly captureReference?: XId },
    signal: AbortSignal,
  ) {
    const authorization = await single(request, signal)
    const { captureReference, kept } = request
    const approved = authorization.kind !== 'unreached' && kept?.decline === undefined
    if (!captureReference || !approved) return { authorization }
    const detail = textOf(captureScenario(kept ?? {}).decline)
    return { authorization, capture: await receive(toCapture(request, captureReference), detail, signal) }
  }

  return { travel, single, approve }
}

function toCapture(request: OperationRequest, reference: XId): OperationRequest {
  const { lostAnswer, captureLostAnswer, captureDelayMs, captureLostSends } = request.kept ?? {}
  const kept: Kept = withoutGaps({
    lostAnswer: lostAnswer ?? captureLostAnswer,
    delayMs: captureDelayMs,
    // The message itself has arrived; the capture in it is lost permanently or not at all.
    lostSends: Number(captureLostSends ?? 0) >= allSends ? allSends : undefined,
  })
  return { ...request, operation: 'CAPTURE', reference, kept }
}

/** What the customer has to do first; undefined once they have done it. */
function actionFor(asked: Asked | Inquiry): CustomerActionOutcome | undefined {
  const { awaits, page } = asked.kept ?? {}
  if (awaits === undefined) return undefined
  const url = String(page)
  const action: CustomerAction =
    awaits === 'instructions'
      ? { type: 'instructions', instructions: {}, testUrl: url }
      : { type: 'redirect', url, verb: 'GET', challenge: awaits === 'challenge' }
  return { kind: 'action', action, provider: toInstructions(asked, String(awaits)) }
}

/** What the simulated acquirer decides, whether or not its answer reaches us. */
function decide(asked: Asked, detail: string | undefined): Outcome {
  const provider = toProviderFacts(asked, detail)
  return detail === undefined ? { kind: 'approved', provider } : { kind: 'declined', detail, provider }
}
