/** Verifies webhooks (Standard Webhooks: HMAC-SHA256 over id, time and raw body) and gives them their type. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { WebhookVerificationError } from './errors.ts'
import type { WebhookEvent } from './generated.ts'

export interface ReceivedWebhook {
  /** As it arrived: a body that was parsed and written again is another text. */
  readonly body: string | Uint8Array
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>
  /** Begins with `whsec_`; two while a secret rotates. */
  readonly secret: string | readonly string[]
  /** How far its time may be off; 300 s unless given. */
  readonly toleranceSeconds?: number
  /** For tests: the time to compare with. */
  readonly now?: Date
}

export interface VerifiedWebhook {
  /** The same at every attempt: remember it, and ignore an event that comes again. */
  readonly id: string
  readonly event: WebhookEvent
}

/** Throws a WebhookVerificationError for everything that the gateway did not sign, and a TypeError for a secret that is none. */
export function verifyWebhook({
  body,
  headers,
  secret,
  toleranceSeconds = 300,
  now = new Date(),
}: ReceivedWebhook): VerifiedWebhook {
  const keys = [secret].flat().map(readSecret)
  if (keys.length === 0) throw new TypeError('there is no webhook secret to verify with')
  const [id, time, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map(name =>
    readHeader(headers, name),
  )
  if (!id || !time || !signatures) throw new WebhookVerificationError('a header of the webhook is missing')
  if (!/^\d+$/.test(time) || Math.abs(now.getTime() / 1_000 - Number(time)) > toleranceSeconds)
    throw new WebhookVerificationError(`the webhook's time is more than ${toleranceSeconds} s off`)
  const raw = typeof body === 'string' ? Buffer.from(body) : Buffer.from(body)
  const signed = Buffer.concat([Buffer.from(`${id}.${time}.`), raw])
  const expected = keys.map(key => createHmac('sha256', key).update(signed).digest())
  const given = signatures
    .split(' ')
    .filter(each => each.startsWith('v1,'))
    .map(each => Buffer.from(each.slice(3), 'base64'))
  const fits = given.some(one =>
    expected.some(other => one.length === other.length && timingSafeEqual(one, other)),
  )
  if (!fits) throw new WebhookVerificationError('no signature of the webhook fits the secret')
  return { id, event: JSON.parse(raw.toString('utf8')) }
}

function readHeader(headers: ReceivedWebhook['headers'], name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1]
  return typeof found === 'string' ? found : found?.[0]
}

/**
 * At least 24 bytes, as the specification of Standard Webhooks demands. A placeholder such as `whsec_…` decodes to no bytes at
 * all, and with a key that anybody can guess, anybody can sign events.
 */
function readSecret(text: unknown): Buffer {
  const [, encoded = ''] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(typeof text === 'string' ? text : '') ?? []
  const key = Buffer.from(encoded, 'base64')
  // Not shown in the error: it may be most of a real secret.
  if (key.length < 24 || /^(.)\1+=*$/.test(encoded))
    throw new TypeError(
      'the webhook secret must be whsec_ and at least 24 bytes in base64, as the gateway gave it',
    )
  return key
}
