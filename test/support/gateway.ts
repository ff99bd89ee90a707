/** A real gateway on a database of its own, reached over HTTP as a merchant would. */
import { randomBytes } from 'node:crypto'
import { type Dispatcher, request } from 'undici'
import type { ProviderDirectory } from '#connectors/directory.ts'
import { createGateway, type Gateway, type GatewayOptions } from '#gateway.ts'
import type { StoredMethods } from '#operations/customers/stored-methods.ts'
import type { Clock, CrashPoint } from '#operations/engine.ts'
import type { AnyJson } from '#test/support/any-json.ts'
import { createTestDatabase } from '#test/support/database/database.ts'
import { createDocumentCheck, type DocumentCheck, type Exchange } from '#test/support/docs/document-check.ts'
import { type MasterRing, toMasterKey } from '#vault/master-key.ts'
import { addressPolicies } from '#webhooks/policies.ts'
import { createResolve } from '#webhooks/resolve.ts'
import { createSender } from '#webhooks/send.ts'

export interface TestGateway {
  /** The origin. */
  readonly url: string
  readonly databaseUrl: string
  readonly gateway: Gateway
  readonly merchantId: string
  readonly apiKey: string
  /** The log lines of the gateway. */
  readonly logged: string[]
  call(verb: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<TestAnswer>
  /** Like `call`, with named options; the signal closes the connection before the answer. */
  send(request: TestRequest): Promise<TestAnswer>
  stop(): Promise<void>
}

export interface TestAnswer {
  readonly status: number
  readonly body: AnyJson
  readonly text: string
  readonly headers: Headers
}

export interface TestRequest {
  readonly verb: string
  readonly path: string
  /** Text and bytes go as they are, anything else as JSON. */
  readonly body?: unknown
  readonly headers?: Record<string, string>
  readonly signal?: AbortSignal
}

export interface TestGatewayOptions
  extends Pick<
    GatewayOptions,
    'definitions' | 'applyNotice' | 'noticeCrash' | 'cells' | 'console' | 'consolePort' | 'trustedProxies'
  > {
  /** Live needs a durable database: see `databaseUrl`. */
  readonly environment?: 'test' | 'live'
  readonly clock?: Clock
  readonly connectors?: ProviderDirectory
  readonly testCrash?: CrashPoint
  readonly logLevel?: string
  /** Starts a second gateway on the database, keys and merchant of a first one. */
  readonly beside?: TestGateway
  /** A migrated database of the test's own, which is then left to it. */
  readonly databaseUrl?: string
  /** Another address of the same database, for a gateway that is started beside another one. */
  readonly throughUrl?: string
  readonly requestsPerSecond?: number
  /** The test's own keys; by default one key is made for the database. */
  readonly masterKey?: MasterRing
  readonly storedMethods?: StoredMethods
  /** A minute by default: on a busy machine the database may need seconds for a first statement. */
  readonly databaseSilenceMs?: number
  /** Whether other processes still count this one as alive; by default always, however busy the machine is. */
  readonly isAlive?: () => boolean
  /** How often they may have counted it as dead; by default never. */
  readonly countInterruptions?: () => number
  /** How long a receiver of webhooks may take to answer; by default as long as in production. */
  readonly webhookAttemptMs?: number
  /** Whether only the test runs due timers; by default if it has a clock of its own. */
  readonly timersByHand?: boolean
}

const documentChecks = new Map<'test' | 'live', DocumentCheck>()

/** Every request and answer of a test must match the published document. */
function requireDescribed(exchange: Exchange, environment: 'test' | 'live'): void {
  const check = documentChecks.get(environment) ?? createDocumentCheck(environment)
  documentChecks.set(environment, check)
  const violations = check.listViolations(exchange)
  if (violations.length > 0) throw new Error(`the OpenAPI document disagrees: ${violations.join('; ')}`)
}

/** Shops below .example do not exist. A name server would answer the same, but sometimes take a second. */
async function resolveHere(name: string): Promise<readonly string[]> {
  if (name.endsWith('.example')) throw new Error(`the name ${name} has no address`)
  return resolve(name)
}
const resolve = createResolve()

/**
 * Headers as `fetch` has them. `fetch` itself needs several times the processor time per request, and tests send
 * thousands.
 */
const toHeaders = (sent: Record<string, string | string[] | undefined>): Headers =>
  new Headers(
    Object.entries(sent).flatMap(([name, values]) =>
      [values ?? []].flat().map((value): [string, string] => [name, value]),
    ),
  )

/**
 * The client of a test shares its process with the server. When a busy machine stalls both for ten seconds just after a
 * request was written, the usual limits would close its connection before the request was read: ECONNRESET or 408.
 */
const patientLimits = { headersTimeoutMs: 60_000, keepAliveTimeoutMs: 60_000 }

/** Applies notices in all gateways of a database at once, because the loop of any of them may just have claimed one. */
export async function applyNotices(...gateways: readonly TestGateway[]): Promise<void> {
  await Promise.all(gateways.map(({ gateway }) => gateway.notices.runDue()))
}

const masterKeys = new Map<string, string>()

/** For tests that start a gateway on the same database in a process of its own. */
export const masterKeyOf = (databaseUrl: string): string => masterKeys.get(databaseUrl) ?? ''

export async function startTestGateway(options: TestGatewayOptions = {}): Promise<TestGateway> {
  const { beside } = options
  const givenUrl = options.databaseUrl ?? beside?.databaseUrl
  const database = givenUrl ? { url: givenUrl, drop: async () => undefined } : await createTestDatabase()
  const keyText = masterKeys.get(database.url) ?? randomBytes(32).toString('base64')
  masterKeys.set(database.url, keyText)
  const logged: string[] = []
  const environment = options.environment ?? 'test'
  const gateway = await createGateway({
    environment,
    sender: createSender({
      policy: addressPolicies[environment],
      resolve: resolveHere,
      limits: options.webhookAttemptMs === undefined ? {} : { attemptMs: options.webhookAttemptMs },
    }),
    databaseUrl: options.throughUrl ?? database.url,
    cells: options.cells,
    console: options.console,
    consolePort: options.consolePort,
    trustedProxies: options.trustedProxies,
    masterKey: options.masterKey ?? toMasterKey(keyText, 'the test key'),
    logLevel: options.logLevel ?? 'info',
    logDestination: { write: line => void logged.push(line) },
    clock: options.clock,
    providers: options.connectors,
    testCrash: options.testCrash,
    storedMethods: options.storedMethods,
    definitions: options.definitions,
    applyNotice: options.applyNotice,
    noticeCrash: options.noticeCrash,
    databaseSilenceMs: options.databaseSilenceMs ?? 60_000,
    httpLimits: patientLimits,
    isAlive: options.isAlive ?? (() => true),
    countInterruptions: options.countInterruptions ?? (() => 0),
    timersByHand: options.timersByHand ?? options.clock !== undefined,
  })
  const { merchantId, apiKey } = beside ?? (await gateway.merchants.create('Test shop'))
  if (options.requestsPerSecond) {
    await gateway.merchants.set(merchantId, { requestsPerSecond: options.requestsPerSecond })
  }
  const url = await gateway.listen()
  const authorization = basic(merchantId, apiKey)
  async function send({ verb, path, body, headers = {}, signal }: TestRequest): Promise<TestAnswer> {
    const asIs = typeof body === 'string' || body instanceof Uint8Array
    const response = await request(`${url}/api/v2${path}`, {
      method: verb as Dispatcher.HttpMethod,
      headers: {
        authorization,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      signal,
      ...(body === undefined ? {} : { body: asIs ? (body as string) : JSON.stringify(body) }),
    })
    const text = await response.body.text()
    const answered = toHeaders(response.headers)
    const mediaType = answered.get('content-type')?.split(';')[0] ?? ''
    requireDescribed(
      { verb, path, sent: body, status: response.statusCode, mediaType, answer: text },
      options.environment ?? 'test',
    )
    return {
      status: response.statusCode,
      text,
      headers: answered,
      body: text === '' ? undefined : JSON.parse(text),
    }
  }
  return {
    url,
    databaseUrl: database.url,
    gateway,
    merchantId,
    apiKey,
    logged,
    call: (verb, path, body, headers) => send({ verb, path, body, headers }),
    send,
    async stop() {
      await gateway.close()
      await database.drop()
    },
  }
}

export const basic = (merchantId: string, apiKey: string): string =>
  `Basic ${Buffer.from(`${merchantId}:${apiKey}`).toString('base64')}`

let orders = 0

/** A card payment that is approved unless the changes say otherwise; every one has a transId of its own. */
export function cardPayment(
  change: { card?: object; [field: string]: unknown } = {},
): Record<string, unknown> {
  const { card, ...rest } = change
  orders += 1
  return {
    transId: `order-${process.pid}-${orders}`,
    amount: { value: 1000, currency: 'EUR' },
    paymentMethods: {
      integrationType: 'DIRECT',
      type: 'CARD',
      card: {
        number: '4111111111111111',
        expiryDate: '203012',
        cardholderName: 'Ada Lovelace',
        securityCode: '123',
        ...card,
      },
    },
    ...rest,
  }
}
