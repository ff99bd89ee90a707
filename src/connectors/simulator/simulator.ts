/**
 * The provider of the test environment: offline, deterministic, and a connector like any other. What it will do with an
 * operation is decided in `prepare` and stored with the operation before the call, so that it answers an inquiry the
 * same way after any crash, in any process, without a memory of its own.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type {
  AuthorizationRequest,
  Connector,
  FollowUpRequest,
  OperationRequest,
  ThreeDsRequest,
} from '#connectors/contract.ts'
import type { ThreeDsBehaviour } from '#connectors/simulator/authentication-numbers.ts'
import { updateCard } from '#connectors/simulator/card-updates.ts'
import { createFaultBook, type FaultBook } from '#connectors/simulator/faults.ts'
import { type Asked, eciOf, toInstructions, toProviderFacts } from '#connectors/simulator/provider-facts.ts'
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
}

/** An operation is sent three times at most; this many lost ones are all of them. */
const allSends = 3

export function createSimulator({ onMessage, faults = createFaultBook() }: SimulatorOptions = {}): Connector {
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

  const followUp = (request: FollowUpRequest): Promise<Outcome> =>
    receive(request, textOf(request.prepared.decline))

  return {
    name: 'simulator',
    // It remembers everything by reference and answers at once, so there is nothing to wait for.
    facts: { idempotentByReference: true, settleTimeMs: 0 },

    prepare(request, approval) {
      const scenario = approval ? followUpScenario(request.operation, approval) : firstScenario(request)
      const step = approval ? undefined : stepBefore(request, scenario)
      return withoutGaps({
        ...scenario,
        ...modeScenario(request.simulationMode),
        // What waits for the customer is not sent yet, so nothing of it can be lost.
        ...(step ? { step } : drawFault(request, faults)),
      })
    },

    instruct: request => toInstructions(request),

    testInstrument: method => simulatedCustomers[formOf(method)],

    async authorize(request: AuthorizationRequest) {
      const authorization = await receive(request, textOf(request.prepared.decline))
      const { captureReference, prepared } = request
      const approved = authorization.kind !== 'unreached' && prepared.decline === undefined
      if (!captureReference || !approved) return { authorization }
      const capture: OperationRequest = { ...request, operation: 'CAPTURE', reference: captureReference }
      return { authorization, capture: await receive(capture, textOf(request.prepared.laterCapture)) }
    },

    capture: followUp,
    reverse: followUp,
    refund: followUp,
    increment: followUp,
    updateCards: async (_, cards) => cards.map(updateCard),
    credit: request => receive(request, textOf(request.prepared.decline)),

    async inquire(inquiry) {
      if (Number(inquiry.prepared.lostSends ?? 0) >= allSends) return { kind: 'unreached' }
      const { decline, laterCapture } = inquiry.prepared
      return decide(inquiry, textOf(inquiry.operation === 'CAPTURE' ? (decline ?? laterCapture) : decline))
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
  switch (operation) {
    case 'AUTHORIZATION':
    case 'CONFIRM': {
      const { step: _step, sentAtMs: _sentAt, ...scenario } = approval
      return scenario
    }
    case 'CAPTURE':
      return { decline: textOf(approval.laterCapture) }
    case 'REFUND':
      return { decline: textOf(approval.laterRefund) }
    default:
      return {}
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
