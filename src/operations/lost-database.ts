/** Which faults pass by themselves: the database is away and will be back. All others are ours. */
import { CommitUnknown } from '#storage/commit/change.ts'
import { isConnectionLost } from '#storage/database.ts'

export const isDatabaseLost = (error: unknown): boolean =>
  error instanceof CommitUnknown || isConnectionLost(error)

/** 2 s: an embedded database is back by then, and a client that waits longer loses nothing. */
export const retryAfterSeconds = 2
