/** Which merchant a refused request claimed to be, for the log only: nothing of it has been proven. */
import type { FastifyRequest } from 'fastify'
import { isMerchantId } from '#http/authentication/client-check.ts'

/** 4 KiB: as much of a header as authentication reads. */
const headerMax = 4_096

/** Undefined where nobody was named in a form that a merchant id can have: no secret put in the wrong place is logged. */
export function readClaimedMerchant({ headers, body }: FastifyRequest): string | undefined {
  const claimed = readForm(body) ?? readHeader(headers.authorization ?? '')
  return claimed !== undefined && isMerchantId(claimed) ? claimed : undefined
}

/** Only the token endpoint answers 401 to a form. */
const readForm = (body: unknown): string | undefined =>
  Buffer.isBuffer(body) && body.length <= headerMax
    ? (new URLSearchParams(body.toString('utf8')).get('client_id') ?? undefined)
    : undefined

function readHeader(header: string): string | undefined {
  if (header.length > headerMax) return undefined
  const [scheme = '', value = ''] = header.split(' ', 2)
  if (scheme.toLowerCase() === 'basic') return Buffer.from(value, 'base64').toString('utf8').split(':', 1)[0]
  if (scheme.toLowerCase() === 'bearer') return readSubject(value)
  return undefined
}

function readSubject(accessToken: string): string | undefined {
  try {
    const claims: unknown = JSON.parse(
      Buffer.from(accessToken.split('.', 2)[1] ?? '', 'base64url').toString('utf8'),
    )
    const { sub } = (claims ?? {}) as { readonly sub?: unknown }
    return typeof sub === 'string' ? sub : undefined
  } catch {
    // Not a token at all.
    return undefined
  }
}
