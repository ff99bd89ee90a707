/**
 * Reads form bodies, plain or with files. Only endpoints that declare it accept forms. A field of a plain form may
 * occur once.
 */
import { isUtf8 } from 'node:buffer'
import { type Refusal, refuseField } from '#http/answers/refusal.ts'
import { cutName } from '#http/body/json-text.ts'

/** 20: more fields than any of our forms has. */
const fieldsMax = 20

/** Counts the fields before the form is parsed, because parsing would turn thousands of fields into strings first. */
function countSeparators(bytes: Buffer): number {
  let count = 0
  for (let at = bytes.indexOf('&'); at !== -1 && count <= fieldsMax; at = bytes.indexOf('&', at + 1)) count++
  return count
}

export function readForm(bytes: Buffer): Readonly<Record<string, string>> | Refusal {
  const fields = new Map<string, string>()
  if (!isUtf8(bytes)) return refuseField('body', 'The body is not valid UTF-8.')
  if (countSeparators(bytes) > fieldsMax) {
    return refuseField('body', `The form has more than ${fieldsMax} fields.`)
  }
  for (const [name, value] of new URLSearchParams(bytes.toString('utf8'))) {
    const shown = cutName(name)
    if (fields.has(name)) return refuseField(shown, `${shown} is given twice; give it once.`)
    if (`${name}${value}`.includes('\u0000')) return refuseField(shown, `${shown} holds U+0000.`)
    fields.set(name, value)
    if (fields.size > fieldsMax) return refuseField('body', `The form has more than ${fieldsMax} fields.`)
  }
  return Object.fromEntries(fields)
}

export interface UploadedFile {
  readonly field: string
  readonly name: string
  /** As the browser reports it; empty if it does not know. */
  readonly type: string
  readonly bytes: Buffer
}

export interface Multipart {
  readonly form: Readonly<Record<string, string>>
  readonly files: readonly UploadedFile[]
}

/** 20 fields, as in other forms, and up to ten files of evidence. */
const partsMax = 30
/** A part's header names a field and a file. */
const headerBytesMax = 2_048

/** Undefined: the content type names no boundary. */
export const boundaryOf = (contentType: string | undefined): string | undefined =>
  /^multipart\/form-data\s*;[^;]*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i
    .exec(contentType ?? '')
    ?.slice(1)
    .find(Boolean)

/**
 * Reads a form with files (multipart/form-data, RFC 7578), as browsers write it. Parts are found by searching for the
 * boundary, so the cost grows linearly with the bytes. A truncated body yields its complete parts. Undefined: the body
 * is not such a form.
 */
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
      // Browsers send an empty file field as a file without name and bytes.
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
    // The body is truncated here.
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
