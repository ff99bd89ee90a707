/**
 * The provider of the test environment: offline, deterministic, and a connector like any other. `keep` (scenario.ts)
 * decides what it does with an operation; the decision is passed to every later call, so the simulator is stateless.
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

/** A request that reached the simulator, for tests that keep their own ledger. */
export interface SimulatorMessage {
  readonly operation: OperationType
  readonly payId: string
  readonly reference: string
  readonly amount: number
  readonly approved: boolean
}

export interface SimulatorOptions {
  /** Called with every request that moves money or is declined, before it is answered. */
  readonly onMessage?: (message: SimulatorMessage) => void
  readonly faults?: Pick<OrderedFaults, 'use' | 'giveBack'> | FaultBook
  /** The latency of every answer; 0 by default. */
  readonly latencyMs?: number
}

/** Two days: banks return a debit that they cannot collect within a few working days. */
const returnAfterMs = 2 * 24 * 60 * 60 * 1000

/** 20 s: merchants' clients commonly time out after 30 s, so they still get our PENDING answer. */
const timeoutMs = 20_000

/** The decline for a page that ended before its customer had decided. */
const endedPage = '0704'

const dayMs = 24 * 60 * 60 * 1000

export const simulatorFacts: ConnectorFacts = {
  name: 'simulator',
  liveHosts: [],
  settings: {},
  secrets: {},
  serves: () => true,
  exponent: currency => findCurrency(currency)?.exponent,
  // A look-up that finds nothing is final at once.
  lostAnswer: { noticeWithinMs: 0, lookUpSettledMs: 0, undo: false },
  timeoutMs,
  pendingMs: () => dayMs,
  sitePath,
  testOnly: true,
}

/** The simulator supports everything, so only the method's row restricts it. */
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
    keep({ request, ...question }) {
      const user = { merchantId: request.payment.merchantId, reference: request.reference }
      return faults.use(user, book => decideScenario({ request, ...question }, book))
    },
    release: async user => ('giveBack' in faults ? faults.giveBack(user) : undefined),
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

    /** The kept data includes the customer's decision, so the request is then like any other. */
    complete: (returned: CustomerReturn, signal) =>
      approve({ ...returned, at: returned.sentAt, send: returned.send ?? 1 }, signal),

    /** The simulator's page shows our own record of the open try and ends with it, so no call is needed. */
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

/** The exchange of requests with the simulated provider: latency, losses, and the entries in its ledger. */
function createMessages({ onMessage, latencyMs = 0 }: SimulatorOptions) {
  /** Decides, records the decision in the ledger, and returns the answer that reaches us. */
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

  /** Waits for the latency, once per request even if it also captures. */
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
    // The request itself has arrived, so its capture is lost permanently or not at all.
    lostSends: Number(captureLostSends ?? 0) >= allSends ? allSends : undefined,
  })
  return { ...request, operation: 'CAPTURE', reference, kept }
}

/** What the customer must do first; undefined once they have done it. */
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

/** The decision of the simulated acquirer, even if its answer will not reach us. */
function decide(asked: Asked, detail: string | undefined): Outcome {
  const provider = toProviderFacts(asked, detail)
  return detail === undefined ? { kind: 'approved', provider } : { kind: 'declined', detail, provider }
}
