/**
 * The provider of the test environment: offline, deterministic, and a connector like any other. What it will do with an
 * operation is decided in `prepare` and stored with the operation before the call, so that it answers an inquiry the
 * same way after any crash, in any process, without a memory of its own.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type {
  AuthorizationRequest,
  Connector,
  OperationRequest,
  ThreeDsRequest,
} from '#connectors/contract.ts'
import type { ThreeDsBehaviour } from '#connectors/simulator/authentication-numbers.ts'
import { updateCard } from '#connectors/simulator/card-updates.ts'
import { createFaultBook, type FaultBook } from '#connectors/simulator/faults.ts'
import { planInstalments } from '#connectors/simulator/instalments.ts'
import {
  type Asked,
  eciOf,
  toInstructions,
  toProviderFacts,
  toReturnFacts,
} from '#connectors/simulator/provider-facts.ts'
import { declineByAmount } from '#connectors/simulator/test-amounts.ts'
import { scenarioOf } from '#connectors/simulator/test-numbers.ts'
import { detectBrand } from '#domain/card-brands.ts'
import { hasExpired } from '#domain/dates.ts'
import { Secret } from '#domain/secret.ts'
import type { Outcome } from '#lifecycle/outcome.ts'
import type { CustomerStep, OperationType, Prepared } from '#lifecycle/payment.ts'
import { formOf, type MethodForm } from '#methods/offer.ts'

/** A message that reached the simulator, for tests that keep a ledger of their own. */
export interface SimulatorMessage {
  readonly operation: OperationType
  readonly payId: string
  readonly reference: string
  readonly amount: number
  readonly approved: boolean
}

export interface SimulatorOptions {
  /** Hears of every message that arrives, before it is answered. */
  readonly onMessage?: (message: SimulatorMessage) => void
  readonly faults?: FaultBook
  /** How long it takes to answer anything; 0 unless given. */
  readonly latencyMs?: number
}

/** An operation is sent three times at most; this many lost ones are all of them. */
const allSends = 3

/** Two days: a bank sends back what it cannot collect within a few working days. */
const returnAfterMs = 2 * 24 * 60 * 60 * 1000

export function createSimulator(options: SimulatorOptions = {}): Connector {
  const { onMessage, faults = createFaultBook(), latencyMs = 0 } = options

  /** Decides, lets the ledger know, and gives back what we get to hear of it. */
  async function receive(request: OperationRequest, detail: string | undefined): Promise<Outcome> {
    const { prepared, send } = request
    if (prepared.delayMs) await delay(Number(prepared.delayMs))
    if (send <= Number(prepared.lostSends ?? 0)) return { kind: 'unreached' }
    const outcome = decide(request, detail)
    const { operation, payId, reference, amount } = request
    onMessage?.({ operation, payId, reference, amount: amount.value, approved: outcome.kind === 'approved' })
    return prepared.lostAnswer ? { kind: 'unknown' } : outcome
  }

  /** Once for each message, however much is asked in it. */
  const travel = async (): Promise<void> => void (latencyMs > 0 && (await delay(latencyMs)))

  async function single(request: OperationRequest): Promise<Outcome> {
    await travel()
    return receive(request, textOf(request.prepared.decline))
  }

  return {
    name: 'simulator',
    // It remembers everything by reference and answers at once, so there is nothing to wait for.
    facts: { idempotentByReference: true, settleTimeMs: 0 },

    prepare(request, approval) {
      const scenario = approval ? followUpScenario(request.operation, approval) : firstScenario(request)
      const step = approval ? undefined : stepBefore(request, scenario)
      const decided: Scenario = {
        ...scenario,
        ...(step || scenario.decline !== undefined ? {} : amountScenario(request)),
        ...modeScenario(request.simulationMode),
      }
      return withoutGaps({
        ...decided,
        // What waits for the customer is not sent yet, so nothing of it can be lost.
        ...(step ? { step } : drawFaults({ ...request, declines: decided.decline !== undefined }, faults)),
      })
    },

    instruct: request => toInstructions(request),

    instalments: planInstalments,

    testInstrument: method => simulatedCustomers[formOf(method)],

    async authorize(request: AuthorizationRequest) {
      const authorization = await single(request)
      const { captureReference, prepared } = request
      const approved = authorization.kind !== 'unreached' && prepared.decline === undefined
      if (!captureReference || !approved) return { authorization }
      return { authorization, capture: await receive(...toCapture(request, captureReference)) }
    },

    capture: single,
    reverse: single,
    refund: single,
    increment: single,
    updateCards: async (_, cards) => cards.map(updateCard),
    credit: single,

    async inquire(inquiry) {
      await travel()
      const { operation, prepared } = inquiry
      const { decline, lostSends } = operation === 'CAPTURE' ? captureScenario(prepared) : prepared
      if (Number(lostSends ?? 0) >= allSends) return { kind: 'unreached' }
      return decide(inquiry, textOf(decline))
    },

    returnCheckMs: ({ prepared }) => (prepared.laterReturn === undefined ? undefined : returnAfterMs),

    async findReturn(inquiry) {
      const detail = textOf(inquiry.prepared.laterReturn)
      return detail === undefined ? undefined : { detail, provider: toReturnFacts(inquiry, detail) }
    },
  }
}

