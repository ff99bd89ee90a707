/**
 * A process that dies at a named gap between two writes: the operation stops there for ever, its client never hears, and
 * whatever else the gateway does goes on. What was written and sent up to that point is all there is.
 */
import type { CrashPoint } from '#operations/engine.ts'
import type { TestGateway, TestRequest } from '#test/support/gateway.ts'

export type CrashName = Parameters<CrashPoint>[0]

export const crashNames: readonly CrashName[] = ['afterRecord', 'afterCall', 'afterSettle']

export interface Crash {
  readonly testCrash: CrashPoint
  /** Sends the request and returns when its operation has died at that point. The client is gone then, too. */
  die(point: CrashName, gateway: TestGateway, request: TestRequest): Promise<void>
}

export function createCrash(): Crash {
  let armed: { point: CrashName; reached: () => void } | undefined
  return {
    testCrash(point) {
      if (armed?.point !== point) return undefined
      armed.reached()
      armed = undefined
      return new Promise(() => undefined)
    },
    async die(point, gateway, request) {
      const client = new AbortController()
      const { promise: died, resolve } = Promise.withResolvers<'died'>()
      armed = { point, reached: () => resolve('died') }
      const answer = gateway.send({ ...request, signal: client.signal }).catch((error: unknown) => {
        if (client.signal.aborted) return undefined
        throw error
      })
      const first = await Promise.race([died, answer])
      if (first !== 'died') {
        throw new Error(`answered ${first?.status} ${first?.text} without ever passing ${point}`)
      }
      client.abort()
      await answer
    },
  }
}
