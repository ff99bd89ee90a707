/**
 * Decides what the simulator does with an operation, from the card or account, the amount, the simulation mode and
 * ordered faults. The decision is made before the operation is recorded and is stored with it, so a stateless simulator
 * answers inquiries the same way after any crash and in any process.
 */
import type { AuthorizationRequest, KeepQuestion, Kept, ThreeDsRequest } from '#connectors/contract.ts'
import type { ThreeDsBehaviour } from '#connectors/simulator/authentication-numbers.ts'
import type { FaultBook } from '#connectors/simulator/faults.ts'
import { eciOf } from '#connectors/simulator/provider-facts.ts'
import { pageAddress, readDecision } from '#connectors/simulator/site.ts'
import { declineByAmount, scenarioOf } from '#connectors/simulator/test-numbers.ts'
import { detectBrand } from '#domain/cards/card-brands.ts'
import { hasExpired } from '#domain/time/dates.ts'
import type { CustomerStep, OperationType } from '#lifecycle/payment.ts'

/** An operation is sent at most three times, so after three losses it never arrives. */
export const allSends = 3

/** 05, "do not honour": the answer when the customer declines on the simulator's page. */
const declinedByCustomer = '0305'

/** 05, "do not honour": the answer after a failed authentication. */
const authenticationFailed = '0305'

type Request = KeepQuestion['request']

export function decideScenario(
  { request, approval, returned, awaitsConfirm }: KeepQuestion,
  faults: FaultBook,
): Kept {
  const scenario = approval ? followUpScenario(request.operation, approval) : firstScenario(request)
  const awaits = approval ? undefined : stepBefore(request, scenario)
  const decided: Kept = {
    ...scenario,
    ...(awaits || scenario.decline !== undefined ? {} : amountScenario(request)),
    ...modeScenario(modeOf(request, returned)),
  }
  // While an operation waits for the customer no money moves, so faults are not used up yet.
  if (awaits) return withoutGaps({ ...decided, awaits, page: pageAddress(request.payment.returnUrl) })
  // What is never sent uses up no fault: the confirm that is sent instead does.
  return withoutGaps(awaitsConfirm ? decided : { ...decided, ...drawFaults({ ...request, decided }, faults) })
}

/** A customer's decline takes precedence over the merchant's simulation mode. */
function modeOf({ hints }: Request, returned: KeepQuestion['returned']): string | undefined {
  const action = (returned && readDecision(returned)?.action) ?? hints?.customer
  return action === 'decline' ? declinedByCustomer : hints?.simulationMode
}

/** Who must act before the simulated provider can decide. */
function stepBefore(request: Request, scenario: Kept): CustomerStep | undefined {
  const { payment, credentialOnFile, operation, hints } = request
  if (credentialOnFile?.initiator === 'MERCHANT' || operation === 'CREDIT') return undefined
  // A simulated customer who leaves a page open must first be sent to one.
  if (hints?.customer === 'pending') return 'page'
  switch (payment.method.flow) {
    case 'redirect':
    case 'qr':
      return 'page'
    case 'multi_step':
      return payment.integrationType === 'HOSTED' ? 'page' : undefined
    case 'voucher':
    case 'transfer':
      return 'instructions'
    case 'direct':
      return scenario.threeDs === 'challenge' ? 'challenge' : undefined
  }
}

function firstScenario({ card, account, at, payment, threeDs: asked }: Request): Kept {
  if (card?.expiryDate !== undefined && hasExpired(card.expiryDate, at.getTime())) return { decline: '0354' }
  const number = card?.number ?? account?.number
  const { fault, threeDs, ...scenario } = number ? scenarioOf(number.reveal()) : {}
  const authentication = authenticate(threeDs, asked)
  return {
    ...scenario,
    ...(authentication === 'failed' ? { decline: scenario.decline ?? authenticationFailed } : {}),
    threeDs: authentication,
    eci: authentication && card && eciOf(authentication, detectBrand(card.number.reveal())),
    transferType: textOf(payment.methodFields?.transferType),
    lostAnswer: fault === 'lost_answer' ? true : undefined,
    lostSends: fault === 'lost_request' ? allSends : undefined,
  }
}

