/** Every request that this connector can make, generated and held against Adyen's own document. */
import { describe, expect, test } from 'vitest'
import { type AuthorizationCall, toAuthorizationCall } from '#connectors/adyen/authorization.ts'
import { adyen } from '#connectors/adyen/connector.ts'
import {
  account,
  authorizationOf,
  card,
  contextOf,
  followUpOf,
  richContext,
  terms,
  wallet,
} from '#connectors/adyen/examples.test-support.ts'
import { adyenTypes } from '#connectors/adyen/methods.ts'
import { toCapture, toIncrement, toRefund, toReversal } from '#connectors/adyen/modifications.ts'
import type {
  AuthorizationRequest,
  CredentialUse,
  HttpAnswer,
  HttpRequest,
  ProviderAccount,
  ThreeDsRequest,
} from '#connectors/contract.ts'
import { Secret } from '#domain/secret.ts'
import { methodOf, now, xIdOf } from '#lifecycle/example-payment.test-support.ts'
import { absenceNote, compileDocument, hasAdyenDocuments, openCalls } from '#test/support/adyen-documents.ts'
import type { AnyJson } from '#test/support/any-json.ts'

const credentials: readonly (CredentialUse | undefined)[] = [
  undefined,
  { type: 'RECURRING', initial: true, initiator: 'CUSTOMER' },
  { type: 'UNSCHEDULED', initial: true, initiator: 'CUSTOMER' },
  { type: 'RECURRING', initial: false, initiator: 'MERCHANT', schemeReferenceId: 'MCC123456' },
  { type: 'UNSCHEDULED', initial: false, initiator: 'MERCHANT', schemeReferenceId: 'MCC123456' },
  { type: 'UNSCHEDULED', initial: false, initiator: 'CUSTOMER' },
  { type: 'UNSCHEDULED', initial: false, initiator: 'MERCHANT', providerToken: 'TOKEN1 customer-1' },
]

const imported = {
  acsProtocolVersion: '2.2.0',
  eci: '05',
  dsTransId: '123e4567-e89b-12d3-a456-426614174000',
}
/** Kept apart, as a request brings it: it is never stored. */
const proof = new Secret('AQIDBAUGBwgJCgsMDQ4PEBESExQ=')
const enhancedData = {
  common: { amounts: { grossAmount: 400, netAmount: 336, taxAmount: 64 } },
  carRental: {
    schemeA: { billingAndInvoiceInformation: { countryCode: 'DE', customerReference: 'PO 4711' } },
  },
}

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

/** Methods × what is known about the customer × how it is captured × which credentials × how it is authenticated. */
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

