/** Options of card payments that sessions and intents share: capture, 3-D Secure, increments. */
import type { AuthorizationRequest } from '#connectors/contract.ts'
import { canCaptureLater, cardCode } from '#connectors/stripe/methods.ts'
import type { Form } from '#connectors/stripe/translate/wire.ts'

/** Automatic if the request also captures, or if the method has no separate capture. */
export const captureMethodOf = (
  { captureReference }: AuthorizationRequest,
  code: string,
): 'automatic' | 'manual' =>
  captureReference === undefined && canCaptureLater(code) ? 'manual' : 'automatic'

/** `if_available`: the payment does not fail if the issuer or Stripe's contract does not allow the feature. */
export function cardOptions(request: AuthorizationRequest): Form {
  const { operations } = request.payment.method
  const later = captureMethodOf(request, cardCode) === 'manual'
  return {
    request_three_d_secure: challengeOf(request),
    request_multicapture: later && operations.includes('multi_capture') ? 'if_available' : undefined,
    request_incremental_authorization: later && operations.includes('increment') ? 'if_available' : undefined,
  }
}

/** `any`: 3-D Secure if the card supports it. `challenge`: with a challenge of the cardholder. */
const challenges: Readonly<Record<string, string>> = {
  REQUEST_CHALLENGE: 'any',
  MANDATE_CHALLENGE: 'challenge',
}

/** Undefined leaves Stripe's default, `automatic`: 3-D Secure if rules or issuers require it. */
function challengeOf({ threeDs }: AuthorizationRequest): string | undefined {
  return threeDs?.skip === true ? undefined : challenges[threeDs?.challengePreference ?? '']
}
