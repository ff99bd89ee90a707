/**
 * Decides to which addresses a webhook may be sent: by the resolved IP address, never by name, because then every
 * notation is the same number. An address that is not known to be public is refused.
 */
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { addressMax, isWebAddress, normalizeAddress, webAddressForm } from '#domain/text.ts'
import { type AddressPolicy, refuseUrl } from '#webhooks/policies.ts'

/** The global unicast range of today; the rest of IPv6 is local, embeds IPv4 or is unused. */
const globalUnicast = ipaddr.parseCIDR('2000::/3')

/** Parts of the global range that are not ordinary hosts, or that lead to other addresses. */
const detours = [
  // Teredo, benchmarks, ORCHID and other ranges that the IETF reserves for protocols.
  '2001::/23',
  '2001:db8::/32',
  // 6to4: an IPv4 address in the middle.
  '2002::/16',
  '3fff::/20',
  // The old 6bone.
  '3ffe::/16',
].map(range => ipaddr.parseCIDR(range))

/**
 * Public addresses that the surrounding cloud answers: Azure's wire server, which issues credentials, and internal
 * services of IBM Cloud. Those of other clouds are in ranges that are not public anyway.
 */
const cloudServices = ['168.63.129.16/32', '161.26.0.0/16', '166.8.0.0/14'].map(range =>
  ipaddr.IPv4.parseCIDR(range),
)

/** Returns the reason why the address may not be called; undefined if it may. */
export function refuseAddress(address: string, policy: AddressPolicy): string | undefined {
  if (policy.anywhere) return undefined
  const written = canonize(address)
  if (!ipaddr.isValid(written)) return `${address} is no address`
  // `process` converts a mapped address (::ffff:127.0.0.1) to its IPv4 address.
  const parsed = ipaddr.process(written)
  const range = parsed.range()
  if (range === 'loopback' && policy.loopback) return undefined
  if (parsed instanceof ipaddr.IPv4 && cloudServices.some(cloud => parsed.match(cloud))) {
    return `${address} is not a public address (a service of the cloud itself)`
  }
  const open = parsed instanceof ipaddr.IPv4 ? range === 'unicast' : isGlobal(parsed)
  return open ? undefined : `${address} is not a public address (${range})`
}

/**
 * The canonical form of an address: ::127.0.0.1, for example, is not a mapped address, although it looks like one.
 */
function canonize(address: string): string {
  if (!address.includes(':')) return address
  const url = `http://[${address}]/`
  return URL.canParse(url) ? new URL(url).hostname.slice(1, -1) : ''
}

function isGlobal(address: ipaddr.IPv6): boolean {
  if (!address.match(globalUnicast) || detours.some(range => address.match(range))) return false
  // ISATAP: an IPv4 address behind 0:5efe or 200:5efe.
  const { parts } = address
  return !(parts[5] === 0x5efe && (parts[4] === 0 || parts[4] === 0x200))
}

/** RFC 6761: this name and those below it never leave the machine. */
export function isLocalName(name: string): boolean {
  const plain = name.replace(/\.$/, '').toLowerCase()
  return plain === 'localhost' || plain.endsWith('.localhost')
}

/**
 * Undefined unless every delivery to this host will certainly be refused, else why. A name may lead elsewhere tomorrow, so it is
 * judged when the connection is made. Test takes all: there shops try what is refused, and each attempt shows the reason.
 */
export function refuseForever({ hostname }: URL, policy: AddressPolicy): string | undefined {
  if (!policy.httpsOnly) return undefined
  const host = hostname.replace(/^\[|\]$/g, '')
  if (isLocalName(host)) return `${host} is this machine, and live reports to public addresses only`
  return isIP(host) === 0 ? undefined : refuseAddress(host, policy)
}

/**
 * Normalises the address of an endpoint, or says why it cannot be used. The rule is that of every delivery, so that an
 * address that can never be called is refused at once.
 */
export function readEndpointAddress(
  text: string,
  policy: AddressPolicy,
): { readonly address: string } | { readonly refusal: string } {
  const address = normalizeAddress(text)
  if (address.length > addressMax)
    return { refusal: `it has ${address.length} characters; allowed are ${addressMax} at most` }
  if (!isWebAddress(text)) return { refusal: `it must be an ${webAddressForm}` }
  const url = new URL(address)
  const refusal = refuseUrl(url, policy) ?? refuseForever(url, policy)
  return refusal === undefined ? { address } : { refusal }
}
