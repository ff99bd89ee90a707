/** Says at once that a commit held events, so that their delivery begins with the answer and not with the next look. */
import type { Change, Committed } from '#storage/commit/change.ts'

type Commit = (change: Change) => Promise<Committed>

/** A change without events goes through untouched. */
export const announceEvents =
  (commit: Commit, onEvents: () => void): Commit =>
  change => {
    if (change.events === undefined) return commit(change)
    return commit(change).then(committed => {
      if (committed.committed) onEvents()
      return committed
    })
  }
