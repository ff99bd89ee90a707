import type { TSchema } from 'typebox'
import { describe, expect, test } from 'vitest'
import { cardCapture, cardRequest } from '#methods/fields/card.ts'
import { paymentFacilitator } from '#schemas/create-payment.ts'
import { billingAddress, shipping } from '#schemas/parts/address.ts'
import { amount, createAmount, plainAmount } from '#schemas/parts/amount.ts'
import { browserInfo, refundBrowserInfo } from '#schemas/parts/browser-info.ts'
import { captureMethod, partialCapture } from '#schemas/parts/capture-method.ts'
import { credentialOnFile } from '#schemas/parts/credential-on-file.ts'
import { customerInfo } from '#schemas/parts/customer-info.ts'
import { device } from '#schemas/parts/device.ts'
import { fraudData } from '#schemas/parts/fraud-data.ts'
import { order } from '#schemas/parts/order.ts'
import { urls } from '#schemas/parts/urls.ts'
import { compileCheck } from '#test/support/docs/check-schema.ts'

/** One case per line: the title, the body, and the invalid fields (none: accepted). */
type Case = [name: string, body: unknown, ...fields: string[]]

function cases(name: string, schema: TSchema, table: readonly Case[]): void {
  const check = compileCheck(schema)
  describe(name, () => {
    test.each(table.map(([title, body, ...fields]) => ({ title, body, fields })))(
      '$title',
      ({ body, fields }) => {
        expect(check(body)).toEqual(fields)
      },
    )
  })
}

const long = (length: number) => 'x'.repeat(length)
const eur = { value: 1000, currency: 'EUR' }

cases('amount', amount, [
  ['value and currency', eur],
  ['the largest value', { ...eur, value: 999_999_999_999 }],
  ['all parts', { ...eur, taxTotal: 1, netItemTotal: 2, netShippingAmount: 0, grossShippingAmount: 0 }],
  ['discounts of either sign', { ...eur, netDiscount: -5, grossDiscount: 5 }],
  ['too large', { ...eur, value: 1_000_000_000_000 }, 'value'],
  ['zero', { ...eur, value: 0 }, 'value'],
  ['negative', { ...eur, value: -1 }, 'value'],
  ['a fraction', { ...eur, value: 10.5 }, 'value'],
  ['a text', { ...eur, value: '1000' }, 'value'],
  ['null', { ...eur, value: null }, 'value'],
  ['a fraction in a part', { ...eur, taxTotal: 0.5 }, 'taxTotal'],
  ['a negative tax', { ...eur, taxTotal: -1 }, 'taxTotal'],
  ['an unknown currency', { ...eur, currency: 'ABC' }, 'currency'],
  ['a currency in lower case', { ...eur, currency: 'eur' }, 'currency'],
  ['a withdrawn currency', { ...eur, currency: 'BGN' }, 'currency'],
  ['nothing', {}, 'currency', 'value'],
  ['something else', { ...eur, vat: 1 }, 'vat'],
  ['an array', [], ''],
])

cases('plainAmount', plainAmount, [
  ['value and currency', eur],
  ['a part', { ...eur, taxTotal: 1 }, 'taxTotal'],
  ['zero', { ...eur, value: 0 }, 'value'],
])

cases('createAmount', createAmount, [
  ['zero', { ...eur, value: 0 }],
  ['negative', { ...eur, value: -1 }, 'value'],
])

