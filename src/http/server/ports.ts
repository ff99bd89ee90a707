/** What the HTTP room is handed: it asks these for merchants and stored answers and knows nothing of how they are kept. */
import type { Merchant } from '#domain/merchant.ts'
import type { Answer, IdempotencyKey } from '#http/endpoint.ts'

export interface Credentials {
  /** The merchant and the keyed hashes (hex, see domain/api-key.ts) of its live API keys. */
  find(
    merchantId: string,
  ): Promise<{ readonly merchant: Merchant; readonly keyHashes: readonly string[] } | undefined>
  /** For the scheme that sends a bare API key. */
  findByKeyHash(keyHash: string): Promise<Merchant | undefined>
  /** Called with the id of a merchant whose record or keys changed, so that caches can forget it. */
  onChange(listener: (merchantId: string) => void): void
}

export interface StoredKey {
  readonly fingerprint: string
  /** Missing while the first call still runs or waits to be settled. */
  readonly answer?: Answer
}

export interface KeyStore {
  find(merchantId: string, key: IdempotencyKey): Promise<StoredKey | undefined>
}

/** Thrown by an operation whose first commit found the key already there. The idempotency room answers for it. */
export class KeyTaken extends Error {
  constructor() {
    super('the Idempotency-Key is already joined to an operation')
  }
}

/** Thrown by handlers for an object the caller may not see or that does not exist: the same 404 for both. */
export class NotFound extends Error {}

/** Thrown by handlers when a value passes the schema but breaks a rule that only the handler can check. */
export class InvalidField extends Error {
  readonly field: string

  constructor(field: string, message: string) {
    super(message)
    this.field = field
  }
}

/** After how many seconds a request that failed with this error may be sent again: 503. Undefined: a fault of ours, 500. */
export type RetryAfterOf = (error: unknown) => number | undefined
