/**
 * A provider for tests of the inbox: it signs every item with HMAC, and its notices say whatever the test wants. It takes
 * no payments.
 */
import { createHmac } from 'node:crypto'
import type { ConnectorDefinition, Notice, NoticeItem, RawNotice } from '#connectors/contract.ts'

export const sign = (secret: string, text: string): string =>
  createHmac('sha256', secret).update(text).digest('hex')

interface Envelope {
  readonly items: readonly { readonly text: string; readonly signature: string }[]
}

/** The body of a notice with these items; `forge` breaks the signature of one of them. */
export function tell(secret: string, items: readonly NoticeItem[], forge?: number): string {
  const envelope: Envelope = {
    items: items.map((item, index) => {
      const text = JSON.stringify(item)
      return { text, signature: sign(index === forge ? `${secret}x` : secret, text) }
    }),
  }
  return JSON.stringify(envelope)
}

function readNotice(secret: string, { body }: RawNotice): Notice {
  const { items }: Envelope = JSON.parse(Buffer.from(body).toString())
  const forged = items.some(({ text, signature }) => sign(secret, text) !== signature)
  if (forged) return { verdict: 'forged', reason: 'the signature of an item is wrong' }
  return {
    verdict: 'genuine',
    items: items.map(({ text }) => JSON.parse(text)),
    answer: { status: 202, body: '[heard]', type: 'text/plain' },
  }
}

const facts: ConnectorDefinition['facts'] = {
  name: 'telling',
  liveHosts: [],
  settings: {},
  secrets: { word: { required: true, description: 'what notices are signed with' } },
  serves: () => true,
  exponent: () => 2,
  lostAnswer: { noticeWithinMs: 0, undo: false },
  timeoutMs: 1_000,
  pendingMs: () => 1_000,
  noticeBytesMax: 500_000,
}

export const tellingProvider: ConnectorDefinition = {
  facts,
  open: ({ secrets }) => ({
    facts,
    supports: () => undefined,
    authorize: async () => ({ authorization: { kind: 'unknown' } }),
    readNotice: raw => readNotice(secrets.word?.reveal() ?? '', raw),
    check: async () => [{ name: 'credentials', ok: secrets.word?.reveal() === 'right', detail: 'tried' }],
  }),
}
