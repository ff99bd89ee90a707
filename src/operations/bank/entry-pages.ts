/** Walks through stored entries of the bank a page at a time: there may be as many as its file has. */
import type { StoredEntry } from '#storage/bank/entries.ts'

/** 100: some ten kilobytes per statement, and outcomes that are recorded side by side share their commits. */
const pageSize = 100

export async function* entryPages(
  read: (page: { after: string | undefined; limit: number }) => Promise<readonly StoredEntry[]>,
): AsyncGenerator<readonly StoredEntry[]> {
  for (let after: string | undefined; ; ) {
    const page = await read({ after, limit: pageSize })
    after = page.at(-1)?.entryId
    if (after === undefined) return
    yield page
  }
}
