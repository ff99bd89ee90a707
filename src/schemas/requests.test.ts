import type { TSchema } from 'typebox'
import { describe, expect, test } from 'vitest'
import { createPayment } from '#schemas/create-payment.ts'
import { captureRequest } from '#schemas/follow-ups.ts'
import { enhancedData } from '#schemas/parts/enhanced-data.ts'
import { compileCheck } from '#test/support/docs/check-schema.ts'

/** One case per line: the title, the change to the valid body (undefined: removed), the invalid fields. */
type Case = [name: string, change: Record<string, unknown>, ...fields: string[]]

function cases(
  name: string,
  [schema, good]: [TSchema, Record<string, unknown>],
  table: readonly Case[],
): void {
  const check = compileCheck(schema)
  describe(name, () => {
    test.each(table.map(([title, change, ...fields]) => ({ title, change, fields })))(
      '$title',
      ({ change, fields }) => {
        const body: unknown = JSON.parse(JSON.stringify({ ...good, ...change }))
        expect(check(body)).toEqual(fields)
      },
    )
  })
}

const eur = { value: 1000, currency: 'EUR' }
const card = { number: '4111111111111111', expiryDate: '203012', securityCode: '123' }
const direct = { integrationType: 'DIRECT', type: 'CARD', card }
const account = { number: 'DE89370400440532013000', accountHolderName: 'Ada Lovelace' }
const hosted = { integrationType: 'HOSTED', type: 'CARD' }
const verification = { ...direct, card: { ...card, eventToken: 'ACCOUNT_VERIFICATION' } }
const urls = { return: 'https://a.example/r', cancel: 'https://a.example/c' }
const payId = '0198a3f2bcde7f1289abcdef01234567'

cases(
  'createPayment',
  [createPayment, { transId: 't-1', amount: eur, paymentMethods: direct }],
  [
    ['a direct card', {}],
    ['a hosted card', { paymentMethods: hosted, urls }],
    ['hosted preferences', { paymentMethods: { ...hosted, card: { eventToken: 'PRE_AUTH' } }, urls }],
    [
      'all small fields',
      {
        externalIntegrationId: 'shop',
        refNr: 'r',
        language: 'de',
        channel: 'MOTO',
        statementDescriptor: 'SHOP',
        simulationMode: '0000',
        expirationTime: '2027-01-01T00:00:00Z',
        referencePayId: payId,
        metadata: { a: 1 },
      },
    ],
    [
      'all objects',
      {
        captureMethod: { type: 'MANUAL' },
        credentialOnFile: { type: 'UNSCHEDULED' },
        order: {},
        urls: {},
        billingAddress: {},
        shipping: {},
        customerInfo: { email: 'a@b.example' },
        fraudData: {},
        paymentFacilitator: {},
        browserInfo: {},
        device: {},
      },
    ],
    ['an account verified for nothing', { amount: { ...eur, value: 0 }, paymentMethods: verification }],
    ['an account verified for something', { paymentMethods: verification }],
    ['the tolerated simulation', { simulationMode: 'Test:0305' }],
    ['the longest transId', { transId: 'x'.repeat(64) }],
    ['a transId in any script', { transId: '注文 1/ä' }],
    [
      'nothing',
      { transId: undefined, amount: undefined, paymentMethods: undefined },
      'amount',
      'paymentMethods',
      'transId',
    ],
    ['zero for a purchase', { amount: { ...eur, value: 0 } }, 'amount.value'],
    [
      'below zero for a verification',
      { amount: { ...eur, value: -1 }, paymentMethods: verification },
      'amount.value',
    ],
    ['an empty transId', { transId: '' }, 'transId'],
    ['a transId of 65', { transId: 'x'.repeat(65) }, 'transId'],
    ['a transId with a line break', { transId: 'a\nb' }, 'transId'],
    ['a refNr of 41', { refNr: 'x'.repeat(41) }, 'refNr'],
    ['a descriptor of 23', { statementDescriptor: 'x'.repeat(23) }, 'statementDescriptor'],
    ['a simulation of three digits', { simulationMode: '123' }, 'simulationMode'],
    ['an unknown channel', { channel: 'SHOP' }, 'channel'],
    ['a language of the wrong shape', { language: 'de_DE' }, 'language'],
    ['an expiry without time', { expirationTime: '2027-01-01' }, 'expirationTime'],
    ['a reference that is no payId', { referencePayId: 'abc' }, 'referencePayId'],
    ['a customer without email', { customerInfo: {} }, 'customerInfo.email'],
    ['no integration type', { paymentMethods: { type: 'CARD', card: {} } }, 'paymentMethods.integrationType'],
    ['no type', { paymentMethods: { integrationType: 'DIRECT', card } }, 'paymentMethods.type'],
    [
      'a type that is too long',
      { paymentMethods: { ...direct, type: 'C'.repeat(41) } },
      'paymentMethods.type',
    ],
    [
      'an unknown integration type',
      { paymentMethods: { integrationType: 'BOTH', type: 'CARD' } },
      'paymentMethods.integrationType',
    ],
    ['direct without a number', { paymentMethods: { ...direct, card: {} } }, 'paymentMethods.card.number'],
    [
      'direct without a date',
      { paymentMethods: { ...direct, card: { number: card.number } } },
      'paymentMethods.card.expiryDate',
    ],
    ['hosted without addresses', { paymentMethods: hosted }, 'urls'],
    [
      'hosted with half the addresses',
      { paymentMethods: hosted, urls: { return: urls.return } },
      'urls.cancel',
    ],
    [
      'hosted with a number',
      { paymentMethods: { ...hosted, card: { number: card.number, expiryDate: '203012' } }, urls },
      'paymentMethods.card.expiryDate',
      'paymentMethods.card.number',
    ],
    [
      'hosted with a security code',
      { paymentMethods: { ...hosted, card: { securityCode: '123' } }, urls },
      'paymentMethods.card.securityCode',
    ],
    ['the empty object of any other method', { paymentMethods: { ...direct, ideal: {} } }],
    [
      'another method with members',
      { paymentMethods: { ...direct, ideal: { a: 1 } } },
      'paymentMethods.ideal.a',
    ],
    ['another method as text', { paymentMethods: { ...direct, ideal: 'x' } }, 'paymentMethods.ideal'],
    [
      'an account',
      { paymentMethods: { integrationType: 'DIRECT', type: 'DIRECTDEBIT', directDebit: { account } } },
    ],
    [
      'a debit without an account',
      { paymentMethods: { integrationType: 'DIRECT', type: 'DIRECTDEBIT', directDebit: {} } },
      'paymentMethods.directDebit.account',
    ],
    [
      'an account with a wrong IBAN',
      {
        paymentMethods: {
          ...direct,
          directDebit: { account: { ...account, number: 'DE89370400440532013001' } },
        },
      },
      'paymentMethods.directDebit.account.number',
    ],
    ['provider P waits', { paymentMethods: { ...direct, providerP: { confirm: true } } }],
    [
      'provider T by transfer',
      { paymentMethods: { ...direct, providerT: { transferType: 'BANK_TRANSFER' } } },
    ],
    [
      'provider T by cheque',
      { paymentMethods: { ...direct, providerT: { transferType: 'CHEQUE' } } },
      'paymentMethods.providerT.transferType',
    ],
    ['an unknown field', { amout: eur }, 'amout'],
    ['a method as list', { paymentMethods: [direct] }, 'paymentMethods'],
  ],
)

