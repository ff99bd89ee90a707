/**
 * Resolves a name once per connection. All addresses are checked before any is used, and the connection is opened to
 * these same addresses: no second look-up could return others (DNS rebinding).
 */
import { Resolver } from 'node:dns/promises'
import type { LookupFunction } from 'node:net'
import { isLocalName, refuseAddress } from '#webhooks/addresses.ts'
import { type AddressPolicy, AddressRefused } from '#webhooks/policies.ts'

/** All addresses of a name; rejects when it has none. */
export type Resolve = (name: string) => Promise<readonly string[]>

/** Two tries of 3 s: less than half of an attempt's 15 s. */
const resolverOptions = { timeout: 3_000, tries: 2 }

/**
 * Queries name servers directly. The system's look-up (getaddrinfo) blocks one of the four threads that the process
 * shares: four merchants with unresponsive name servers would block all others.
 */
export function createResolve(): Resolve {
  const resolver = new Resolver(resolverOptions)
  return async name => {
    const plain = name.replace(/\.$/, '').toLowerCase()
    if (isLocalName(plain)) return ['127.0.0.1', '::1']
    const answers = await Promise.allSettled([resolver.resolve4(plain), resolver.resolve6(plain)])
    const found = answers.flatMap(answer => (answer.status === 'fulfilled' ? answer.value : []))
    if (found.length > 0) return found
    const failed = answers.find(answer => answer.status === 'rejected')
    throw new Error(`the name ${name} has no address`, { cause: failed?.reason })
  }
}

/** A look-up function for sockets. One forbidden address among several makes the look-up fail. */
export function guardLookup(resolve: Resolve, policy: AddressPolicy): LookupFunction {
  return (name, options, callback) => {
    resolve(name).then(
      addresses => {
        const refusal = addresses.map(address => refuseAddress(address, policy)).find(Boolean)
        if (refusal) return callback(new AddressRefused(`${name}: ${refusal}`), '')
        const found = addresses.map(address => ({ address, family: address.includes(':') ? 6 : 4 }))
        const [first] = found
        if (!first) return callback(new Error(`the name ${name} has no address`), '')
        return options.all ? callback(null, found) : callback(null, first.address, first.family)
      },
      (error: Error) => callback(error, ''),
    )
  }
}
