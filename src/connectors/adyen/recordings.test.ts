/** Recorded answers of Adyen's test system, and the outcomes that we read from them. */
import { describe, expect, test } from 'vitest'
import { fromCheck } from '#connectors/adyen/check.ts'
import { readNotice } from '#connectors/adyen/notices.ts'
import { tryAdyenAmount } from '#connectors/adyen/translate/amounts.ts'
import {
  type Asked,
  fromModification,
  fromNewSession,
  fromPayment,
  fromSessionResult,
} from '#connectors/adyen/translate/answers.ts'
import type { AuthorizationOutcome, HttpAnswer, NoticeFact, Outcome } from '#connectors/contract.ts'
import type { XId } from '#domain/ids.ts'
import { Secret } from '#domain/secret.ts'
import {
  absenceNote,
  hasAdyenDocuments,
  listRecordings,
  readRecording,
} from '#test/support/adyen/documents.ts'
import { signItem } from '#test/support/adyen/signer.ts'
import { type Exchange, readCassette } from '#test/support/providers/cassette.ts'

const said = (outcome: Outcome | AuthorizationOutcome['authorization']): string =>
  outcome.kind === 'declined' ? outcome.detail : outcome.kind

/** The recorded request. Its references need not have our format. */
function askedOf({ request }: Exchange): Asked {
  const { reference, amount } = JSON.parse(request.body)
  return { reference: reference as XId, amount: amount ?? { value: 0, currency: 'USD' } }
}

/** The outcome of an answer of another API, in case a wrong address is configured: never an approval. */
function strangeOutcomeOf(exchange: Exchange): string {
  const asked: Asked = { reference: 'a1' as XId, amount: { value: 1000, currency: 'EUR' } }
  const found = [
    fromPayment(answerOf(exchange), asked).authorization,
    fromModification(answerOf(exchange), asked, undefined),
  ].map(said)
  expect(new Set(found).size).toBe(1)
  return found[0] ?? ''
}

const answerOf = ({ response }: Exchange): HttpAnswer => ({ kind: 'answered', headers: {}, ...response })

function outcomeOf(exchange: Exchange): string {
  const { uri } = exchange.request
  const answer = answerOf(exchange)
  if (uri.includes('sessionResult='))
    return said(
      fromSessionResult(answer, {
        reference: 'd84f20d9-4a06-4173-96ca-02486188e192' as XId,
        amount: { value: 1000, currency: 'EUR' },
      }).authorization,
    )
  const asked = askedOf(exchange)
  if (uri.endsWith('/sessions')) return said(fromNewSession(answer, asked).authorization)
  if (uri.endsWith('/payments')) return said(fromPayment(answer, asked).authorization)
  const sent = uri.endsWith('/cancels') ? undefined : tryAdyenAmount(asked.amount)
  return said(fromModification(answer, asked, sent))
}

/** Each recording and the outcomes of its exchanges, in order. */
const expected: Readonly<Record<string, readonly string[]>> = {
  'payment_api--captures--failure.yml': ['0312'],
  'payment_api--create_refund--failure--invalid_amount.yml': ['0313'],
  'payment_api--create_refund--failure--invalid_payment_id.yml': ['0312'],
  // In this edited recording the first answer carries another reference than its request, which we detect.
  'payment_api--create_refund--success_partial.yml': [
    'unknown',
    'pending',
    'pending',
    '0396',
    '0396',
    '0396',
  ],
  'payment_api--payments--success.yml': ['approved'],
  'payment_api--voids--success.yml': ['pending'],
  'payment_session_results--failure.yml': ['pending'],
  'payment_session_results--success--completed.yml': ['approved'],
  'payment_session_results--success--expired.yml': ['0402'],
  'payment_session_results--success--payment_pending.yml': ['pending'],
  'payment_session_results--success--refused.yml': ['0305'],
  // Embedded sessions have no address of their own; ours are hosted.
  'payment_sessions--success.yml': ['unreached'],
  'payment_sessions--success_with_ios_channel.yml': ['unreached'],
  'payment_sessions--success_without_optional_params.yml': ['unreached'],
  'payment_setup_sessions--create--success.yml': ['unreached'],
}

