/**
 * The connector of one Adyen account: builds each call, makes it once and reads the answer. All decisions are in the
 * pure files of this folder.
 */
import { hash } from 'node:crypto'
import { fromCheck } from '#connectors/adyen/check.ts'
import { createDisputeActions } from '#connectors/adyen/dispute-actions.ts'
import { adyenFacts, readTerms, toCapabilities } from '#connectors/adyen/facts.ts'
import { type Loose, textAt } from '#connectors/adyen/loose.ts'
import { readNotice } from '#connectors/adyen/notices.ts'
import { fetchReport } from '#connectors/adyen/report.ts'
import {
  type Asked,
  fromEndedPage,
  fromModification,
  fromNewSession,
  fromPayment,
  fromSessionResult,
  fromTechnicalCancel,
} from '#connectors/adyen/translate/answers.ts'
import { type AdyenTerms, toAuthorizationCall } from '#connectors/adyen/translate/authorization.ts'
import {
  type Modify,
  toCapture,
  toIncrement,
  toRefund,
  toReversal,
  toTechnicalCancel,
} from '#connectors/adyen/translate/modifications.ts'
import { invalidTransaction } from '#connectors/adyen/translate/refusals.ts'
import { readSettlementReport } from '#connectors/adyen/translate/settlement.ts'
import type {
  AuthorizationOutcome,
  AuthorizationRequest,
  Connector,
  ConnectorDefinition,
  ConnectorTools,
  CustomerReturn,
  FollowUpRequest,
  HttpAnswer,
  Inquiry,
  Outcome,
  ProviderAccount,
  ProviderFacts,
  SandboxData,
} from '#connectors/contract.ts'
import { demandsChallenge } from '#connectors/instruments.ts'
import { runPaymentScript } from '#connectors/payment-script.ts'
import { Secret } from '#domain/secret.ts'
import { formOf } from '#methods/offer.ts'

export const adyen: ConnectorDefinition = { facts: adyenFacts, open: openAdyen }

function openAdyen(account: ProviderAccount, tools: ConnectorTools): Connector {
  const terms = readTerms(account)
  const calls = createCalls(account, tools)
  const none = new Secret('')
  const noticeKeys = {
    hmacKey: account.secrets.hmacKey ?? none,
    merchantAccount: terms.merchantAccount,
  }
  const followUp =
    (modify: Modify) =>
    async (request: FollowUpRequest, signal: AbortSignal): Promise<Outcome> => {
      const pspReference = request.authorizationTransactionId
      if (pspReference === undefined) return refuse(request, 'Adyen never named the payment to change')
      const { path, body, sent } = modify(request, pspReference, termsOf(request, terms))
      return fromModification(await calls.post(path, body, request.reference, signal), request, sent)
    }
  const cancelByReference = (asked: Inquiry, key: string, signal: AbortSignal): Promise<HttpAnswer> => {
    const { path, body } = toTechnicalCancel(asked.reference, termsOf(asked, terms))
    return calls.post(path, body, key, signal)
  }
  const connector: Connector = {
    facts: adyenFacts,
    supports: method => toCapabilities(method, terms),
    willChallenge: demandsChallenge,
    sandbox: terms.rawCards ? sandbox : undefined,
    // Follow-ups go to the merchant account that approved the payment, even if the setting has changed since.
    keep: ({ approval, returned }) => ({
      ...(returned ? approval : {}),
      merchantAccount: approval?.merchantAccount ?? terms.merchantAccount,
    }),
    authorize: async (request, signal) => {
      const call = toAuthorizationCall(request, termsOf(request, terms))
      if (call.path === 'none') return { authorization: refuse(request, call.reason) }
      const answer = await calls.post(call.path, call.body, keyOf(call.path, request), signal)
      return call.path === '/sessions' ? fromNewSession(answer, request) : fromPayment(answer, request)
    },
    complete: (returned, signal) => complete(returned, calls, signal),
    cancelAction: async (inquiry, signal) =>
      fromEndedPage(await cancelByReference(inquiry, `${inquiry.reference}-cancel`, signal), inquiry),
    capture: followUp(toCapture),
    reverse: followUp(toReversal),
    refund: followUp(toRefund),
    increment: followUp(toIncrement),
    undo: async (inquiry, signal) =>
      // Modifications are not undone but repeated under their key, which is safe.
      inquiry.operation === 'AUTHORIZATION' || inquiry.operation === 'CONFIRM'
        ? fromTechnicalCancel(await cancelByReference(inquiry, `${inquiry.reference}-undo`, signal), inquiry)
        : { kind: 'unknown' },
    readNotice: raw => readNotice(raw, noticeKeys),
    isLastTry,
    disputes: createDisputeActions(calls.dispute, terms.merchantAccount),
    readSettlement: readSettlementReport,
    fetchReport: (report, signal) => fetchReport(report, { account, http: tools.http }, signal),
    check: async signal =>
      fromCheck(
        await calls.post('/paymentMethods', { merchantAccount: terms.merchantAccount }, undefined, signal),
        terms.merchantAccount,
      ),
    checkPayments: signal => runPaymentScript({ connector, account, ...sandboxCards, signal }),
  }
  return connector
}

/**
 * The merchant account that the operation was sent to. A technical cancel at another one would find nothing, which
 * would be mistaken for a payment that was never made.
 */
const termsOf = ({ kept }: Pick<Inquiry, 'kept'>, terms: AdyenTerms): AdyenTerms => ({
  ...terms,
  merchantAccount: textAt(kept, 'merchantAccount') ?? terms.merchantAccount,
})

