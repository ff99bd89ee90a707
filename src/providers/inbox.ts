/**
 * Receives notices: the connector verifies a notice, it is stored (sealed, and deduplicated by the keys of its items),
 * and only then answered. It is applied afterwards (apply-notices.ts), so that the answer never waits for that.
 */
import { createHash } from 'node:crypto'
import type { NoticeFact, NoticeItem, RawNotice } from '#connectors/contract.ts'
import { foreignXId } from '#domain/ids.ts'
import { isStorable, toStorable } from '#domain/text.ts'
import type { AccountDirectory } from '#providers/directory.ts'
import type { NoticeStore } from '#storage/providers/notices.ts'
import type { RecordVault } from '#vault/sealed-records.ts'

/** 512 KiB: enough for a dispute with all its evidence, the largest notice of any provider. */
export const noticeBytesMax = 524_288

/** No known provider sends a notice with more items. */
const itemsMax = 1_000

/** The result of a delivery, as the metric names it. */
export type Verdict = 'accepted' | 'repeated' | 'forged' | 'unknown_account' | 'too_large'

export type Received =
  | { readonly verdict: 'unknown_account' }
  | { readonly verdict: 'forged' }
  | { readonly verdict: 'too_large' }
  | {
      readonly verdict: 'accepted' | 'repeated'
      readonly answer: { readonly status: number; readonly body: string; readonly type: string }
    }

export interface Inbox {
  receive(accountId: string, raw: RawNotice): Promise<Received>
}

export interface InboxDeps {
  readonly directory: Pick<AccountDirectory, 'find'>
  readonly store: NoticeStore
  readonly vault: RecordVault
  readonly newId: () => string
  readonly onVerdict: (verdict: Verdict) => void
  /**
   * Called between verification and the commit, and between the commit and the answer. For tests that let the process
   * die.
   */
  readonly testCrash?: (point: 'beforeStore' | 'afterStore') => void | Promise<void>
}

export function createInbox(deps: InboxDeps): Inbox {
  async function receive(accountId: string, raw: RawNotice): Promise<Received> {
    const account = await deps.directory.find(accountId)
    const { connector } = account ?? {}
    if (!account || !connector?.readNotice) return { verdict: 'unknown_account' }
    const { noticeBytesMax: most = noticeBytesMax } = connector.facts
    if (raw.body.length > most) return { verdict: 'too_large' }
    const notice = readSafely(() => connector.readNotice?.(raw))
    if (notice?.verdict !== 'genuine' || notice.items.length > itemsMax) return { verdict: 'forged' }
    const { items, answer } = notice
    await deps.testCrash?.('beforeStore')
    const { merchantId } = account.record
    const added = items.length === 0 ? 0 : await store(items)
    await deps.testCrash?.('afterStore')
    return { verdict: added > 0 || items.length === 0 ? 'accepted' : 'repeated', answer }

    async function store(facts: readonly NoticeItem[]): Promise<number> {
      const noticeId = deps.newId()
      const plain = Buffer.from(writeNotice(raw, facts))
      const sealed = await deps.vault.seal('provider notice', merchantId, noticeId, plain)
      return deps.store.insert({
        merchantId,
        accountId,
        noticeId,
        ...sealed,
        items: facts.map(({ key, fact }) => ({
          key: toItemKey(key),
          kind: toStorable(describeFact(fact)),
          reference: referenceOf(fact),
          ignored: fact.kind === 'ignored',
        })),
      })
    }
  }

  return {
    async receive(accountId, raw) {
      const received = await receive(accountId, raw)
      deps.onVerdict(received.verdict)
      return received
    },
  }
}

/** A connector throws only on a body that its provider cannot have written, so the notice counts as forged. */
function readSafely<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}

/** Keys come from the provider and may have any length. */
const toItemKey = (key: string): string =>
  key.length > 0 && key.length <= 255 && isStorable(key)
    ? key
    : `sha256:${createHash('sha256').update(key).digest('hex')}`

function describeFact(fact: NoticeFact): string {
  switch (fact.kind) {
    case 'outcome':
      return `${fact.operation} ${fact.outcome.kind}`
    case 'takenBack':
      return `${fact.operation} taken back`
    case 'dispute':
      return `dispute ${fact.dispute.status}`
    case 'report':
      return `report ${fact.name}`.slice(0, 64)
    case 'ignored':
      return `ignored ${fact.name}`.slice(0, 64)
    case 'return':
    case 'lapsed':
    case 'refunds':
      return fact.kind
  }
}

/** The reference that lists show for a notice; for a report its address at the provider. */
function referenceOf(fact: NoticeFact): string | undefined {
  if (fact.kind === 'report') return toStorable(fact.url.slice(0, 255))
  if (!('subject' in fact)) return undefined
  const { reference, transactionId, paymentTransactionId } = fact.subject
  const ours = reference === foreignXId ? undefined : reference
  const shown = (ours ?? transactionId ?? paymentTransactionId)?.slice(0, 255)
  return shown === undefined ? undefined : toStorable(shown)
}

/** Headers with credentials, which are not stored. Signature headers are. */
const unkept = new Set(['authorization', 'cookie', 'proxy-authorization'])

interface StoredNotice {
  readonly headers: Readonly<Record<string, string>>
  /** base64 */
  readonly body: string
  readonly items: readonly NoticeItem[]
}

function writeNotice({ headers, body }: RawNotice, items: readonly NoticeItem[]): string {
  const kept = Object.entries(headers).filter(([name]) => !unkept.has(name))
  const stored: StoredNotice = {
    headers: Object.fromEntries(kept),
    body: Buffer.from(body).toString('base64'),
    items,
  }
  // What a notice tells is stored with its payment. The body keeps what the provider sent and signed.
  return JSON.stringify(stored, (_, value: unknown) =>
    typeof value === 'string' ? toStorable(value) : value,
  )
}

/** The names of all members that hold a date. */
const dates = new Set(['occurredAt', 'evidenceDueBy', 'expiresAt', 'deadline'])

export function readStoredItem(text: string, position: number): NoticeItem | undefined {
  const revive = (name: string, value: unknown): unknown =>
    dates.has(name) && typeof value === 'string' ? new Date(value) : value
  const { items }: StoredNotice = JSON.parse(text, revive)
  return items[position]
}
