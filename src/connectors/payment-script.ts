/**
 * `provider check --payments`: a fixed script of payments in a provider's sandbox, for what only the provider itself
 * can prove. Calls the connector directly, so nothing is stored. Never runs in live.
 */
import { randomUUID } from 'node:crypto'
import type {
  AuthorizationRequest,
  CardData,
  CheckFinding,
  Connector,
  FollowUpRequest,
  Inquiry,
  PaymentContext,
  ProviderAccount,
} from '#connectors/contract.ts'
import { parsePayId, parseXId, type XId } from '#domain/ids.ts'
import type { Outcome } from '#lifecycle/outcome.ts'
import { findMethod } from '#methods/catalogue.ts'
import type { Method } from '#methods/rows.ts'

export interface PaymentScript {
  readonly connector: Connector
  readonly account: Pick<ProviderAccount, 'merchantId'>
  /** Test cards of the provider's sandbox. */
  readonly approvedCard: CardData
  readonly declinedCard: CardData
  readonly signal: AbortSignal
}

/** Ten euros, of which four are captured and one is refunded. */
const amount = { value: 1000, currency: 'EUR' }

export async function runPaymentScript(script: PaymentScript): Promise<readonly CheckFinding[]> {
  const method = findMethod('CARD')
  const can = method && script.connector.supports(method)
  if (!method || !can) return [{ name: 'card', ok: true, detail: 'This account takes no cards.' }]
  return can.rawCards ? payByNumber(script, method) : payOnPage(script, method)
}

const newReference = (): XId => {
  const id = parseXId(randomUUID().replaceAll('-', ''))
  if (id === undefined) throw new Error('a UUID without its dashes must be a valid xId')
  return id
}

function toRequest({ account }: PaymentScript, method: Method, card?: CardData): AuthorizationRequest {
  const payId = parsePayId(newReference())
  if (payId === undefined) throw new Error('a UUID without its dashes must be a valid payId')
  const payment: PaymentContext = {
    merchantId: account.merchantId,
    payId,
    method,
    transId: `check-${payId}`,
    amount,
    authorizedValue: 0,
    capturedValue: 0,
    captureMethod: 'MANUAL',
    returnUrl: card === undefined ? 'https://example.com/' : undefined,
  }
  return {
    operation: 'AUTHORIZATION',
    reference: newReference(),
    amount,
    payment,
    at: new Date(),
    send: 1,
    card,
    customerPresent: card === undefined,
  }
}

const say = (
  name: string,
  outcome: { readonly kind: string } | undefined,
  wanted: readonly string[],
): CheckFinding => {
  const detail = outcome && 'detail' in outcome ? ` (${String(outcome.detail)})` : ''
  const outcomeText = `${outcome?.kind ?? 'not offered'}${detail}`
  const ok = outcome === undefined || wanted.includes(outcome.kind)
  return { name, ok, detail: ok ? outcomeText : `${outcomeText}, but should be ${wanted.join(' or ')}` }
}

/** Some providers only acknowledge modifications and report the outcome in a notice. */
const done = ['approved', 'pending']

async function payByNumber(script: PaymentScript, method: Method): Promise<readonly CheckFinding[]> {
  const { connector, signal, approvedCard, declinedCard } = script
  const declined = await connector.authorize(toRequest(script, method, declinedCard), signal)
  const first = toRequest(script, method, approvedCard)
  const { authorization } = await connector.authorize(first, signal)
  const findings = [
    say('decline', declined.authorization, ['declined']),
    say('authorise', authorization, ['approved']),
  ]
  if (authorization.kind !== 'approved') return findings
  const found = await connector.inquire?.(toInquiry(first), signal)
  const follow = followUpsOf(first, authorization.provider.transactionId)
  const capture = await connector.capture?.(follow('CAPTURE', 400), signal)
  const refund = await connector.refund?.(follow('REFUND', 100), signal)
  const second = toRequest(script, method, approvedCard)
  const other = await connector.authorize(second, signal)
  const reversal = await release(script, second, other.authorization)
  return [
    ...findings,
    say('look-up by our reference', found?.authorization, ['approved']),
    say('capture', capture, done),
    say('refund', refund, done),
    say('reversal', reversal, done),
  ]
}

async function release(
  { connector, signal }: PaymentScript,
  request: AuthorizationRequest,
  authorization: { readonly kind: string; readonly provider?: { readonly transactionId?: string } },
): Promise<Outcome | undefined> {
  if (authorization.kind !== 'approved') return { kind: 'unknown' }
  const follow = followUpsOf(request, authorization.provider?.transactionId)
  return connector.reverse?.(follow('REVERSAL', amount.value), signal)
}

/** The page is opened, looked up and ended without a payment. */
async function payOnPage(script: PaymentScript, method: Method): Promise<readonly CheckFinding[]> {
  const { connector, signal } = script
  const request = toRequest(script, method)
  const { authorization } = await connector.authorize(request, signal)
  const opened = say('page', authorization, ['action'])
  if (authorization.kind !== 'action') return [opened]
  const inquiry = { ...toInquiry(request), provider: authorization.provider }
  const ended = await connector.cancelAction?.(inquiry, signal)
  return [opened, say('end of the page', ended, ['declined'])]
}

const toInquiry = ({ operation, reference, payment, at }: AuthorizationRequest): Inquiry => ({
  operation,
  reference,
  amount,
  payment,
  sentAt: at,
})

const followUpsOf =
  (request: AuthorizationRequest, authorizationTransactionId: string | undefined) =>
  (operation: FollowUpRequest['operation'], value: number): FollowUpRequest => ({
    operation,
    reference: newReference(),
    amount: { ...amount, value },
    payment: { ...request.payment, authorizedValue: amount.value },
    at: new Date(),
    send: 1,
    authorizationReference: request.reference,
    authorizationTransactionId,
    newTotal: value,
    final: true,
  })
