import type { TSchema } from 'typebox'
import { describe, expect, test } from 'vitest'
import { confirmRequest } from '#schemas/confirm.ts'
import { creditRequest } from '#schemas/credit.ts'
import {
  captureRequest,
  incrementalRequest,
  refundRequest,
  reversalRequest,
  updateRequest,
} from '#schemas/follow-ups.ts'
import { clockRequest } from '#schemas/test-tools.ts'
import { compileCheck } from '#test/support/docs/check-schema.ts'

/** One case per line: the title, the change to the valid body (undefined: removed), the invalid fields. */
type Case = [name: string, change: Record<string, unknown>, ...fields: string[]]

function cases(name: string, [schema, good]: [TSchema, object], table: readonly Case[]): void {
  const check = compileCheck(schema)
  describe(name, () => {
    test.each(table.map(([title, change, ...fields]) => ({ title, change, fields })))(
      '$title',
      ({ change, fields }) =>
        expect(check(JSON.parse(JSON.stringify({ ...good, ...change })))).toEqual(fields),
    )
  })
}

/** The same for one method object: the paths of fields begin at the object. */
const inObject =
  (key: string) =>
  ([name, object, ...fields]: [string, unknown, ...string[]]): Case => [
    `${key}: ${name}`,
    { paymentMethods: { [key]: object } },
    ...fields.map(field => `paymentMethods.${key}${field === '' ? '' : `.${field}`}`),
  ]

const eur = { value: 1000, currency: 'EUR' }
const parts = { taxTotal: 1, netItemTotal: 2, netShippingAmount: 3, grossShippingAmount: 4, netDiscount: 5 }
const good = { transId: 't-1', amount: eur }
const phone = { countryCode: '+49', number: '1234567' }
/** Fields that every operation accepts. */
const shared = { refNr: 'r', metadata: { a: [1] }, simulationMode: '0305' }
const needsAll: Case[] = [
  ['the least', {}],
  ['what every operation takes', shared],
  ['no transId', { transId: undefined }, 'transId'],
  ['no amount', { amount: undefined }, 'amount'],
  ['half an amount', { amount: { value: 1 } }, 'amount.currency'],
  ['nothing to move', { amount: { ...eur, value: 0 } }, 'amount.value'],
  ['a long refNr', { refNr: 'x'.repeat(41) }, 'refNr'],
  ['a simulation in words', { simulationMode: 'decline' }, 'simulationMode'],
  ['metadata as list', { metadata: [] }, 'metadata'],
  ['an unknown field', { reason: 'x' }, 'reason'],
]
const wholeAmount: Case = ['all parts of the amount', { amount: { ...eur, ...parts, grossDiscount: -1 } }]
const plainOnly: Case = ['parts of the amount', { amount: { ...eur, taxTotal: 1 } }, 'amount.taxTotal']
const anyMethod: Case[] = [
  ['no object', { paymentMethods: {} }],
  inObject('ideal')(['empty', {}]),
  inObject('ideal')(['with something', { code: 'x' }, 'code']),
  inObject('ideal')(['as text', 'x', '']),
]

cases(
  'confirmRequest',
  [confirmRequest, good],
  [
    ...needsAll,
    wholeAmount,
    ...anyMethod,
    [
      'a body of version 2.0.0',
      {
        refNr: 'r',
        amount: { ...eur, taxTotal: 19 },
        captureMethod: { type: 'AUTOMATIC' },
        expirationTime: '2027-01-01T00:00:00',
        order: { merchantReference: 'm', numberOfArticles: 1, items: [{ id: '1' }] },
        billingAddress: { city: 'Bern', country: 'CHE' },
        shipping: { address: { firstName: 'A', country: 'CHE' }, type: 'post' },
        metadata: {},
      },
    ],
    ['what 2.2.0 added', { order: { description: 'd' }, shipping: { address: { phone } } }],
    ['a delayed capture', { captureMethod: { type: 'DELAYED', delayed: { delayedHours: 1 } } }],
    ['a delay without hours', { captureMethod: { type: 'DELAYED' } }, 'captureMethod.delayed'],
    ['a capture by number', { captureMethod: { manual: {} } }, 'captureMethod.manual', 'captureMethod.type'],
    ['an expiry in words', { expirationTime: 'tomorrow' }, 'expirationTime'],
    ...(
      [
        ['after the shipment', { eventToken: 'DELAYED_SHIPMENT' }],
        ['an order', { eventToken: 'ORDER' }],
        ['an event of creation', { eventToken: 'PRE_AUTH' }, 'eventToken'],
        ['a number', { number: '4111111111111111' }, 'number'],
      ] as [string, unknown, ...string[]][]
    ).map(inObject('card')),
    inObject('providerK')(['a client token', { accessToken: 'eyJ' }]),
    inObject('providerK')(['no client token', {}, 'accessToken']),
    inObject('providerK')(['an empty one', { accessToken: '' }, 'accessToken']),
  ],
)

