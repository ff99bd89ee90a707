/**
 * A streaming reader for banks' XML that emits small trees. Strict: UTF-8 only, no DTD, no custom entities, one
 * namespace, bounded depth and size. Memory does not grow with the file.
 */

import { SaxesParser } from 'saxes'
import { exponentOf } from '#domain/money/currencies.ts'
import type { Money } from '#domain/money/money.ts'

/** An error in a file, with a message that completes "the file …". Nothing of the file has been applied. */
export class BankFileError extends Error {}

export interface XmlNode {
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
  readonly children: XmlNode[]
  text: string
}

/** How one kind of document is read. */
export interface RecordHandler {
  /** Elements with these names are emitted when they end, and are not kept. */
  readonly records: ReadonlySet<string>
  /** `open` and `close` are called for these; `node` holds their children except records and inner containers. */
  readonly containers: ReadonlySet<string>
  /** `parent` is the element around the container, as far as it has been read. */
  open?(name: string, parent: XmlNode | undefined): void
  /** `parent` is the element around the record, read up to the record. */
  record(node: XmlNode, parent: XmlNode | undefined): void
  close(name: string, node: XmlNode): void
}

/** Chooses the handler by the namespace of the root element, which identifies document and version. */
export type ChooseHandler = (namespace: string, root: string) => RecordHandler

/** Messages of ISO 20022 have at most some twenty levels. */
const depthMax = 48
/** A transaction has at most a few hundred elements. */
const nodesMax = 5_000
/** Between two tags. The longest text of these messages has 2,000 characters. */
const silentCharactersMax = 1_000_000
/** Within one record, and within a container besides its records. */
const keptCharactersMax = 1_000_000

export interface XmlRecordReader {
  write(bytes: Uint8Array): void
  close(): void
}

export function createXmlRecordReader(choose: ChooseHandler): XmlRecordReader {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const state = createState(choose)
  const parser = createParser(state)
  const guard = (work: () => void): void => {
    try {
      work()
    } catch (error) {
      if (error instanceof BankFileError) throw error
      throw new BankFileError(describeFault(error))
    }
  }
  return {
    write: bytes =>
      guard(() => {
        const text = decoder.decode(bytes, { stream: true })
        state.silent += text.length
        parser.write(text)
        if (state.silent > silentCharactersMax)
          throw new BankFileError('has more than 1,000,000 characters between two tags')
      }),
    close: () =>
      guard(() => {
        parser.write(decoder.decode())
        parser.close()
        if (!state.rootClosed) throw new BankFileError('is cut off before its end')
      }),
  }
}

interface Open {
  readonly node: XmlNode
  readonly kind: 'container' | 'record' | 'part' | 'foreign'
  /** For a container: how many characters of the file it keeps. */
  kept: number
}

interface State {
  silent: number
  rootClosed: boolean
  handler?: RecordHandler
  namespace?: string
  /** The number of elements in the record or container being read. */
  nodes: number
  /** Where the current record, or the current part of a container, begins in the file. */
  from: number
  readonly stack: Open[]
  readonly choose: ChooseHandler
}

const createState = (choose: ChooseHandler): State => ({
  silent: 0,
  rootClosed: false,
  nodes: 0,
  from: 0,
  stack: [],
  choose,
})

function createParser(state: State): SaxesParser<{ xmlns: true; position: true }> {
  const parser = new SaxesParser({ xmlns: true, position: true })
  parser.on('xmldecl', ({ encoding }) => {
    if (encoding !== undefined && !/^(utf-8|us-ascii)$/i.test(encoding))
      throw new BankFileError(`is encoded in ${encoding.slice(0, 20)}; only UTF-8 is read`)
  })
  parser.on('doctype', () => {
    throw new BankFileError('has a document type (DTD), which is not read')
  })
  parser.on('opentag', tag => openTag(state, tag, parser.position))
  parser.on('closetag', tag => closeTag(state, tag.local, parser.position))
  const addText = (text: string): void => {
    state.silent = 0
    const top = state.stack.at(-1)
    // A container's own text is the white space between its records; keeping it would use memory that grows with the
    // file.
    if (top?.kind === 'record' || top?.kind === 'part') top.node.text += text
  }
  parser.on('text', addText)
  parser.on('cdata', addText)
  return parser
}

interface Tag {
  readonly local: string
  readonly uri: string
  readonly attributes: Readonly<Record<string, { readonly local: string; readonly value: string }>>
}

