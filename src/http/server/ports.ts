/** The dependencies of the HTTP layer: merchants and stored answers, without knowledge of how they are stored. */
import type { LiveKey } from '#domain/api-key.ts'
import type { Merchant } from '#domain/merchant.ts'
import type { Answer, IdempotencyKey } from '#http/endpoint.ts'

export interface MerchantKey {
  readonly merchant: Merchant
  readonly key: LiveKey
}

export interface Credentials {
  /** The merchant and its live API keys. */
  find(
    merchantId: string,
  ): Promise<{ readonly merchant: Merchant; readonly keys: readonly LiveKey[] } | undefined>
  /** For the scheme that sends a bare API key. More than one only if the table was tampered with. */
  findByKeyId(keyId: string): Promise<readonly MerchantKey[]>
  /** The same for keys of earlier releases, whose text names no id. */
  findByKeyHash(keyHash: string): Promise<readonly MerchantKey[]>
  /** Called with the id of a merchant whose record or keys changed, so that caches can forget it. */
  onChange(listener: (merchantId: string) => void): void
}

export interface StoredKey {
  readonly fingerprint: string
  /** Absent while the first call is running or waits to be settled. */
  readonly answer?: Answer
}

export interface KeyStore {
  find(merchantId: string, key: IdempotencyKey): Promise<StoredKey | undefined>
}

/** Called for accepted and refused logins, for the audit trail. Neither may block. */
export interface AccessWatch {
  /** A live key was used, by itself or through its access token, from an address that its list may or may not allow. */
  onKeyUse(use: {
    readonly merchantId: string
    readonly keyId: string
    readonly address: string
    readonly allowed: boolean
  }): void
  /** The client is what the caller claims to be. */
  onFailedLogin(client: string, address: string): void
}

/** Thrown by an operation whose first commit found the key already there; idempotency.ts handles it. */
export class KeyTaken extends Error {
  constructor() {
    super('the Idempotency-Key is already joined to an operation')
  }
}

/** Thrown by handlers for an object the caller may not see or that does not exist: the same 404 for both. */
export class NotFound extends Error {}

/** Thrown by handlers that already have too much work for this caller: 429. */
export class TooMany extends Error {
  readonly retryAfterSeconds: number

  constructor(message: string, retryAfterSeconds: number) {
    super(message)
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** Thrown by handlers when a value passes the schema but breaks a rule that only the handler can check. */
export class InvalidField extends Error {
  readonly field: string
  /** Other fields of the same request that are wrong too. */
  readonly also: readonly InvalidField[]

  constructor(field: string, message: string, also: readonly InvalidField[] = []) {
    super(message)
    this.field = field
    this.also = also
  }
}

/** After how many seconds a request that failed with this error may be sent again: 503. Undefined: a bug, 500. */
export type RetryAfterOf = (error: unknown) => number | undefined
