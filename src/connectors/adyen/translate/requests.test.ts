/** Generates every request that this connector can make and validates it against Adyen's document. */
import { describe, expect, test } from 'vitest'
import { adyen } from '#connectors/adyen/connector.ts'
import {
  account,
  authorizationOf,
  card,
  contextOf,
  enhancedData,
  followUpOf,
  imported,
  proof,
  richContext,
  terms,
  wallet,
} from '#connectors/adyen/examples.test-support.ts'
import { adyenTypes } from '#connectors/adyen/methods.ts'
import { type AuthorizationCall, toAuthorizationCall } from '#connectors/adyen/translate/authorization.ts'
import type {
  AuthorizationRequest,
  CredentialUse,
  HttpAnswer,
  HttpRequest,
  ProviderAccount,
  ThreeDsRequest,
} from '#connectors/contract.ts'
import { Secret } from '#domain/secret.ts'
import { methodOf, now } from '#lifecycle/example-payment.test-support.ts'
import { absenceNote, compileDocument, hasAdyenDocuments, openCalls } from '#test/support/adyen/documents.ts'
import type { AnyJson } from '#test/support/any-json.ts'
import { openDispute } from '#test/support/providers/example-dispute.ts'

const credentials: readonly (CredentialUse | undefined)[] = [
  undefined,
  { type: 'RECURRING', initial: true, initiator: 'CUSTOMER' },
  { type: 'UNSCHEDULED', initial: true, initiator: 'CUSTOMER' },
  { type: 'RECURRING', initial: false, initiator: 'MERCHANT', schemeReferenceId: 'MCC123456' },
  { type: 'UNSCHEDULED', initial: false, initiator: 'MERCHANT', schemeReferenceId: 'MCC123456' },
  { type: 'UNSCHEDULED', initial: false, initiator: 'CUSTOMER' },
  { type: 'UNSCHEDULED', initial: false, initiator: 'MERCHANT', providerToken: 'TOKEN1 customer-1' },
]

const threeDsCases: readonly (ThreeDsRequest | undefined)[] = [
  undefined,
  { skip: true },
  ...['NO_PREFERENCE', 'NO_CHALLENGE', 'REQUEST_CHALLENGE', 'MANDATE_CHALLENGE'].map(challengePreference => ({
    challengePreference,
  })),
  ...[
    'LOW_VALUE',
    'TRANSACTION_RISK_ANALYSIS',
    'TRUSTED_MERCHANT',
    'SECURE_CORPORATE',
    'DELEGATED_AUTHENTICATION',
  ].map(exemption => ({ exemption })),
  ...[...'YANUCRDIS'].map(transStatus => ({
    imported: { ...imported, transStatus },
    authenticationValue: proof,
  })),
]

/** Methods × customer data × capture methods × stored credentials × authentications. */
function* everyAuthorization(): Generator<AuthorizationRequest> {
  for (const type of adyenTypes)
    for (const context of [{}, { ...richContext, enhancedData }])
      for (const captureMethod of methodOf(type).capture) {
        const options = { ...context, captureMethod }
        yield authorizationOf(type, {}, options)
        yield authorizationOf(type, { account }, options)
        yield authorizationOf(type, { wallet }, options)
        for (const credentialOnFile of credentials) {
          yield authorizationOf(type, { credentialOnFile }, options)
          yield authorizationOf(type, { credentialOnFile, customerPresent: false }, options)
        }
      }
  for (const type of ['CARD', 'VISA'])
    for (const context of [{}, richContext])
      for (const credentialOnFile of credentials)
        for (const threeDs of threeDsCases)
          for (const customerPresent of [true, false])
            yield authorizationOf(type, { card, credentialOnFile, threeDs, customerPresent }, context)
}

const sent = (body: unknown): unknown => JSON.parse(JSON.stringify(body))

