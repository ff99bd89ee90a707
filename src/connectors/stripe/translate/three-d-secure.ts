/**
 * An authentication that the merchant made elsewhere, in the fields that Stripe has for it. The proof is never stored.
 */
import type { ThreeDsRequest } from '#connectors/contract.ts'
import type { Form } from '#connectors/stripe/translate/wire.ts'

/** Versions that Stripe knows, by the first two numbers. */
const versions: Readonly<Record<string, string>> = {
  '1.0': '1.0.2',
  '2.1': '2.1.0',
  '2.2': '2.2.0',
  '2.3': '2.3.1',
}

/** `low_risk` is the only exemption that Stripe passes on with foreign authentication data. */
const exemptions: Readonly<Record<string, string>> = { TRANSACTION_RISK_ANALYSIS: 'low_risk' }

/** Stripe needs the proof, the transaction id and the version; without them it authenticates by itself. */
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
