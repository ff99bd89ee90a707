/** The options of a card payment that sessions and intents share: capture, 3-D Secure, stored credentials. */
import type { AuthorizationRequest } from '#connectors/contract.ts'
import { canCaptureLater, cardCode } from '#connectors/stripe/methods.ts'
import type { Form } from '#connectors/stripe/translate/wire.ts'

/** Captured in the same message where a reference for the capture was given, and where the method cannot wait. */
export const captureMethodOf = (
  { captureReference }: AuthorizationRequest,
  code: string,
): 'automatic' | 'manual' =>
  captureReference === undefined && canCaptureLater(code) ? 'manual' : 'automatic'

/** `if_available`: the issuer and Stripe's contract decide, and the payment does not fail where they say no. */
export function cardOptions(request: AuthorizationRequest): Form {
  const { operations } = request.payment.method
  const later = captureMethodOf(request, cardCode) === 'manual'
  return {
    request_three_d_secure: challengeOf(request),
    request_multicapture: later && operations.includes('multi_capture') ? 'if_available' : undefined,
    request_incremental_authorization: later && operations.includes('increment') ? 'if_available' : undefined,
  }
}

/** `any`: 3-D Secure where the card can do it. `challenge`: and the cardholder must be asked. */
const challenges: Readonly<Record<string, string>> = {
  REQUEST_CHALLENGE: 'any',
  MANDATE_CHALLENGE: 'challenge',
}

/** Stripe's own default, `automatic`, is left out: it asks for 3-D Secure where rules or issuers want it. */
function challengeOf({ threeDs }: AuthorizationRequest): string | undefined {
  return threeDs?.skip === true ? undefined : challenges[threeDs?.challengePreference ?? '']
}
