/**
 * The cards with a meaning for 3-D Secure: what happens when the customer is to be authenticated. Data only; what else
 * the simulator does with such a card is what it does with any card.
 */

/**
 * `challenge`: the customer is asked. `frictionless`: authenticated without being asked. `attempted`: the issuer cannot
 * authenticate, the scheme vouches for the attempt. `not_enrolled`: the card takes no part. `failed`: refused by the issuer.
 */
export type ThreeDsBehaviour = 'challenge' | 'frictionless' | 'attempted' | 'not_enrolled' | 'failed'

export interface AuthenticationCard {
  readonly number: string
  readonly threeDs: ThreeDsBehaviour
}

export const authenticationCards: readonly AuthenticationCard[] = [
  { number: '4000002760003184', threeDs: 'challenge' },
  { number: '4000003800000446', threeDs: 'frictionless' },
  { number: '4000000000003105', threeDs: 'attempted' },
  { number: '4000000000003113', threeDs: 'not_enrolled' },
  { number: '4000000000003121', threeDs: 'failed' },
  { number: '5200000000003100', threeDs: 'challenge' },
  { number: '5200000000003118', threeDs: 'frictionless' },
  { number: '5200000000003126', threeDs: 'attempted' },
  { number: '5200000000003134', threeDs: 'not_enrolled' },
  { number: '5200000000003142', threeDs: 'failed' },
  { number: '340000000000314', threeDs: 'challenge' },
  { number: '340000000000322', threeDs: 'frictionless' },
]

/** What the payment comes to, and what happens on the way. */
export const threeDsOutcomes: Readonly<
  Record<ThreeDsBehaviour, { readonly outcome: string; readonly description: string }>
> = {
  challenge: { outcome: '3-D Secure challenge', description: 'The customer must pass a challenge' },
  frictionless: { outcome: 'approved', description: '3-D Secure without a challenge' },
  attempted: { outcome: 'approved', description: '3-D Secure attempted; the issuer cannot authenticate' },
  not_enrolled: { outcome: 'approved', description: 'The card takes no part in 3-D Secure' },
  failed: { outcome: 'authentication failed', description: '3-D Secure is refused by the issuer' },
}
