/** The bodies of single requests to Adyen. requests.test.ts validates all of them against Adyen's document. */
import { describe, expect, test } from 'vitest'
import {
  account,
  authorizationOf,
  card,
  enhancedData,
  followUpOf,
  imported,
  proof,
  richContext,
  terms,
  wallet,
} from '#connectors/adyen/examples.test-support.ts'
import { toAuthorizationCall } from '#connectors/adyen/translate/authorization.ts'
import { toCapture, toIncrement, toRefund, toReversal } from '#connectors/adyen/translate/modifications.ts'
import type { AuthorizationRequest, CredentialUse } from '#connectors/contract.ts'
import { methodOf, xIdOf } from '#lifecycle/example-payment.test-support.ts'
import type { AnyJson } from '#test/support/any-json.ts'

describe('request bodies', () => {
  const bodyOf = (request: AuthorizationRequest, change = {}) => {
    const call = toAuthorizationCall(request, { ...terms, ...change })
    if (call.path === 'none') throw new Error(call.reason)
    return { path: call.path, ...call.body } as Record<string, unknown>
  }

  test('a card goes to /payments only if the account allows raw cards', () => {
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
  ] as const)('a payment with %s capture is sent with %j', (captureMethod, members) => {
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
  ])('the credentials %j are sent as %j', (credentialOnFile, members) => {
    expect(bodyOf(authorizationOf('CARD', { card, credentialOnFile }))).toMatchObject(members)
  })

  test('the descriptor is sent in the characters that Adyen allows', () => {
    const request = authorizationOf('CARD', { card })
    const payment = { ...request.payment, descriptor: 'Müller & Söhne *1' }
    expect(bodyOf({ ...request, payment })).toMatchObject({ shopperStatement: 'Muller Sohne *1' })
  })

  test('a stored method is charged with Adyen’s token and shopper reference', () => {
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

  test('the result of a 3-D Secure authentication made elsewhere is sent along', () => {
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

  test('a card payment without a card cannot be made without the customer', () => {
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
    // A reference that the schemes refuse is left out, and other methods have no such data.
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

    test('are sent as level 3 if they add up to the amount', () => {
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
      ['have a fractional quantity', [line, { ...second, quantity: 0.5 }]],
      ['have a name that the schemes refuse', [line, { ...second, name: '鞋带' }]],
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
  ] as const)('the request for %s has the right amount', (_, modify, change, path, value) => {
    const call = modify(followUpOf('CAPTURE', change), 'PSP0000000000001', terms)
    expect(call.path).toBe(`/payments/PSP0000000000001/${path}`)
    expect(call.body).toMatchObject({ reference: xIdOf(2), amount: { value, currency: 'EUR' } })
  })

  test('an increment after a partial reversal adds to the reduced amount', () => {
    const request = followUpOf('INCREMENTAL', { newTotal: 1400 }, { reversedValue: 300 })
    expect(toIncrement(request, 'PSP0000000000001', terms).sent?.value).toBe(1100)
  })

  test.each([
    ['the five digits of a ZIP code with its extension', 'USA', '94107-1234', '94107'],
    ['the extension without a hyphen is left out, too', 'USA', '941071234', '94107'],
    ['a postal code of another country', 'BRA', '01310-100', '01310-100'],
  ])('an address has %s', (_, country, postalCode, expected) => {
    const billing = { streetName: 'Main Street', streetNumber: '1', city: 'Town', country, postalCode }
    expect(bodyOf(authorizationOf('CARD', { card }, { billing })).billingAddress).toMatchObject({
      postalCode: expected,
    })
  })

  test('a telephone order is marked as Moto', () => {
    expect(bodyOf(authorizationOf('CARD', { card }, { channel: 'MOTO' })).shopperInteraction).toBe('Moto')
  })

  test('reversing the whole rest is a cancellation', () => {
    const request = followUpOf('REVERSAL', { newTotal: 700 }, { capturedValue: 300 })
    expect(toReversal(request, 'PSP0000000000001', terms).path).toBe('/payments/PSP0000000000001/cancels')
  })
})
