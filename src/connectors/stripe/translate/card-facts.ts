/** Translates Stripe's facts about an approved payment into the names of our contract. */
import { isReusable, storedCode } from '#connectors/stripe/methods.ts'
import { idAt, textAt, type Wire, wireAt } from '#connectors/stripe/translate/wire.ts'
import { entryOf } from '#domain/json.ts'
import type { ProviderFacts } from '#lifecycle/outcome.ts'

export type CardFacts = Pick<ProviderFacts, 'approvalCode' | 'schemeReferenceId' | 'providerToken' | 'fields'>

/** Stripe's authentication results as transStatus of EMV 3-D Secure. */
const transStatuses: Readonly<Record<string, string>> = {
  authenticated: 'Y',
  attempt_acknowledged: 'A',
  exempted: 'I',
  failed: 'N',
  not_supported: 'U',
  processing_error: 'U',
}

/** Requires the expanded charge: `expand[]=latest_charge`. */
export function cardFacts(intent: Wire): CardFacts {
  const details = wireAt(intent, 'latest_charge', 'payment_method_details')
  const card = wireAt(details, 'card')
  const approval = textAt(card, 'authorization_code')
  const schemeReferenceId = textAt(card, 'network_transaction_id')
  // Multicapture was requested, but the account or the card does not allow it, so a partial capture will be the last
  // one.
  const capturesOnce = textAt(card, 'multicapture', 'status') === 'unavailable'
  const fields = {
    ...threeDsFields(wireAt(card, 'three_d_secure')),
    ...(capturesOnce ? { capturesOnce } : {}),
  }
  const providerToken = tokenOf(intent, details)
  return {
    // The API contract defines a number here, so an approval code with letters is omitted.
    ...(approval !== undefined && /^[1-9][0-9]{0,5}$/.test(approval)
      ? { approvalCode: Number(approval) }
      : {}),
    ...(schemeReferenceId === undefined ? {} : { schemeReferenceId }),
    ...(providerToken === undefined ? {} : { providerToken }),
    ...(Object.keys(fields).length === 0 ? {} : { fields }),
  }
}

function threeDsFields(authentication: Wire | undefined): Record<string, unknown> {
  const transStatus = entryOf(transStatuses, textAt(authentication, 'result') ?? '')
  if (transStatus === undefined) return {}
  return {
    threeDsData: {
      acsProtocolVersion: textAt(authentication, 'version'),
      transStatus,
      eci: textAt(authentication, 'electronic_commerce_indicator'),
      dsTransId: textAt(authentication, 'transaction_id'),
    },
  }
}

/**
 * Charging a stored method needs both the customer's and the method's id, so our token contains both. The method is the
 * one that Stripe made of the customer's if that one cannot be charged again.
 */
function tokenOf(intent: Wire, details: Wire | undefined): string | undefined {
  const customer = idAt(intent, 'customer')
  const setUp = textAt(intent, 'setup_future_usage') === 'off_session'
  const type = textAt(details, 'type')
  const method =
    type === undefined || storedCode(type) === type
      ? idAt(intent, 'payment_method')
      : idAt(wireAt(details, type), 'generated_sepa_debit')
  if (!setUp || customer === undefined || method === undefined) return undefined
  return type === undefined || isReusable(type) ? `${customer}/${method}` : undefined
}

/** The two ids in a token; undefined for a token of another provider. */
export function splitToken(
  token: string,
): { readonly customer: string; readonly method: string } | undefined {
  const [, customer, method] = /^(cus_[A-Za-z0-9_]+)\/(pm_[A-Za-z0-9_]+)$/.exec(token) ?? []
  return customer === undefined || method === undefined ? undefined : { customer, method }
}
