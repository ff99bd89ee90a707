/** Reads the part of a VCR cassette (YAML) that tests need: verb, address, bodies and status of each exchange. */

export interface Exchange {
  readonly request: { readonly verb: string; readonly uri: string; readonly body: string }
  readonly response: { readonly status: number; readonly body: string }
}

/** Cassettes are written by one program in one layout, so lines and indents say enough; no YAML parser is needed. */
export function readCassette(text: string): readonly Exchange[] {
  return text
    .split(/^- request:$/m)
    .slice(1)
    .map(part => {
      const [request = '', response = ''] = part.split(/^ {2}response:$/m)
      return {
        request: {
          verb: (/^ {4}method: (\w+)$/m.exec(request)?.[1] ?? '').toUpperCase(),
          uri: /^ {4}uri: (.+)$/m.exec(request)?.[1] ?? '',
          body: readString(request),
        },
        response: { status: Number(/^ {6}code: (\d+)$/m.exec(response)?.[1]), body: readString(response) },
      }
    })
}

/** A scalar in single quotes, folded over several lines: a line break within it is one blank. */
function readString(part: string): string {
  const [, scalar = ''] = /^ {6}string: ([\s\S]*?)(?=^ {0,6}\S|$(?![\s\S]))/m.exec(part) ?? []
  const folded = scalar.trim().replace(/\n\s*/g, ' ')
  return /^'[\s\S]*'$/.test(folded) ? folded.slice(1, -1).replaceAll("''", "'") : folded
}
