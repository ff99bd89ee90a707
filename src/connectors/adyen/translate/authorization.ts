/**
 * Translates an authorisation into a body for `/payments` or, if the customer must enter data, for `/sessions`. Pure.
 */

import { type Loose, present, textAt } from '#connectors/adyen/loose.ts'
import { type AdyenMethod, findAdyenMethod, findTokenCode } from '#connectors/adyen/methods.ts'
import { toAdyenAmount } from '#connectors/adyen/translate/amounts.ts'
import { has, toBrowserInfo, toPhone, toShopper, toShopperName } from '#connectors/adyen/translate/shopper.ts'
import type { AuthorizationRequest, CardData, ThreeDsRequest } from '#connectors/contract.ts'

/** The settings of an account that affect requests. */
export interface AdyenTerms {
  readonly merchantAccount: string
  readonly rawCards: boolean
  readonly multipleCaptures: boolean
}

export type AuthorizationCall =
  | { readonly path: '/payments' | '/sessions'; readonly body: Loose }
  /** The required data is missing, and no customer is present who could enter it on a page. */
  | { readonly path: 'none'; readonly reason: string }

export function toAuthorizationCall(request: AuthorizationRequest, terms: AdyenTerms): AuthorizationCall {
  const method = findAdyenMethod(request.payment.method.type)
  if (method === undefined)
    return { path: 'none', reason: `Adyen does not serve ${request.payment.method.type}` }
  const paymentMethod = toPaymentMethod(request, method, terms)
  if (paymentMethod !== undefined)
    return { path: '/payments', body: toPaymentRequest(request, terms, paymentMethod) }
  return request.customerPresent
    ? { path: '/sessions', body: toSessionRequest(request, terms, method) }
    : { path: 'none', reason: 'Without the customer Adyen needs a card number or a stored payment method' }
}

/** Undefined: data is missing, which only Adyen's page can ask for. */
function toPaymentMethod(
  request: AuthorizationRequest,
  method: AdyenMethod,
  terms: AdyenTerms,
): Loose | undefined {
  const { card, account, wallet, credentialOnFile } = request
  const type = method.code
  const stored = readProviderToken(credentialOnFile?.providerToken)
  const tokenCode = findTokenCode(type)
  if (stored !== undefined && tokenCode !== undefined && credentialOnFile?.initial !== true)
    return { type: tokenCode, storedPaymentMethodId: stored.id }
  if (card !== undefined)
    return terms.rawCards ? toCard(card, type, credentialOnFile?.schemeReferenceId) : undefined
  if (method.needs === undefined || !method.needs.every(need => has(need, request))) return undefined
  const { customer } = request.payment
  const known: Loose = {
    ...toShopperName(customer),
    shopperEmail: textAt(customer, 'email'),
    telephoneNumber: toPhone(customer),
  }
  return {
    type,
    ...Object.fromEntries((method.details ?? []).map(name => [name, known[name]])),
    ...(account !== undefined && method.needs.includes('account')
      ? { iban: account.number.reveal(), ownerName: account.holderName }
      : {}),
    ...(wallet !== undefined && method.needs.includes('wallet')
      ? { applePayToken: Buffer.from(wallet.payload.reveal()).toString('base64') }
      : {}),
  }
}

function toCard(card: CardData, type: string, networkPaymentReference: string | undefined): Loose {
  return {
    type,
    number: card.number.reveal(),
    ...present({
      expiryYear: card.expiryDate?.slice(0, 4),
      expiryMonth: card.expiryDate?.slice(4),
      holderName: card.cardholderName,
      cvc: card.securityCode?.reveal(),
      networkPaymentReference,
    }),
  }
}

function toPaymentRequest(request: AuthorizationRequest, terms: AdyenTerms, paymentMethod: Loose): Loose {
  const stored = readProviderToken(request.credentialOnFile?.providerToken)
  return {
    ...toShared(request, terms),
    paymentMethod,
    ...present({
      browserInfo: request.customerPresent ? toBrowserInfo(request.payment) : undefined,
      channel: request.customerPresent ? 'Web' : undefined,
      mpiData: toMpiData(request.threeDs),
      shopperReference: stored?.shopperReference,
      storePaymentMethod: isStoredByAdyen(request) ? true : undefined,
    }),
    ...(request.card === undefined ? {} : toThreeDs(request)),
  }
}

/** Whether Adyen must store the method: later payments need its token, unless we store the number ourselves. */
const isStoredByAdyen = ({ credentialOnFile, card, account, payment }: AuthorizationRequest): boolean =>
  credentialOnFile?.initial === true &&
  card === undefined &&
  account === undefined &&
  findTokenCode(findAdyenMethod(payment.method.type)?.code ?? '') !== undefined

function toSessionRequest(request: AuthorizationRequest, terms: AdyenTerms, method: AdyenMethod): Loose {
  return {
    ...toShared(request, terms),
    mode: 'hosted',
    channel: 'Web',
    allowedPaymentMethods: [method.code],
    ...(request.credentialOnFile?.initial === true ? { storePaymentMethodMode: 'enabled' } : {}),
    ...toChallengePreference(request.threeDs),
  }
}

/** The API requires a return URL even if no customer is present. No customer is ever sent to this one. */
const nowhere = 'https://localhost/'

