/** What can be said about the token of a one-time card by looking at it. */

const prefix = 'ott_'

/**
 * 80 to 600 characters after the prefix: an id, a nonce and a tag of 44 bytes, and a card of 20 to 400 bytes, the longest with
 * a name of 45 characters of four bytes each.
 */
const form = /^ott_[A-Za-z0-9_-]{80,600}$/

export const isOneTimeToken = (text: string): boolean => form.test(text)

export const writeOneTimeToken = (bytes: Buffer): string => `${prefix}${bytes.toString('base64url')}`

export const readOneTimeToken = (token: string): Buffer =>
  Buffer.from(token.slice(prefix.length), 'base64url')
