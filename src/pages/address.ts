/** Which addresses a page may lead to: the shop's web pages and apps, never anything that runs in our own page. */

import { isPlainHost } from '#domain/text.ts'

const forbidden = /^(javascript|data|blob|file|about|vbscript|view-source):$/

/** The source for a content security policy: the origin, or the scheme of an app. Undefined for addresses that are not allowed. */
export function toSource(address: string): string | undefined {
  if (!URL.canParse(address)) return undefined
  const { protocol, origin, hostname } = new URL(address)
  // Addresses are checked when they arrive; this covers payments stored before that check existed.
  if (protocol === 'https:' || protocol === 'http:') return isPlainHost(hostname) ? origin : undefined
  return /^[a-z][a-z0-9+.-]*:$/.test(protocol) && !forbidden.test(protocol) ? protocol : undefined
}

/** An address for a link, or undefined. Paths of our own origin pass as they are. */
export const toLink = (address: string | undefined): string | undefined =>
  address !== undefined && (/^\/(?![/\\])/.test(address) || toSource(address) !== undefined)
    ? address
    : undefined
