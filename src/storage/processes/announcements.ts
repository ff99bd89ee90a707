/**
 * Announcements to all processes. The sender raises a number and waits until each live process has acknowledged it; a
 * process acknowledges after it has acted on the announcement.
 */
import { setTimeout as delay } from 'node:timers/promises'

/** Runs a statement and returns its rows. */
export type Ask = <Row extends object>(text: string, values?: unknown[]) => Promise<readonly Row[]>

/** The number of the last announcement, for use in other statements. */
export const lastAnnouncement =
  "coalesce((SELECT value::bigint FROM installation WHERE name = 'announcement'), 0)"

/** 7 s: a process without a heartbeat for this long counts as dead. */
export const deadAfterMs = 7_000

/** 20 ms: an announcement is usually acknowledged within a few polls. */
const pollMs = 20

/** 30 s: longer than any request that a process must finish before it acknowledges. */
const patienceMs = 30_000

/** Raises the number and notifies all processes. Cells of one database share the channel, so the schema is named. */
export async function announce(ask: Ask): Promise<number> {
  const [row] = await ask<{ number: number }>(
    `INSERT INTO installation (name, value) VALUES ('announcement', '1') ON CONFLICT (name)
     DO UPDATE SET value = (installation.value::bigint + 1)::text RETURNING value::integer AS number`,
  )
  if (!row) throw new Error('the database returned no number for the announcement')
  await ask("SELECT pg_notify('tollgate_announcement', current_schema() || ' ' || $1)", [row.number])
  return row.number
}

/** Waits until every live process has acknowledged. Returns false if one has not after 30 s. */
export async function waitUntilAcknowledged(ask: Ask, number: number, except?: number): Promise<boolean> {
  const begunAt = performance.now()
  for (;;) {
    const [row] = await ask<{ deaf: number }>(
      `SELECT count(*)::integer AS deaf FROM gateway_process
       WHERE heard < $1 AND process IS DISTINCT FROM $2 AND seen_at > now() - $3 * interval '1 millisecond'`,
      [number, except ?? null, deadAfterMs],
    )
    if (row?.deaf === 0) return true
    if (performance.now() - begunAt > patienceMs) return false
    await delay(pollMs)
  }
}

/** The number in a notification of this schema; undefined for those of other cells. */
export function readAnnouncement(payload: string, schema: string): number | undefined {
  const [from, number] = payload.split(' ')
  return from === schema ? Number(number) : undefined
}
