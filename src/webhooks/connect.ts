/**
 * Opens connections to receivers and checks each one's address. Names are resolved once, IP addresses are checked
 * directly, and a reused connection has already been checked.
 */
import { isIP } from 'node:net'
import { Agent, buildConnector } from 'undici'
import { refuseAddress } from '#webhooks/addresses.ts'
import { type AddressPolicy, AddressRefused } from '#webhooks/policies.ts'
import { createResolve, guardLookup, type Resolve } from '#webhooks/resolve.ts'

/** 10 s: shorter than the attempt, so that the merchant sees that the host did not accept the connection. */
const connectMs = 10_000

/** 4 s: most servers close an idle connection after 5 s, and a message sent at that moment would be lost. */
const keepAliveMs = 4_000

export function openAgent({ policy, resolve }: { policy: AddressPolicy; resolve?: Resolve }): Agent {
  const lookup = guardLookup(resolve ?? createResolve(), policy)
  const connect = buildConnector({ lookup, timeout: connectMs, allowH2: false, autoSelectFamily: true })
  return new Agent({
    connect: guardConnect(connect, policy),
    allowH2: false,
    keepAliveTimeout: keepAliveMs,
    // send.ts has one time limit for the whole attempt.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
}

/** Checks URLs with an IP address, which is never resolved. Names are checked by the look-up. */
function guardConnect(connect: buildConnector.connector, policy: AddressPolicy): buildConnector.connector {
  return (options, callback) => {
    const host = options.hostname.replace(/^\[|\]$/g, '')
    const refusal = isIP(host) === 0 ? undefined : refuseAddress(host, policy)
    if (refusal) process.nextTick(callback, new AddressRefused(refusal), null)
    else connect(options, callback)
  }
}
