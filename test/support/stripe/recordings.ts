/** Reads the recorded pairs of request and answer (VCR cassettes): as much YAML as these files use, no more. */
import type { HttpAnswer } from '#connectors/contract.ts'
import { listMaterial, readMaterial } from '#test/support/stripe/material.ts'

export interface Recording {
  readonly file: string
  readonly verb: string
  readonly path: string
  readonly answer: HttpAnswer
}

export const readRecordings = (): readonly Recording[] =>
  listMaterial('recordings').flatMap(file =>
    readMaterial(`recordings/${file}`)
      .split(/^- request:$/m)
      .slice(1)
      .map(text => readPair(file, text)),
  )

function readPair(file: string, text: string): Recording {
  const [request = '', response = ''] = text.split(/^ {2}response:$/m)
  const url = new URL(/^ {4}uri: (.+)$/m.exec(request)?.[1] ?? '')
  return {
    file: file.replace('.yml', ''),
    verb: /^ {4}method: (.+)$/m.exec(request)?.[1] ?? '',
    path: url.pathname,
    answer: {
      kind: 'answered',
      status: Number(/^ {6}code: (\d+)$/m.exec(response)?.[1]),
      headers: {},
      body: readBody(response),
    },
  }
}

function readBody(response: string): string {
  const [, rest = ''] = response.split(/^ {6}string: /m)
  const [first = '', ...lines] = rest.split('\n')
  if (first === '|-' || first === '|') {
    const end = lines.findIndex(line => line !== '' && !line.startsWith('        '))
    return lines
      .slice(0, end === -1 ? undefined : end)
      .map(line => line.slice(8))
      .join('\n')
  }
  const [, quoted] = /^'((?:[^']|'')*)'/.exec(rest) ?? []
  if (quoted !== undefined) return quoted.replaceAll("''", "'").replaceAll(/\s*\n\s*/g, ' ')
  const [, escaped] = /^("(?:[^"\\]|\\[\s\S])*")/.exec(rest) ?? []
  return escaped === undefined ? '' : String(JSON.parse(escaped.replaceAll(/\\\n\s*\\?/g, '')))
}