describe('requests checked against Checkout v72', () => {
  test('every authorisation request fits the document', ({ skip }) => {
    if (!hasAdyenDocuments) skip(absenceNote)
    const compile = compileDocument('CheckoutService-v72.json')
    const check = {
      '/payments': compile('PaymentRequest'),
      '/sessions': compile('CreateCheckoutSessionRequest'),
    }
    const wrong = new Set<string>()
    const counts = { '/payments': 0, '/sessions': 0, none: 0 }
    for (const request of everyAuthorization()) {
      const call: AuthorizationCall = toAuthorizationCall(request, terms)
      counts[call.path] += 1
      if (call.path === 'none') continue
      const problem = check[call.path](sent(call.body))
      if (problem !== undefined)
        wrong.add(`${call.path} ${JSON.stringify(call.body.paymentMethod)}: ${problem.slice(-300)}`)
    }
    expect([...wrong].slice(0, 5)).toEqual([])
    expect(counts['/payments']).toBeGreaterThan(2000)
    expect(counts['/sessions']).toBeGreaterThan(2000)
  })

  test('every other call fits: modifications, the customer’s return, disputes, the check', async ({
    skip,
  }) => {
    if (!hasAdyenDocuments) skip(absenceNote)
    const documents = [openCalls('CheckoutService-v72.json'), openCalls('DisputeService-v30.json')] as const
    const calls = await everyOtherCall()
    const wrong = calls.flatMap(call => {
      const problem = documents[call.url.includes('DisputeService') ? 1 : 0](call)
      return problem === undefined ? [] : [`${call.verb} ${call.url}: ${problem}`]
    })
    expect([...new Set(wrong)].slice(0, 5)).toEqual([])
    const kinds = calls.map(
      ({ verb, url }) =>
        `${verb} ${url
          .replaceAll(/PSP\d+|CS1.*/g, '…')
          .split('/v')
          .at(-1)}`,
    )
    expect([...new Set(kinds)].sort()).toEqual([
      'GET 72/sessions/…',
      'POST 30/acceptDispute',
      'POST 30/defendDispute',
      'POST 30/retrieveApplicableDefenseReasons',
      'POST 30/supplyDefenseDocument',
      'POST 72/cancels',
      'POST 72/paymentMethods',
      'POST 72/payments/details',
      'POST 72/payments/…/amountUpdates',
      'POST 72/payments/…/cancels',
      'POST 72/payments/…/captures',
      'POST 72/payments/…/refunds',
    ])
  })

  test('the documents reject misspelt and missing members and wrong types', ({ skip }) => {
    if (!hasAdyenDocuments) skip(absenceNote)
    const check = openCalls('CheckoutService-v72.json')
    const post = (path: string, body: AnyJson) =>
      check({ verb: 'POST', url: `https://x.example/v72${path}`, headers: {}, body: JSON.stringify(body) })
    const cancel = { merchantAccount: 'A', paymentReference: 'R' }
    expect(post('/cancels', cancel)).toBeUndefined()
    expect(post('/cancels', { ...cancel, paymentReferense: 'R' })).toContain('additional')
    expect(post('/cancels', { merchantAccount: 'A' })).toContain('required')
    expect(post('/cancels', { ...cancel, paymentReference: 1 })).toContain('string')
    expect(post('/cancel', cancel)).toBe('no POST /v72/cancel')
  })
})

/** The calls after an authorisation, for every method and with every optional field. */
async function everyOtherCall(): Promise<readonly HttpRequest[]> {
  const calls: HttpRequest[] = []
  const exchange = async (request: HttpRequest): Promise<HttpAnswer> => {
    calls.push(request)
    return { kind: 'answered', status: 200, headers: {}, body: JSON.stringify(defenseReasons) }
  }
  const connector = adyen.open(testAccount, { http: { exchange }, nowMs: () => 0 })
  const signal = new AbortController().signal
  for (const type of adyenTypes)
    for (const context of [{}, richContext, { ...richContext, enhancedData }]) {
      const payment = { ...context, method: methodOf(type) }
      const change = { captureTransactionId: 'PSP0000000000002' }
      await connector.capture?.(followUpOf('CAPTURE', change, payment), signal)
      await connector.refund?.(followUpOf('REFUND', change, payment), signal)
      await connector.increment?.(followUpOf('INCREMENTAL', { newTotal: 1400 }, payment), signal)
      await connector.reverse?.(followUpOf('REVERSAL', {}, payment), signal)
      await connector.reverse?.(followUpOf('REVERSAL', { newTotal: 1000 }, payment), signal)
    }
  const inquiry = { ...authorizationOf('CARD'), operation: 'AUTHORIZATION', sentAt: now } as const
  await connector.undo?.(inquiry, signal)
  await connector.cancelAction?.(inquiry, signal)
  const echo = { reference: inquiry.reference, amount: inquiry.amount }
  const session = { echo, fields: { sessionId: 'CS1' } }
  const query = { sessionId: 'CS1', sessionResult: 'x y' }
  await connector.complete?.({ ...inquiry, provider: session, query, form: {} }, signal)
  const forms: Record<string, string>[] = [{ redirectResult: 'r' }, { payload: 'p' }, { MD: 'm', PaRes: 'p' }]
  for (const form of forms) await connector.complete?.({ ...inquiry, query: {}, form }, signal)
  await connector.disputes?.accept?.(dispute, 'key-1', signal)
  const files = [{ name: 'a.pdf', type: 'application/pdf', content: Uint8Array.of(0x25) }]
  await connector.disputes?.submitEvidence?.(dispute, { text: 'Delivered', files }, 'key-2', signal)
  await connector.check(signal)
  return calls
}

const testAccount: ProviderAccount = {
  accountId: 'acc_1',
  merchantId: contextOf('CARD').merchantId,
  connector: 'adyen',
  name: 'Adyen',
  environment: 'test',
  settings: { merchantAccount: 'ExampleShopECOM', rawCards: 'true' },
  secrets: { apiKey: new Secret('AQE-key'), hmacKey: new Secret('ab'.repeat(32)) },
}

const dispute = openDispute('D000000000000001')

const defenseReasons = {
  disputeServiceResult: { success: true },
  defenseReasons: [
    {
      defenseReasonCode: 'GoodsOrServicesProvided',
      satisfied: false,
      defenseDocumentTypes: [
        { defenseDocumentTypeCode: 'DefenseMaterial', requirementLevel: 'Required', available: false },
      ],
    },
  ],
}
