/** Writes text as a minimal PDF (Courier, one column, as many pages as needed), for typed evidence. */

/** A4 in points with margins: 95 characters of 8-point Courier per line, 70 lines per page. */
const lineLength = 95
const linesPerPage = 70
const page = { width: 595, height: 842, left: 50, top: 790 }

export function toPdf(text: string): Buffer {
  const lines = text.split(/\r?\n/).flatMap(wrap)
  const pages = Array.from({ length: Math.max(1, Math.ceil(lines.length / linesPerPage)) }, (_, index) =>
    lines.slice(index * linesPerPage, (index + 1) * linesPerPage),
  )
  // Objects 1 to 3 are the catalogue, the page tree and the font. Each page adds two: the page and its text.
  const kids = pages.map((_, index) => `${4 + 2 * index} 0 R`).join(' ')
  return toFile([
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Kids [${kids}] /Count ${pages.length} >>`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Courier /Encoding /WinAnsiEncoding >>',
    ...pages.flatMap((shown, index) => {
      const content = toContent(shown)
      return [
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${page.width} ${page.height}] ` +
          `/Resources << /Font << /F1 3 0 R >> >> /Contents ${5 + 2 * index} 0 R >>`,
        `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
      ]
    }),
  ])
}

const wrap = (line: string): string[] => line.match(new RegExp(`.{1,${lineLength}}`, 'gu')) ?? ['']

/** Characters outside Latin-1, which this font lacks, become question marks. */
const toContent = (lines: readonly string[]): string =>
  [
    `BT /F1 8 Tf 10 TL ${page.left} ${page.top} Td`,
    ...lines.map(line => `(${line.replace(/[^\x20-\x7e\xa0-\xff]/gu, '?').replace(/[\\()]/g, '\\$&')}) '`),
    'ET',
  ].join('\n')

function toFile(objects: readonly string[]): Buffer {
  let file = '%PDF-1.4\n'
  const offsets = objects.map((object, index) => {
    const offset = file.length
    file += `${index + 1} 0 obj\n${object}\nendobj\n`
    return offset
  })
  const table = offsets.map(offset => `${String(offset).padStart(10, '0')} 00000 n \n`).join('')
  const size = objects.length + 1
  file += `xref\n0 ${size}\n0000000000 65535 f \n${table}trailer\n<< /Size ${size} /Root 1 0 R >>\n`
  file += `startxref\n${file.lastIndexOf('xref\n0')}\n%%EOF\n`
  return Buffer.from(file, 'latin1')
}