const item = { id: '1', name: 'Shoe', quantity: 0.5, taxRate: 1900, netPrice: -100, totalTaxAmount: 19 }
cases('order', order, [
  ['empty', {}],
  [
    'all of it',
    { merchantReference: 'r', numberOfArticles: 1, invoiceId: 'i', description: 'd', items: [item] },
  ],
  ['a creation date', { creationDate: '2026-11-15T00:00:00Z' }],
  ['a product', { items: [{ productInfo: { categories: ['a', 'b'], globalTradeItemNumber: 'EAN' } }] }],
  ['500 items', { items: Array(500).fill(item) }],
  ['501 items', { items: Array(501).fill(item) }, 'items'],
  ['a description of 255', { description: long(255) }],
  ['a description of 256', { description: long(256) }, 'description'],
  ['a creation date without time', { creationDate: '2026-11-15' }, 'creationDate'],
  ['a negative quantity', { items: [item, { quantity: -1 }] }, 'items[1].quantity'],
  ['a price with decimals', { items: [{ netPrice: 9.99 }] }, 'items[0].netPrice'],
  [
    'an unknown kind of number',
    { items: [{ productInfo: { globalTradeItemNumber: 'GTIN' } }] },
    'items[0].productInfo.globalTradeItemNumber',
  ],
  [
    'a picture by file',
    { items: [{ productInfo: { imageUrl: 'file:///a' } }] },
    'items[0].productInfo.imageUrl',
  ],
  ['something else in an item', { items: [{ colour: 'red' }] }, 'items[0].colour'],
])

const street = { streetName: 'Main', streetNumber: '1a', city: 'Bern', country: 'CHE', postalCode: '3000' }
cases('billingAddress', billingAddress, [
  ['empty', {}],
  ['a full one', { ...street, addressLine2: '', addressLine3: 'c/o', state: 'BE' }],
  ['alpha-2', { country: 'CH' }, 'country'],
  ['an unknown country', { country: 'XXX' }, 'country'],
  [
    'long fields',
    { streetName: long(65), streetNumber: long(17), postalCode: long(17) },
    'postalCode',
    'streetName',
    'streetNumber',
  ],
  ['characters, not units, are counted', { city: '\u{1f600}'.repeat(64) }],
  ['a name', { firstName: 'Ada' }, 'firstName'],
])

cases('shipping', shipping, [
  ['empty', {}],
  [
    'a full one',
    {
      address: {
        ...street,
        firstName: 'A',
        companyName: long(128),
        phone: { countryCode: '+41', number: '123' },
      },
      type: 'post',
    },
  ],
  ['a country code without plus', { address: { phone: { countryCode: '0041', number: '123456789012345' } } }],
  ['a short number', { address: { phone: { countryCode: '41', number: '12' } } }, 'address.phone.number'],
  [
    'a number with spaces',
    { address: { phone: { countryCode: '41', number: '12 34' } } },
    'address.phone.number',
  ],
  [
    'a long country code',
    { address: { phone: { countryCode: '+12345', number: '123' } } },
    'address.phone.countryCode',
  ],
  ['half a phone', { address: { phone: { number: '123' } } }, 'address.phone.countryCode'],
])

const ada = { email: 'ada@example.com' }
cases('customerInfo', customerInfo, [
  ['an email address', ada],
  [
    'more',
    {
      ...ada,
      merchantCustomerId: 'c-1',
      birthDate: '1990-02-28',
      companyName: long(128),
      lastName: long(64),
    },
  ],
  ['no email address', { firstName: 'Ada' }, 'email'],
  ['a bad one', { email: 'ada' }, 'email'],
  ['our own id', { ...ada, gatewayCustomerId: 'x' }, 'gatewayCustomerId'],
  ['a day that never was', { ...ada, birthDate: '1990-02-30' }, 'birthDate'],
  ['a long name', { ...ada, firstName: long(65) }, 'firstName'],
])

const script = {
  javaEnabled: false,
  colorDepth: 24,
  screenHeight: 900,
  screenWidth: 1600,
  timeZoneOffset: '-60',
}
cases('browserInfo', browserInfo, [
  ['empty', {}],
  ['without script', { javaScriptEnabled: false, ipAddress: '::1', language: 'de-CH', userAgent: 'x' }],
  ['with script', { javaScriptEnabled: true, ...script }],
  [
    'script, nothing else',
    { javaScriptEnabled: true },
    'colorDepth',
    'javaEnabled',
    'screenHeight',
    'screenWidth',
    'timeZoneOffset',
  ],
  ['script, one missing', { javaScriptEnabled: true, ...script, colorDepth: undefined }, 'colorDepth'],
  ['an offset as number', { timeZoneOffset: 60 }, 'timeZoneOffset'],
  ['a bad language', { language: 'de_CH' }, 'language'],
  ['the spelling of refunds', { ipAddres: '::1' }, 'ipAddres'],
])

