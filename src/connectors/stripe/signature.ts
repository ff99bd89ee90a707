/** Verifies the signature of Stripe's webhooks, the header `Stripe-Signature`. */
import { createHmac, timingSafeEqual } from 'node:crypto'

/** Five minutes: Stripe's own tolerance. An older message may be a replay. */
const toleranceSeconds = 300

/**
 * Verifies the signature, an HMAC-SHA256 over time and body with the secret of the webhook endpoint. Returns what is
 * wrong with it; undefined: it is valid.
 */
export function findForgery(
  header: string | undefined,
  body: Uint8Array,
  { secret, nowMs }: { readonly secret: string; readonly nowMs: number },
): string | undefined {
  if (header === undefined) return 'the header Stripe-Signature is missing'
  if (secret.trim() === '') return 'the account has no webhook secret'
  const parts = header.split(',').map(part => part.trim().split('='))
  const [, time] = parts.find(([name]) => name === 't') ?? []
  const signatures = parts.filter(([name]) => name === 'v1').map(([, value]) => value ?? '')
  if (time === undefined || !/^\d{1,12}$/.test(time)) return 'the signature has no time'
  // While the endpoint's secret is being rotated there are several signatures; one of them must match.
  const expected = createHmac('sha256', secret).update(`${time}.`).update(body).digest()
  if (!signatures.some(signature => equals(signature, expected))) return 'no signature fits the body'
  const age = Math.abs(nowMs / 1000 - Number(time))
  return age > toleranceSeconds ? `the signature is ${Math.round(age)} seconds old` : undefined
}

function equals(signature: string, expected: Buffer): boolean {
  if (!/^[0-9a-f]{64}$/.test(signature)) return false
  return timingSafeEqual(Buffer.from(signature, 'hex'), expected)
}
