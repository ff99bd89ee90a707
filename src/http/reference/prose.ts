/** Descriptions and examples of the reference page as HTML: paragraphs, lists, code and coloured JSON. */
import { escapeHtml, Html, html } from '#http/html.ts'

/** Renders the markup of descriptions: paragraphs, lines that begin with "- ", `code` and **strong**. */
export function renderProse(text: string): Html {
  const blocks = text.trim().split(/\n\s*\n/)
  return html`${blocks.map(block => {
    const lines = block.split('\n').map(line => line.trim())
    if (lines.every(line => line.startsWith('- '))) {
      return html`<ul>${lines.map(line => html`<li>${renderInline(line.slice(2))}</li>`)}</ul>`
    }
    return html`<p>${renderInline(lines.join(' '))}</p>`
  })}`
}

export function renderInline(text: string): Html {
  const pieces = text.split(/(`[^`]+`|\*\*[^*]+\*\*)/)
  return html`${pieces.map(piece => {
    if (piece.startsWith('`') && piece.length > 2) return html`<code>${piece.slice(1, -1)}</code>`
    if (piece.startsWith('**') && piece.length > 4) return html`<strong>${piece.slice(2, -2)}</strong>`
    return piece
  })}`
}

const jsonToken = /("(?:\\.|[^"\\])*")(?=(\s*:)?)|\b(?:true|false|null)\b|-?\d[\d.eE+-]*/g

/** Highlights JSON without changing the text, so that it can be copied. */
export function highlightJson(text: string): Html {
  let coloured = ''
  let end = 0
  for (const match of text.matchAll(jsonToken)) {
    const [token, quoted, colon] = match
    const kind = quoted === undefined ? 'n' : colon === undefined ? 's' : 'k'
    coloured += `${escapeHtml(text.slice(end, match.index))}<span class="${kind}">${escapeHtml(token)}</span>`
    end = match.index + token.length
  }
  return new Html(coloured + escapeHtml(text.slice(end)))
}
