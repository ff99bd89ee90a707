/** Charts as SVG, drawn on the server. Each has a description in words and is followed by the table of its data. */
import { type Html, html } from '#http/html.ts'

export interface Bar {
  readonly label: string
  readonly value: number
  /** The tooltip. */
  readonly title: string
}

const chartHeight = 120
const barWidth = 14
const barGap = 6

/** One bar for each entry, from left to right; entries with zero keep their place. */
export function renderBars(bars: readonly Bar[], name: string): Html {
  const highest = bars.toSorted((a, b) => b.value - a.value)[0]
  const top = Math.max(1, highest?.value ?? 0)
  const width = Math.max(1, bars.length) * (barWidth + barGap)
  const drawn = bars.map(({ value, title }, index) => {
    const height = value === 0 ? 1 : Math.max(2, Math.round((value / top) * (chartHeight - 4)))
    return html`<rect x="${index * (barWidth + barGap) + barGap / 2}" y="${chartHeight - height}" width="${barWidth}" height="${height}" rx="2"${value === 0 ? html` class="none"` : ''}><title>${title}</title></rect>`
  })
  return html`<figure class="chart"><svg viewBox="0 0 ${width} ${chartHeight}" preserveAspectRatio="none" role="img" aria-label="${name}">${drawn}</svg><figcaption><span>${bars[0]?.label}</span>${highest && highest.value > 0 && html`<span>highest: ${highest.title}</span>`}<span>${bars.at(-1)?.label}</span></figcaption></figure>`
}

export interface Share {
  readonly label: string
  /** From 0 to 1. */
  readonly share: number
}

/** One horizontal bar for each share, with its label and its percentage. Labels are texts beside it, so that long ones wrap. */
export function renderShares(shares: readonly Share[], name: string): Html {
  const rows = shares.map(
    ({ label, share }) =>
      html`<span>${label}</span><svg viewBox="0 0 100 12" preserveAspectRatio="none"><rect class="none" width="100" height="12"/><rect width="${Math.round(share * 100)}" height="12"/></svg><span class="number">${Math.round(share * 100)} %</span>`,
  )
  return html`<div class="shares" role="img" aria-label="${name}">${rows}</div>`
}
