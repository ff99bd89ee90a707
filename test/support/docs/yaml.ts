/**
 * Reads the plain part of YAML that our compose file keeps to: nested maps, lists, quoted and bare words. Throws on
 * everything else.
 */
export type Yaml = string | Yaml[] | { [key: string]: Yaml }

interface Line {
  readonly indent: number
  readonly text: string
}

export function parseYaml(text: string): Yaml {
  const lines = text
    .split('\n')
    .filter(line => !/^\s*(#|$)/.test(line))
    .map(line => ({ indent: line.length - line.trimStart().length, text: line.trim() }))
  const [value, rest] = readBlock(lines, 0)
  if (rest.length > 0) throw new Error(`unexpected line of YAML: ${rest[0]?.text}`)
  return value
}

function readBlock(lines: readonly Line[], indent: number): [Yaml, readonly Line[]] {
  return lines[0]?.text.startsWith('- ') ? readList(lines, indent) : readMap(lines, indent)
}

function readList(lines: readonly Line[], indent: number): [Yaml[], readonly Line[]] {
  const end = lines.findIndex(line => line.indent !== indent || !line.text.startsWith('- '))
  const own = end === -1 ? lines : lines.slice(0, end)
  return [own.map(line => readItem(line.text.slice(2))), end === -1 ? [] : lines.slice(end)]
}

/** A word, or a map of one pair on the item's own line. */
function readItem(text: string): Yaml {
  const [, key, word] = /^([\w-]+): ([^"[].*)$/.exec(text) ?? []
  return key === undefined || word === undefined ? readWord(text) : { [key]: readWord(word) }
}

function readMap(lines: readonly Line[], indent: number): [Yaml, readonly Line[]] {
  const map: { [key: string]: Yaml } = {}
  let rest = lines
  while (rest[0]?.indent === indent) {
    const [, key = '', word = ''] = /^([\w-]+):(?: (.+))?$/.exec(rest[0].text) ?? []
    if (key === '' || key in map) throw new Error(`not a line of a map, or a key twice: ${rest[0].text}`)
    const next = rest[1]
    if (word !== '') {
      map[key] = readWord(word)
      rest = rest.slice(1)
    } else if (next && next.indent > indent) {
      ;[map[key], rest] = readBlock(rest.slice(1), next.indent)
    } else throw new Error(`nothing follows ${key}:`)
  }
  return [map, rest]
}

function readWord(word: string): Yaml {
  if (word === '{}') return {}
  if (/^["[]/.test(word)) return JSON.parse(word)
  if (/^[&*!|>%@`'{]/.test(word) || word.includes(': ')) throw new Error(`beyond plain YAML: ${word}`)
  return word
}
