/** A receiver for Node's own server: verifies over the raw body, then decides by the event's type. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { verifyWebhook, type WebhookEvent, WebhookVerificationError } from '../src/index.ts'

export function createReceiver(secret: string, handle: (id: string, sentence: string) => void) {
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    try {
      const { id, event } = verifyWebhook({ body: Buffer.concat(chunks), headers: request.headers, secret })
      handle(id, describe(event))
      response.writeHead(204).end()
    } catch (error) {
      response.writeHead(error instanceof WebhookVerificationError ? 400 : 500).end()
    }
  }
}

function describe(event: WebhookEvent): string {
  switch (event.type) {
    case 'refund.succeeded':
      return `${event.transId}: ${event.operation?.amount.value} went back`
    case 'dispute.opened':
      return `${event.transId}: disputed`
    default:
      return `${event.transId}: ${event.type}`
  }
}
