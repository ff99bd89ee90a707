/**
 * The client's address: that of the connection, or the one reported by trusted proxies. `X-Forwarded-For` is read from
 * the right, because each proxy appends the address that it saw; anything further left may be made up by the client.
 * Also the allow lists of networks that such an address is checked against.
 */
import { BlockList, isIP } from 'node:net'
import { plainAddress } from '#domain/network-address.ts'

/** The number of proxies in front of us, or their addresses and networks (CIDR). */
export type TrustedProxies = number | readonly string[]

export interface ClientAddresses {
  /** The client's address. `peer` is the connection's address, `forwarded` the header X-Forwarded-For. */
  find(peer: string | undefined, forwarded: string | string[] | undefined): string
  /** Whether the other end of a connection is a trusted proxy. */
  isProxy(peer: string | undefined): boolean
}

/** 20: no chain of proxies is longer. The rest of a longer header is not read. */
const hopsMax = 20

const unknownAddress = '0.0.0.0'

/** Some proxies write the port as well: 192.0.2.1:4711 or [2001:db8::1]:4711. */
function readEntry(entry: string): string | undefined {
  // 60 characters: more than the longest address in brackets with a port.
  if (entry.length > 60) return undefined
  const [, bracketed, dotted] = /^(?:\[([0-9a-fA-F:.]+)\]|([0-9.]+))(?::[0-9]{1,5})?$/.exec(entry) ?? []
  return plainAddress(bracketed ?? dotted ?? entry)
}

export interface AddressList {
  allows(address: string): boolean
}

const everywhere: AddressList = { allows: () => true }

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4')

/** 96: the bits of ::ffff:0:0, in front of an IPv4 address in the form of IPv6. */
const mappedBits = 96

/**
 * A list for each family, because a BlockList also compares IPv4 addresses, in their form ::ffff:a.b.c.d, with IPv6
 * networks: `::1/64` would hold all of them.
 */
function createMatcher(networks: readonly string[]): (plain: string) => boolean {
  const lists = { ipv4: new BlockList(), ipv6: new BlockList() }
  for (const network of networks) {
    const [address = '', bits] = network.split('/')
    const isWide = bits !== undefined && isIP(address) === 6 && Number(bits) < mappedBits
    const plain = isWide ? address : (plainAddress(address) ?? address)
    const family = familyOf(plain)
    if (bits === undefined) lists[family].addAddress(plain, family)
    else
      lists[family].addSubnet(plain, Number(bits) - (family === familyOf(address) ? 0 : mappedBits), family)
  }
  return plain => {
    const family = familyOf(plain)
    return lists[family].check(plain, family)
  }
}

/** An allow list of IPv4 and IPv6 addresses and networks (CIDR). An empty list allows every address. */
export function createAddressList(networks: readonly string[]): AddressList {
  if (networks.length === 0) return everywhere
  const matches = createMatcher(networks)
  return {
    allows(address) {
      const plain = plainAddress(address)
      return plain !== undefined && matches(plain)
    },
  }
}

function createTrust(proxies: TrustedProxies): (address: string, hop: number) => boolean {
  if (typeof proxies === 'number') return (_, hop) => hop < proxies
  return createMatcher(proxies)
}

export function createClientAddresses(proxies: TrustedProxies = 0): ClientAddresses {
  const isTrusted = createTrust(proxies)
  const trustsNobody = typeof proxies === 'number' ? proxies === 0 : proxies.length === 0
  const plain = (peer: string | undefined): string => (peer && plainAddress(peer)) || unknownAddress
  return {
    isProxy: peer => !trustsNobody && isTrusted(plain(peer), 0),
    find(peer, forwarded) {
      let address = plain(peer)
      if (trustsNobody || forwarded === undefined) return address
      const header = typeof forwarded === 'string' ? forwarded : forwarded.join(',')
      let end = header.length
      for (let hop = 0; hop < hopsMax && end >= 0 && isTrusted(address, hop); hop++) {
        const comma = header.lastIndexOf(',', end - 1)
        const named = readEntry(header.slice(comma + 1, end).trim())
        // If an entry is no address, the proxy that added it is the last known address.
        if (named === undefined) break
        address = named
        // `lastIndexOf` from -1 would begin at 0 again.
        end = comma <= 0 ? -1 : comma
      }
      return address
    },
  }
}
