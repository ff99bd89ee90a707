/** Reads the records of providers' CSV reports from a stream of chunks. */
import type { TextDecoder } from 'node:util'

/** 64 MiB: more than a list of a hundred transactions as JSON on one line, and small enough for memory. */
const lineMax = 64 * 1024 * 1024

/** 64 KiB: many times the longest record of a report. A longer one means that a closing quotation mark is missing. */
const recordMax = 65_536

/** A quoted cell may contain line breaks, so a record may have several lines. */
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
