/** Network settings: host and port, trusted proxies, and whether other machines can reach the gateway. */
import { BlockList, isIP } from 'node:net'

interface Reader {
  text(name: string): string | undefined
  fault(sentence: string): void
}

const portMax = 65_535

export const defaultPort = '8080'

export function readPort({ text, fault }: Reader): number {
  const value = text('PORT') ?? defaultPort
  if (/^\d{1,5}$/.test(value) && Number(value) <= portMax) return Number(value)
  fault(`PORT is "${value}", but must be a whole number from 0 to ${portMax}`)
  return 0
}

/** Letters, digits, hyphens and dots, as in a DNS name; at most 253 characters by RFC 1035. */
const hostName = /^(?=.{1,253}$)[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/

export function readHost({ text, fault }: Reader): string {
  const fallback = '127.0.0.1'
  const value = text('HOST') ?? fallback
  if (isIP(value) !== 0 || hostName.test(value)) return value
  fault(`HOST is "${value}", but must be an IP address without brackets, or a host name`)
  return fallback
}

/** 10: more proxies in a row than any real installation has. */
const hopsMax = 10

export function readTrustedProxies({ text, fault }: Reader): number | readonly string[] | undefined {
  const value = text('TOLLGATE_TRUSTED_PROXY')
  if (value === undefined || value === 'false') return undefined
  if (value === 'true') return 1
  if (/^[0-9]{1,2}$/.test(value) && Number(value) >= 1 && Number(value) <= hopsMax) return Number(value)
  const proxies = value.split(',').map(entry => entry.trim())
  const wrong = proxies.find(entry => !isNetwork(entry))
  if (wrong === undefined) return Object.freeze(proxies)
  fault(
    `TOLLGATE_TRUSTED_PROXY is "${value}", but must be true or false, the number of proxies in front (1 to ${hopsMax}), ` +
      'or their addresses and networks such as 10.0.0.0/8, with commas between',
  )
  return undefined
}

/** An address, or a network in CIDR form. */
function isNetwork(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/')
  const version = isIP(address)
  if (version === 0 || rest.length > 0) return false
  return bits === undefined || (/^[0-9]{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128))
}

export function readLoopbackWebhooks(
  { text, fault }: Reader,
  environment: 'test' | 'live',
): boolean | undefined {
  const value = text('TOLLGATE_LOOPBACK_WEBHOOKS')
  if (value === undefined) return undefined
  if (value !== 'true' && value !== 'false') {
    fault(`TOLLGATE_LOOPBACK_WEBHOOKS is "${value}", but must be true or false`)
  } else if (value === 'true' && environment === 'live') {
    fault('TOLLGATE_LOOPBACK_WEBHOOKS is true, but the live environment sends to public addresses only')
  }
  return value === 'true'
}

export function readSecurityContact({ text, fault }: Reader): string | undefined {
  const value = text('TOLLGATE_SECURITY_CONTACT')
  if (value === undefined || /^(?:https:\/\/|mailto:|tel:)[\x21-\x7e]{1,200}$/.test(value)) return value
  fault(`TOLLGATE_SECURITY_CONTACT is "${value}", but must be an address such as mailto:security@example.com`)
  return undefined
}

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')

/** Whether other machines can reach the gateway, directly or through a proxy. */
export const isReachable = (config: {
  readonly host: string
  readonly tls?: unknown
  readonly trustedProxies?: unknown
  readonly publicUrl?: string | undefined
}): boolean =>
  !isLoopback(config.host) ||
  config.tls !== undefined ||
  config.trustedProxies !== undefined ||
  (config.publicUrl !== undefined && !isLoopback(new URL(config.publicUrl).hostname))

/** The host may be written as in a URL, with an IPv6 address in brackets. */
export function isLoopback(written: string): boolean {
  const host = written.replace(/^\[(.*)\]$/, '$1')
  const version = isIP(host)
  return version === 0
    ? host.toLowerCase() === 'localhost'
    : loopback.check(host, version === 4 ? 'ipv4' : 'ipv6')
}
