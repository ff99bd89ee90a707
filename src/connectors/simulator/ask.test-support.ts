/** Calls the simulator as the engine does. */
import type {
  AuthorizationRequest,
  Connector,
  CustomerActionOutcome,
  Inquiry,
  Kept,
  Outcome,
  Unsent,
} from '#connectors/contract.ts'
import { createFaultBook, type FaultRule } from '#connectors/simulator/faults.ts'
import { createSimulator, type SimulatorMessage } from '#connectors/simulator/simulator.ts'
import type { MerchantId, PayId } from '#domain/ids.ts'
import { Secret } from '#domain/secret.ts'
import { methodOf, now, xIdOf } from '#lifecycle/example-payment.test-support.ts'
import type { OperationType } from '#lifecycle/payment.ts'
import type { Method } from '#methods/rows.ts'

export const merchantId = 'mer_1' as MerchantId
export type Question = Unsent<AuthorizationRequest>
export const signal = new AbortController().signal

export interface Change extends Partial<Question> {
  readonly method?: Method
  readonly simulationMode?: string
}

export const ask = (
  operation: OperationType,
  { method, simulationMode, ...change }: Change = {},
): Question => ({
  operation,
  reference: xIdOf(1),
  amount: { value: 1000, currency: 'EUR' },
  payment: {
    merchantId,
    payId: 'p' as PayId,
    method: method ?? methodOf('CARD'),
    transId: 't',
    amount: { value: 1000, currency: 'EUR' },
    authorizedValue: 0,
    capturedValue: 0,
    captureMethod: 'AUTOMATIC',
    integrationType: 'DIRECT',
  },
  hints: simulationMode === undefined ? undefined : { simulationMode },
  at: now,
  customerPresent: true,
  ...change,
})

/** With faults in memory the simulator decides synchronously. */
export const keep = (simulator: Connector, request: Question, approval?: Kept): Kept =>
  (simulator.keep?.({ request, approval }) ?? {}) as Kept
export const card = (number: string, expiryDate = '203012') => ({
  card: { number: new Secret(number), expiryDate },
})
export const iban = (number: string) => ({
  account: { number: new Secret(number), holderName: 'Ada Lovelace' },
})

/** The kind of an outcome, or the detail of a decline. */
export const said = (outcome: Outcome | CustomerActionOutcome | undefined): string | undefined =>
  outcome?.kind === 'declined' ? outcome.detail : outcome?.kind

/** Sends as the engine does: with at most two retries if the request certainly never arrived. */
export async function resend<T>(
  send: (number: number) => Promise<T>,
  isLost: (answer: T) => boolean,
): Promise<T> {
  let answer = await send(1)
  for (let number = 2; number <= 3 && isLost(answer); number += 1) answer = await send(number)
  return answer
}

export async function authorize(
  simulator: Connector,
  question: Question,
  prepared = keep(simulator, question),
) {
  const outcome = await resend(
    send => simulator.authorize({ ...question, kept: prepared, send }, signal),
    ({ authorization }) => authorization.kind === 'unreached',
  )
  return { prepared, ...outcome }
}

export const follow = {
  CAPTURE: 'capture',
  REVERSAL: 'reverse',
  REFUND: 'refund',
  INCREMENTAL: 'increment',
} as const

export async function followUp(
  simulator: Connector,
  type: keyof typeof follow,
  { approval, ...change }: Change & { approval: Kept },
) {
  const question = ask(type, { reference: xIdOf(5), ...change })
  const prepared = keep(simulator, question, approval)
  const request = { ...question, kept: prepared, authorizationReference: xIdOf(1), newTotal: 1000 }
  const send = simulator[follow[type]]
  if (!send) throw new Error(`the simulator has no ${type}`)
  const outcome = await resend(
    number => send({ ...request, send: number }, signal),
    ({ kind }) => kind === 'unreached',
  )
  return { prepared, outcome }
}

export async function inquire(simulator: Connector, question: Question, kept: Kept) {
  const { operation, reference, amount, payment } = question
  const inquiry: Inquiry = { operation, payment, reference, amount, kept, sentAt: now }
  return (await simulator.inquire?.(inquiry, signal))?.authorization
}

/** A simulator with these faults ordered, and the requests that it received. */
export const broken = (...rules: Omit<FaultRule, 'operation'>[]) => {
  const faults = createFaultBook()
  const messages: SimulatorMessage[] = []
  for (const rule of rules) faults.add(merchantId, { operation: '*', ...rule })
  return {
    faults,
    messages,
    simulator: createSimulator({ faults, onMessage: message => void messages.push(message) }),
  }
}
