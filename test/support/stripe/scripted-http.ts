/** A transport that records every request and returns the test's answers. Nothing leaves the process. */
import type { HttpAnswer, HttpRequest, ProviderHttp } from '#connectors/contract.ts'

export interface ScriptedHttp extends ProviderHttp {
  readonly requests: HttpRequest[]
}

export function scriptHttp(answer: (request: HttpRequest) => HttpAnswer): ScriptedHttp {
  const requests: HttpRequest[] = []
  return {
    requests,
    exchange(request) {
      requests.push(request)
      return Promise.resolve(answer(request))
    },
  }
}
