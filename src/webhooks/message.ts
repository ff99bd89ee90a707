/** What a receiver gets: the body of the merchant's kind, and the headers that name and prove it. */
import type { WebhookKind } from '#domain/merchant.ts'
import type { Message } from '#webhooks/send.ts'
import { signMessage } from '#webhooks/sign.ts'

export interface Told {
  readonly eventId: string
  readonly payId: string
  /** The stored JSON text: the same bytes at every attempt. */
  readonly body: string
  readonly kind: WebhookKind
  readonly url: string
}

export function buildMessage(
  told: Told,
  { secrets, nowMs }: { secrets: readonly Uint8Array[]; nowMs: number },
): Message {
  const body = told.kind === 'BASIC' ? JSON.stringify({ payId: told.payId }) : told.body
  const timestamp = Math.floor(nowMs / 1_000)
  const named = {
    'content-type': 'application/json',
    'user-agent': 'Tollgate',
    'webhook-id': told.eventId,
    'webhook-timestamp': String(timestamp),
  }
  if (told.kind === 'BASIC') return { url: told.url, headers: named, body }
  const signature = signMessage({ id: told.eventId, timestamp, body }, secrets)
  return { url: told.url, headers: { ...named, 'webhook-signature': signature }, body }
}