/** Whether the issuer of this card requires a challenge. */
export const isChallenged = (request: Omit<AuthorizationRequest, 'send'>): boolean =>
  stepBefore(request, firstScenario(request)) === 'challenge'

/**
 * The scenario of the approval's number for follow-ups. A confirm is the approval itself, so it gets the whole
 * scenario.
 */
function followUpScenario(operation: OperationType, approval: Kept): Kept {
  const { transferType } = approval
  switch (operation) {
    case 'AUTHORIZATION':
    case 'CONFIRM': {
      const {
        step: _step,
        awaits: _awaits,
        page: _page,
        sentAtMs: _sentAt,
        byAmount,
        decline,
        ...scenario
      } = approval
      // A decline by amount is decided again, because the amount may have changed.
      return { ...scenario, decline: byAmount ? undefined : decline }
    }
    case 'CAPTURE':
      return {
        transferType,
        decline: textOf(approval.laterCapture),
        laterReturn: approval.laterReturn,
        laterDispute: approval.laterDispute,
      }
    case 'REFUND':
      return { transferType, decline: textOf(approval.laterRefund) }
    default:
      return { transferType }
  }
}

/** `0000` approves even declining numbers; other digits are the detail of the decline. */
function modeScenario(simulationMode: string | undefined): Kept {
  if (simulationMode === undefined) return {}
  const digits = simulationMode.replace(/^Test:/, '')
  return {
    decline: digits === '0000' ? undefined : digits,
    laterCapture: undefined,
    lostAnswer: undefined,
    lostSends: undefined,
  }
}

const amountScenario = ({ amount }: Request): Kept => {
  const decline = declineByAmount(amount.value)
  return decline === undefined ? {} : { decline, byAmount: true }
}

/** The scenario of an automatic capture: its ordered fault, or else the scenario of the number. */
export function captureScenario({ decline, capture, laterCapture, lostSends, captureLostSends }: Kept): Kept {
  return { decline: decline ?? capture ?? laterCapture, lostSends: captureLostSends ?? lostSends }
}

/** A request that also captures uses the faults ordered for captures too, unless no capture takes place. */
function drawFaults(request: Request & { readonly decided: Kept }, faults: FaultBook): Kept {
  const { decided } = request
  const own = drawFault(request, faults)
  const ends = (own.decline ?? decided.decline) !== undefined || Number(own.lostSends ?? 0) >= allSends
  if (!request.captureReference || ends) return own
  const { decline, delayMs, lostAnswer, lostSends } = drawFault({ ...request, operation: 'CAPTURE' }, faults)
  return {
    ...own,
    capture: decline,
    captureDelayMs: delayMs,
    captureLostAnswer: lostAnswer,
    captureLostSends: lostSends,
  }
}

/** Uses up faults: one per operation, or one per attempt for lost requests. Inquiries use up none. */
function drawFault({ payment: { merchantId }, operation }: Request, faults: FaultBook): Kept {
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

/** The merchant may demand a challenge, skip authentication, or send the result of one made elsewhere. */
function authenticate(
  scenario: ThreeDsBehaviour | undefined,
  asked: ThreeDsRequest | undefined,
): ThreeDsBehaviour | undefined {
  if (asked?.skip || asked?.imported || asked?.exemption !== undefined) return undefined
  return asked?.challengePreference === 'MANDATE_CHALLENGE' ? 'challenge' : scenario
}

export const withoutGaps = (scenario: Kept): Kept =>
  Object.fromEntries(Object.entries(scenario).filter(([, value]) => value !== undefined))

export const textOf = (value: unknown): string | undefined =>
  value === undefined ? undefined : String(value)
