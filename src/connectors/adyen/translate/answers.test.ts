/** Answers to a payment at Adyen: approved, declined, or an action for the customer. */
import { describe, expect, test } from 'vitest'
import { answered, asked, echo, payment, said } from '#connectors/adyen/translate/answers.test-support.ts'
import { type Asked, fromPayment } from '#connectors/adyen/translate/answers.ts'
import { xIdOf } from '#lifecycle/example-payment.test-support.ts'
import { absenceNote, hasAdyenDocuments, readAdyenDocument } from '#test/support/adyen/documents.ts'
import type { AnyJson } from '#test/support/any-json.ts'

describe('answers to /payments', () => {
  const redirect = { type: 'redirect', url: 'https://bank.example/', method: 'GET' }
  // Every value of `resultCode` in Checkout v72, with its accompanying members.
  const results: readonly (readonly [string, object, string])[] = [
    ['Authorised', {}, 'approved'],
    ['Refused', { refusalReasonCode: '12' }, '0351'],
    ['Error', { refusalReasonCode: '4' }, '0396'],
    ['Cancelled', {}, '0703'],
    ['Pending', {}, 'pending'],
    ['Received', {}, 'pending'],
    ['Success', {}, 'pending'],
    ['RedirectShopper', { action: redirect }, 'action'],
    ['PresentToShopper', { action: { type: 'voucher', reference: '1' } }, 'action'],
    ['IdentifyShopper', { action: { type: 'threeDS2' } }, 'unknown'],
    ['ChallengeShopper', { action: { type: 'threeDS2' } }, 'unknown'],
    ['PartiallyAuthorised', { amount: { value: 400, currency: 'EUR' } }, 'approved'],
    ['AuthenticationFinished', {}, 'unknown'],
    ['AuthenticationNotRequired', {}, 'unknown'],
  ]

  const withoutCode = ['Refused', { refusalReason: 'Not enough balance' }, '0351'] as const

  test.each([...results, withoutCode])('%s with %j is %s', (resultCode, members, outcome) => {
    expect(payment({ resultCode, ...echo, ...members })).toBe(outcome)
  })

  test('the table has every result code of Adyen’s document', ({ skip }) => {
    if (!hasAdyenDocuments) skip(absenceNote)
    const { schemas } = readAdyenDocument('CheckoutService-v72.json').components
    for (const schema of ['PaymentResponse', 'PaymentDetailsResponse'])
      expect(results.map(([code]) => code).sort()).toEqual(
        schemas[schema].properties.resultCode.enum.toSorted(),
      )
  })

  test('every action of the document is shown, awaited or unknown', ({ skip }) => {
    if (!hasAdyenDocuments) skip(absenceNote)
    const { schemas } = readAdyenDocument('CheckoutService-v72.json').components
    const types: string[] = schemas.PaymentResponse.properties.action.oneOf.flatMap(
      ({ $ref }: { $ref: string }) => schemas[$ref.split('/').at(-1) ?? ''].properties.type.enum,
    )
    const outcomes = types.map(type => {
      const action = { type, url: 'https://bank.example/', reference: '1', qrCodeData: 'QR' }
      return [type, payment({ resultCode: 'RedirectShopper', ...echo, action })]
    })
    expect(Object.fromEntries(outcomes)).toEqual({
      redirect: 'action',
      nativeRedirect: 'action',
      voucher: 'action',
      bankTransfer: 'action',
      qrCode: 'action',
      await: 'pending',
      sdk: 'unknown',
      wechatpaySDK: 'unknown',
      threeDS2: 'unknown',
      delegatedAuthentication: 'unknown',
    })
  })

  test.each([
    ['Pending', { type: 'qrCode', qrCodeData: 'weixin://pay' }, 'action'],
    ['Pending', { type: 'redirect', url: 'https://bank.example/', method: 'GET' }, 'action'],
    ['Received', { type: 'bankTransfer', iban: 'NL13TEST0123456789', reference: '1' }, 'action'],
    ['Pending', { type: 'await' }, 'pending'],
    ['Pending', { type: 'sdk' }, 'pending'],
  ])('%s with the action %j is %s: the document says that the customer may have to act', (...row) => {
    const [resultCode, action, outcome] = row
    expect(payment({ resultCode, ...echo, action })).toBe(outcome)
  })

  test('after a redirect the payment’s own PSP reference is a sufficient echo, another one is not', () => {
    const answer = answered(200, { resultCode: 'Authorised', pspReference: 'PSP1' })
    const kindFor = (pspReference: string) =>
      fromPayment(answer, { ...asked, pspReference }).authorization.kind
    expect([kindFor('PSP1'), kindFor('PSP2')]).toEqual(['approved', 'unknown'])
  })

  test.each([
    ['an unknown result code', { resultCode: 'Teleported', ...echo }],
    ['no result code', { ...echo }],
    ['another reference', { resultCode: 'Authorised', ...echo, merchantReference: xIdOf(9) }],
    ['another amount', { resultCode: 'Authorised', ...echo, amount: { value: 999, currency: 'EUR' } }],
    ['another currency', { resultCode: 'Authorised', ...echo, amount: { value: 1000, currency: 'USD' } }],
    ['a refusal of another reference', { resultCode: 'Refused', ...echo, merchantReference: xIdOf(9) }],
    ['an approval that echoes nothing', { resultCode: 'Authorised', pspReference: 'PSP1' }],
    ['a list', []],
    ['truncated JSON', '{"resultCode":"Authorised","merchantRef'],
    ['HTML', '<html><body>OK</body></html>'],
  ])('an answer with %s leaves the outcome unknown', (_, body) => expect(payment(body)).toBe('unknown'))

  test.each([
    [500, { status: 500, errorCode: '701', message: 'server could not process request' }, 'unknown'],
    [502, '<html>Bad gateway</html>', 'unknown'],
    [503, '', 'unknown'],
    [302, '', 'unknown'],
    [400, '<html>no</html>', 'unknown'],
    [404, '', 'unknown'],
    [422, { errorCode: '704', message: 'request already processed or in progress' }, 'unknown'],
    [409, { errorCode: '00_409', message: 'Conflict' }, 'unknown'],
    [408, { errorCode: '00_408', message: 'Request timeout' }, 'unknown'],
    [422, { errorCode: '101', message: 'Invalid card number' }, '0314'],
    [422, { errorCode: '137', message: 'Invalid amount' }, '0313'],
    [422, { errorCode: '167', message: 'Original pspReference required' }, '0312'],
    [400, { errorCode: '702', message: 'Bad request' }, '0312'],
    [401, { errorCode: '000', message: 'HTTP Status Response - Unauthorized' }, '0396'],
    [403, '', '0396'],
    [422, { errorCode: '901', message: 'Invalid Merchant Account' }, '0396'],
    [429, '', 'unreached'],
  ])('HTTP %i with %j is %s', (status, body, outcome) => expect(payment(body, status)).toBe(outcome))

  test('a lost answer is unknown, a failed connection is unreached', () => {
    const lost = fromPayment({ kind: 'lost', reason: 'reset' }, asked)
    expect(said(lost.authorization)).toBe('unknown')
    const unreached = fromPayment({ kind: 'unreached', reason: 'refused' }, asked)
    expect(said(unreached.authorization)).toBe('unreached')
  })

  test('the payment record says that the key was refused', () => {
    const { authorization } = fromPayment(answered(401, ''), asked)
    expect(authorization).toMatchObject({
      provider: { responseText: 'Adyen refused the API key (HTTP 401)', responseCode: '401' },
    })
  })

  test('the payment record says that the merchant account was refused; a lost request stays open', () => {
    const body = { errorCode: '901', message: 'Invalid Merchant Account' }
    expect(fromPayment(answered(422, body), asked).authorization).toMatchObject({
      callRefused: true,
      provider: { responseText: 'Adyen refused the merchant account (HTTP 422, error 901)' },
    })
  })

  test('an approval carries all facts that the payment record shows', () => {
    const additionalData = {
      authCode: '065696',
      networkTxReference: 'MCC123456',
      cardSummary: '1111',
      cardBin: '41111111',
      expiryDate: '3/2030',
      eci: '05',
      dsTransID: 'ds-1',
      threeDSVersion: '2.2.0',
      threeDAuthenticatedResponse: 'Y',
      'tokenization.storedPaymentMethodId': 'TOKEN1',
      'tokenization.shopperReference': 'customer-1',
    }
    const body = { resultCode: 'Authorised', ...echo, paymentMethod: { type: 'scheme', brand: 'mc' } }
    const { authorization } = fromPayment(answered(200, { ...body, additionalData }), asked)
    expect(authorization).toEqual({
      kind: 'approved',
      provider: {
        echo: asked,
        transactionId: 'PSP1',
        responseCode: '0',
        approvalCode: 65_696,
        schemeReferenceId: 'MCC123456',
        providerToken: 'TOKEN1 customer-1',
        fields: {
          brand: 'mastercard',
          last4Digits: '1111',
          first6Digits: '411111',
          expiryDate: '203003',
          threeDsData: { acsProtocolVersion: '2.2.0', eci: '05', dsTransId: 'ds-1', transStatus: 'Y' },
        },
      },
    })
  })

  test('an approval with automatic capture is the answer for the capture too', () => {
    const both: Asked = { ...asked, captureReference: xIdOf(2) }
    const { capture } = fromPayment(answered(200, { resultCode: 'Authorised', ...echo }), both)
    expect(capture).toMatchObject({
      kind: 'approved',
      provider: { echo: { reference: xIdOf(2), amount: asked.amount } },
    })
    expect(fromPayment(answered(200, { resultCode: 'Pending', ...echo }), both).capture).toBeUndefined()
  })

  test('a partial approval echoes the smaller amount', () => {
    const amount = { value: 400, currency: 'EUR' }
    const body = { resultCode: 'PartiallyAuthorised', ...echo, amount }
    expect(fromPayment(answered(200, body), asked).authorization).toMatchObject({
      kind: 'approved',
      provider: { echo: { reference: asked.reference, amount } },
    })
  })
})

