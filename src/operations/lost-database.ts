/** Recognises temporary faults: the database is unavailable and will be back. All other faults are bugs. */
import { textAt } from '#domain/json.ts'
import { MerchantUnavailable } from '#storage/cells/directory-store.ts'
import { CommitUnknown } from '#storage/commit/change.ts'
import { isConnectionLost } from '#storage/database.ts'

export const isDatabaseLost = (error: unknown): boolean =>
  error instanceof CommitUnknown ||
  error instanceof MerchantUnavailable ||
  isConnectionLost(error) ||
  isOverdue(error) ||
  isExhausted(error)

/** 57014 and 55P03: the server gave the statement up because it, or a lock it needed, took too long. */
export const isOverdue = (error: unknown): boolean => /^(57014|55P03)$/.test(textAt(error, 'code') ?? '')

/** 53 and 58030: the server has no room on its disk, no memory or no connection left, or its disk fails. Nothing was written. */
const isExhausted = (error: unknown): boolean => /^(53|58030)/.test(textAt(error, 'code') ?? '')

/** 2 s: an embedded database is back by then, and a client that waits longer loses nothing by it. */
export const retryAfterSeconds = 2

/** A provider did not say whether it accepted a request: the same request may be sent again and has one effect. */
export class ProviderSilent extends Error {}

/** 5 s: a provider that was away for a moment is back by then. */
const providerRetrySeconds = 5

/** After how many seconds a request that failed with this error is worth sending again; undefined: it is a bug. */
export const retryAfterOf = (error: unknown): number | undefined =>
  isDatabaseLost(error)
    ? retryAfterSeconds
    : error instanceof ProviderSilent
      ? providerRetrySeconds
      : undefined