describe('against Checkout v72', () => {
  test('every authorisation fits', ({ skip }) => {
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

  test('every other call fits: what follows a payment, the customer’s return, disputes, the check', async ({
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

  test('the documents refuse what is misspelt, missing or of another type', ({ skip }) => {
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

/** What is asked after the first call of a payment, for every method and with all that a merchant can say. */
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

const dispute = {
  providerDisputeId: 'D000000000000001',
  stage: 'CHARGEBACK',
  status: 'OPEN',
  amount: { value: 1000, currency: 'EUR' },
  reasonCode: '10.4',
  reasonGroup: 'FRAUD',
} as const

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

describe('what is sent', () => {
  const bodyOf = (request: AuthorizationRequest, change = {}) => {
    const call = toAuthorizationCall(request, { ...terms, ...change })
    if (call.path === 'none') throw new Error(call.reason)
    return { path: call.path, ...call.body } as Record<string, unknown>
  }

  test('a card goes to /payments only where the account allows raw cards', () => {
    expect(bodyOf(authorizationOf('CARD', { card }))).toMatchObject({
      path: '/payments',
      reference: xIdOf(1),
      merchantAccount: 'ExampleShopECOM',
      amount: { value: 1000, currency: 'EUR' },
      shopperInteraction: 'Ecommerce',
      paymentMethod: {
        type: 'scheme',
        number: '4111111111111111',
        expiryYear: '2030',
        expiryMonth: '03',
        cvc: '737',
      },
      authenticationData: { threeDSRequestData: { nativeThreeDS: 'disabled' } },
    })
    expect(bodyOf(authorizationOf('CARD', { card }), { rawCards: false })).toMatchObject({
      path: '/sessions',
      mode: 'hosted',
      allowedPaymentMethods: ['scheme'],
    })
  })

  test.each([
    ['BANCONTACT', {}, '/sessions'],
    ['BLIK', {}, '/sessions'],
    ['IDEAL', {}, '/payments'],
    ['MULTIBANCO', {}, '/payments'],
    ['DIRECTDEBIT', {}, '/sessions'],
    ['DIRECTDEBIT', { account }, '/payments'],
    ['PROVIDERM', {}, '/sessions'],
    ['PROVIDERM', { wallet }, '/payments'],
    ['PROVIDERK', {}, '/sessions'],
    ['PLACEZIPKO', {}, '/sessions'],
  ])('%s with %j goes to %s', (type, change, path) => {
    expect(bodyOf(authorizationOf(type, change)).path).toBe(path)
  })

  test.each([
    ['KONBINI', '/payments'],
    ['VABCA', '/payments'],
    ['PROVIDERK', '/payments'],
    ['BOLETO', '/payments'],
  ])('%s goes to %s once the customer is known', (type, path) => {
    expect(bodyOf(authorizationOf(type, {}, richContext)).path).toBe(path)
  })

  test.each([
    ['AUTOMATIC', { captureDelayHours: 0 }],
    ['MANUAL', { additionalData: { manualCapture: 'true', authorisationType: 'PreAuth' } }],
    ['DELAYED', { additionalData: { manualCapture: 'true', authorisationType: 'PreAuth' } }],
  ] as const)('%s capture is %j', (captureMethod, members) => {
    expect(bodyOf(authorizationOf('CARD', { card }, { captureMethod }))).toMatchObject(members)
  })

  test.each<[CredentialUse, object]>([
    [
      { type: 'RECURRING', initial: true, initiator: 'CUSTOMER' },
      { shopperInteraction: 'Ecommerce', recurringProcessingModel: 'Subscription' },
    ],
    [
      { type: 'RECURRING', initial: false, initiator: 'MERCHANT', schemeReferenceId: 'NTX' },
      {
        shopperInteraction: 'ContAuth',
        recurringProcessingModel: 'Subscription',
        paymentMethod: { networkPaymentReference: 'NTX' },
      },
    ],
    [
      { type: 'UNSCHEDULED', initial: false, initiator: 'MERCHANT' },
      { shopperInteraction: 'ContAuth', recurringProcessingModel: 'UnscheduledCardOnFile' },
    ],
    [
      { type: 'UNSCHEDULED', initial: false, initiator: 'CUSTOMER' },
      { shopperInteraction: 'ContAuth', recurringProcessingModel: 'CardOnFile' },
    ],
  ])('%j is %j', (credentialOnFile, members) => {
    expect(bodyOf(authorizationOf('CARD', { card, credentialOnFile }))).toMatchObject(members)
  })

  test('a stored method is charged by Adyen’s token and the shopper it belongs to', () => {
    const credentialOnFile: CredentialUse = {
      type: 'RECURRING',
      initial: false,
      initiator: 'MERCHANT',
      providerToken: 'TOKEN1 customer 1',
    }
    const body = bodyOf(authorizationOf('CARD', { credentialOnFile, customerPresent: false }), {
      rawCards: false,
    })
    expect(body).toMatchObject({
      path: '/payments',
      paymentMethod: { type: 'scheme', storedPaymentMethodId: 'TOKEN1' },
      shopperReference: 'customer 1',
      shopperInteraction: 'ContAuth',
    })
  })

  test('3-D Secure that was made elsewhere is handed on', () => {
    const threeDs = { imported: { ...imported, transStatus: 'Y' }, authenticationValue: proof }
    const { mpiData, authenticationData } = bodyOf(authorizationOf('CARD', { card, threeDs }))
    expect(mpiData).toEqual({
      threeDSVersion: '2.2.0',
      eci: '05',
      dsTransID: imported.dsTransId,
      cavv: proof.reveal(),
      directoryResponse: 'Y',
      authenticationResponse: 'Y',
    })
    expect(authenticationData).toBeUndefined()
  })

  test('a card that was not given cannot be charged without the customer', () => {
    const call = toAuthorizationCall(authorizationOf('CARD', { customerPresent: false }), terms)
    expect(call.path).toBe('none')
  })

  test.each([
    ['a capture', toCapture],
    ['a refund', toRefund],
  ] as const)('%s of a card carries tax and reference of the customer', (_, modify) => {
    const sentFor = (type: string, more = {}) =>
      modify(
        followUpOf('CAPTURE', {}, { enhancedData: { ...enhancedData, ...more }, method: methodOf(type) }),
        'PSP0000000000001',
        terms,
      ).body.enhancedSchemeData
    const levelTwoThree = { totalTaxAmount: 64, customerReferenceNumber: 'PO 4711' }
    expect(sentFor('CARD')).toEqual({ levelTwoThree })
    // A reference that schemes refuse is left out, and other methods have no such data.
    const unfit = { schemeA: { billingAndInvoiceInformation: { customerReference: '0000' } } }
    expect(sentFor('CARD', { carRental: unfit })).toEqual({ levelTwoThree: { totalTaxAmount: 64 } })
    expect(sentFor('PROVIDERK')).toBeUndefined()
  })

  describe('lines of a card payment with enhanced data', () => {
    const line = { name: 'Running shoe', sku: 'SKU-1', quantity: 2, quantityUnit: 'pcs', grossPrice: 150 }
    const second = { name: 'Laces', quantity: 1, grossPrice: 120, discountAmount: 20 }
    const linesFor = (items: readonly AnyJson[], type = 'CARD') => {
      const order = { creationDate: '2026-03-01T10:00:00Z', items }
      const context = { ...richContext, order, enhancedData, method: methodOf(type) }
      const { body } = toCapture(followUpOf('CAPTURE', {}, context), 'PSP0000000000001', terms)
      return (body.enhancedSchemeData as AnyJson)?.levelTwoThree
    }

    test('are level 3 where they add up to the amount', () => {
      expect(linesFor([line, second])).toEqual({
        totalTaxAmount: 64,
        customerReferenceNumber: 'PO 4711',
        orderDate: '2026-03-01',
        destination: { postalCode: '10115', countryCode: 'DEU', stateOrProvince: 'BE' },
        itemDetailLines: [
          {
            ...{ description: 'Running shoe', productCode: 'SKU-1', unitOfMeasure: 'pcs' },
            ...{ quantity: 2, unitPrice: 150, totalAmount: 300 },
          },
          { description: 'Laces', quantity: 1, unitPrice: 120, discountAmount: 20, totalAmount: 100 },
        ],
      })
    })

    test.each<[string, readonly AnyJson[]]>([
      ['do not add up', [line]],
      ['hold half a piece', [line, { ...second, quantity: 0.5 }]],
      ['have a name that schemes refuse', [line, { ...second, name: '鞋带' }]],
      ['have no price', [line, { name: 'Laces', quantity: 1 }]],
    ])('are left out where they %s', (_, items) =>
      expect(linesFor(items)).toEqual({ totalTaxAmount: 64, customerReferenceNumber: 'PO 4711' }),
    )
  })

  test.each([
    ['an increment', toIncrement, { newTotal: 1400 }, 'amountUpdates', 1400],
    ['a partial reversal', toReversal, { newTotal: 400 }, 'amountUpdates', 600],
    ['a capture', toCapture, {}, 'captures', 400],
    ['a refund', toRefund, {}, 'refunds', 400],
  ] as const)('%s names the right amount', (_, modify, change, path, value) => {
    const call = modify(followUpOf('CAPTURE', change), 'PSP0000000000001', terms)
    expect(call.path).toBe(`/payments/PSP0000000000001/${path}`)
    expect(call.body).toMatchObject({ reference: xIdOf(2), amount: { value, currency: 'EUR' } })
  })

  test('an increment after a partial reversal counts from what is left', () => {
    const request = followUpOf('INCREMENTAL', { newTotal: 1400 }, { reversedValue: 300 })
    expect(toIncrement(request, 'PSP0000000000001', terms).sent?.value).toBe(1100)
  })

  test('an order by telephone says so', () => {
    expect(bodyOf(authorizationOf('CARD', { card }, { channel: 'MOTO' })).shopperInteraction).toBe('Moto')
  })

  test('reversing all that is left is a cancellation', () => {
    const request = followUpOf('REVERSAL', { newTotal: 700 }, { capturedValue: 300 })
    expect(toReversal(request, 'PSP0000000000001', terms).path).toBe('/payments/PSP0000000000001/cancels')
  })
})
