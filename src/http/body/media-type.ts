/** Which bodies are read: one media type for each endpoint, in UTF-8, without encoding. Others are refused by header. */
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { Refusal } from '#http/answers/refusal.ts'
import { quoteValue } from '#http/body/json-text.ts'

export const mediaTypes = ['application/json', 'application/x-www-form-urlencoded'] as const
export type MediaType = (typeof mediaTypes)[number]

const isEncoded = (headers: IncomingHttpHeaders): boolean =>
  (headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity'

/** Accepts only this media type in the scope and passes the bytes on unchanged. */
export function readBytes(scope: FastifyInstance, mediaType: MediaType): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser(mediaType, { parseAs: 'buffer' }, ({ headers }, bytes, done) => {
    const charset = /charset\s*=\s*"?([^\s;"]+)/i.exec(headers['content-type'] ?? '')?.[1]
    if (!isEncoded(headers) && (charset === undefined || /^utf-?8$/i.test(charset))) done(null, bytes)
    else done(Object.assign(new Error('unsupported encoding'), { code: 'FST_ERR_CTP_INVALID_MEDIA_TYPE' }))
  })
}

/** Names the header that is wrong, its value, and what the endpoint takes. */
export function refuseMedia(headers: IncomingHttpHeaders, taken: MediaType): Refusal {
  const type = headers['content-type']
  const isTaken = type?.toLowerCase().split(';', 1)[0]?.trim() === taken
  if (isTaken && isEncoded(headers)) {
    const encoding = quoteValue(headers['content-encoding'])
    return new Refusal('unsupportedMedia', `Content-Encoding is ${encoding}; send the body without encoding.`)
  }
  const given = type ? `is ${quoteValue(type)}` : 'is missing'
  return new Refusal('unsupportedMedia', `Content-Type ${given}; send ${taken}${isTaken ? ' in UTF-8' : ''}.`)
}
