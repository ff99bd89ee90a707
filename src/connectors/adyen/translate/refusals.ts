/**
 * Maps Adyen's refusal reasons and error codes to the last four digits of our response codes: one table and default
 * each.
 */

/** The default for new and missing reasons: the issuer declined without a reason. */
export const generalDecline = '0305'
export const cancelledByCustomer = '0703'
export const cancelledByMerchant = '0704'
export const timedOut = '0402'
export const invalidTransaction = '0312'
const systemMalfunction = '0396'
const notPermitted = '0357'
const suspectedFraud = '0334'
const restrictedCard = '0362'

/** `refusalReasonCode` and `refusalReason` of Checkout, in the order of Adyen's page "Refusal reasons". */
export const refusals: readonly (readonly [code: string, reason: string, detail: string])[] = [
  ['2', 'Refused', generalDecline],
  ['3', 'Referral', '0302'],
  ['4', 'Acquirer Error', systemMalfunction],
  ['5', 'Blocked Card', restrictedCard],
  ['6', 'Expired Card', '0354'],
  ['7', 'Invalid Amount', '0313'],
  ['8', 'Invalid Card Number', '0314'],
  ['9', 'Issuer Unavailable', '0391'],
  ['10', 'Not supported', notPermitted],
  ['11', '3D Not Authenticated', generalDecline],
  ['12', 'Not enough balance', '0351'],
  ['14', 'Acquirer Fraud', suspectedFraud],
  ['15', 'Cancelled', cancelledByCustomer],
  ['16', 'Shopper Cancelled', cancelledByCustomer],
  ['17', 'Invalid Pin', generalDecline],
  ['18', 'Pin tries exceeded', restrictedCard],
  ['19', 'Pin validation not possible', generalDecline],
  ['20', 'FRAUD', suspectedFraud],
  ['21', 'Not Submitted', systemMalfunction],
  ['22', 'FRAUD-CANCELLED', suspectedFraud],
  ['23', 'Transaction Not Permitted', notPermitted],
  ['24', 'CVC Declined', generalDecline],
  ['25', 'Restricted Card', restrictedCard],
  ['26', 'Revocation Of Auth', notPermitted],
  ['27', 'Declined Non Generic', generalDecline],
  ['28', 'Withdrawal amount exceeded', '0361'],
  ['29', 'Withdrawal count exceeded', '0365'],
  ['31', 'Issuer Suspected Fraud', suspectedFraud],
  ['32', 'AVS Declined', generalDecline],
  ['33', 'Card requires online pin', notPermitted],
  ['34', 'No checking account available on Card', notPermitted],
  ['35', 'No savings account available on Card', notPermitted],
  ['36', 'Mobile pin required', notPermitted],
  ['37', 'Contactless fallback', notPermitted],
  ['38', 'Authentication required', generalDecline],
  ['39', 'RReq not received from DS', generalDecline],
  ['40', 'Current AID is in Penalty Box', systemMalfunction],
  ['41', 'CVM Required Restart Payment', notPermitted],
  ['42', '3DS Authentication Error', generalDecline],
  ['43', 'Online PIN required', notPermitted],
  ['44', 'Try another interface', notPermitted],
  ['45', 'Chip downgrade mode', notPermitted],
  // Adyen charges a fee for each further try, so the code must advise to stop.
  ['46', 'Transaction blocked by Adyen to prevent excessive retry fees', invalidTransaction],
  ['50', 'Token Revoked', notPermitted],
]

const byCode: ReadonlyMap<string, string> = new Map(refusals.map(([code, , detail]) => [code, detail]))
const byReason: ReadonlyMap<string, string> = new Map(
  refusals.map(([, reason, detail]) => [reason.toLowerCase(), detail]),
)

/** Answers have the code; notices have only the reason, in any letter case. */
export const detailOfRefusal = (code: string | undefined, reason?: string): string =>
  byCode.get(code ?? '') ?? byReason.get((reason ?? '').toLowerCase()) ?? generalDecline

/** Validation errors, after which Adyen processed nothing. Only codes more specific than "invalid" are listed. */
const errorDetails: ReadonlyMap<string, string> = new Map([
  // Invalid card number
  ['101', '0314'],
  // Unable to determine the card's variant
  ['102', '0314'],
  // Expiry date invalid
  ['129', '0354'],
  // Field 'amount' is not valid
  ['137', '0313'],
  // Unsupported currency
  ['138', '0313'],
])

/** HTTP 401 and 403: the API key is wrong or revoked, or lacks a role. */
export const credentialsRefused = systemMalfunction

export const detailOfError = (errorCode: string | undefined): string =>
  errorDetails.get(errorCode ?? '') ?? invalidTransaction

/**
 * 704, "Request already processed or in progress", a conflict (409) or a timeout (408): a request under this key may
 * still succeed.
 */
export const isInProgress = (status: number, errorCode: string | undefined): boolean =>
  status === 408 || status === 409 || errorCode === '704'

/** "Invalid Merchant Account": it does not exist, or the key does not belong to it. */
export const isUnknownAccount = (errorCode: string | undefined): boolean => errorCode === '901'

/** Return reasons of ISO 20022, as our API contract maps them. */
const returnDetails: ReadonlyMap<string, string> = new Map([
  ['AM04', '0351'],
  ['AC01', '0314'],
  ['AC04', '0314'],
  ['AC06', '0314'],
  ['MD01', notPermitted],
  ['MD06', notPermitted],
  ['MS02', notPermitted],
])

export const detailOfReturn = (reasonCode: string): string => returnDetails.get(reasonCode) ?? generalDecline
