/**
 * The provider of the test environment: offline, deterministic, and a connector like any other. What it will do with an
 * operation is decided in `prepare…` and stored with the operation before the call, so that it answers an inquiry the
 * same way after any crash, in any process, without a memory of its own.
 */
import { createHash } from 'node:crypto'
import type {
  AuthorizationOutcome,
  AuthorizationRequest,
  CaptureRequest,
  Connector,
  Inquiry,
  OperationRequest,
} from '#connectors/contract.ts'
import { type Scenario, scenarioOf } from '#connectors/simulator/test-cards.ts'
import { hasExpired } from '#domain/dates.ts'
import { providerText } from '#domain/response-codes.ts'
import type { Outcome, ProviderFacts } from '#lifecycle/outcome.ts'
import type { Prepared } from '#lifecycle/payment.ts'

/** A message that reached the simulator, for tests that keep a ledger of their own. */
export interface SimulatorMessage {
  readonly operation: 'AUTHORIZATION' | 'CAPTURE'
  readonly reference: string
  readonly amount: number
  readonly approved: boolean
}

export interface SimulatorOptions {
  /** Hears of every message that arrives, before it is answered. */
  readonly onMessage?: (message: SimulatorMessage) => void
}

export function createSimulator(options: SimulatorOptions = {}): Connector {
  const deliver = (
    operation: SimulatorMessage['operation'],
    request: OperationRequest,
    outcome: Outcome,
  ): void => {
    if (outcome.kind === 'unreached') return
    options.onMessage?.({
      operation,
      reference: request.reference,
      amount: request.amount.value,
      approved: outcome.kind === 'approved',
    })
  }

  return {
    name: 'simulator',
    // It remembers everything by reference and answers at once, so there is nothing to wait for.
    facts: { idempotentByReference: true, settleTimeMs: 0 },

    prepareAuthorization({ card, simulationMode, at }) {
      const scenario = { ...(card ? scenarioOf(card.number.reveal()) : {}), ...modeScenario(simulationMode) }
      const expired = card?.expiryDate !== undefined && hasExpired(card.expiryDate, at.getTime())
      return prepared(expired ? { authorization: expiredCard } : scenario)
    },

    async authorize(request: AuthorizationRequest): Promise<AuthorizationOutcome> {
      const outcome = decide(request, detailOf(request.prepared, 'authorization'))
      deliver('AUTHORIZATION', request, outcome)
      if (!request.captureReference || outcome.kind !== 'approved')
        return { authorization: hear(request, outcome) }
      const captureRequest = { ...request, reference: request.captureReference }
      const capture = decide(captureRequest, detailOf(request.prepared, 'capture'))
      deliver('CAPTURE', captureRequest, capture)
      return { authorization: hear(request, outcome), capture: hear(request, capture) }
    },

    prepareCapture({ simulationMode }, authorization) {
      const mode = modeScenario(simulationMode)
      const capture = mode.authorization ?? (simulationMode ? undefined : detailOf(authorization, 'capture'))
      return prepared({ capture })
    },

    async capture(request: CaptureRequest): Promise<Outcome> {
      const outcome = decide(request, detailOf(request.prepared, 'capture'))
      deliver('CAPTURE', request, outcome)
      return hear(request, outcome)
    },

    async inquire(inquiry: Inquiry): Promise<Outcome> {
      return decide(
        inquiry,
        detailOf(inquiry.prepared, inquiry.operation === 'CAPTURE' ? 'capture' : 'authorization'),
      )
    },
  }
}

const expiredCard = '0354'

/** `0000` approves whatever the card says; other digits are the detail of the decline. */
function modeScenario(simulationMode: string | undefined): Scenario {
  if (simulationMode === undefined) return {}
  const digits = simulationMode.replace(/^Test:/, '')
  const detail = digits === '0000' ? undefined : digits
  return { authorization: detail, capture: undefined, fault: undefined }
}

const prepared = (scenario: Scenario): Prepared =>
  Object.fromEntries(Object.entries(scenario).filter(([, value]) => value !== undefined)) as Prepared

const detailOf = (stored: Prepared, name: keyof Scenario): string | undefined =>
  stored[name] === undefined ? undefined : String(stored[name])

/** What the simulated acquirer decides, whether or not we get to hear it. */
function decide(
  request: Pick<Inquiry, 'reference' | 'amount' | 'prepared'>,
  detail: string | undefined,
): Outcome {
  if (request.prepared.fault === 'lost_request') return { kind: 'unreached' }
  const provider = providerFacts(request, detail)
  return detail === undefined ? { kind: 'approved', provider } : { kind: 'declined', detail, provider }
}

/** An answer that is lost on its way was given all the same: for us the outcome is unknown. */
const hear = (request: OperationRequest, outcome: Outcome): Outcome =>
  request.prepared.fault === 'lost_answer' ? { kind: 'unknown' } : outcome

/** Ids and codes that look like an acquirer's and follow from the reference, so that an inquiry finds the same ones. */
function providerFacts(
  { reference, amount }: Pick<Inquiry, 'reference' | 'amount'>,
  detail: string | undefined,
): ProviderFacts {
  const digest = createHash('sha256').update(reference).digest()
  const echo = { reference, amount }
  const transactionId = `sim${digest.toString('hex', 0, 10)}`
  if (detail !== undefined) {
    const responseCode = detail.slice(-2)
    return { echo, transactionId, responseCode, responseText: providerText(responseCode) }
  }
  return {
    echo,
    transactionId,
    responseCode: '00',
    // Six digits without a leading zero, so that it is the same as a number.
    approvalCode: 100_000 + (digest.readUInt32BE(10) % 900_000),
    schemeReferenceId: (digest.readBigUInt64BE(16) % 10n ** 15n).toString().padStart(15, '0'),
  }
}
