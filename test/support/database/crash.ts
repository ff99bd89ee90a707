/**
 * Simulates a process that dies at a named gap between two writes: the operation stops there for ever, its client gets
 * no answer, and all other work of the gateway continues. Only what was written and sent up to that point exists.
 */
import type { CrashPoint } from '#operations/engine.ts'
import type { TestAnswer, TestGateway, TestRequest } from '#test/support/gateway.ts'

export type CrashName = Parameters<CrashPoint>[0]

export const crashNames: readonly CrashName[] = ['afterRecord', 'afterCall', 'afterSettle']

export interface Crash {
  readonly testCrash: CrashPoint
  /**
   * Sends the request and returns when its operation has died at that point; its connection is closed then, too. A
   * request that is answered without reaching that point (for example a refusal) returns its answer.
   */
  die(
    point: CrashName,
    gateway: Pick<TestGateway, 'send'>,
    request: TestRequest,
  ): Promise<TestAnswer | undefined>
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
      armed = undefined
      if (first !== 'died') return first
      client.abort()
      await answer
      return undefined
    },
  }
}