cases(
  'incrementalRequest',
  [incrementalRequest, good],
  [
    ...needsAll,
    plainOnly,
    ['more days', { duration: 3 }],
    ['no more days', { duration: 0 }, 'duration'],
    ['half a day', { duration: 0.5 }, 'duration'],
    ['days as text', { duration: '3' }, 'duration'],
    ['a method', { paymentMethods: { card: {} } }, 'paymentMethods'],
  ],
)

const shippingInfo = { type: 'SHIPMENT', shippingCompany: 'DHL', trackingId: '1' }
cases(
  'captureRequest',
  [captureRequest, good],
  [
    ...needsAll,
    plainOnly,
    ...anyMethod,
    inObject('card')(['the end', { finishAuth: true }]),
    ...(
      [
        ['nothing', {}],
        ['a mandate', { mandateId: "M-1/2:3?(a),b.+'", dateOfSignature: '29.02.2024' }],
        ['the longest mandate', { mandateId: 'x'.repeat(35), dateOfSignature: '01.01.2027' }],
        ['a mandate of 36', { mandateId: 'x'.repeat(36), dateOfSignature: '01.01.2027' }, 'mandateId'],
        ['an empty mandate', { mandateId: '', dateOfSignature: '01.01.2027' }, 'mandateId'],
        ['a mandate with a space', { mandateId: 'M 1', dateOfSignature: '01.01.2027' }, 'mandateId'],
        ['a mandate with an umlaut', { mandateId: 'Ä1', dateOfSignature: '01.01.2027' }, 'mandateId'],
        ['a mandate with an underscore', { mandateId: 'M_1', dateOfSignature: '01.01.2027' }, 'mandateId'],
        ['a mandate without its day', { mandateId: 'M-1' }, 'dateOfSignature'],
        ['a day that never was', { mandateId: 'M-1', dateOfSignature: '29.02.2026' }, 'dateOfSignature'],
        ['a day in another order', { mandateId: 'M-1', dateOfSignature: '2026-11-15' }, 'dateOfSignature'],
        ['a day without a mandate', { dateOfSignature: '15.11.2026' }],
      ] as [string, unknown, ...string[]][]
    ).map(inObject('directDebit')),
    ...(
      [
        ['the end', { completeType: 'YES' }],
        ['the end in small letters', { completeType: 'yes' }, 'completeType'],
        ['the end as true', { completeType: true }, 'completeType'],
        ['a parcel', { shippingInfo: { trackingId: '1', trackingUrl: 'https://a.example/1' } }],
        ['a way of shipping', { shippingInfo: { shippingMethod: 'PALLET_DELIVERY_PICK_UP_POINT' } }],
        ['an unknown way', { shippingInfo: { shippingMethod: 'DRONE' } }, 'shippingInfo.shippingMethod'],
        ['a parcel by file', { shippingInfo: { trackingUrl: 'file:///a' } }, 'shippingInfo.trackingUrl'],
      ] as [string, unknown, ...string[]][]
    ).map(inObject('providerK')),
    inObject('providerM')(['the end', { finishAuth: 'Y', textfield1: 'Ada', textfield2: 'Bern' }]),
    inObject('providerM')(['not the end', { finishAuth: 'N' }]),
    inObject('providerM')(['the end as true', { finishAuth: true }, 'finishAuth']),
    inObject('providerM')(['a long name', { textfield1: 'x'.repeat(46) }, 'textfield1']),
    inObject('providerP')(['the end', { completeType: true }]),
    inObject('providerP')(['the end in words', { completeType: 'YES' }, 'completeType']),
    inObject('providerR')(['a parcel', { shippingInfo }]),
    inObject('providerR')([
      'a parcel that comes back',
      { shippingInfo: { ...shippingInfo, type: 'RETURN' } },
    ]),
    inObject('providerR')(['no parcel', {}, 'shippingInfo']),
    inObject('providerR')([
      'an empty parcel',
      { shippingInfo: {} },
      'shippingInfo.shippingCompany',
      'shippingInfo.trackingId',
      'shippingInfo.type',
    ]),
    inObject('providerR')([
      'a parcel of another kind',
      { shippingInfo: { ...shippingInfo, type: 'GIFT' } },
      'shippingInfo.type',
    ]),
  ],
)

