/**
 * The merchant id that a refused caller claims, for the log. It is not verified. Text that cannot be a merchant id is
 * left out.
 */
import { Refusal } from '#http/answers/refusal.ts'
import { readForm } from '#http/body/form.ts'

/** The rule of the database column. Nothing else, such as a card number or a secret, must get into a log line. */
const merchantIdForm = /^[A-Za-z0-9_-]{1,30}$/
/** 4 KiB: longer headers and forms are never valid. */
const lengthMax = 4_096

export function readClaimedMerchant(
  authorization: string | undefined,
  formBytes: Buffer | undefined,
): string | undefined {
  const claimed = formBytes ? readFromForm(formBytes) : readFromHeader(authorization ?? '')
  return claimed !== undefined && merchantIdForm.test(claimed) ? claimed : undefined
}

function readFromHeader(authorization: string): string | undefined {
  if (authorization.length > lengthMax) return undefined
  const [scheme = '', value = ''] = authorization.split(' ')
  if (scheme.toLowerCase() === 'basic') return Buffer.from(value, 'base64').toString('utf8').split(':', 1)[0]
  if (scheme.toLowerCase() === 'bearer') return readSubject(value.split('.')[1] ?? '')
  return undefined
}

function readSubject(payload: string): string | undefined {
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'))
    const subject = typeof claims === 'object' && claims !== null && 'sub' in claims ? claims.sub : undefined
    return typeof subject === 'string' ? subject : undefined
  } catch {
    return undefined
  }
}

function readFromForm(bytes: Buffer): string | undefined {
  if (bytes.length > lengthMax) return undefined
  const form = readForm(bytes)
  return form instanceof Refusal ? undefined : form.client_id
}