type PrepareRequest = Parameters<Connector['prepare']>[0]
type Scenario = Readonly<Record<string, string | number | boolean | undefined>>

/** What a customer without a browser types into a form: numbers that approve. */
const simulatedCustomers: Readonly<Record<MethodForm, ReturnType<NonNullable<Connector['testInstrument']>>>> =
  {
    card: {
      card: {
        number: new Secret('4111111111111111'),
        // The far end of any card's life: it must not expire when the test clock is moved by years.
        expiryDate: '209912',
        cardholderName: 'Test Customer',
      },
    },
    account: { account: { number: new Secret('DE89370400440532013000'), holderName: 'Test Customer' } },
    none: {},
  }

/** Who must act before the simulated provider can decide. */
function stepBefore(
  { method, hosted, credentialOnFile }: PrepareRequest,
  scenario: Scenario,
): CustomerStep | undefined {
  if (credentialOnFile?.initiator === 'MERCHANT') return undefined
  switch (method.flow) {
    case 'redirect':
    case 'qr':
      return 'page'
    case 'multi_step':
      return hosted ? 'page' : undefined
    case 'voucher':
    case 'transfer':
      return 'instructions'
    case 'direct':
      return scenario.threeDs === 'challenge' ? 'challenge' : undefined
  }
}

function firstScenario({ card, account, at, methodFields }: PrepareRequest): Scenario {
  if (card?.expiryDate !== undefined && hasExpired(card.expiryDate, at.getTime())) return { decline: '0354' }
  const number = card?.number ?? account?.number
  const { fault, threeDs, ...scenario } = number ? scenarioOf(number.reveal()) : {}
  const authentication = authenticate(threeDs, card?.threeDs)
  return {
    ...scenario,
    ...(authentication === 'failed' ? { decline: scenario.decline ?? authenticationFailed } : {}),
    threeDs: authentication,
    eci: authentication && card && eciOf(authentication, detectBrand(card.number.reveal())),
    transferType: textOf(methodFields?.transferType),
    lostAnswer: fault === 'lost_answer' ? true : undefined,
    lostSends: fault === 'lost_request' ? allSends : undefined,
  }
}

/** What the number was bound to do later; a confirm is the approval itself and does what the first step would have. */
function followUpScenario(operation: OperationType, approval: Prepared): Scenario {
  const { transferType } = approval
  switch (operation) {
    case 'AUTHORIZATION':
    case 'CONFIRM': {
      const { step: _step, sentAtMs: _sentAt, byAmount, decline, ...scenario } = approval
      // The amount may be another one by now.
      return { ...scenario, decline: byAmount ? undefined : decline }
    }
    case 'CAPTURE':
      return { transferType, decline: textOf(approval.laterCapture), laterReturn: approval.laterReturn }
    case 'REFUND':
      return { transferType, decline: textOf(approval.laterRefund) }
    default:
      return { transferType }
  }
}