cases(
  'reversalRequest',
  [reversalRequest, good],
  [
    ...needsAll,
    wholeAmount,
    ...anyMethod,
    ['an order', { order: { description: 'd', items: [{ id: '1' }] } }],
    inObject('providerZ')(['a reason', { reversalReason: 'out of stock' }]),
    inObject('providerZ')(['a reason as number', { reversalReason: 1 }, 'reversalReason']),
    inObject('card')(['empty', {}]),
    inObject('card')(['with something', { finishAuth: true }, 'finishAuth']),
    ['a descriptor', { statementDescriptor: 'S' }, 'statementDescriptor'],
  ],
)

cases(
  'refundRequest',
  [refundRequest, good],
  [
    ...needsAll,
    wholeAmount,
    ['no object', { paymentMethods: {} }],
    ['an order and a descriptor', { order: { description: 'd' }, statementDescriptor: 'SHOP' }],
    ['a long descriptor', { statementDescriptor: 'x'.repeat(23) }, 'statementDescriptor'],
    inObject('card')(['a capture', { providerTransactionId: 'sim1' }]),
    inObject('card')(['a number', { number: '4111111111111111' }, 'number']),
    inObject('providerM')(['a holder', { textfield1: 'Ada', textfield2: 'Bern' }]),
    inObject('providerM')(['the end', { finishAuth: 'Y' }, 'finishAuth']),
    inObject('providerP')(['a capture', { providerTransactionId: 'x' }]),
    inObject('providerR')(['goods that came back', { refundType: 'RETURN', invoiceNumber: 'i' }]),
    inObject('providerR')(['money only', { refundType: 'REFUND' }]),
    inObject('providerR')(['another kind', { refundType: 'PARTIAL' }, 'refundType']),
    inObject('providerZ')(['a case', { simulationCode: 'x' }]),
    ...(
      [
        ['empty', {}],
        ['an account', { bankName: 'B', accountNumber: '12345-6', bankSortCode: '001' }],
        ['a hyphen alone', { accountNumber: '-' }],
        ['no hyphen', { accountNumber: '123456' }, 'accountNumber'],
        ['an empty number', { accountNumber: '' }, 'accountNumber'],
        ['another sign', { accountNumber: '12345-6;' }, 'accountNumber'],
        ['a number as number', { accountNumber: 1 }, 'accountNumber'],
        ['something else', { iban: 'x' }, 'iban'],
      ] as [string, unknown, ...string[]][]
    ).map(inObject('boleto')),
  ],
)

