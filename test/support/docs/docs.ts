/**
 * Reads the documents as data: fences, tables, links, paths, and the curl lines of the README as requests. It supports
 * the few words of shell and curl that the README uses and throws on any other, so that no example is skipped silently.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const projectRoot: string = join(import.meta.dirname, '../../..')

export interface Document {
  /** Relative to the project's root. */
  readonly path: string
  readonly text: string
}

export const readDocument = (path: string): Document => ({
  path,
  text: readFileSync(join(projectRoot, path), 'utf8'),
})

export function readDocuments(): Document[] {
  const found = readdirSync(join(projectRoot, 'docs'), { recursive: true, encoding: 'utf8' })
  const names = found.filter(name => name.endsWith('.md')).map(name => join('docs', name))
  const ofRooms = listRooms().map(room => `src/${room}/README.md`)
  const top = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md']
  return [...top, ...names.sort(), ...ofRooms].filter(isThere).map(readDocument)
}

/** The folders directly under src/. */
export const listRooms = (): string[] =>
  readdirSync(join(projectRoot, 'src'), { withFileTypes: true })
    .filter(entry => entry.isDirectory())
    .map(({ name }) => name)
    .sort()

const isThere = (path: string): boolean => existsSync(join(projectRoot, path))

export interface Fence {
  /** The words after the backticks, such as `sh run` or `json 200`. */
  readonly info: string
  readonly content: string
  readonly line: number
}

export function listFences({ text }: Document): Fence[] {
  return [...text.matchAll(/^```(.*)\n([\s\S]*?)^```$/gm)].map(match => ({
    info: (match[1] ?? '').trim(),
    content: (match[2] ?? '').trim(),
    line: text.slice(0, match.index).split('\n').length,
  }))
}

export const withoutFences = (text: string): string => text.replace(/^```.*\n[\s\S]*?^```$/gm, '')

/** The rows of the table whose first heading is this word, cell by cell, without the marks of code. */
export function readTables({ text }: Document, heading: string): string[][] {
  const tables = text
    .trimEnd()
    .split(/\n{2,}/)
    .filter(block => cells(block.split('\n')[0] ?? '')[0] === heading)
  return tables.flatMap(table => table.split('\n').slice(2).map(cells))
}

const cells = (line: string): string[] =>
  line
    .replace(/^\||\|$/g, '')
    .split('|')
    .map(cell => cell.trim().replaceAll('`', ''))

export const listLinks = ({ text }: Document): string[] =>
  [...withoutFences(text).matchAll(/\]\(([^)\s]+)\)/g)].map(match => match[1] ?? '')

/** The anchors of the headings. */
export const listAnchors = ({ text }: Document): string[] =>
  [...withoutFences(text).matchAll(/^#+ (.+)$/gm)].map(match =>
    (match[1] ?? '')
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )

/** Our own paths in backticks and in drawings. */
export const listPaths = ({ text }: Document): string[] =>
  [...text.matchAll(/(?<![\w./-])(?:src|test|docs|migrations|bin|tools)\/[\w./-]*/g)].map(([path]) =>
    path.replace(/\.$/, ''),
  )

export type Variables = Readonly<Record<string, string>>

const pieces =
  /'(?<single>[^']*)'|"(?<double>[^"\\`]*)"|\\(?<newline>\n)|(?<bare>[^\s'"\\`|;&<>()]+)|(?<space>\s+)|(?<other>.)/gs

/** The words of one simple command, with variables filled in. Anything that only a real shell understands is refused. */
export function splitWords(command: string, variables: Variables): string[] {
  const words: string[] = []
  let open = false
  const append = (text: string) => {
    if (open) words.push((words.pop() ?? '') + text)
    else words.push(text)
    open = true
  }
  for (const { groups = {} } of command.matchAll(pieces)) {
    const { single, double, bare, other } = groups
    if (other !== undefined) throw new Error(`${other} means something to a shell only: ${command}`)
    if (single !== undefined) append(single)
    else if (double !== undefined || bare !== undefined) append(fill(double ?? bare ?? '', variables))
    else open = false
  }
  return words
}

const fill = (text: string, variables: Variables): string =>
  text.replace(/\$(\w*)/g, (_, name: string) => {
    const value = variables[name]
    if (value === undefined) throw new Error(`the variable $${name} has no value`)
    return value
  })

export interface CurlRequest {
  readonly verb: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

/** The request that curl would send. */
export function toRequest([program, ...words]: readonly string[]): CurlRequest {
  if (program !== 'curl') throw new Error(`${program} is not curl`)
  const headers: Record<string, string> = {}
  let verb: string | undefined
  let body: string | undefined
  let url: string | undefined
  const rest = [...words]
  const take = (option: string): string => {
    const value = rest.shift()
    if (value === undefined) throw new Error(`${option} needs a value`)
    return value
  }
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (word === '-s') continue
    if (word === '-X') {
      verb = take(word)
      continue
    }
    if (word === '-u') headers.authorization = `Basic ${Buffer.from(take(word)).toString('base64')}`
    else if (word === '-H') {
      const [name = '', value = ''] = take(word).split(/:\s*(.*)/s)
      headers[name.toLowerCase()] = value
    } else if (word === '-d') body = take(word)
    else if (word.startsWith('-') || url !== undefined)
      throw new Error(`not expected in a curl line: ${word}`)
    else url = word
  }
  if (url === undefined) throw new Error('the curl line has no address')
  verb ??= body === undefined ? 'GET' : 'POST'
  return { verb, url, headers, ...(body === undefined ? {} : { body }) }
}

/**
 * Lists the differences of a real answer. It may have more fields than shown; lists must have equal lengths, and …
 * stands for any text.
 */
export function compareShown(shown: unknown, real: unknown, path = 'answer'): string[] {
  if (typeof shown === 'string' && shown.includes('…')) {
    return typeof real === 'string' && toPattern(shown).test(real) ? [] : [differ(shown, real, path)]
  }
  if (typeof shown !== 'object' || shown === null) return shown === real ? [] : [differ(shown, real, path)]
  if (typeof real !== 'object' || real === null || Array.isArray(shown) !== Array.isArray(real)) {
    return [differ(shown, real, path)]
  }
  const members = Object.entries(shown).flatMap(([name, value]) =>
    compareShown(value, (real as Record<string, unknown>)[name], `${path}.${name}`),
  )
  const longer = Array.isArray(shown) && Array.isArray(real) && shown.length !== real.length
  return longer ? [...members, `${path} has ${(real as unknown[]).length} members`] : members
}

const differ = (shown: unknown, real: unknown, path: string): string =>
  `${path} is ${JSON.stringify(real)}, shown is ${JSON.stringify(shown)}`

/** Identifiers begin with their time, so they always differ; in any other text only … matches anything. */
const toPattern = (shown: string): RegExp =>
  /^[0-9a-f]{8}…$/.test(shown)
    ? /^[0-9a-f]{32}$/
    : new RegExp(`^${shown.replace(/[^\w…]/g, '\\$&').replaceAll('…', '.+')}$`, 's')
