/**
 * Records logins for the audit trail: when each key was last used, the first use of a key from an address, and failed
 * logins by the minute. Requests only add to a buffer in memory, which is written to the database about once a second.
 */

import { scrubCardNumbers } from '#domain/cards/card-numbers.ts'
import { networkOf } from '#domain/network-address.ts'
import { type Audit, auditAs, gatewayActor } from '#operations/audit/audit.ts'
import { type ApiKeyStore, createApiKeyStore } from '#storage/api-keys.ts'
import { type AuditEntry, type AuditStore, createAuditStore } from '#storage/audit/audit.ts'
import { type Database, isConnectionLost } from '#storage/database.ts'

interface Use {
  readonly merchantId: string
  readonly keyId: string
  readonly address: string
  readonly allowed: boolean
}

export interface AccessRecorder {
  onKeyUse(use: Use): void
  onFailedLogin(client: string, address: string): void
  /** A failed sign-in to the console. `email` is undefined if no console user has that address. */
  onFailedSignIn(email: string | undefined, address: string): void
  /**
   * Writes the buffer. Failed logins of the current minute are kept back until it is over, or the process is `ending`.
   */
  flush(options?: { readonly ending: boolean }): Promise<void>
}

export interface AccessRecorderDeps {
  readonly apiKeys: Pick<ApiKeyStore, 'recordUses'>
  readonly audit: Pick<AuditStore, 'append'>
  /** Real time. */
  readonly nowMs: () => number
}

/** 10,000 pairs of key and address within a second: more keys than one process serves. As many audit entries are kept. */
const notesMax = 10_000
/**
 * 50 pairs of client and address are counted separately per minute; further pairs, such as a flood of invented ones,
 * are counted together.
 */
const failuresMax = 50
const minuteMs = 60_000

/** The form of a merchant id. A claimed id of any other form is recorded as `unknown`. */
const merchantIdForm = /^[A-Za-z0-9_-]{1,30}$/

export function createAccessRecorder({ apiKeys, audit, nowMs }: AccessRecorderDeps): AccessRecorder {
  let uses = new Map<string, Use & { atMs: number }>()
  /** Most requests use the same key and address as the previous one. */
  let last: (Use & { atMs: number }) | undefined
  const failures = createFailureTally(nowMs)
  /** Entries that the trail has not taken yet. */
  let owed: AuditEntry[] = []

  function noteOf(use: Use): (Use & { atMs: number }) | undefined {
    const name = `${use.keyId} ${use.address}`
    const noted = uses.get(name) ?? (uses.size < notesMax ? { ...use, atMs: 0 } : undefined)
    if (noted) uses.set(name, noted)
    return noted
  }

  /** Keeps uses that a lost database did not take; a newer use of the same key and address counts instead. */
  function keep(noted: ReadonlyMap<string, Use & { atMs: number }>): void {
    for (const [name, use] of noted) if (!uses.has(name) && uses.size < notesMax) uses.set(name, use)
  }

  /** Returns the entries about keys that were used from a new address. */
  async function writeUses(): Promise<AuditEntry[]> {
    if (uses.size === 0) return []
    const noted = uses
    uses = new Map()
    last = undefined
    const rows = [...noted.values()].map(({ atMs, ...use }) => ({ ...use, at: new Date(atMs) }))
    const fresh = await apiKeys
      .recordUses(rows.map(({ allowed: _, ...use }) => ({ ...use, network: networkOf(use.address) })))
      .catch((error: unknown) => {
        if (isConnectionLost(error)) keep(noted)
        throw error
      })
    return fresh.map(known => firstUse(known, rows))
  }

  /** Appends what is owed. An entry that the database refuses is dropped, because it would block all later ones. */
  async function appendOwed(): Promise<void> {
    const entries = owed
    owed = []
    await audit.append(entries).catch((error: unknown) => {
      if (isConnectionLost(error)) owed = [...entries, ...owed].slice(0, notesMax)
      throw error
    })
  }

  return {
    onKeyUse(use) {
      if (last?.keyId !== use.keyId || last.address !== use.address) last = noteOf(use)
      if (last) last.atMs = nowMs()
    },
    onFailedLogin(claimed, address) {
      const client = merchantIdForm.test(claimed) ? scrubCardNumbers(claimed) : 'unknown'
      failures.count({ act: 'login.failed', client, object: client, address })
    },
    onFailedSignIn: (email, address) =>
      failures.count({
        act: 'console.sign-in-failed',
        client: email ?? 'unknown',
        object: 'console',
        address,
      }),
    async flush({ ending } = { ending: false }) {
      const fresh = await writeUses()
      owed.push(...fresh, ...failures.take(ending))
      await appendOwed()
    },
  }
}

/** The entry about a key that was used from a new address. */
const firstUse = (
  { merchantId, keyId, address }: Omit<Use, 'allowed'>,
  uses: readonly Use[],
): AuditEntry => ({
  actor: `key ${keyId}`,
  from: address,
  act: 'key.used-from-new-address',
  object: merchantId,
  after: { allowed: uses.some(use => use.keyId === keyId && use.address === address && use.allowed) },
})

interface Failure {
  readonly act: string
  readonly client: string
  readonly object: string
  readonly address: string
}

function createFailureTally(nowMs: () => number) {
  let minute = 0
  let counts = new Map<string, Failure & { count: number }>()
  let over: AuditEntry[] = []
  const minuteNow = () => Math.floor(nowMs() / minuteMs)

  function endMinute(): void {
    const since = new Date(minute * minuteMs).toISOString()
    const entries = [...counts.values()].map(({ act, client, object, address, count }) => ({
      actor: client,
      from: address,
      act,
      object,
      after: { count, minute: since },
    }))
    over = [...over, ...entries].slice(0, notesMax)
    counts = new Map()
  }

  return {
    count(failure: Failure): void {
      if (counts.size > 0 && minuteNow() !== minute) endMinute()
      if (counts.size === 0) minute = minuteNow()
      const own = `${failure.act}\n${failure.client}\n${failure.address}`
      const isKnown = counts.has(own) || counts.size < failuresMax
      const [name, entry] = isKnown
        ? [own, { ...failure, count: 0 }]
        : [failure.act, { ...failure, client: 'others', object: 'others', address: 'several', count: 0 }]
      const tally = counts.get(name) ?? entry
      tally.count += 1
      counts.set(name, tally)
    },
    /** The entries of the minutes that are over, and of the current one when the process ends. */
    take(ending: boolean): AuditEntry[] {
      if (counts.size > 0 && (ending || minuteNow() !== minute)) endMinute()
      const taken = over
      over = []
      return taken
    },
  }
}

/** The audit trail and access recorder of one database. */
export interface OpenAudit {
  readonly apiKeys: ApiKeyStore
  readonly store: AuditStore
  readonly access: AccessRecorder
  /** For actions of the gateway itself. */
  readonly audit: Audit
}

/** `home`: the database that holds the trail of all cells; this one unless given. */
export function openAudit(database: Database, nowMs: () => number, home = database): OpenAudit {
  const apiKeys = createApiKeyStore(database)
  const store = createAuditStore(home)
  return {
    apiKeys,
    store,
    access: createAccessRecorder({ apiKeys, audit: store, nowMs }),
    audit: auditAs(gatewayActor, store),
  }
}
