/** An allow list of IPv4 and IPv6 networks. An empty list allows every address. */
import { BlockList, isIP } from 'node:net'

export interface AddressList {
  allows(address: string): boolean
}

const everywhere: AddressList = { allows: () => true }

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 4 ? 'ipv4' : 'ipv6')

/** A dual-stack socket reports IPv4 addresses in IPv6 form. */
export const plainAddress = (address: string): string =>
  address.startsWith('::ffff:') && isIP(address.slice(7)) === 4 ? address.slice(7) : address

export function createAddressList(networks: readonly string[]): AddressList {
  if (networks.length === 0) return everywhere
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', length] = network.split('/')
    const family = familyOf(address)
    if (length === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(length), family)
  }
  return {
    allows(address) {
      const plain = plainAddress(address)
      return isIP(plain) !== 0 && list.check(plain, familyOf(plain))
    },
  }
}