/** A card of Adyen's test system, where the cardholder name can order a refusal. */
const testCard = {
  number: new Secret('4111111111111111'),
  expiryDate: '203003',
  securityCode: new Secret('737'),
}
const sandboxCards = {
  approvedCard: { ...testCard, cardholderName: 'Test Shopper' },
  declinedCard: { ...testCard, cardholderName: 'NOT_ENOUGH_BALANCE' },
}

const sandbox: SandboxData = {
  cards: [
    { number: '4111111111111111', description: 'Adyen: approves with security code 737' },
    { number: '5555444433331111', description: 'Adyen: approves with security code 737' },
    { number: '4917610000000000', description: 'Adyen: 3-D Secure' },
  ],
  instrument: method => (formOf(method) === 'card' ? { card: sandboxCards.approvedCard } : undefined),
}

/**
 * A session that replaces an expired one needs a new key, or Adyen would return the expired one. A payment always has
 * the one key of its operation.
 */
const keyOf = (path: '/payments' | '/sessions', { reference, send }: AuthorizationRequest): string =>
  path === '/sessions' && send > 1 ? `${reference}-${send}` : reference

const refuse = ({ reference, amount }: Asked, responseText: string): Outcome => ({
  kind: 'declined',
  detail: invalidTransaction,
  provider: { echo: { reference, amount }, responseText },
})

/** The return parameters that `/payments/details` takes, under the same names. */
const detailNames = ['redirectResult', 'payload', 'MD', 'PaRes'] as const

async function complete(
  returned: CustomerReturn,
  calls: AdyenCalls,
  signal: AbortSignal,
): Promise<AuthorizationOutcome> {
  const brought = { ...returned.query, ...returned.form }
  const asked: Asked = { ...returned, pspReference: returned.provider?.transactionId, isBrought: true }
  const sessionId = textAt(returned.provider?.fields, 'sessionId')
  const { sessionResult } = brought
  if (sessionId !== undefined && sessionResult !== undefined) {
    const path = `/sessions/${encodeURIComponent(sessionId)}?sessionResult=${encodeURIComponent(sessionResult)}`
    const outcome = fromSessionResult(await calls.get(path, signal), asked)
    const { authorization } = outcome
    return authorization.kind === 'pending' ? waitFor(returned, authorization.provider) : outcome
  }
  const details = Object.fromEntries(
    detailNames.flatMap(name => (brought[name] === undefined ? [] : [[name, brought[name]]])),
  )
  // The customer returned without parameters: wait for the notice with the outcome.
  if (Object.keys(details).length === 0) return waitFor(returned)
  // The same result twice is one request; a further step brings another result and gets a key of its own.
  const key = `${asked.reference}-${hash('sha256', JSON.stringify(details)).slice(0, 16)}`
  const answer = await calls.post('/payments/details', { details }, key, signal)
  return isRefusedQuestion(answer) ? waitFor(returned) : fromPayment(answer, asked)
}

/**
 * Adyen rejected the call itself: the browser sent forged parameters, or our key was revoked. That says nothing about
 * the payment, which the customer may have made; wait for the notice. 429 is not an answer: the call is sent again.
 */
const isRefusedQuestion = (answer: HttpAnswer): boolean =>
  answer.kind === 'answered' && answer.status >= 400 && answer.status < 500 && answer.status !== 429

/** Keeps the session id while the result is pending, in case the customer returns again. */
const waitFor = (
  { provider, reference, amount }: CustomerReturn,
  found: Partial<ProviderFacts> = {},
): AuthorizationOutcome => ({
  authorization: { kind: 'pending', provider: { ...provider, ...found, echo: { reference, amount } } },
})

/**
 * On a hosted page the customer may try again, so a single declined try decides nothing, until the session has named it
 * as the payment that is left.
 */
const isLastTry = (tried: ProviderFacts, known: ProviderFacts | undefined): boolean =>
  textAt(known?.fields, 'sessionId') === undefined || known?.transactionId === tried.transactionId

/** 64 characters: Adyen's limit, and the length of the hash that replaces a longer key. */
const withinLimit = (key: string): string => (key.length > 64 ? hash('sha256', key) : key)

interface AdyenCalls {
  post(path: string, body: Loose, key: string | undefined, signal: AbortSignal): Promise<HttpAnswer>
  get(path: string, signal: AbortSignal): Promise<HttpAnswer>
  dispute(path: string, body: Loose, key: string, signal: AbortSignal): Promise<HttpAnswer>
}

function createCalls(
  { environment, settings, secrets }: ProviderAccount,
  { http }: ConnectorTools,
): AdyenCalls {
  const isLive = environment === 'live'
  const given = isLive ? undefined : settings.baseUrl?.replace(/\/+$/, '')
  const checkout = isLive
    ? `https://${settings.liveUrlPrefix}-checkout-live.adyenpayments.com/checkout/v72`
    : `${given ?? 'https://checkout-test.adyen.com'}/v72`
  const disputes = `${given ?? `https://ca-${isLive ? 'live' : 'test'}.adyen.com`}/ca/services/DisputeService/v30`
  const headers = () => ({ 'x-api-key': secrets.apiKey?.reveal() ?? '', accept: 'application/json' })
  const post = (url: string, body: Loose, key: string | undefined, signal: AbortSignal) =>
    http.exchange(
      {
        verb: 'POST',
        url,
        headers: {
          ...headers(),
          'content-type': 'application/json',
          ...(key === undefined ? {} : { 'idempotency-key': withinLimit(key) }),
        },
        body: JSON.stringify(body),
      },
      signal,
    )
  return {
    post: (path, body, key, signal) => post(`${checkout}${path}`, body, key, signal),
    get: (path, signal) =>
      http.exchange({ verb: 'GET', url: `${checkout}${path}`, headers: headers() }, signal),
    dispute: (path, body, key, signal) => post(`${disputes}${path}`, body, key, signal),
  }
}
