/**
 * The inbox of the test environment: every webhook as a receiver would get it, headers, body and signature, even if
 * there is no receiver; and whether the signature is valid, verified as a receiver would.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { loadConsoleAssets } from '#console/assets.ts'
import {
  auditInStory,
  type MerchantPage,
  type MerchantVisit,
  readOutcome,
  readRefusal,
} from '#console/context.ts'
import { renderInside, seeOther } from '#console/layout.ts'
import {
  renderCurl,
  renderForm,
  renderPairs,
  renderProblem,
  showState,
  showTime,
} from '#console/views/parts.ts'
import { eventTypeNames } from '#domain/event-types.ts'
import { parseXId } from '#domain/ids.ts'
import { type Html, html, type Part } from '#http/html.ts'
import type { InboxMessage } from '#storage/console/story.ts'
import { buildMessage } from '#webhooks/sign.ts'

/** 20: each is shown whole, with its body. */
const shownMessages = 20

const baseOf = ({ merchant }: MerchantVisit): string => `/console/m/${merchant.merchantId}`

/** As the Standard Webhooks specification has it: one of the signatures must be that of id, time and body. */
export function provesBody(
  headers: Readonly<Record<string, string>>,
  body: string,
  secret: Uint8Array,
): boolean {
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
  const expected = createHmac('sha256', secret).update(signed).digest()
  return (headers['webhook-signature'] ?? '').split(' ').some(one => {
    const [version, text = ''] = one.split(',')
    const given = Buffer.from(text, 'base64')
    return version === 'v1' && given.length === expected.length && timingSafeEqual(given, expected)
  })
}

function renderMessage(visit: MerchantVisit, message: InboxMessage): Html {
  const { merchant, deps } = visit
  const { eventId, payId, type, status, kind, createdAt } = message
  const secrets = message.secrets.map(sealed => deps.openWebhookSecret(merchant.merchantId, sealed))
  const { headers, body } = buildMessage(
    { eventId, payId, body: message.body, kind, url: '' },
    { secrets, nowMs: deps.nowMs() },
  )
  const [secret] = secrets
  const isProven = secret !== undefined && provesBody(headers, body, secret)
  const verdict =
    kind === 'BASIC'
      ? html`<span class="badge quiet">BASIC messages carry no signature</span>`
      : isProven
        ? html`<span class="badge good">signature is right</span>`
        : html`<span class="badge bad">signature is wrong</span>`
  return html`<details class="message"><summary><strong>${type ?? 'event'}</strong> ${showTime(createdAt)} ${showState(status)} ${verdict}</summary>
${renderPairs(Object.entries(headers).map(([name, value]) => [name, html`<code>${value}</code>`]))}
<pre tabindex="0"><code data-copy>${body}</code></pre><p><a href="${baseOf(visit)}/events/${eventId}">Attempts and replay</a> · <a href="${baseOf(visit)}/payments/${payId}">Payment</a></p></details>`
}

const renderPager = ({ before, older }: { before: string | undefined; older: string | undefined }): Part =>
  (before !== undefined || older !== undefined) &&
  html`<p class="pager">${before !== undefined && html`<a href="?">The newest</a> `}${older !== undefined && html`<a rel="next" href="?before=${older}">Older ones</a>`}</p>`

async function showInbox(visit: MerchantVisit, problem?: string) {
  const { merchant, deps, csrf, request } = visit
  const before = parseXId(request.query.before ?? '')
  const found = await deps.story.messages(merchant.merchantId, { before, limit: shownMessages + 1 })
  const messages = found.slice(0, shownMessages)
  const older = found.length > shownMessages ? messages.at(-1)?.eventId : undefined
  const { payId = messages[0]?.payId ?? '', type = 'payment.captured' } = request.form ?? request.query
  const main = html`${renderProblem(problem)}<p>All webhooks, the newest first, as a receiver would get them now, whether or not anybody receives them. The signature is made with the merchant's newest secret and checked like a receiver checks it.</p>${
    messages.length === 0
      ? before !== undefined
        ? html`<p class="empty">There are no older ones.</p>`
        : html`<p class="empty">No webhooks yet. A shop is told what no request of it was answered with: customers' steps, late results, disputes, charges of plans. Send a sample below.</p>`
      : messages.map(message => renderMessage(visit, message))
  }${renderPager({ before, older })}<h2>Send a sample</h2>${renderForm({
    action: `${baseOf(visit)}/inbox`,
    csrf,
    hidden: { key: deps.newId() },
    fields: [
      { name: 'payId', label: 'payId', value: payId, required: true },
      { name: 'type', label: 'Type', choices: eventTypeNames, value: type },
    ],
    button: 'Send',
  })}${renderCurl('POST', `${deps.origin()}/api/v2/test/payments/${payId || '{payId}'}/events`, { type })}`
  const status = problem === undefined ? 200 : 422
  return renderInside(loadConsoleAssets(), visit, { title: 'Webhook inbox', main, merchant, status })
}

async function sendSample(visit: MerchantVisit) {
  const { payId = '', type = '', key } = visit.request.form ?? {}
  const answer = await visit.api({
    verb: 'POST',
    path: `/test/payments/${encodeURIComponent(payId)}/events`,
    body: { type },
    key: key ? `console-${key}` : undefined,
  })
  if (answer.status === 404) return showInbox(visit, `This merchant has no payment ${payId}.`)
  const outcome = readOutcome(answer)
  if (outcome) await auditInStory(visit, { act: 'test.event', object: payId, after: { type, ...outcome } })
  if (answer.status >= 300) return showInbox(visit, readRefusal(answer))
  return seeOther(`${baseOf(visit)}/inbox?done=sent`)
}

export const inboxPages: readonly MerchantPage[] = [
  { verb: 'GET', path: '/inbox', act: 'testTools', testOnly: true, show: visit => showInbox(visit) },
  { verb: 'POST', path: '/inbox', act: 'testTools', testOnly: true, show: sendSample },
]
