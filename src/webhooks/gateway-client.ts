/** Calls a running gateway's API for developers' commands. Errors become readable sentences. */

import { setTimeout as delay } from 'node:timers/promises'
import { memberOf, textAt } from '#domain/json.ts'

export interface GatewayClient {
  readonly baseUrl: string
  get<T>(path: string): Promise<T>
  post<T>(path: string, body?: unknown): Promise<T>
  patch<T>(path: string, body: unknown): Promise<T>
  /** Returns declines and refusals as answers; throws for 401, 403 and 5xx only. */
  send(verb: string, path: string, body?: unknown): Promise<GatewayAnswer>
}

export interface GatewayAnswer {
  readonly status: number
  readonly body: unknown
}

/** The gateway refused or did not answer. The message says what to do. */
export class ClientFault extends Error {
  readonly status: number | undefined

  constructor(message: string, options: { status?: number; cause?: unknown } = {}) {
    super(message, { cause: options.cause })
    this.status = options.status
  }
}

export interface ClientOptions {
  /** Ends with /api/v2. */
  readonly baseUrl: string
  readonly merchantId: string
  readonly apiKey: string
}

/** 120 s: moving a test clock waits for all work that became due. */
const patienceMs = 120_000

/** 5 tries: a client that is still rate limited has another problem. */
const triesMax = 5

export function createGatewayClient({ baseUrl, merchantId, apiKey }: ClientOptions): GatewayClient {
  const authorization = `Basic ${Buffer.from(`${merchantId}:${apiKey}`).toString('base64')}`

  async function send(verb: string, path: string, body: unknown): Promise<Response> {
    try {
      return await fetch(`${baseUrl}${path}`, {
        method: verb,
        headers: { authorization, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(patienceMs),
      })
    } catch (error) {
      const cause = memberOf(error, 'cause') ?? error
      const reason = textAt(cause, 'code') ?? textAt(cause, 'message')
      throw new ClientFault(
        `no gateway answers at ${baseUrl} (${reason}); start it with npm start, or name its address with --api`,
        { cause: error },
      )
    }
  }

  async function call<T>(verb: string, path: string, body?: unknown): Promise<T> {
    for (let tried = 1; ; tried += 1) {
      const response = await send(verb, path, body)
      // The caller names the type that the OpenAPI document gives for this path. We trust our own gateway.
      if (response.ok) return (await response.json()) as T
      if (response.status === 429 && tried < triesMax) {
        await delay(Number(response.headers.get('retry-after') ?? 1) * 1_000)
        continue
      }
      throw await toFault(response, `${verb} ${path}`, merchantId)
    }
  }

  return {
    baseUrl,
    get: path => call('GET', path),
    post: (path, body) => call('POST', path, body),
    patch: (path, body) => call('PATCH', path, body),
    async send(verb, path, body) {
      const response = await send(verb, path, body)
      const { status } = response
      if (status === 401 || status === 403 || status >= 500)
        throw await toFault(response, `${verb} ${path}`, merchantId)
      return { status, body: await response.json() }
    },
  }
}

async function toFault(response: Response, request: string, merchantId: string): Promise<ClientFault> {
  const { status } = response
  const detail = (await response.text()).slice(0, 500)
  const sentences: Readonly<Record<number, string>> = {
    401: `the gateway does not know these credentials of ${merchantId}; give --merchant and --key of one of its merchants`,
    403: `the merchant ${merchantId} is disabled`,
    404: `the gateway has no ${request}; is it the right address, and a test environment?`,
  }
  return new ClientFault(sentences[status] ?? `${request} was answered ${status}: ${detail}`, { status })
}

export interface ServedFile {
  readonly status: number
  readonly bytes: Buffer
  readonly headers: Headers
}

/** 15 s: as long as a customer would wait. */
const pagePatienceMs = 15_000

/** Downloads files that the gateway serves to customers, for `tollgate verify-page`. */
export async function readServed(url: string): Promise<ServedFile> {
  const response = await fetch(url, { signal: AbortSignal.timeout(pagePatienceMs), redirect: 'manual' })
  return {
    status: response.status,
    bytes: Buffer.from(await response.arrayBuffer()),
    headers: response.headers,
  }
}