cases(
  'captureRequest',
  [captureRequest, { transId: 't-1', amount: eur }],
  [
    ['the least', {}],
    [
      'all of it',
      {
        refNr: 'r',
        order: { items: [] },
        statementDescriptor: 'S',
        captureMethod: { manual: { final: true } },
        paymentMethods: { card: { finishAuth: true } },
        metadata: {},
        simulationMode: '0000',
      },
    ],
    [
      'line-item data',
      { enhancedData: { common: { amounts: { grossAmount: 119, netAmount: 100, taxAmount: 19 } } } },
    ],
    ['no amount', { amount: undefined }, 'amount'],
    ['a full amount', { amount: { ...eur, taxTotal: 1 } }, 'amount.taxTotal'],
    ['no transId', { transId: undefined }, 'transId'],
    ['nothing to take', { amount: { ...eur, value: 0 } }, 'amount.value'],
    ['the form of creation', { captureMethod: { type: 'MANUAL' } }, 'captureMethod.type'],
    [
      'a method as creation names it',
      { paymentMethods: direct },
      ...['card.expiryDate', 'card.number', 'card.securityCode', 'integrationType', 'type'].map(
        field => `paymentMethods.${field}`,
      ),
    ],
    ['line-item data without the common part', { enhancedData: {} }, 'enhancedData.common'],
  ],
)

