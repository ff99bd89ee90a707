/** Records of the CSV reports of providers, read as a stream however the file is cut into pieces. */
import type { TextDecoder } from 'node:util'

/** 64 MiB: more than any list of a hundred transactions as JSON on one line, less than memory. */
const lineMax = 64 * 1024 * 1024

/** 64 KiB: many times the longest record of a report. More means that a quotation mark has no counterpart. */
const recordMax = 65_536

/** A cell in quotes may have line breaks: its lines are one record. */
export async function* readRecords(
  file: AsyncIterable<Uint8Array>,
  decoder: TextDecoder,
): AsyncGenerator<string> {
  let open = ''
  for await (const line of readLines(file, decoder)) {
    const joined = open === '' ? line : `${open}\n${line}`
    const isOpen = joined.length <= recordMax && joined.split('"').length % 2 === 0
    open = isOpen ? joined : ''
    if (!isOpen) yield joined
  }
  if (open !== '') yield open
}

async function* readLines(file: AsyncIterable<Uint8Array>, decoder: TextDecoder): AsyncGenerator<string> {
  let rest = ''
  for await (const chunk of file) {
    rest += decoder.decode(chunk, { stream: true })
    if (rest.length > lineMax) throw new Error(`a line of the file is longer than ${lineMax} characters`)
    const lines = rest.split(/\r?\n/)
    rest = lines.pop() ?? ''
    yield* lines
  }
  rest += decoder.decode()
  if (rest !== '') yield rest
}