cases('refundBrowserInfo', refundBrowserInfo, [
  ['all of it', { acceptHeaders: '*/*', ipAddres: '127.0.0.1', sessionId: 's' }],
  ['the usual spelling', { ipAddress: '127.0.0.1' }, 'ipAddress'],
])

cases('fraudData', fraudData, [
  ['empty', {}],
  [
    'an account',
    {
      accountInfo: {
        id: 'a',
        ageIndicator: 'GUEST_CHECKOUT',
        changeIndicator: 'THIS_TRANSACTION',
        numberOfPurchases: 3,
        suspiciousAccountActivity: false,
      },
    },
  ],
  [
    'a sign-in',
    { accountInfo: { authenticationInfo: { method: 'FIDO', timestamp: '2026-11-15T00:00:00Z', data: 'x' } } },
  ],
  ['zones', { ipZone: '276', zone: '276,040,756' }],
  ['gift cards', { giftCardAmount: 0, giftCardCount: 1, giftCardCurrency: 978 }],
  [
    'a guest who changed',
    { accountInfo: { changeIndicator: 'GUEST_CHECKOUT' } },
    'accountInfo.changeIndicator',
  ],
  ['a zone by name', { zone: 'DEU' }, 'zone'],
  ['a trailing comma', { ipZone: '276,' }, 'ipZone'],
  ['a currency by name', { giftCardCurrency: 'EUR' }, 'giftCardCurrency'],
])

cases('paymentFacilitator', paymentFacilitator, [
  ['a shop', { subMerchantId: '1', subMerchantName: 'S', subMerchantCountry: 'DE', subMerchantZip: '1' }],
  ['alpha-3', { subMerchantCountry: 'DEU' }, 'subMerchantCountry'],
])

cases('device', device, [
  [
    'a phone',
    {
      deviceType: 'SMARTPHONE',
      deviceOs: 'IOS',
      confidence: 99.5,
      longitude: '7.4',
      fraudScore: -3,
      fraudScoreRules: ['a'],
      browserLanguages: [],
      isMobileDevice: true,
      fraud: 'nofraud',
    },
  ],
  ['above 100 percent', { confidence: 101 }, 'confidence'],
  ['an unknown system', { deviceOs: 'LINUX' }, 'deviceOs'],
  ['an unknown verdict', { fraud: 'FRAUD' }, 'fraud'],
  ['a broken score', { fraudScore: 1.5 }, 'fraudScore'],
  ['a latitude as number', { latitude: 46.9 }, 'latitude'],
])

cases('captureMethod', captureMethod, [
  ['automatic', { type: 'AUTOMATIC' }],
  ['manual', { type: 'MANUAL' }],
  ['the shortest delay', { type: 'DELAYED', delayed: { delayedHours: 1 } }],
  ['the longest delay', { type: 'DELAYED', delayed: { delayedHours: 696 } }],
  ['no delay', { type: 'DELAYED' }, 'delayed'],
  ['an empty delay', { type: 'DELAYED', delayed: {} }, 'delayed.delayedHours'],
  ['too short', { type: 'DELAYED', delayed: { delayedHours: 0 } }, 'delayed.delayedHours'],
  ['too long', { type: 'DELAYED', delayed: { delayedHours: 697 } }, 'delayed.delayedHours'],
  ['no type', {}, 'type'],
  ['an unknown type', { type: 'automatic' }, 'type'],
  ['the form of captures', { type: 'MANUAL', manual: {} }, 'manual'],
])

cases('partialCapture', partialCapture, [
  ['one of two', { manual: { currentSequence: 1, final: false, total: 2 } }],
  ['number zero', { manual: { currentSequence: 0 } }, 'manual.currentSequence'],
  ['final as text', { manual: { final: 'true' } }, 'manual.final'],
])

