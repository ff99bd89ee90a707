/** The interfaces that the HTTP layer needs: merchants, idempotency keys, audit. Other rooms implement them. */
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
  /** For requests with a bare API key. Finds more than one only if the table was tampered with. */
  findByKeyId(keyId: string): Promise<readonly MerchantKey[]>
  /** The same for keys of earlier releases, whose text contains no id. */
  findByKeyHash(keyHash: string): Promise<readonly MerchantKey[]>
  /** The listener is called with the id of a merchant whose record or keys have changed, so that caches drop it. */
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

/** Receives logins for the audit trail. Neither method may block. */
export interface AccessWatch {
  /**
   * A live key was used, directly or through an access token; `allowed` says whether its address list allows the
   * address.
   */
  onKeyUse(use: {
    readonly merchantId: string
    readonly keyId: string
    readonly address: string
    readonly allowed: boolean
  }): void
  /** `client` is what the caller claims to be. */
  onFailedLogin(client: string, address: string): void
}

/** Thrown by an operation whose first commit found the Idempotency-Key already stored; idempotency.ts handles it. */
export class KeyTaken extends Error {
  constructor() {
    super('the Idempotency-Key is already joined to an operation')
  }
}

/** Thrown by handlers for an object that does not exist or that the caller may not see: the same 404 for both. */
export class NotFound extends Error {}

/** Thrown by handlers that already do too much work for this caller: 429. */
export class TooMany extends Error {
  readonly retryAfterSeconds: number

  constructor(message: string, retryAfterSeconds: number) {
    super(message)
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** Thrown by handlers for a value that passes the schema but breaks a rule that only the handler can check: 400. */
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

/** The seconds after which a request that failed with this error may be retried (503). Undefined: a bug (500). */
export type RetryAfterOf = (error: unknown) => number | undefined
