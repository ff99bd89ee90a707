/** Translates customer, order and browser into the fields that `/payments` and `/sessions` share. */

import { flagAt, isRecord, type Loose, listAt, present, recordAt, textAt } from '#connectors/adyen/loose.ts'
import type { Need } from '#connectors/adyen/methods.ts'
import { tryAdyenAmount } from '#connectors/adyen/translate/amounts.ts'
import type { AuthorizationRequest, PaymentContext } from '#connectors/contract.ts'
import { findCountryByAlpha3 } from '#domain/countries.ts'
import { toStatementText } from '#domain/text.ts'

/** The characters that Adyen does not allow in `shopperStatement`. */
const notOnStatements = /[^A-Za-z0-9 .,'_\-?+*/]/g

export function toShopper(payment: PaymentContext): Loose {
  const { customer, billing, browser } = payment
  return {
    countryCode: alpha2(billing) ?? alpha2(recordAt(payment.shipping, 'address')),
    shopperEmail: textAt(customer, 'email'),
    shopperName: toShopperName(customer),
    telephoneNumber: toPhone(customer),
    dateOfBirth: textAt(customer, 'birthDate'),
    socialSecurityNumber: toTaxId(customer),
    company: present({
      name: textAt(customer, 'companyName'),
      registrationNumber: textAt(customer, 'companyRegistrationNumber'),
      taxId: textAt(customer, 'companyVatId'),
      type: textAt(customer, 'companyLegalForm'),
    }),
    shopperIP: textAt(browser, 'ipAddress'),
    shopperLocale: payment.language ?? textAt(browser, 'language'),
    shopperStatement: toStatementText(payment.descriptor, notOnStatements),
    shopperReference: toShopperReference(payment),
    billingAddress: toAddress(billing),
    deliveryAddress: toDeliveryAddress(payment.shipping),
    lineItems: toLineItems(payment),
    merchantOrderReference: textAt(payment.order, 'merchantReference') ?? payment.refNr ?? payment.transId,
    accountInfo: toAccountInfo(recordAt(payment.fraudData, 'accountInfo')),
  }
}

/** Adyen requires at least three characters that are stable for one person. A guest gets the payment id. */
export function toShopperReference({ customer, payId }: PaymentContext): string {
  const own = textAt(customer, 'merchantCustomerId') ?? textAt(customer, 'gatewayCustomerId')
  return own !== undefined && own.length >= 3 ? own : payId
}

export function toShopperName(customer: Loose | undefined): Loose | undefined {
  const [firstName, lastName] = [textAt(customer, 'firstName'), textAt(customer, 'lastName')]
  return firstName === undefined || lastName === undefined ? undefined : { firstName, lastName }
}

export function toPhone(customer: Loose | undefined): string | undefined {
  const phone = recordAt(customer, 'phone')
  const [countryCode, number] = [textAt(phone, 'countryCode'), textAt(phone, 'number')]
  return countryCode === undefined || number === undefined
    ? undefined
    : `+${countryCode.replace('+', '')}${number}`
}

const toTaxId = (customer: Loose | undefined): string | undefined =>
  textAt(customer, 'socialSecurityNumber') ?? textAt(customer, 'taxId')

const alpha2 = (address: Loose | undefined): string | undefined =>
  findCountryByAlpha3(textAt(address, 'country') ?? '')?.alpha2

/** An incomplete address is left out, because Adyen refuses a request whose address lacks one of these fields. */
export function toAddress(address: Loose | undefined): Loose | undefined {
  const street = textAt(address, 'streetName')
  const city = textAt(address, 'city')
  const postalCode = textAt(address, 'postalCode')
  const country = alpha2(address)
  if (!street || !city || !postalCode || !country || postalCode.length > 10) return undefined
  const state = textAt(address, 'state')
  return {
    street,
    // Required by Adyen. Some addresses have no number, and some shops write it into the street.
    houseNumberOrName: textAt(address, 'streetNumber') ?? 'N/A',
    city,
    postalCode: country === 'US' ? withoutExtension(postalCode) : postalCode,
    country,
    // Adyen takes codes such as CA or NSW, not names of states.
    ...(state !== undefined && state.length <= 3 ? { stateOrProvince: state } : {}),
  }
}

/** Adyen takes at most five digits for an address in the US, so the four digits after them are left out. */
const withoutExtension = (zip: string): string => zip.replace(/^(\d{5})[ -]?\d{4}$/, '$1')

function toDeliveryAddress(shipping: Loose | undefined): Loose | undefined {
  const address = recordAt(shipping, 'address')
  const place = toAddress(address)
  return place === undefined ? undefined : { ...place, ...toShopperName(address) }
}

/** All eight required members or none: 3-D Secure refuses incomplete browser data. */
export function toBrowserInfo({ browser, language }: PaymentContext): Loose | undefined {
  const timeZoneOffset = Number(textAt(browser, 'timeZoneOffset') ?? Number.NaN)
  const info = {
    userAgent: textAt(browser, 'userAgent'),
    acceptHeader: textAt(browser, 'acceptHeaders'),
    language: textAt(browser, 'language') ?? language,
    colorDepth: browser?.colorDepth,
    screenHeight: browser?.screenHeight,
    screenWidth: browser?.screenWidth,
    timeZoneOffset: Number.isNaN(timeZoneOffset) ? undefined : timeZoneOffset,
    javaEnabled: flagAt(browser, 'javaEnabled') ?? false,
  }
  const javaScriptEnabled = flagAt(browser, 'javaScriptEnabled')
  return Object.values(info).includes(undefined)
    ? undefined
    : { ...info, ...(javaScriptEnabled === undefined ? {} : { javaScriptEnabled }) }
}

export function toLineItems(payment: PaymentContext): readonly Loose[] | undefined {
  const items = listAt(payment.order, 'items').flatMap(item =>
    isRecord(item) ? [toLineItem(item, payment.amount.currency)] : [],
  )
  return items.length > 0 ? items : undefined
}

function toLineItem(item: Loose, currency: string): Loose {
  const { quantity, taxRate } = item
  const product = recordAt(item, 'productInfo')
  return (
    present({
      id: textAt(item, 'id') ?? textAt(item, 'sku'),
      sku: textAt(item, 'sku'),
      description: textAt(item, 'name') ?? textAt(item, 'description'),
      // Adyen takes whole quantities only, so half a metre of cloth becomes one piece.
      quantity: typeof quantity === 'number' ? Math.max(1, Math.round(quantity)) : undefined,
      amountExcludingTax: price(item.netPrice, currency),
      amountIncludingTax: price(item.grossPrice, currency),
      taxAmount: price(item.taxAmount, currency),
      taxPercentage: typeof taxRate === 'number' ? Math.round(taxRate) : undefined,
      brand: textAt(product, 'brand'),
      imageUrl: textAt(product, 'imageUrl'),
      productUrl: textAt(product, 'productUrl'),
      itemCategory: textAt(item, 'type'),
      marketplaceSellerId: textAt(item, 'marketplaceSellerId'),
    }) ?? {}
  )
}

/** A price that Adyen's unit cannot express is left out, because prices are only descriptive. */
const price = (value: unknown, currency: string): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value)
    ? tryAdyenAmount({ value, currency })?.value
    : undefined

