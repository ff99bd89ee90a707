/** Translates an authentication that the merchant made elsewhere. Its cryptogram is never stored. */
import type { ThreeDsRequest } from '#connectors/contract.ts'
import type { Form } from '#connectors/stripe/translate/wire.ts'

/** Stripe's versions of 3-D Secure, by their first two numbers. */
const versions: Readonly<Record<string, string>> = {
  '1.0': '1.0.2',
  '2.1': '2.1.0',
  '2.2': '2.2.0',
  '2.3': '2.3.1',
}

/** The only exemption that Stripe passes on with imported authentication data is `low_risk`. */
const exemptions: Readonly<Record<string, string>> = { TRANSACTION_RISK_ANALYSIS: 'low_risk' }

/** Stripe needs the cryptogram, transaction id and version; without them it authenticates the cardholder itself. */
export function toThreeDSecure(threeDs: ThreeDsRequest | undefined): Form | undefined {
  const data = threeDs?.imported
  const version = data?.acsProtocolVersion
  const transactionId = data?.dsTransId ?? data?.threeDSServerTransId
  const proof = threeDs?.authenticationValue?.reveal()
  if (data === undefined || proof === undefined || version === undefined || transactionId === undefined) {
    return undefined
  }
  return {
    cryptogram: proof,
    transaction_id: transactionId,
    version: versions[version.slice(0, 3)] ?? version,
    ares_trans_status: data.transStatus,
    electronic_commerce_indicator: data.eci?.padStart(2, '0'),
    exemption_indicator: exemptions[threeDs?.exemption ?? ''],
  }
}
