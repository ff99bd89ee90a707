/**
 * Calls an endpoint from within the process, as a merchant, without credentials: the console does what the API does, with
 * the same validation, idempotency and answers. Who calls is known by the context of the call itself, which nothing that
 * arrives over a socket can have.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
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
}

export type CallInside = (caller: Caller, request: InsideRequest) => Promise<InsideAnswer>

export function createCallInside(app: FastifyInstance, basePath: string): CallInside {
  return (caller, { verb, path, body, key, accept }) =>
    insideCaller.run(caller, async () => {
      const { statusCode, body: text } = await app.inject({
        method: verb,
        url: basePath + path,
        headers: {
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(key === undefined ? {} : { 'idempotency-key': key }),
          ...(accept === undefined ? {} : { accept }),
        },
        ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
      })
      return { status: statusCode, text }
    })
}