const ages: Readonly<Record<string, string>> = {
  GUEST_CHECKOUT: 'notApplicable',
  NO_CHANGE: 'notApplicable',
  THIS_TRANSACTION: 'thisTransaction',
  LESS_THAN_30_DAYS: 'lessThan30Days',
  FROM_30_TO_60_DAYS: 'from30To60Days',
  MORE_THAN_60_DAYS: 'moreThan60Days',
}

function toAccountInfo(account: Loose | undefined): Loose | undefined {
  const age = (name: string): string | undefined => ages[textAt(account, name) ?? '']
  const day = (name: string): string | undefined => {
    const text = textAt(account, name)
    return text === undefined ? undefined : `${text}T00:00:00Z`
  }
  return present({
    accountAgeIndicator: age('ageIndicator'),
    accountCreationDate: day('creationDate'),
    accountChangeDate: day('changeDate'),
    accountChangeIndicator: age('changeIndicator'),
    passwordChangeDate: day('passwordChangeDate'),
    passwordChangeIndicator: age('passwordChangeDateIndicator'),
    purchasesLast6Months: account?.numberOfPurchases,
    addCardAttemptsDay: account?.addCardAttemptsDay,
    pastTransactionsDay: account?.numberTransactionsDay,
    pastTransactionsYear: account?.numberTransactionsYear,
    paymentAccountAge: day('paymentAccountAge'),
    paymentAccountIndicator: age('paymentAccountAgeIndicator'),
    suspiciousActivity: account?.suspiciousAccountActivity,
  })
}

/** Whether the request contains the data that a method requires. */
export function has(need: Need, { payment, account, wallet }: AuthorizationRequest): boolean {
  const { customer } = payment
  const checks: Readonly<Record<Need, boolean>> = {
    name: toShopperName(customer) !== undefined,
    email: textAt(customer, 'email') !== undefined,
    phone: toPhone(customer) !== undefined,
    country: alpha2(payment.billing) !== undefined,
    billing: toAddress(payment.billing) !== undefined,
    items: toLineItems(payment) !== undefined,
    taxId: toTaxId(customer) !== undefined,
    account: account !== undefined,
    wallet: wallet !== undefined,
  }
  return checks[need]
}