const amounts = { grossAmount: 119, netAmount: 100, taxAmount: 19 }
const common = { amounts, tax: { taxRate: 19, taxTypeIndicator: 'ValueAddedTax' } }
const rentalInformation = {
  carMake: 'VW',
  milesDriven: 10,
  driver: { firstName: 'A', lastName: 'B' },
  carRentalCompanyId: 'H',
}
const schemeA = {
  rentalInformation,
  billingAndInvoiceInformation: { countryCode: 'DE' },
  mileageUnit: 'Km',
  odometerStart: 1,
  odometerReturn: 11,
}
const provider = {
  travelAgencyCode: 'a',
  travelOfficeCode: 'o',
  transactionReference: 't',
  invoiceIndicator: 'N',
}
const schemeB = {
  additionalAmounts: [{ amountTypeCode: 'x', transactionType: 'Debit' }],
  supplier: { matchCode: 'm', legalName: 'l' },
  provider,
}
const sharing = { documentNumber: '1234567890', serviceDescription: 'x'.repeat(135) }
const inA = (change: object) => ({ carRental: { schemeA: { ...schemeA, ...change } } })
const inB = (change: object) => ({ carRental: { schemeB: { ...schemeB, ...change } } })

cases(
  'enhancedData',
  [enhancedData, { common }],
  [
    ['the common part', {}],
    ['an empty rental', { carRental: {} }],
    ['scheme A', inA({})],
    ['scheme A with lines', inA({ lineItems: [{ itemDescription: 'OQ' }], telcoUnits: 1 })],
    [
      'car sharing',
      inA({ carSharing: { ...sharing, hotelBookingDetails: { checkInDate: '2026-11-15', roomNights: 2 } } }),
    ],
    ['scheme B', inB({})],
    [
      'scheme B with everything',
      inB({
        bookingSourceCode: 'OnlineBooking',
        mediaCode: 'MailOrder',
        globalDistributionSystem: 'Sabre',
        originalAmount: 1,
        originalCurrencyCode: 'USD',
        travellers: [{ firstName: 'A', lastName: 'B' }],
        consultant: 'c',
        bookingSystem: { bookingSystemReference: 'r' },
      }),
    ],
    ['a traveller with one name', inB({ travellers: [{ lastName: 'B' }, { firstName: 'A' }] })],
    ['no amounts', { common: {} }, 'common.amounts'],
    [
      'one amount missing',
      { common: { amounts: { ...amounts, taxAmount: undefined } } },
      'common.amounts.taxAmount',
    ],
    [
      'an amount with decimals',
      { common: { amounts: { ...amounts, taxAmount: 1.9 } } },
      'common.amounts.taxAmount',
    ],
    [
      'an unknown tax',
      { common: { amounts, tax: { taxTypeIndicator: 'VAT' } } },
      'common.tax.taxTypeIndicator',
    ],
    [
      'no driver',
      inA({ rentalInformation: { ...rentalInformation, driver: undefined } }),
      'carRental.schemeA.rentalInformation.driver',
    ],
    [
      'half a driver',
      inA({ rentalInformation: { ...rentalInformation, driver: { firstName: 'A' } } }),
      'carRental.schemeA.rentalInformation.driver.lastName',
    ],
    [
      'an unknown company',
      inA({ rentalInformation: { ...rentalInformation, carRentalCompanyId: 'A' } }),
      'carRental.schemeA.rentalInformation.carRentalCompanyId',
    ],
    [
      'no billing',
      inA({ billingAndInvoiceInformation: undefined }),
      'carRental.schemeA.billingAndInvoiceInformation',
    ],
    ['miles by name', inA({ mileageUnit: 'Miles' }), 'carRental.schemeA.mileageUnit'],
    ['no odometer', inA({ odometerStart: undefined }), 'carRental.schemeA.odometerStart'],
    [
      'a long document number',
      inA({ carSharing: { ...sharing, documentNumber: 'x'.repeat(11) } }),
      'carRental.schemeA.carSharing.documentNumber',
    ],
    [
      'a long service',
      inA({ carSharing: { ...sharing, serviceDescription: 'x'.repeat(136) } }),
      'carRental.schemeA.carSharing.serviceDescription',
    ],
    [
      'an unknown line',
      inA({ lineItems: [{ itemDescription: 'ZZ' }] }),
      'carRental.schemeA.lineItems[0].itemDescription',
    ],
    ['no additional amounts', inB({ additionalAmounts: undefined }), 'carRental.schemeB.additionalAmounts'],
    [
      'half an additional amount',
      inB({ additionalAmounts: [{ amountTypeCode: 'x' }] }),
      'carRental.schemeB.additionalAmounts[0].transactionType',
    ],
    [
      'a supplier without a name in law',
      inB({ supplier: { matchCode: 'm' } }),
      'carRental.schemeB.supplier.legalName',
    ],
    ['no provider', inB({ provider: undefined }), 'carRental.schemeB.provider'],
    [
      'a provider without an office',
      inB({ provider: { ...provider, travelOfficeCode: undefined } }),
      'carRental.schemeB.provider.travelOfficeCode',
    ],
    [
      'an unknown invoice',
      inB({ provider: { ...provider, invoiceIndicator: 'X' } }),
      'carRental.schemeB.provider.invoiceIndicator',
    ],
  ],
)
