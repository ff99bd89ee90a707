/**
 * Reads a form that brings files (multipart/form-data, RFC 7578), as browsers write it. Parts are found by searching for
 * the boundary, so that the cost grows with the bytes alone. A body that was cut off gives the parts that are complete.
 */
import { isUtf8 } from 'node:buffer'

export interface UploadedFile {
  readonly field: string
  readonly name: string
  /** As the browser says; empty where it does not know. */
  readonly type: string
  readonly bytes: Buffer
}

export interface Multipart {
  readonly form: Readonly<Record<string, string>>
  readonly files: readonly UploadedFile[]
}

/** 20 fields, as in other forms, and the ten files that evidence may have. */
const partsMax = 30
/** A part's header names a field and a file. */
const headerBytesMax = 2_048

/** Undefined: the content type names no boundary. */
export const boundaryOf = (contentType: string | undefined): string | undefined =>
  /^multipart\/form-data\s*;[^;]*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i
    .exec(contentType ?? '')
    ?.slice(1)
    .find(Boolean)

/** Undefined: this is no such form. */
export function readMultipart(body: Buffer, boundary: string): Multipart | undefined {
  const parts = splitParts(body, boundary)
  if (!parts) return undefined
  const form = new Map<string, string>()
  const files: UploadedFile[] = []
  for (const { header, content } of parts) {
    const field = attributeOf(header, 'name')
    const name = attributeOf(header, 'filename')
    if (field === undefined || field === '') return undefined
    if (name === undefined) {
      if (form.has(field) || !isUtf8(content) || content.includes(0)) return undefined
      form.set(field, content.toString('utf8'))
    } else if (name !== '' || content.length > 0)
      // A file field that was left empty comes as a file without name and bytes.
      files.push({ field, name, type: typeOf(header), bytes: content })
  }
  return { form: Object.fromEntries(form), files }
}

interface Part {
  readonly header: string
  readonly content: Buffer
}

function splitParts(body: Buffer, boundary: string): readonly Part[] | undefined {
  const opening = Buffer.from(`--${boundary}`)
  const between = Buffer.from(`\r\n--${boundary}`)
  if (!body.subarray(0, opening.length).equals(opening)) return undefined
  const parts: Part[] = []
  for (let at = opening.length; body.subarray(at, at + 2).toString('latin1') === '\r\n'; ) {
    const end = body.indexOf(between, at)
    // The rest was cut off.
    if (end === -1) break
    const headerEnd = body.subarray(at + 2, at + 2 + headerBytesMax).indexOf('\r\n\r\n')
    if (headerEnd === -1 || parts.length >= partsMax) return undefined
    const header = body.subarray(at + 2, at + 2 + headerEnd)
    if (!isUtf8(header)) return undefined
    parts.push({
      header: header.toString('utf8'),
      content: body.subarray(Math.min(at + 2 + headerEnd + 4, end), end),
    })
    at = end + between.length
  }
  return parts
}

/** Browsers write quotation marks in names as %22. */
const attributeOf = (header: string, name: string): string | undefined =>
  new RegExp(`^content-disposition: *form-data[^\\r\\n]*; *${name}="([^"\\r\\n]*)"`, 'im')
    .exec(header)?.[1]
    ?.replaceAll('%22', '"')

const typeOf = (header: string): string =>
  /^content-type: *([\w./+-]{1,100})/im.exec(header)?.[1]?.toLowerCase() ?? ''
