/** `/.well-known/security.txt` (RFC 9116): the contact for reports of security problems. */

/** 180 days: the standard asks for less than a year, and it is made anew with every request. */
const validMs = 180 * 24 * 60 * 60 * 1000

export interface SecurityContact {
  /** An address such as mailto:security@example.com; RFC 2142's own name at our host unless given. */
  readonly contact?: string | undefined
  /** The origin that others see. */
  readonly origin: string
}

export function writeSecurityText({ contact, origin }: SecurityContact, nowMs: number): string {
  const host = URL.canParse(origin) ? new URL(origin).hostname : 'localhost'
  return [
    `Contact: ${contact ?? `mailto:security@${host}`}`,
    `Expires: ${new Date(nowMs + validMs).toISOString()}`,
    'Preferred-Languages: en',
    `Canonical: ${origin}/.well-known/security.txt`,
    '',
  ].join('\n')
}
