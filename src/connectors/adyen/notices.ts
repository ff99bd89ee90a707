/**
 * Reads Adyen's webhooks. Each item of a message is signed separately, and one forged item makes the whole message
 * forged. Every event of Webhooks v1 becomes a fact or is known to be irrelevant. Pure.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { eventsOfAnyStage, readDispute } from '#connectors/adyen/dispute-notices.ts'
import { dateAt, isRecord, type Loose, listAt, parseJson, recordAt, textAt } from '#connectors/adyen/loose.ts'
import { isSuccess, readModification } from '#connectors/adyen/modification-notices.ts'
import { fromAdyenAmount } from '#connectors/adyen/translate/amounts.ts'
import type { Notice, NoticeFact, NoticeItem, RawNotice } from '#connectors/contract.ts'
import type { Secret } from '#domain/secret.ts'

/** Adyen pauses its webhook queue until it gets a 2xx. Older setups expect this text. */
const accepted = { status: 200, body: '[accepted]', type: 'text/plain' }

export interface NoticeKeys {
  readonly hmacKey: Secret<string>
  readonly merchantAccount: string
}

/**
 * 6,000 separators: sixty items with every member that Adyen can send. Each separator is a value for the parser to
 * create.
 */
const partsMax = 6_000

/** Counts brackets, colons and commas before the text is parsed, because the sender is not authenticated yet. */
function hasTooManyParts(body: Uint8Array): boolean {
  let parts = 0
  for (let at = 0; at < body.length && parts <= partsMax; at += 1) parts += isPart[body[at] ?? 0] ?? 0
  return parts > partsMax
}

const isPart = new Uint8Array(256)
for (const mark of '{[:,') isPart[mark.charCodeAt(0)] = 1

export function readNotice({ body, headers }: RawNotice, keys: NoticeKeys): Notice {
  if (hasTooManyParts(body)) return forged('The body holds more than any message of Adyen')
  const text = Buffer.from(body).toString('utf8')
  const message = parseJson(text)
  if (!isRecord(message)) return forged('The body is not a JSON object')
  const items = listAt(message, 'notificationItems')
  if (items.length === 0) return readOtherMessage(text, message, headers, keys)
  const read: NoticeItem[] = []
  for (const [index, wrapper] of items.entries()) {
    const item = recordAt(wrapper, 'NotificationRequestItem')
    if (item === undefined) return forged(`Item ${index + 1} has no NotificationRequestItem`)
    if (!isSigned(toSignedText(item), textAt(recordAt(item, 'additionalData'), 'hmacSignature'), keys))
      return forged(`The signature of item ${index + 1} is wrong or missing`)
    read.push(toNoticeItem(item, keys))
  }
  return { verdict: 'genuine', items: read, answer: accepted }
}

const forged = (reason: string): Notice => ({ verdict: 'forged', reason })

/** Messages about accounts and mandates are signed as a whole, in a header, and concern no payment. */
function readOtherMessage(
  text: string,
  message: Loose,
  headers: Readonly<Record<string, string>>,
  keys: NoticeKeys,
): Notice {
  if (!isSigned(text, headers.hmacsignature, keys))
    return forged('The message has no items, and its signature is wrong or missing')
  const name = textAt(message, 'type') ?? textAt(message, 'eventType') ?? 'message'
  const key = createHmac('sha256', '').update(text).digest('hex')
  return { verdict: 'genuine', items: [{ key, fact: { kind: 'ignored', name } }], answer: accepted }
}

function toSignedText(item: Loose): string {
  const amount = recordAt(item, 'amount')
  return [
    item.pspReference,
    item.originalReference,
    item.merchantAccountCode,
    item.merchantReference,
    amount?.value,
    amount?.currency,
    item.eventCode,
    item.success,
  ]
    .map(part => (part === undefined || part === null ? '' : String(part)))
    .join(':')
}

function isSigned(text: string, signature: string | undefined, { hmacKey }: NoticeKeys): boolean {
  if (signature === undefined) return false
  const expected = createHmac('sha256', Buffer.from(hmacKey.reveal(), 'hex')).update(text).digest()
  const given = Buffer.from(signature, 'base64')
  return given.length === expected.length && timingSafeEqual(given, expected)
}

function toNoticeItem(item: Loose, keys: NoticeKeys): NoticeItem {
  const name = textAt(item, 'eventCode') ?? ''
  const fact = readFact(item, name)
  const merchantAccount = textAt(item, 'merchantAccountCode')
  const isOurs = merchantAccount === keys.merchantAccount
  return {
    key: keyOf(item, name, fact),
    occurredAt: dateAt(item, 'eventDate'),
    fact: isOurs ? fact : foreign(fact, merchantAccount, name),
  }
}

/**
 * Adyen sends an item again as it was. An item that differs in any signed member is a different one: a wrong amount must
 * not use up the key of the right one. Events of any stage occur once in each, and only an unsigned member says in which.
 */
function keyOf(item: Loose, name: string, fact: NoticeFact): string {
  const signed = toSignedText({ ...item, success: isSuccess(item) })
  return fact.kind === 'dispute' && eventsOfAnyStage.has(name) ? `${signed}:${fact.dispute.stage}` : signed
}

/** A notice of another merchant account concerns only payments that were made there before the setting was changed. */
const foreign = (fact: NoticeFact, merchantAccount: string | undefined, name: string): NoticeFact =>
  'subject' in fact && merchantAccount !== undefined
    ? { ...fact, subject: { ...fact.subject, kept: { merchantAccount } } }
    : { kind: 'ignored', name }

function readFact(item: Loose, name: string): NoticeFact {
  const ignored: NoticeFact = { kind: 'ignored', name }
  if (name === 'REPORT_AVAILABLE') {
    const url = textAt(item, 'reason')
    return url === undefined ? ignored : { kind: 'report', url, name: textAt(item, 'pspReference') ?? name }
  }
  const amount = fromAdyenAmount(recordAt(item, 'amount'))
  if (amount === undefined) return ignored
  return readModification(name, item, amount) ?? readDispute(name, item, amount) ?? ignored
}