function toShared(request: AuthorizationRequest, terms: AdyenTerms): Loose {
  const { payment, amount, reference } = request
  const isManual = payment.captureMethod !== 'AUTOMATIC'
  return {
    merchantAccount: terms.merchantAccount,
    reference,
    amount: toAdyenAmount(amount),
    returnUrl: payment.returnUrl ?? nowhere,
    ...present(toShopper(payment)),
    // 0: Adyen captures with the authorisation, overriding the account's default.
    ...(isManual ? {} : { captureDelayHours: 0 }),
    ...toStoredCredential(request),
    ...present({ additionalData: present(toAdditionalData(request, isManual)) }),
  }
}

function toAdditionalData(request: AuthorizationRequest, isManual: boolean): Loose {
  const { payment, threeDs } = request
  const { method, paymentFacilitator } = payment
  return {
    manualCapture: isManual ? 'true' : undefined,
    // An authorisation whose amount may change later must be declared as a pre-authorisation.
    authorisationType:
      isManual && method.family === 'card' && method.operations.includes('increment') ? 'PreAuth' : undefined,
    scaExemption: exemptions[threeDs?.exemption ?? ''],
    subMerchantID: textAt(paymentFacilitator, 'subMerchantId'),
    subMerchantName: textAt(paymentFacilitator, 'subMerchantName'),
    subMerchantStreet: textAt(paymentFacilitator, 'subMerchantStreet'),
    subMerchantCity: textAt(paymentFacilitator, 'subMerchantCity'),
    subMerchantPostalCode: textAt(paymentFacilitator, 'subMerchantZip'),
    subMerchantState: textAt(paymentFacilitator, 'subMerchantState'),
    subMerchantCountry: textAt(paymentFacilitator, 'subMerchantCountry'),
  }
}

const exemptions: Readonly<Record<string, string>> = {
  LOW_VALUE: 'lowValue',
  TRANSACTION_RISK_ANALYSIS: 'transactionRiskAnalysis',
  TRUSTED_MERCHANT: 'trustedBeneficiary',
  SECURE_CORPORATE: 'secureCorporate',
}

/** The customer makes the first payment; later ones are ContAuth under the model of their agreement. */
function toStoredCredential({ credentialOnFile, payment }: AuthorizationRequest): Loose {
  const byCustomer = payment.channel === 'MOTO' ? 'Moto' : 'Ecommerce'
  if (credentialOnFile === undefined) return { shopperInteraction: byCustomer }
  const { type, initial, initiator } = credentialOnFile
  const unscheduled = initial || initiator === 'MERCHANT' ? 'UnscheduledCardOnFile' : 'CardOnFile'
  return {
    shopperInteraction: initial ? byCustomer : 'ContAuth',
    recurringProcessingModel: type === 'RECURRING' ? 'Subscription' : unscheduled,
  }
}

const challengeIndicators: Readonly<Record<string, string>> = {
  NO_PREFERENCE: '01',
  NO_CHALLENGE: '02',
  REQUEST_CHALLENGE: '03',
  MANDATE_CHALLENGE: '04',
}

function toChallengePreference(threeDs: ThreeDsRequest | undefined): Loose {
  const indicator = challengeIndicators[threeDs?.challengePreference ?? '']
  return indicator === undefined ? {} : { threeDS2RequestData: { threeDSRequestorChallengeInd: indicator } }
}

/** 3-D Secure by redirect: our page sends the customer to the issuer and runs none of Adyen's scripts. */
function toThreeDs({ threeDs, customerPresent }: AuthorizationRequest): Loose {
  if (threeDs?.imported !== undefined) return {}
  if (threeDs?.skip === true || !customerPresent)
    return { authenticationData: { attemptAuthentication: 'never' } }
  const isWanted = ['REQUEST_CHALLENGE', 'MANDATE_CHALLENGE'].includes(threeDs?.challengePreference ?? '')
  return {
    authenticationData: {
      ...(isWanted ? { attemptAuthentication: 'always' } : {}),
      threeDSRequestData: { nativeThreeDS: 'disabled' },
    },
    ...toChallengePreference(threeDs),
  }
}

/** An authentication that the merchant made elsewhere. */
function toMpiData(threeDs: ThreeDsRequest | undefined): Loose | undefined {
  const imported = threeDs?.imported
  if (imported === undefined) return undefined
  const { transStatus = '' } = imported
  return present({
    threeDSVersion: imported.acsProtocolVersion,
    eci: imported.eci,
    dsTransID: imported.dsTransId,
    cavv: threeDs?.authenticationValue?.reveal(),
    directoryResponse: 'ACDINRUY'.includes(transStatus) ? transStatus || undefined : undefined,
    authenticationResponse: 'YNUA'.includes(transStatus) ? transStatus || undefined : undefined,
  })
}

/** Adyen's id of a stored method is valid only with its shopper reference, so our token contains both. */
export const toProviderToken = (id: string, shopperReference: string): string => `${id} ${shopperReference}`

export function readProviderToken(
  token: string | undefined,
): { readonly id: string; readonly shopperReference: string } | undefined {
  const [, id, shopperReference] = /^(\S+) (.+)$/.exec(token ?? '') ?? []
  return id === undefined || shopperReference === undefined ? undefined : { id, shopperReference }
}
