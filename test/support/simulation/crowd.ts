/** Very many requests at once over a few kept-alive connections, as a busy shop's server would send them. */

import { Agent, request } from 'node:http'
import type { AnyJson } from '#test/support/any-json.ts'
import type { TestGateway } from '#test/support/gateway.ts'

export interface CrowdAnswer {
  readonly status: number
  readonly body: AnyJson
}

export interface Crowd {
  post(path: string, body: unknown): Promise<CrowdAnswer>
  leave(): void
}

/** 64 connections: enough to keep a gateway busy, few enough for the smallest limit on open files. */
const connections = 64

/** 2 s: long before the gateway ends an idle connection, so that no request is sent into one that is being closed. */
const idleMs = 2_000

export function gatherCrowd(gateway: TestGateway, authorization: string): Crowd {
  const agent = new Agent({ keepAlive: true, maxSockets: connections, timeout: idleMs })
  return {
    post(path, body) {
      const { promise, resolve, reject } = Promise.withResolvers<CrowdAnswer>()
      const sent = Buffer.from(JSON.stringify(body))
      const asked = request(`${gateway.url}/api/v2${path}`, {
        agent,
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json', 'content-length': sent.length },
      })
      asked.on('response', response => {
        const chunks: Buffer[] = []
        response.on('data', chunk => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, body: JSON.parse(Buffer.concat(chunks).toString()) }),
        )
      })
      asked.on('error', reject)
      asked.end(sent)
      return promise
    },
    leave: () => agent.destroy(),
  }
}
