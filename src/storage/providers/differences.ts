/** How many differences there are between our books and the settlement lines of all providers, for the metric. */
import type { Database } from '#storage/database.ts'
import { misstated, unbooked, unsettled } from '#storage/doctor/provider-checks.ts'
import { matchLines } from '#storage/providers/match-lines.ts'

export type DifferenceList = 'ours_without_theirs' | 'theirs_without_ours' | 'amounts_differ'

const lists: Readonly<Record<DifferenceList, string>> = {
  ours_without_theirs: unsettled,
  theirs_without_ours: unbooked,
  amounts_differ: misstated,
}

/** Empty: no provider has sent a line yet, and there is nothing to compare. */
export async function countDifferences({
  readers,
  writers,
}: Pick<Database, 'readers' | 'writers'>): Promise<ReadonlyMap<DifferenceList, number>> {
  const { rowCount } = await readers.query('SELECT 1 FROM settlement_line LIMIT 1')
  const counted = new Map<DifferenceList, number>()
  if (rowCount === 0) return counted
  await matchLines(writers)
  for (const [list, found] of Object.entries(lists) as [DifferenceList, string][]) {
    const { rows } = await readers.query<{ found: number }>(
      `SELECT count(*)::int AS found FROM (${found}) difference`,
    )
    counted.set(list, rows[0]?.found ?? 0)
  }
  return counted
}
