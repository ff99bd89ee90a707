/** Canonical client addresses, and the networks by which limits count. Pure. */
const byte = '(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])'
const ipv4 = new RegExp(`^${byte}(?:\\.${byte}){3}$`)
const mappedForm = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/
/** 45: the longest way to write an IPv6 address. */
const longest = 45

/**
 * The canonical form of an address. `::ffff:192.0.2.1`, in any spelling, becomes 192.0.2.1 and so shares its limits.
 * Undefined for text that is no address.
 */
export function plainAddress(text: string): string | undefined {
  // How sockets write it, which is nearly every case.
  if (text.startsWith('::ffff:') && ipv4.test(text.slice(7))) return text.slice(7)
  const zone = text.indexOf('%')
  const address = zone === -1 ? text : text.slice(0, zone)
  if (ipv4.test(address)) return address
  return /^[0-9a-f:.]+$/i.test(address) && address.length <= longest ? plainIpv6(address) : undefined
}

/** The URL standard has one canonical form of an IPv6 address. */
function plainIpv6(address: string): string | undefined {
  const url = `http://[${address}]`
  if (!URL.canParse(url)) return undefined
  const canonical = new URL(url).hostname.slice(1, -1)
  const [, high, low] = mappedForm.exec(canonical) ?? []
  if (high === undefined || low === undefined) return canonical
  return [high, low]
    .flatMap(pair => [Number.parseInt(pair, 16) >> 8, Number.parseInt(pair, 16) & 0xff])
    .join('.')
}

/**
 * The unit for limits: an IPv4 address, or the /64 network of an IPv6 address, because one household or server gets a
 * /64 and may change its address within it at will.
 */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address
  const [head = '', tail] = address.split('::')
  const front = head === '' ? [] : head.split(':')
  const back = tail === undefined || tail === '' ? [] : tail.split(':')
  // An address that ends in dotted form has one part less than it has groups.
  const groups = front.length + back.length + (address.includes('.') ? 1 : 0)
  const zeros = tail === undefined ? 0 : 8 - groups
  const parts = [...front, ...Array.from({ length: Math.max(0, zeros) }, () => '0'), ...back].slice(0, 4)
  return `${parts.map(part => part.replace(/^0+(?=.)/, '')).join(':')}::/64`
}
