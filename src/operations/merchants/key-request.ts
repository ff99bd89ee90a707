/** The options of a new API key, as typed on the command line or in the console. Pure. */
import { isIP } from 'node:net'
import { scopes as allScopes, type Scope } from '#domain/api-key.ts'
import { parseInstant } from '#domain/time/dates.ts'

/** The message says in one sentence what to correct. */
export class KeyRequestFault extends Error {}

/** 100: the column's limit. */
const networksMax = 100

const splitList = (text: string): readonly string[] => [...new Set(text.split(',').map(part => part.trim()))]

/** In the order of the contract, whatever the order as typed. */
export function readScopes(text: string): readonly Scope[] {
  const given = splitList(text)
  const wrong = given.find(part => !allScopes.some(scope => scope === part))
  if (wrong !== undefined)
    throw new KeyRequestFault(`"${wrong}" is not a scope; there are ${allScopes.join(', ')}.`)
  return allScopes.filter(scope => given.includes(scope))
}

export function readNetworks(text: string): readonly string[] {
  const given = splitList(text)
  const wrong = given.find(part => !isNetwork(part))
  if (wrong !== undefined)
    throw new KeyRequestFault(
      `"${wrong}" is neither an address nor a network such as 203.0.113.0/24 or 2001:db8::/32.`,
    )
  if (given.length <= networksMax) return given
  throw new KeyRequestFault(`It may name at most ${networksMax} networks.`)
}

function isNetwork(text: string): boolean {
  const [, address = '', length] = /^([0-9A-Fa-f:.]{2,45})(?:\/([0-9]{1,3}))?$/.exec(text) ?? []
  const bits = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1
  return bits > 0 && (length === undefined || Number(length) <= bits)
}

/** Real time: a test clock does not expire keys. */
export function readExpiry(text: string, nowMs: number): Date {
  const instant = parseInstant(/^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00:00Z` : text)
  if (instant === undefined || instant >= Date.UTC(2200, 0, 1))
    throw new KeyRequestFault(
      'It must be a date until 2199-12-31, such as 2027-01-31 or 2027-01-31T12:00:00Z.',
    )
  if (instant <= nowMs) throw new KeyRequestFault('It must lie in the future.')
  return new Date(instant)
}
