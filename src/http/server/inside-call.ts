/**
 * Calls an endpoint from within the process as a merchant, without credentials, so that the console has the validation,
 * idempotency and answers of the API. The caller is passed in an AsyncLocalStorage, which no request from a socket can
 * set.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import type { Caller } from '#http/authentication/authentication.ts'

export const insideCaller = new AsyncLocalStorage<Caller>()

export interface InsideRequest {
  readonly verb: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Relative to the base, for example /payments?limit=20. */
  readonly path: string
  readonly body?: unknown
  readonly key?: string | undefined
  readonly accept?: string
}

export interface InsideAnswer {
  readonly status: number
  readonly text: string
  /** The answer is that of an earlier request with the same key; nothing was done now. */
  readonly isReplay: boolean
}

/** A streamed answer, so that a long one is never held in memory as a whole. */
export interface InsideStream {
  readonly status: number
  readonly stream: Readable
}

export interface CallInside {
  (caller: Caller, request: InsideRequest): Promise<InsideAnswer>
  readonly stream: (caller: Caller, request: InsideRequest) => Promise<InsideStream>
}

export function createCallInside(app: FastifyInstance, basePath: string): CallInside {
  const toInjection = ({ verb, path, body, key, accept }: InsideRequest) => ({
    method: verb,
    url: basePath + path,
    headers: {
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(key === undefined ? {} : { 'idempotency-key': key }),
      ...(accept === undefined ? {} : { accept }),
    },
    ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
  })
  const call = (caller: Caller, request: InsideRequest): Promise<InsideAnswer> =>
    insideCaller.run(caller, async () => {
      const { statusCode, body, headers } = await app.inject(toInjection(request))
      return { status: statusCode, text: body, isReplay: headers['idempotent-replayed'] === 'true' }
    })
  const stream = (caller: Caller, request: InsideRequest): Promise<InsideStream> =>
    insideCaller.run(caller, async () => {
      const answer = await app.inject({ ...toInjection(request), payloadAsStream: true })
      const pieces = answer.stream()
      // If the reader stops, the endpoint must stop too; otherwise it would wait forever.
      pieces.once('close', () => answer.raw.res.destroy())
      return { status: answer.statusCode, stream: pieces }
    })
  return Object.assign(call, { stream })
}