function openTag(state: State, tag: Tag, position: number): void {
  state.silent = 0
  if (state.stack.length >= depthMax) throw new BankFileError(`has more than ${depthMax} levels of elements`)
  const parent = state.stack.at(-1)
  if (!parent) {
    state.handler = state.choose(tag.uri, tag.local)
    state.namespace = tag.uri
  }
  const kind = kindOf(state, tag, parent)
  const node: XmlNode = { name: tag.local, attributes: attributesOf(tag), children: [], text: '' }
  if (kind === 'container') state.handler?.open?.(tag.local, parent?.node)
  if (parent?.kind === 'container' || kind === 'record') state.from = position
  else checkKept(position - state.from, parent)
  if (kind === 'container' || kind === 'record') state.nodes = 0
  else if (++state.nodes > nodesMax)
    throw new BankFileError(`has an element ${parent?.node.name ?? ''} with more than ${nodesMax} parts`)
  state.stack.push({ node, kind, kept: 0 })
}

function checkKept(characters: number, holder: Open | undefined): void {
  if (characters > keptCharactersMax)
    throw new BankFileError(`has an element ${holder?.node.name ?? ''} with more than 1,000,000 characters`)
}

function kindOf(state: State, tag: Tag, parent: Open | undefined): Open['kind'] {
  // In SplmtryData banks may add elements of their own, which we ignore.
  if (parent?.kind === 'foreign' || tag.local === 'SplmtryData') return 'foreign'
  if (tag.uri !== state.namespace)
    throw new BankFileError(
      `has an element ${tag.local} of another name space (${tag.uri.slice(0, 80) || 'none'})`,
    )
  if (parent && (parent.kind === 'record' || parent.kind === 'part')) return 'part'
  if (state.handler?.records.has(tag.local)) return 'record'
  return !parent || state.handler?.containers.has(tag.local) ? 'container' : 'part'
}

const attributesOf = ({ attributes }: Tag): Record<string, string> =>
  Object.fromEntries(Object.values(attributes).map(({ local, value }) => [local, value]))

function closeTag(state: State, name: string, position: number): void {
  state.silent = 0
  const closed = state.stack.pop()
  const parent = state.stack.at(-1)
  if (!closed) return
  closed.node.text = closed.node.text.trim()
  if (closed.kind === 'record') state.handler?.record(closed.node, parent?.node)
  else if (closed.kind === 'container') state.handler?.close(name, closed.node)
  else if (closed.kind === 'part') parent?.node.children.push(closed.node)
  if (closed.kind === 'part' && parent?.kind === 'container') {
    parent.kept += position - state.from
    checkKept(parent.kept, parent)
  }
  if (!parent) state.rootClosed = true
}

function describeFault(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof TypeError) return 'is not encoded in UTF-8'
  if (/document must contain a root/i.test(message)) return 'is not XML: it has no element'
  if (/unclosed tag|unexpected end/i.test(message)) return 'is cut off before its end'
  if (/entity/i.test(message)) return `uses an entity of its own, which is not read (line ${lineOf(message)})`
  return `is not well-formed XML (line ${lineOf(message)})`
}

const lineOf = (message: string): string => /^(?:.*?:)?(\d+):\d+:/.exec(message)?.[1] ?? '1'

/** The first element at this path. */
export function find(node: XmlNode | undefined, ...path: readonly string[]): XmlNode | undefined {
  let at = node
  for (const name of path) at = at?.children.find(child => child.name === name)
  return at
}

/** The text at this path; undefined if it is empty. */
export const textOf = (node: XmlNode | undefined, ...path: readonly string[]): string | undefined =>
  find(node, ...path)?.text || undefined

export const findAll = (node: XmlNode | undefined, name: string): readonly XmlNode[] =>
  node?.children.filter(child => child.name === name) ?? []

/** Converts an amount such as `1234.5` to the smallest unit, without floating point. */
export function readAmount(node: XmlNode | undefined, where: string): Money {
  const currency = node?.attributes.Ccy ?? ''
  const digits = exponentOf(currency)
  if (!node || digits === undefined)
    throw new BankFileError(`has an amount without a known currency in ${where}`)
  const [, whole, fraction = ''] = /^([0-9]{1,13})(?:\.([0-9]{0,9}))?$/.exec(node.text) ?? []
  if (whole === undefined)
    throw new BankFileError(`has an amount that is not a number in ${where}: ${node.text.slice(0, 30)}`)
  if (fraction.length > digits)
    throw new BankFileError(
      `has an amount with ${fraction.length} decimals in ${where}: ${node.text}; ${currency} has ${digits}`,
    )
  return { value: Number(whole + fraction.padEnd(digits, '0')), currency }
}
