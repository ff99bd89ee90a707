/**
 * Connections to receivers, each checked when it is opened. Names are resolved once, IP addresses are checked directly,
 * and a reused connection has already been checked.
 */
import { isIP } from 'node:net'
import { Agent, buildConnector } from 'undici'
import { refuseAddress } from '#webhooks/addresses.ts'
import { type AddressPolicy, AddressRefused } from '#webhooks/policies.ts'
import { createResolve, guardLookup, type Resolve } from '#webhooks/resolve.ts'

/** 10 s: a host that drops packets must not use up the whole attempt, so that the merchant sees the reason. */
const connectMs = 10_000

/** 4 s of silence: most servers close an idle connection after 5, and a message sent into that moment would be lost. */
const keepAliveMs = 4_000

export function openAgent({ policy, resolve }: { policy: AddressPolicy; resolve?: Resolve }): Agent {
  const lookup = guardLookup(resolve ?? createResolve(), policy)
  const connect = buildConnector({ lookup, timeout: connectMs, allowH2: false, autoSelectFamily: true })
  return new Agent({
    connect: guardConnect(connect, policy),
    allowH2: false,
    keepAliveTimeout: keepAliveMs,
    // The attempt has one time limit for everything.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
}

/** An IP address is never resolved, so it is checked here; names are checked by the look-up. */
function guardConnect(connect: buildConnector.connector, policy: AddressPolicy): buildConnector.connector {
  return (options, callback) => {
    const host = options.hostname.replace(/^\[|\]$/g, '')
    const refusal = isIP(host) === 0 ? undefined : refuseAddress(host, policy)
    if (refusal) process.nextTick(callback, new AddressRefused(refusal), null)
    else connect(options, callback)
  }
}