describe('actions for the customer', () => {
  const actionOf = (action: AnyJson) =>
    fromPayment(answered(200, { resultCode: 'RedirectShopper', ...echo, action }), asked).authorization

  test('the customer is redirected by GET', () => {
    expect(
      actionOf({ type: 'redirect', url: 'https://b.example/x', method: 'GET', paymentMethodType: 'ideal' }),
    ).toMatchObject({
      kind: 'action',
      action: { type: 'redirect', url: 'https://b.example/x', verb: 'GET' },
      provider: { transactionId: 'PSP1' },
    })
  })

  test('the customer is redirected to 3-D Secure by POST, with the fields of the form', () => {
    const data = { PaReq: 'abc', MD: 'def', TermUrl: 'https://gateway.example/', n: 1 }
    const action = {
      type: 'redirect',
      url: 'https://acs.example/',
      method: 'POST',
      data,
      paymentMethodType: 'scheme',
    }
    expect(actionOf(action)).toMatchObject({
      action: {
        verb: 'POST',
        fields: { PaReq: 'abc', MD: 'def', TermUrl: 'https://gateway.example/' },
        challenge: true,
      },
    })
  })

  test('the customer gets a voucher with its deadline', () => {
    const expiresAt = '2026-12-01T12:00:00Z'
    expect(
      actionOf({
        type: 'voucher',
        reference: '501 422 944',
        entity: '12101',
        downloadUrl: 'https://v.example/1.pdf',
        expiresAt,
      }),
    ).toMatchObject({
      action: {
        type: 'instructions',
        instructions: {
          reference: '501 422 944',
          entity: '12101',
          downloadUrl: 'https://v.example/1.pdf',
          deadline: new Date(expiresAt),
        },
      },
      expiresAt: new Date(expiresAt),
    })
  })

  test('the customer gets the bank account for the transfer', () => {
    expect(
      actionOf({
        type: 'bankTransfer',
        iban: 'NL1',
        bic: 'TESTNL01',
        beneficiary: 'Adyen',
        reference: 'ABC',
      }),
    ).toMatchObject({
      action: {
        instructions: { iban: 'NL1', bic: 'TESTNL01', accountHolderName: 'Adyen', reference: 'ABC' },
      },
    })
  })

  test('the customer gets a QR code', () => {
    expect(actionOf({ type: 'qrCode', qrCodeData: '000201' })).toMatchObject({
      action: { type: 'instructions', instructions: { qrCode: '000201' } },
    })
  })

  test('an address that is not a web address is not passed on', () => {
    expect(actionOf({ type: 'redirect', url: 'javascript:alert(1)', method: 'GET' })).toEqual({
      kind: 'unknown',
    })
  })
})