const card = {
  number: '4111111111111111',
  cardholderName: 'Ada Lovelace',
  expiryDate: '203012',
  brand: 'visa',
}
const account = { number: 'DE89370400440532013000', accountHolderName: 'Ada Lovelace' }
const sender = {
  accountNumber: '1',
  name: 'S',
  address: 'Street 1',
  city: 'Bern',
  countryCode: '756',
  transactionMethod: 'DEPOSIT_ACCOUNT',
  accountType: 'IBAN_AND_BIC',
}
const paymentData = (change: object) => ({
  ...card,
  paymentData: { senderData: { ...sender, ...change }, recipientData: { name: 'R' } },
})
cases(
  'creditRequest',
  [creditRequest, { ...good, paymentMethods: { card } }],
  [
    ...needsAll,
    wholeAmount,
    [
      'everything around it',
      {
        billingAddress: { firstName: 'A', lastName: 'B', city: 'Bern' },
        shipping: { address: { phone } },
        statementDescriptor: 'S',
        customerInfo: { email: 'a@b.example' },
        browserInfo: { acceptHeaders: '*/*', ipAddres: '127.0.0.1', sessionId: 's' },
      },
    ],
    ['the address of the browser in full', { browserInfo: { ipAddress: '::1' } }, 'browserInfo.ipAddress'],
    ['a customer without email', { customerInfo: { firstName: 'A' } }, 'customerInfo.email'],
    ['an order', { order: {} }, 'order'],
    ['no method', { paymentMethods: undefined }, 'paymentMethods'],
    ['no object', { paymentMethods: {} }, 'paymentMethods'],
    ['two objects', { paymentMethods: { card, directDebit: { account } } }, 'paymentMethods'],
    ['another method', { paymentMethods: { ideal: {} } }, 'paymentMethods.ideal'],
    ...(
      [
        ['a pseudo card number', { ...card, number: '0000000000000001' }],
        ['a win', { ...card, securityCode: '123', paymentOfWinnings: true }],
        ['a win in words', { ...card, paymentOfWinnings: 'true' }, 'paymentOfWinnings'],
        ['sender and recipient', paymentData({})],
        ['a country in letters', paymentData({ countryCode: 'CHE' }), 'paymentData.senderData.countryCode'],
        [
          'an unknown way',
          paymentData({ transactionMethod: 'GOLD' }),
          'paymentData.senderData.transactionMethod',
        ],
        ['an unknown account', paymentData({ accountType: 'BBAN' }), 'paymentData.senderData.accountType'],
        ['nothing', {}, 'brand', 'cardholderName', 'expiryDate', 'number'],
        ['no brand', { ...card, brand: undefined }, 'brand'],
        ['a wrong number', { ...card, number: '4111111111111112' }, 'number'],
        ['a wrong month', { ...card, expiryDate: '203013' }, 'expiryDate'],
        ['a preference', { ...card, eventToken: 'ORDER' }, 'eventToken'],
      ] as [string, unknown, ...string[]][]
    ).map(inObject('card')),
    ...(
      [
        ['an account', { account }],
        ['with its bank', { account: { ...account, code: 'COBADEFFXXX', bankName: 'B' } }],
        ['a short BIC', { account: { ...account, code: 'COBADEFF' } }],
        ['no account', {}, 'account'],
        ['an empty account', { account: {} }, 'account.accountHolderName', 'account.number'],
        ['a wrong IBAN', { account: { ...account, number: 'DE00370400440532013000' } }, 'account.number'],
        ['an IBAN with spaces', { account: { ...account, number: 'DE89 3704' } }, 'account.number'],
        ['a wrong BIC', { account: { ...account, code: 'COBADEF' } }, 'account.code'],
        ['no name', { account: { ...account, accountHolderName: '' } }, 'account.accountHolderName'],
        ['a mandate', { account, mandateId: 'M' }, 'mandateId'],
      ] as [string, unknown, ...string[]][]
    ).map(inObject('directDebit')),
  ],
)

cases(
  'updateRequest',
  [updateRequest, {}],
  [
    ['a transId', { transId: 't-2' }],
    ['an amount', { amount: { ...eur, ...parts } }],
    ['a refNr', { refNr: 'r' }],
    ['an order', { order: { description: 'd' } }],
    ['metadata', { metadata: { a: null } }],
    ['nothing', {}, ''],
    ['no amount', { amount: { ...eur, value: 0 } }, 'amount.value'],
    ['a simulation', { simulationMode: '0000' }, 'simulationMode'],
    ['a status', { status: 'OK' }, 'status'],
  ],
)

cases(
  'clockRequest',
  [clockRequest, {}],
  [
    ['an hour', { advance: 'PT1H' }],
    ['a month', { advance: 'P1M' }],
    ['an instant', { now: '2027-01-01T00:00:00Z' }],
    ['nothing', {}, ''],
    ['both', { advance: 'PT1H', now: '2027-01-01T00:00:00Z' }, ''],
    ['back', { advance: '-PT1H' }, 'advance'],
    ['an hour in words', { advance: '1h' }, 'advance'],
    ['seconds', { advance: 3600 }, 'advance'],
    ['a day', { now: '2027-01-01' }, 'now'],
  ],
)