/** `0000` approves whatever the number says; other digits are the detail of the decline. */
function modeScenario(simulationMode: string | undefined): Scenario {
  if (simulationMode === undefined) return {}
  const digits = simulationMode.replace(/^Test:/, '')
  return {
    decline: digits === '0000' ? undefined : digits,
    laterCapture: undefined,
    lostAnswer: undefined,
    lostSends: undefined,
  }
}

const amountScenario = ({ amount }: PrepareRequest): Scenario => {
  const decline = declineByAmount(amount.value)
  return decline === undefined ? {} : { decline, byAmount: true }
}

/** The second half of a message that authorises and captures: what was drawn for it, else what the number says. */
function captureScenario({
  decline,
  capture,
  laterCapture,
  lostSends,
  captureLostSends,
}: Prepared): Scenario {
  return { decline: decline ?? capture ?? laterCapture, lostSends: captureLostSends ?? lostSends }
}

function toCapture(
  request: AuthorizationRequest,
  reference: OperationRequest['reference'],
): [request: OperationRequest, detail: string | undefined] {
  const { lostAnswer, captureLostAnswer, captureDelayMs, captureLostSends } = request.prepared
  const prepared: Prepared = withoutGaps({
    lostAnswer: lostAnswer ?? captureLostAnswer,
    delayMs: captureDelayMs,
    // The message itself has arrived; the capture in it is lost for good or not at all.
    lostSends: Number(captureLostSends ?? 0) >= allSends ? allSends : undefined,
  })
  const detail = textOf(captureScenario(request.prepared).decline)
  return [{ ...request, operation: 'CAPTURE', reference, prepared }, detail]
}

/** A message that captures as well meets what was ordered for captures, unless it comes to no capture. */
function drawFaults(request: PrepareRequest & { readonly declines: boolean }, faults: FaultBook): Scenario {
  const own = drawFault(request, faults)
  const confirmsLater = request.method.flow === 'multi_step' && request.operation === 'AUTHORIZATION'
  const ends = request.declines || own.decline !== undefined || Number(own.lostSends ?? 0) >= allSends
  if (!request.captureReference || ends || (confirmsLater && !request.hosted)) return own
  const { decline, delayMs, lostAnswer, lostSends } = drawFault({ ...request, operation: 'CAPTURE' }, faults)
  return {
    ...own,
    capture: decline,
    captureDelayMs: delayMs,
    captureLostAnswer: lostAnswer,
    captureLostSends: lostSends,
  }
}

/** Faults are used up here, once per operation (a lost request once per sending), so that an inquiry uses up none. */
function drawFault({ merchantId, operation }: PrepareRequest, faults: FaultBook): Scenario {
  const rule = faults.take(merchantId, operation)
  switch (rule?.fault) {
    case undefined:
      return {}
    case 'decline':
      return { decline: `03${rule.code ?? '05'}` }
    case 'delay':
      return { delayMs: rule.delayMs ?? 0 }
    case 'lost_answer':
    case 'error':
      return { lostAnswer: true }
    case 'lost_request': {
      let lostSends = 1
      while (lostSends < allSends && faults.take(merchantId, operation, 'lost_request')) lostSends += 1
      return { lostSends }
    }
  }
}

/** 05: an issuer whose holder failed the authentication does not honour the payment. */
const authenticationFailed = '0305'

/** The merchant may ask for a challenge, do without, or bring the result of an authentication made elsewhere. */
function authenticate(
  scenario: ThreeDsBehaviour | undefined,
  asked: ThreeDsRequest | undefined,
): ThreeDsBehaviour | undefined {
  if (asked?.skip || asked?.imported || asked?.exemption !== undefined) return undefined
  return asked?.challengePreference === 'MANDATE_CHALLENGE' ? 'challenge' : scenario
}

const withoutGaps = (scenario: Scenario): Prepared =>
  Object.fromEntries(Object.entries(scenario).filter(([, value]) => value !== undefined)) as Prepared

const textOf = (value: unknown): string | undefined => (value === undefined ? undefined : String(value))

/** What the simulated acquirer decides, whether or not we get to hear it. */
function decide(asked: Asked, detail: string | undefined): Outcome {
  const provider = toProviderFacts(asked, detail)
  return detail === undefined ? { kind: 'approved', provider } : { kind: 'declined', detail, provider }
}