/** Recordings of the Management API, which sets accounts up and which we do not call. */
const ofManagement: Readonly<Record<string, readonly string[]>> = {
  'gateways--configure--success--webhook_not_set_up.yml': Array(6).fill('unknown'),
  'gateways--configure--success--webhook_not_valid.yml': [
    'unknown',
    '0312',
    'unknown',
    'unknown',
    '0312',
    '0312',
    '0312',
  ],
  'jobs--spree_adyen--add_allowed_origin_job--already_exists.yml': ['0312'],
  'jobs--spree_adyen--add_allowed_origin_job--failed.yml': ['unknown'],
  'management_api--create_webhook--success.yml': ['unknown'],
  'management_api--generate_client_key--success.yml': ['unknown'],
  'management_api--get_api_credential_details--failure_401.yml': ['0396'],
  'management_api--get_api_credential_details--failure_403.yml': ['0396'],
  'management_api--get_api_credential_details--success_production.yml': ['unknown'],
  'management_api--test_webhook--bad_request.yml': ['0312'],
  'management_api--test_webhook--success.yml': ['unknown'],
}

describe.runIf(hasAdyenDocuments)('recorded exchanges', () => {
  test('every recording has an expectation in this file', () => {
    const lines = [...Object.keys(expected), ...Object.keys(ofManagement)]
    expect(lines.sort()).toEqual(listRecordings('.yml').toSorted())
    expect(lines).toHaveLength(26)
  })

  test.each(Object.entries(ofManagement))('%s: %j', (name, outcomes) => {
    expect(readCassette(readRecording(name)).map(strangeOutcomeOf)).toEqual(outcomes)
  })

  test.each([
    ['management_api--get_api_credential_details--failure_401.yml', 'apiKey false'],
    ['management_api--get_api_credential_details--failure_403.yml', 'apiKey false'],
    ['jobs--spree_adyen--add_allowed_origin_job--failed.yml', 'connection false'],
  ])('%s as the answer to a check: %s', (name, finding) => {
    const [exchange] = readCassette(readRecording(name))
    if (!exchange) throw new Error('an empty recording')
    const [first] = fromCheck(answerOf(exchange), 'ExampleShopECOM')
    expect(`${first?.name} ${first?.ok}`).toBe(finding)
  })

  test.each(Object.entries(expected))('%s: %j', (name, outcomes) => {
    expect(readCassette(readRecording(name)).map(outcomeOf)).toEqual(outcomes)
  })
})

describe.runIf(hasAdyenDocuments)('recorded notices', () => {
  const hmacKey = new Secret('ab'.repeat(32))
  /** A short description of a fact. */
  const tell = (fact: NoticeFact): string =>
    fact.kind === 'outcome' ? `${fact.operation} ${said(fact.outcome)}` : fact.kind

  test.each([
    ['webhooks--authorised--success.json', ['AUTHORIZATION approved']],
    ['webhooks--authorised--success_other_source.json', ['AUTHORIZATION approved']],
    ['webhooks--authorised--success_with_billing_address.json', ['AUTHORIZATION approved']],
    // A failed try on a hosted page: `isLastTry` says whether it ends the payment.
    ['webhooks--authorised--failure.json', ['AUTHORIZATION 0305']],
    ['webhooks--cancellation--success.json', ['REVERSAL approved']],
    ['webhooks--cancellation--failure.json', ['REVERSAL 0305']],
    ['webhooks--capture--success.json', ['CAPTURE approved']],
  ])('%s: %j', (name, facts) => {
    const message = JSON.parse(readRecording(name))
    const [first] = message.notificationItems
    const keys = { hmacKey, merchantAccount: first.NotificationRequestItem.merchantAccountCode }
    const forged = readNotice({ headers: {}, query: {}, body: Buffer.from(JSON.stringify(message)) }, keys)
    expect(forged.verdict).toBe('forged')
    for (const { NotificationRequestItem: item } of message.notificationItems)
      signItem(item, keys.hmacKey.reveal())
    const notice = readNotice({ headers: {}, query: {}, body: Buffer.from(JSON.stringify(message)) }, keys)
    expect(notice.verdict === 'genuine' ? notice.items.map(({ fact }) => tell(fact)) : notice).toEqual(facts)
  })
})

test('the tests of recordings run, or are reported as skipped', ({ skip }) => {
  if (!hasAdyenDocuments) skip(absenceNote)
  expect(listRecordings('.json').length).toBe(7)
})
