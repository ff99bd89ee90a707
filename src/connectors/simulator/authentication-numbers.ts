/**
 * The test cards for 3-D Secure and the outcome of their authentication. In all other respects they behave like any
 * other card.
 */

/**
 * `challenge`: the customer must pass a challenge. `frictionless`: authenticated without one. `attempted`: the issuer
 * cannot authenticate, and the scheme vouches for the attempt. `not_enrolled`: the card does not take part. `failed`:
 * the issuer refuses.
 */
export type ThreeDsBehaviour = 'challenge' | 'frictionless' | 'attempted' | 'not_enrolled' | 'failed'

export interface AuthenticationCard {
  readonly number: string
  readonly scenario: { readonly threeDs: ThreeDsBehaviour }
  readonly outcome: string
  readonly description: string
}

/** The result of the payment, and what happens before it. */
const words: Readonly<Record<ThreeDsBehaviour, readonly [outcome: string, description: string]>> = {
  challenge: ['3-D Secure challenge', 'The customer must pass a challenge, then it is approved'],
  frictionless: ['approved', '3-D Secure without a challenge'],
  attempted: ['approved', '3-D Secure attempted; the issuer cannot authenticate'],
  not_enrolled: ['approved', 'The card takes no part in 3-D Secure'],
  failed: ['authentication failed', '3-D Secure is refused by the issuer'],
}

const authenticates = (number: string, threeDs: ThreeDsBehaviour): AuthenticationCard => {
  const [outcome, description] = words[threeDs]
  return { number, scenario: { threeDs }, outcome, description }
}

export const authenticationCards: readonly AuthenticationCard[] = [
  authenticates('4000002760003184', 'challenge'),
  authenticates('4000003800000446', 'frictionless'),
  authenticates('4000000000003105', 'attempted'),
  authenticates('4000000000003113', 'not_enrolled'),
  authenticates('4000000000003121', 'failed'),
  authenticates('5200000000003100', 'challenge'),
  authenticates('5200000000003118', 'frictionless'),
  authenticates('5200000000003126', 'attempted'),
  authenticates('5200000000003134', 'not_enrolled'),
  authenticates('5200000000003142', 'failed'),
  authenticates('340000000000314', 'challenge'),
  authenticates('340000000000322', 'frictionless'),
]
