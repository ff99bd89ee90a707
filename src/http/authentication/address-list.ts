/** An allow list of IPv4 and IPv6 networks. An empty list allows every address. */
import { BlockList, isIP } from 'node:net'
import { plainAddress } from '#domain/network-address.ts'

export interface AddressList {
  allows(address: string): boolean
}

const everywhere: AddressList = { allows: () => true }

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 4 ? 'ipv4' : 'ipv6')

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
      return plain !== undefined && list.check(plain, familyOf(plain))
    },
  }
}
