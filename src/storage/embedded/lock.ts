/**
 * The lock of the data folder: one live process at a time owns it, recorded in `owner.json`. The owner starts and stops
 * the database; a command attaches to a serving owner. The lock needs no clean-up: a dead owner's entry is ignored.
 */

import { randomUUID } from 'node:crypto'
import { linkSync, readFileSync, renameSync, rmSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { isRecord, textAt } from '#domain/json.ts'
import { asWriteFault, EmbeddedPostgresError, identifyProcess } from '#storage/embedded/processes.ts'

export type Purpose = 'serve' | 'command'

interface OwnerRecord {
  readonly pid: number
  readonly process: string
  readonly purpose: Purpose
  readonly nonce: string
  /** Set once the database accepts connections. */
  readonly url?: string
}

export interface Ownership {
  readonly kind: 'owner'
  /** Publishes the address of the database for other processes. */
  publish(url: string): void
  release(): void
}

export interface Attachment {
  readonly kind: 'attached'
  readonly url: string
}

interface OwnershipRequest {
  readonly directory: string
  readonly purpose: Purpose
  readonly onProgress: (line: string) => void
  readonly accepts: (url: string) => Promise<boolean>
}

/** 30 s: longer than any of our commands runs. */
const ownerWaitMs = 30_000

/** 1 s: a process that was just killed or asked to stop still exists for a moment. */
const farewellMs = 1_000

/** 50 ms: owners change rarely, and the operator is waiting. */
const retryMs = 50

export async function takeOwnership(request: OwnershipRequest): Promise<Ownership | Attachment> {
  const { directory, purpose, onProgress, accepts } = request
  const mine: OwnerRecord = {
    pid: process.pid,
    process: identifyProcess(process.pid) ?? 'unknown',
    purpose,
    nonce: randomUUID(),
  }
  const begun = performance.now()
  let announced = false
  for (;;) {
    const holder = tryToOwn(directory, mine)
    if (holder === undefined) return asOwnership(directory, mine)
    const waitedMs = performance.now() - begun
    if (purpose === 'serve' && holder.purpose === 'serve' && waitedMs >= farewellMs) {
      throw new EmbeddedPostgresError(
        `Tollgate already runs on ${directory} (process ${holder.pid}). Stop it first, or choose ` +
          'another folder with ' +
          'TOLLGATE_DATA.',
      )
    }
    const { url } = holder
    if (purpose === 'command' && holder.purpose === 'serve' && url !== undefined && (await accepts(url))) {
      return { kind: 'attached', url }
    }
    if (waitedMs >= ownerWaitMs) {
      throw new EmbeddedPostgresError(
        `The data folder ${directory} has been in use by process ${holder.pid} (${holder.purpose}) for ` +
          'more than ' +
          `${ownerWaitMs / 1000} s. Wait for it or stop it, then try again.`,
      )
    }
    if (!announced)
      onProgress(`Waiting for process ${holder.pid} (${holder.purpose}), which uses ${directory} …`)
    announced = true
    await delay(retryMs)
  }
}

/** Tries to become the owner. Returns undefined on success, otherwise the live process that owns the folder. */
function tryToOwn(directory: string, mine: OwnerRecord): OwnerRecord | undefined {
  const file = ownerFile(directory)
  const owner = readOwner(file)
  // Return before writing anything: commands must work beside a gateway whose disk is full.
  if (owner !== undefined && isAlive(owner)) return owner
  const draft = writeDraft(directory, mine)
  try {
    if (tryToLink(draft, file)) return undefined
    const found = readOwner(file)
    if (found === undefined) return tryToOwn(directory, mine)
    if (isAlive(found)) return found
    // The entry is stale. Two processes may notice that at once, and the slower one must not overwrite the faster one's
    // fresh entry. So only the process that creates this link may replace the entry that the link names, and it checks
    // once more before doing so.
    const claim = join(directory, `owner.${found.nonce}.claim`)
    if (!tryToLink(draft, claim)) {
      const rival = readOwner(claim)
      if (rival !== undefined && isAlive(rival)) return rival
      rmSync(claim, { force: true })
      return tryToOwn(directory, mine)
    }
    const unchanged = readOwner(file)?.nonce === found.nonce
    if (unchanged) renameSync(draft, file)
    rmSync(claim, { force: true })
    return unchanged ? undefined : tryToOwn(directory, mine)
  } finally {
    rmSync(draft, { force: true })
  }
}

function asOwnership(directory: string, mine: OwnerRecord): Ownership {
  const file = ownerFile(directory)
  return {
    kind: 'owner',
    publish: url => renameSync(writeDraft(directory, { ...mine, url }), file),
    release: () => {
      if (readOwner(file)?.nonce === mine.nonce) unlinkSync(file)
    },
  }
}

const ownerFile = (directory: string): string => join(directory, 'owner.json')

const isAlive = (owner: OwnerRecord): boolean => identifyProcess(owner.pid) === owner.process

/** Writes the entry under another name, to be renamed, so that readers never see an incomplete entry. */
function writeDraft(directory: string, record: OwnerRecord): string {
  const draft = join(directory, `owner.${record.nonce}.draft`)
  try {
    writeFileSync(draft, `${JSON.stringify(record)}\n`, { mode: 0o600 })
  } catch (cause) {
    rmSync(draft, { force: true })
    throw asWriteFault(directory, cause)
  }
  return draft
}

function tryToLink(draft: string, name: string): boolean {
  try {
    linkSync(draft, name)
    return true
  } catch (error) {
    if (textAt(error, 'code') === 'EEXIST') return false
    throw error
  }
}

/** Stands for an unreadable entry, such as the empty file that a power failure can leave behind. */
const unreadable: OwnerRecord = { pid: 0, process: 'none', purpose: 'command', nonce: 'unreadable' }

/** Returns undefined if there is no entry. */
function readOwner(file: string): OwnerRecord | undefined {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (cause) {
    const code = textAt(cause, 'code')
    if (code === 'ENOENT') return undefined
    throw new EmbeddedPostgresError(
      `${file} cannot be read (${code}): the data folder is in use by another user. Run this as the ` +
        'user who runs ' +
        'Tollgate.',
      { cause },
    )
  }
  try {
    const record: unknown = JSON.parse(text)
    return isOwnerRecord(record) ? record : unreadable
  } catch {
    return unreadable
  }
}

function isOwnerRecord(value: unknown): value is OwnerRecord {
  const record = isRecord(value) ? value : {}
  return (
    typeof record.pid === 'number' &&
    typeof record.process === 'string' &&
    typeof record.nonce === 'string' &&
    /^[0-9a-f-]{36}$/.test(record.nonce) &&
    (record.purpose === 'serve' || record.purpose === 'command')
  )
}
