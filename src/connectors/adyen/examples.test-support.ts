/** Example requests for the tests of this folder: one payment with every optional field, one with none. */
import type { AuthorizationRequest, FollowUpRequest, PaymentContext } from '#connectors/contract.ts'
import type { MerchantId, PayId } from '#domain/ids.ts'
import { Secret } from '#domain/secret.ts'
import { methodOf, now, xIdOf } from '#lifecycle/example-payment.test-support.ts'

export const terms = { merchantAccount: 'ExampleShopECOM', rawCards: true, multipleCaptures: false }

const address = {
  streetName: 'Main Street',
  streetNumber: '1',
  city: 'Berlin',
  postalCode: '10115',
  state: 'BE',
  country: 'DEU',
}

/** Every optional member that can reach Adyen. */
export const richContext: Partial<PaymentContext> = {
  refNr: 'R-1',
  order: {
    merchantReference: 'O-77',
    items: [
      {
        id: '1',
        sku: 'SKU-1',
        name: 'Shoe',
        type: 'physical',
        quantity: 1.5,
        taxRate: 1900,
        netPrice: 840,
        grossPrice: 1000,
        taxAmount: 160,
        marketplaceSellerId: 'S-1',
        productInfo: {
          brand: 'Brand',
          imageUrl: 'https://shop.example/i.png',
          productUrl: 'https://shop.example/p',
        },
      },
    ],
  },
  billing: address,
  shipping: { address: { firstName: 'Ada', lastName: 'Lovelace', ...address } },
  customer: {
    merchantCustomerId: 'customer-1',
    firstName: 'Ada',
    lastName: 'Lovelace',
    email: 'ada@example.com',
    phone: { countryCode: '+49', number: '301234567' },
    birthDate: '1990-12-10',
    taxId: '56861752509',
    companyName: 'Engines Ltd',
    companyRegistrationNumber: 'HRB 1',
    companyVatId: 'DE1',
    companyLegalForm: 'GmbH',
  },
  browser: {
    acceptHeaders: 'text/html',
    ipAddress: '192.0.2.1',
    javaEnabled: false,
    javaScriptEnabled: true,
    language: 'en-GB',
    colorDepth: 24,
    screenHeight: 900,
    screenWidth: 1440,
    timeZoneOffset: '-60',
    userAgent: 'Mozilla/5.0',
  },
  fraudData: {
    accountInfo: {
      ageIndicator: 'GUEST_CHECKOUT',
      creationDate: '2020-01-01',
      changeDate: '2021-01-01',
      changeIndicator: 'MORE_THAN_60_DAYS',
      passwordChangeDate: '2021-01-01',
      passwordChangeDateIndicator: 'NO_CHANGE',
      numberOfPurchases: 3,
      addCardAttemptsDay: 1,
      numberTransactionsDay: 1,
      numberTransactionsYear: 9,
      paymentAccountAge: '2021-01-01',
      paymentAccountAgeIndicator: 'THIS_TRANSACTION',
      suspiciousAccountActivity: false,
    },
  },
  descriptor: 'EXAMPLE SHOP',
  paymentFacilitator: {
    subMerchantId: 'SM1',
    subMerchantName: 'Sub',
    subMerchantCity: 'Berlin',
    subMerchantCountry: 'DE',
    subMerchantStreet: 'Main Street 1',
    subMerchantZip: '10115',
    subMerchantState: 'BE',
  },
  language: 'en-GB',
}

export const contextOf = (type: string, change: Partial<PaymentContext> = {}): PaymentContext => ({
  merchantId: 'mer_1' as MerchantId,
  payId: '0'.repeat(31).concat('9') as PayId,
  method: methodOf(type),
  transId: 'order-1',
  amount: { value: 1000, currency: 'EUR' },
  authorizedValue: 1000,
  capturedValue: 0,
  returnUrl: 'https://gateway.example/pay/return/abc',
  captureMethod: 'AUTOMATIC',
  ...change,
})

export const authorizationOf = (
  type: string,
  change: Partial<AuthorizationRequest> = {},
  context: Partial<PaymentContext> = {},
): AuthorizationRequest => {
  const payment = contextOf(type, context)
  return {
    operation: 'AUTHORIZATION',
    reference: xIdOf(1),
    amount: payment.amount,
    payment,
    at: now,
    send: 1,
    customerPresent: true,
    ...change,
  }
}

export const card = {
  number: new Secret('4111111111111111'),
  expiryDate: '203003',
  cardholderName: 'Ada Lovelace',
  securityCode: new Secret('737'),
}

export const account = { number: new Secret('DE89370400440532013000'), holderName: 'Ada Lovelace' }
export const wallet = { merchantIdentifier: 'merchant.example', payload: new Secret('{"version":"EC_v1"}') }

export const followUpOf = (
  operation: FollowUpRequest['operation'],
  change: Partial<FollowUpRequest> = {},
  context: Partial<PaymentContext> = {},
): FollowUpRequest => ({
  operation,
  reference: xIdOf(2),
  amount: { value: 400, currency: 'EUR' },
  payment: contextOf('CARD', context),
  at: now,
  send: 1,
  authorizationReference: xIdOf(1),
  authorizationTransactionId: 'PSP0000000000001',
  newTotal: 400,
  ...change,
})

/** An authentication that the merchant made elsewhere. */
export const imported = {
  acsProtocolVersion: '2.2.0',
  eci: '05',
  dsTransId: '123e4567-e89b-12d3-a456-426614174000',
}
/** Its cryptogram, kept separate as in a request, because it is never stored. */
export const proof = new Secret('AQIDBAUGBwgJCgsMDQ4PEBESExQ=')
export const enhancedData = {
  common: { amounts: { grossAmount: 400, netAmount: 336, taxAmount: 64 } },
  carRental: {
    schemeA: { billingAndInvoiceInformation: { countryCode: 'DE', customerReference: 'PO 4711' } },
  },
}
