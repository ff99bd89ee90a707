/**
 * Builds and signs messages to merchants by the Standard Webhooks specification: HMAC-SHA256 over id, time and body.
 * While a secret rotates, the message has one signature for each valid secret, so that any of them verifies it.
 */
import { createHmac } from 'node:crypto'
import type { WebhookKind } from '#domain/merchant.ts'
import type { Message } from '#webhooks/send.ts'

export interface Signed {
  readonly id: string
  /** Real time in seconds, not the merchant's: receivers refuse old messages and have no test clock. */
  readonly timestamp: number
  readonly body: string
}

/** The value of the header `webhook-signature`; the newest secret comes first. */
export function signMessage({ id, timestamp, body }: Signed, secrets: readonly Uint8Array[]): string {
  const text = `${id}.${timestamp}.${body}`
  return secrets.map(secret => `v1,${createHmac('sha256', secret).update(text).digest('base64')}`).join(' ')
}

const prefix = 'whsec_'

export const showSecret = (secret: Uint8Array): string => `${prefix}${Buffer.from(secret).toString('base64')}`

/** 24 to 64 bytes, as the specification allows. Undefined for text that is not a secret. */
export function readSecret(text: string): Buffer | undefined {
  const encoded = text.startsWith(prefix) ? text.slice(prefix.length) : ''
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(encoded)) return undefined
  const secret = Buffer.from(encoded, 'base64')
  return secret.length >= 24 && secret.length <= 64 ? secret : undefined
}

export interface SentEvent {
  readonly eventId: string
  readonly payId: string
  /** The stored JSON text: the same bytes at every attempt. */
  readonly body: string
  readonly kind: WebhookKind
  readonly url: string
}

/** The message as a receiver gets it: the body in the merchant's format, and the headers that identify and sign it. */
export function buildMessage(
  event: SentEvent,
  { secrets, nowMs }: { secrets: readonly Uint8Array[]; nowMs: number },
): Message {
  const body = event.kind === 'BASIC' ? JSON.stringify({ payId: event.payId }) : event.body
  const timestamp = Math.floor(nowMs / 1_000)
  const named = {
    'content-type': 'application/json',
    'user-agent': 'Tollgate',
    'webhook-id': event.eventId,
    'webhook-timestamp': String(timestamp),
  }
  if (event.kind === 'BASIC') return { url: event.url, headers: named, body }
  const signature = signMessage({ id: event.eventId, timestamp, body }, secrets)
  return { url: event.url, headers: { ...named, 'webhook-signature': signature }, body }
}
