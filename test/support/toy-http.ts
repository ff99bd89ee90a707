/** A small server for the tests of this room: invented endpoints, merchants in memory, time moved by hand. Tests only. */
import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { Registry } from 'prom-client'
import { hashApiKey, type LiveKey, scopes } from '#domain/api-key.ts'
import type { MerchantId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import { type AccessTokens, createAccessTokens } from '#http/authentication/access-token.ts'
import type { ClientCheck, HashKeys } from '#http/authentication/client-check.ts'
import { createIssueToken, type Form, type IssueToken } from '#http/authentication/issue-token.ts'
import { createFailedLogins } from '#http/authentication/rate-limit.ts'
import {
  type Answer,
  answer,
  type Call,
  type Dialect,
  type Endpoint,
  type IdempotencyKey,
} from '#http/endpoint.ts'
import { type Credentials, type KeyStore, KeyTaken, type StoredKey } from '#http/server/ports.ts'
import { createHttpServer, type HttpServer, type HttpServerOptions } from '#http/server/server.ts'
import type { Timers } from '#http/server/timers.ts'
import { createLogger } from '#http/telemetry/log.ts'
import { createMetrics, type Metrics } from '#http/telemetry/metrics.ts'
import { Type } from '#schemas/parts/type.ts'

/** Time and timers that only a test moves. */
export class HandClock implements Timers {
  #now = Date.UTC(2026, 10, 15)
  #waiting: { at: number; callback: () => void }[] = []

  readonly nowMs = (): number => this.#now

  after(delayMs: number, callback: () => void): () => void {
    const timer = { at: this.#now + delayMs, callback }
    this.#waiting.push(timer)
    return () => {
      this.#waiting = this.#waiting.filter(other => other !== timer)
    }
  }

  get waiting(): number {
    return this.#waiting.length
  }

  /** Fires due timers in order, and lets promises run between them. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms
    for (;;) {
      await settle()
      const next = this.#waiting.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0]
      if (next === undefined) break
      this.#waiting = this.#waiting.filter(other => other !== next)
      this.#now = next.at
      next.callback()
    }
    this.#now = end
    await settle()
  }
}

/** Runs all pending microtasks and immediates. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise(resolve => setImmediate(resolve))
}

export const toyMerchant = (merchantId: string, more: Partial<Merchant> = {}): Merchant => ({
  merchantId: merchantId as MerchantId,
  name: merchantId,
  disabled: false,
  webhookKind: 'ENHANCED',
  requestsPerSecond: 1_000,
  clockOffsetMs: 0,
  ...more,
})

/** One pepper that stays. */
const hashKeysBy = ({ pepper }: ToyCredentials): Pick<ClientCheck, 'hashKeysOf' | 'allHashKeys'> => {
  const hashKeys: HashKeys = { peppers: [pepper], refresh: async () => undefined }
  return { hashKeysOf: async () => hashKeys, allHashKeys: () => [hashKeys] }
}

export class ToyCredentials implements Credentials {
  readonly merchants = new Map<string, { merchant: Merchant; keys: LiveKey[] }>()
  readonly #listeners: ((merchantId: string) => void)[] = []
  finds = 0

  readonly pepper: KeyObject

  constructor(pepper: KeyObject) {
    this.pepper = pepper
  }

  put(merchant: Merchant, ...apiKeys: string[]): void {
    this.putKeys(merchant, ...apiKeys.map(apiKey => this.toKey(apiKey)))
  }

  toKey(apiKey: string, rights: Partial<LiveKey> = {}): LiveKey {
    const keyHash = hashApiKey([this.pepper], apiKey)
    const keyId = keyHash.slice(0, 32)
    return {
      keyId,
      keyHash,
      bound: false,
      pepper: 1,
      scopes,
      allowFrom: [],
      expiresAtMs: undefined,
      ...rights,
    }
  }

  putKeys(merchant: Merchant, ...keys: LiveKey[]): void {
    this.merchants.set(merchant.merchantId, { merchant, keys })
    for (const listener of this.#listeners) listener(merchant.merchantId)
  }

  async find(merchantId: string) {
    this.finds++
    return this.merchants.get(merchantId)
  }

  async findByKeyId(keyId: string) {
    return this.#findKeys(key => key.keyId === keyId)
  }

  async findByKeyHash(keyHash: string) {
    return this.#findKeys(key => key.keyHash === keyHash)
  }

  #findKeys(matches: (key: LiveKey) => boolean) {
    return [...this.merchants.values()].flatMap(({ merchant, keys }) =>
      keys.filter(matches).map(key => ({ merchant, key })),
    )
  }

  onChange(listener: (merchantId: string) => void): void {
    this.#listeners.push(listener)
  }
}

/** Stores keys as an operation's first commit would. */
export class ToyKeyStore implements KeyStore {
  readonly rows = new Map<string, StoredKey>()

  static nameOf(merchantId: string, { verb, path, key }: IdempotencyKey): string {
    return [merchantId, verb, path, key].join(' ')
  }

  async find(merchantId: string, key: IdempotencyKey) {
    return this.rows.get(ToyKeyStore.nameOf(merchantId, key))
  }

  /** Acts like an operation: claims the key or learns that it is taken, and stores the answer with the outcome. */
  async once(
    merchantId: string,
    key: IdempotencyKey | undefined,
    work: () => Promise<Answer>,
  ): Promise<Answer> {
    if (key === undefined) return work()
    const name = ToyKeyStore.nameOf(merchantId, key)
    if (this.rows.has(name)) throw new KeyTaken()
    this.rows.set(name, { fingerprint: key.fingerprint })
    const done = await work()
    this.rows.set(name, { fingerprint: key.fingerprint, answer: done })
    return done
  }
}

const Amount = Type.Object(
  {
    value: Type.Integer({ minimum: 1, maximum: 999_999_999_999 }),
    currency: Type.String({ format: 'currency' }),
  },
  { additionalProperties: false },
)

export const ToyBody = Type.Object(
  {
    transId: Type.String({ minLength: 1, maxLength: 64 }),
    amount: Amount,
    kind: Type.Optional(Type.Enum(['RED', 'GREEN'])),
    card: Type.Optional(
      Type.Object(
        { number: Type.String({ pattern: '^[0-9]{12,19}$' }), securityCode: Type.String({ maxLength: 4 }) },
        { additionalProperties: false, sensitive: true },
      ),
    ),
    items: Type.Optional(
      Type.Array(Type.Object({ quantity: Type.Number() }, { additionalProperties: false }), {
        maxItems: 500,
      }),
    ),
    metadata: Type.Optional(
      Type.Record(Type.String({ maxLength: 40 }), Type.Unknown(), { maxProperties: 50 }),
    ),
  },
  { additionalProperties: false },
)

export const toyFormats = {
  currency: {
    check: (text: string) => ['EUR', 'USD'].includes(text),
    allowed: 'a currency code: EUR or USD',
  },
}

/** Tests pass these in to control the toy endpoints. */
export interface ToyServices {
  readonly issueToken: IssueToken
  readonly handle: (
    call: Call<Record<string, unknown>, { id?: string }, Record<string, string>>,
  ) => Promise<Answer>
}

type ToyEndpoint = Endpoint<ToyServices>

const toy = (verb: ToyEndpoint['verb'], path: string, more: Partial<ToyEndpoint>): ToyEndpoint => ({
  verb,
  path,
  operationId: `${verb.toLowerCase()}${path.replace(/[^a-z]+/gi, '-')}`,
  summary: '',
  description: '',
  tag: 'toys',
  version: '1.0.0',
  access: 'merchant',
  scope: verb === 'GET' ? 'read' : 'payments',
  idempotent: verb === 'POST' || verb === 'PATCH',
  dialect: 'payment',
  answers: {},
  examples: [],
  handle: (call, services) => services.handle(call),
  ...more,
})

export const toyDialects: readonly Dialect[] = ['payment', 'followUp', 'customer', 'service']

export const toyEndpoints: readonly ToyEndpoint[] = [
  ...toyDialects.map(dialect => toy('POST', `/${dialect}`, { dialect, body: ToyBody })),
  toy('GET', '/toys/{id}', {}),
  toy('PATCH', '/toys/{id}', {
    body: Type.Object({ name: Type.Optional(Type.String()) }, { additionalProperties: false }),
  }),
  toy('POST', '/toys/{id}/cancel', {}),
  toy('GET', '/customers', {
    access: 'customer',
    dialect: 'customer',
    query: Type.Object({ page: Type.String({ pattern: '^[1-9][0-9]*$' }) }, { additionalProperties: false }),
  }),
  toy('POST', '/intents/{id}/confirm', { access: 'intent' }),
  toy('POST', '/token', {
    access: 'open',
    idempotent: false,
    dialect: 'token',
    accepts: 'application/x-www-form-urlencoded',
    body: Type.Object({}),
    handle: (call, { issueToken }) =>
      issueToken(call.body as Form, { address: call.address, traceId: call.traceId }),
  }),
]

export interface Toy {
  readonly app: HttpServer
  readonly clock: HandClock
  readonly credentials: ToyCredentials
  readonly keyStore: ToyKeyStore
  readonly accessTokens: AccessTokens
  readonly metrics: Metrics
  readonly lines: string[]
  /** Accepted and refused logins, as reported to the audit trail. */
  readonly watched: object[]
  /** Replaced by tests. */
  handle: ToyServices['handle']
}

export const shopKey = 'shop-key'
export const basic = (merchantId: string, apiKey: string): string =>
  `Basic ${Buffer.from(`${merchantId}:${apiKey}`).toString('base64')}`
export const shop = { authorization: basic('shop', shopKey) }
export const goodBody = { transId: 't-1', amount: { value: 100, currency: 'EUR' } }

/** The error of a handler that has lost its database. */
export class DatabaseAway extends Error {}

export async function createToy(more: Partial<HttpServerOptions<ToyServices>> = {}): Promise<Toy> {
  const secret = () => createSecretKey(randomBytes(32))
  const clock = new HandClock()
  const credentials = new ToyCredentials(secret())
  credentials.put(toyMerchant('shop'), shopKey)
  const keyStore = new ToyKeyStore()
  const { nowMs } = clock
  const tokenKey = secret()
  const fingerprintKey = secret()
  const accessTokens = createAccessTokens({ key: () => tokenKey, issuer: 'tollgate', audience: 'toy', nowMs })
  const metrics = createMetrics({ registry: new Registry(), processMetrics: false })
  const lines: string[] = []
  const watched: object[] = []
  const watch = {
    onKeyUse: (use: object) => void watched.push(use),
    onFailedLogin: (client: string, address: string) => void watched.push({ client, address }),
  }
  const toyState = {
    clock,
    credentials,
    keyStore,
    accessTokens,
    metrics,
    lines,
    watched,
    handle: async (call: { body: unknown }) => answer(200, { got: call.body ?? null }),
  }
  const issueToken = createIssueToken({
    credentials,
    ...hashKeysBy(credentials),
    accessTokens,
    failedTokenRequests: createFailedLogins({ nowMs }),
    watch,
    findIntent: async (merchantId, id) => merchantId === 'shop' && id === 'intent-1',
  })
  const app = await createHttpServer<ToyServices>({
    endpoints: toyEndpoints,
    services: { issueToken, handle: call => toyState.handle(call) },
    credentials,
    ...hashKeysBy(credentials),
    accessTokens,
    watch,
    keyStore,
    fingerprintKeys: () => [fingerprintKey],
    formats: toyFormats,
    logger: createLogger({ level: 'debug', out: { write: line => void lines.push(line) } }),
    metrics,
    readiness: async () => [],
    retryAfterOf: error => (error instanceof DatabaseAway ? 2 : undefined),
    nowMs,
    timers: clock,
    ...more,
  })
  return Object.assign(toyState, { app })
}
