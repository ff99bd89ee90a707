/**
 * Connections to receivers, each judged as it is made. Names are looked up once, numbers are judged as they stand, and a
 * connection that is kept for the next message has been judged already.
 */
import { isIP } from 'node:net'
import { Agent, buildConnector } from 'undici'
import { refuseAddress } from '#webhooks/addresses.ts'
import { type AddressPolicy, AddressRefused } from '#webhooks/policies.ts'
import { createResolve, guardLookup, type Resolve } from '#webhooks/resolve.ts'

/** 10 s: a host that drops packets must not take the whole attempt, so that the merchant reads why. */
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
    // The attempt has one limit for all of it.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
}

/** An address written as a number is never looked up, so it is judged here; names are judged by the look-up. */
function guardConnect(connect: buildConnector.connector, policy: AddressPolicy): buildConnector.connector {
  return (options, callback) => {
    const host = options.hostname.replace(/^\[|\]$/g, '')
    const refusal = isIP(host) === 0 ? undefined : refuseAddress(host, policy)
    if (refusal) process.nextTick(callback, new AddressRefused(refusal), null)
    else connect(options, callback)
  }
}
