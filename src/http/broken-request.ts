/** Answers what is not even a readable HTTP request. It happens below the routes, so the bytes are written by hand. */
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { readTrace } from '#http/trace.ts'

const statuses: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
}

export function answerBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const status = statuses[error.code ?? ''] ?? 400
  const title = STATUS_CODES[status] ?? 'Bad Request'
  const { traceId, traceparent } = readTrace(undefined)
  const body = JSON.stringify({ type: 'urn:tollgate:problem:broken-request', title, status, traceId })
  socket.end(
    `HTTP/1.1 ${status} ${title}\r\n` +
      `content-type: application/problem+json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n` +
      `x-content-type-options: nosniff\r\ntraceparent: ${traceparent}\r\nconnection: close\r\n\r\n${body}`,
  )
}
