/**
 * A 422 of the endpoints that answer with problem details: the answer of a handler, so that it can be stored under its key and
 * comes back as the same bytes.
 */
import { describe } from '#domain/response-codes.ts'
import type { Answer } from '#http/endpoint.ts'

export function refusedAnswer(responseCode: string, traceId: string): Answer {
  const problem = {
    type: 'urn:tollgate:problem:refused',
    title: 'A rule forbids this request',
    status: 422,
    detail: describe(responseCode).description,
    traceId,
    responseCode,
  }
  return { status: problem.status, json: JSON.stringify(problem) }
}
