/** Recognises temporary faults: the database is unavailable and will be back. All other faults are bugs. */
import { textAt } from '#domain/json.ts'
import { MerchantUnavailable } from '#storage/cells/directory-store.ts'
import { CommitUnknown } from '#storage/commit/change.ts'
import { isConnectionLost, isOverdue } from '#storage/database.ts'

export const isDatabaseLost = (error: unknown): boolean =>
  error instanceof CommitUnknown ||
  error instanceof MerchantUnavailable ||
  isConnectionLost(error) ||
  isOverdue(error) ||
  isExhausted(error)

/** 53 and 58030: the server is out of disk space, memory or connections, or its disk fails. Nothing was written. */
const isExhausted = (error: unknown): boolean => /^(53|58030)/.test(textAt(error, 'code') ?? '')

/** 2 s: an embedded database has restarted by then. */
export const retryAfterSeconds = 2

/**
 * A provider did not say whether it accepted a request. The client may send the same request again; it has one effect.
 */
export class ProviderSilent extends Error {}

/** 5 s: long enough for a provider to recover from a short outage. */
const providerRetrySeconds = 5

/**
 * The seconds after which a client should retry a request that failed with this error; undefined if the error is a bug.
 */
export const retryAfterOf = (error: unknown): number | undefined =>
  isDatabaseLost(error)
    ? retryAfterSeconds
    : error instanceof ProviderSilent
      ? providerRetrySeconds
      : undefined
