/** Splits a record of a CSV file (RFC 4180) into its cells. */

const quote = '"'

/** Undefined for a line with unbalanced quotes. */
export function splitCsvLine(line: string): string[] | undefined {
  const cells: string[] = []
  let at = 0
  for (;;) {
    const cell = line[at] === quote ? readQuoted(line, at) : readBare(line, at)
    if (cell === undefined) return undefined
    cells.push(cell.text)
    if (cell.end === line.length) return cells
    at = cell.end + 1
  }
}

interface Cell {
  readonly text: string
  /** The position of the next comma, or the end of the line. */
  readonly end: number
}

function readBare(line: string, start: number): Cell | undefined {
  const comma = line.indexOf(',', start)
  const end = comma === -1 ? line.length : comma
  const text = line.slice(start, end)
  return text.includes(quote) ? undefined : { text: text.trim(), end }
}

/** A quote within quotes is written twice. */
function readQuoted(line: string, start: number): Cell | undefined {
  let text = ''
  for (let at = start + 1; at < line.length; at++) {
    if (line[at] !== quote) text += line[at]
    else if (line[at + 1] === quote) {
      text += quote
      at++
    } else {
      const end = at + 1
      return end === line.length || line[end] === ',' ? { text: text.trim(), end } : undefined
    }
  }
  return undefined
}

/** An error text for a record with too few columns, such as the last one of a truncated file. */
export const describeCut = (cells: readonly string[], headings: readonly string[]): string | undefined =>
  cells.length < headings.length
    ? `ends after ${cells.length} of ${headings.length} columns; the file may be cut off`
    : undefined
