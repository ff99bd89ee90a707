/** `POST /providers/{accountId}/notices`: where providers send notices. Unauthenticated; the connector verifies it. */
import { NotFound } from '#http/server/ports.ts'
import type { RawRoute } from '#http/server/raw-routes.ts'
import { type Inbox, noticeBytesMax, type Verdict } from '#providers/inbox.ts'

export interface NoticeRouteDeps {
  readonly inbox: Inbox
  readonly onVerdict: (verdict: Verdict) => void
  /** Called after the answer, so that stored notices are applied at once. */
  readonly wake: () => void
}

const forged = {
  status: 401,
  contentType: 'application/json',
  body: JSON.stringify({ error: 'The signature is missing or wrong.' }),
}

const tooLarge = {
  status: 413,
  contentType: 'application/json',
  body: JSON.stringify({ error: 'The body is larger than any notice of this provider.' }),
}

export const createNoticeRoute = ({ inbox, onVerdict, wake }: NoticeRouteDeps): RawRoute => ({
  verb: 'POST',
  path: '/providers/{accountId}/notices',
  bodyBytesMax: noticeBytesMax,
  async handle({ params, headers, body, query }) {
    const received = await inbox.receive(params.accountId ?? '', { headers, body, query })
    if (received.verdict === 'unknown_account') throw new NotFound()
    if (received.verdict === 'forged') return forged
    if (received.verdict === 'too_large') return tooLarge
    const { status, body: text, type } = received.answer
    return { status, contentType: type, body: text }
  },
  onTooLarge: () => onVerdict('too_large'),
  afterAnswer: wake,
})