cases('credentialOnFile', credentialOnFile, [
  [
    'a plan',
    {
      type: 'RECURRING',
      initialPayment: true,
      recurring: {
        frequency: 'MONTHLY',
        startDate: '2027-01-01',
        expiryDate: '2028-01-01',
        useCase: 'FIXED',
        autoCharge: true,
      },
    },
  ],
  ['no plan', { type: 'UNSCHEDULED', unscheduled: { subType: 'MIT' } }],
  ['no type', { initialPayment: true }, 'type'],
  ['an unknown frequency', { type: 'RECURRING', recurring: { frequency: 'HOURLY' } }, 'recurring.frequency'],
])

cases('urls', urls, [
  [
    'all three',
    { return: 'https://a.example/r', cancel: 'https://a.example/c', webhook: 'http://127.0.0.1:1/w' },
  ],
  ['the longest', { return: `https://a.example/${long(2030)}` }],
  ['too long', { return: `https://a.example/${long(2031)}` }, 'return'],
  ['a script', { cancel: 'javascript:alert(1)' }, 'cancel'],
  ['credentials', { webhook: 'https://a:b@a.example/' }, 'webhook'],
])

const visa = { number: '4111111111111111', expiryDate: '203012' }
cases('cardRequest', cardRequest, [
  ['number and date', visa],
  [
    'all of it',
    { ...visa, cardholderName: 'Ada Lovelace', brand: 'visa', securityCode: '123', eventToken: 'ORDER' },
  ],
  [
    '3-D Secure',
    { ...visa, threeDsPolicy: { skip: true, challengePreference: 'NO_CHALLENGE', exemption: 'LOW_VALUE' } },
  ],
  [
    '3-D Secure from elsewhere',
    {
      ...visa,
      threeDsData: {
        acsProtocolVersion: '2.2.0',
        authenticationValue: 'AAABBZIgAAAAAAAAAAAAAAAAAAA=',
        eci: '05',
        dsTransId: 'c4e59ceb-a382-4d6a-bc87-385d591fa09d',
        transStatus: 'Y',
      },
    },
  ],
  ['a quote', { ...visa, dcc: { quoteId: 'q', accepted: true } }],
  ['a pseudo card number alone', { number: '0000000000000001' }],
  ['preferences alone', { threeDsPolicy: { skip: false } }],
  ['no date', { number: visa.number }, 'expiryDate'],
  ['a wrong check digit', { ...visa, number: '4111111111111112' }, 'number'],
  ['11 digits', { ...visa, number: '41111111111' }, 'number'],
  ['20 digits', { ...visa, number: '40000000000000000000' }, 'number'],
  ['spaces', { ...visa, number: '4111 1111 1111 1111' }, 'number'],
  ['a number as number', { ...visa, number: 4111111111111111 }, 'number'],
  ['month 13', { ...visa, expiryDate: '203013' }, 'expiryDate'],
  ['a short year', { ...visa, expiryDate: '1230' }, 'expiryDate'],
  ['two digits of security', { ...visa, securityCode: '12' }, 'securityCode'],
  ['five digits of security', { ...visa, securityCode: '12345' }, 'securityCode'],
  ['letters of security', { ...visa, securityCode: '12a' }, 'securityCode'],
  ['a name of one letter', { ...visa, cardholderName: 'A' }, 'cardholderName'],
  ['a name of 46', { ...visa, cardholderName: long(46) }, 'cardholderName'],
  ['an unknown event', { ...visa, eventToken: 'SHIPMENT' }, 'eventToken'],
  ['a quote without an answer', { ...visa, dcc: { quoteId: 'q' } }, 'dcc.accepted'],
  ['the spelling of records', { ...visa, cardHolderName: 'Ada' }, 'cardHolderName'],
])

cases('cardCapture', cardCapture, [
  ['empty', {}],
  ['the end', { finishAuth: true }],
  ['the end as text', { finishAuth: 'Y' }, 'finishAuth'],
])
