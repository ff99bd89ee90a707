/** The checks of a webhook address that need only the URL, per environment; addresses.ts checks the IP address. */

export interface AddressPolicy {
  readonly httpsOnly: boolean
  readonly loopback: boolean
  /** For `tollgate listen` on the developer's machine, where only the developer chooses the address. */
  readonly anywhere?: true
}

export const addressPolicies = {
  live: { httpsOnly: true, loopback: false },
  test: { httpsOnly: false, loopback: true },
} as const satisfies Record<'test' | 'live', AddressPolicy>

/**
 * The test environment may call the developer's own machine, and shows the answers. If other machines can reach the
 * gateway, that would reveal which services run on this machine.
 */
export const choosePolicy = ({
  environment,
  loopbackWebhooks = true,
}: {
  readonly environment: 'test' | 'live'
  readonly loopbackWebhooks?: boolean | undefined
}): AddressPolicy => {
  const policy = addressPolicies[environment]
  return { ...policy, loopback: policy.loopback && loopbackWebhooks }
}

/** The address may not be called. The message is shown to the merchant. */
export class AddressRefused extends Error {}

/** Returns the reason why the URL may not be called; undefined if it may, depending on its IP address. */
export function refuseUrl(url: URL, policy: AddressPolicy): string | undefined {
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return `${url.protocol} is not spoken here`
  if (policy.httpsOnly && url.protocol !== 'https:') return 'only https addresses are called in live'
  if (url.username !== '' || url.password !== '') return 'an address must not hold credentials'
  return undefined
}
