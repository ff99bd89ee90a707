/** The order being paid: amount, description, lines, sums. It only renders: the sums were checked before. */
import { fill, type Html, html } from '#http/html.ts'
import { formatCount, formatMoney, type Money } from '#pages/money-text.ts'
import { icon } from '#pages/views/icons.ts'
import type { PageFrame } from '#pages/views/layout.ts'

export interface SummaryLine {
  readonly name: string
  readonly quantity?: number | undefined
  readonly quantityUnit?: string | undefined
  readonly description?: string | undefined
  /** Of all units, in the smallest unit. */
  readonly total?: number | undefined
}

export interface OrderSummary {
  readonly amount: Money
  /** `order.description` and a link's own description, as text. */
  readonly descriptions?: readonly string[] | undefined
  readonly lines?: readonly SummaryLine[] | undefined
  readonly subtotal?: number | undefined
  /** The discount, as a positive number. */
  readonly discount?: number | undefined
  readonly shipping?: number | undefined
  readonly tax?: number | undefined
  /** Whether the prices of the lines include the tax. */
  readonly isTaxIncluded?: boolean | undefined
  readonly reference?: string | undefined
}

/** 50: more than anybody reads before paying; of the rest only the number is shown. */
const linesMax = 50

/** 12: as many large characters as fit beside each other on the narrowest phones. */
const dueMax = 12

/** For the script, which compares what the page shows with what is due: words may be changed by a browser's translation. */
export const nameDue = ({ value, currency }: Money): string => `${value} ${currency}`

export function renderOrderSummary(frame: PageFrame, order: OrderSummary): Html {
  const { texts, locale } = frame.language
  const amount = formatMoney(order.amount, locale)
  return html`<p class="due-label">${fill(texts.payTo, { merchant: frame.merchantName ?? '' })}</p>
<p class="due${amount.length > dueMax && ' long'}" data-due="${nameDue(order.amount)}">${amount}</p>
${(order.descriptions ?? []).map(text => html`<p class="about"><bdi>${text}</bdi></p>`)}
${renderDetails(frame, order, amount)}`
}

function renderDetails(frame: PageFrame, order: OrderSummary, amount: string): Html | false {
  const { texts } = frame.language
  const lines = order.lines ?? []
  if (lines.length === 0 && order.reference === undefined) return false
  return html`<details class="lines">
<summary><span>${texts.orderSummary}</span>${icon('chevron')}</summary>
<div class="lines-in">
${lines.length > 0 && html`<ul class="items">${lines.slice(0, linesMax).map(line => renderLine(frame, line, order.amount.currency))}</ul>`}
${lines.length > linesMax && html`<p class="more">${fill(texts.moreItems, { count: formatCount(lines.length - linesMax, frame.language.locale) })}</p>`}
${renderSums(frame, order, amount)}
</div>
</details>`
}

function renderLine({ language }: PageFrame, line: SummaryLine, currency: string): Html {
  const { name, quantity, quantityUnit, description, total } = line
  const count = quantity === undefined ? '' : formatCount(quantity, language.locale)
  return html`<li><span class="item-name"><bdi>${name}</bdi>${
    description !== undefined && html`<small><bdi>${description}</bdi></small>`
  }${
    quantity !== undefined &&
    quantity !== 1 &&
    html`<small>× ${count} <bdi>${quantityUnit ?? ''}</bdi></small>`
  }</span>${
    total !== undefined &&
    html`<span class="item-sum"><bdi>${formatMoney({ value: total, currency }, language.locale)}</bdi></span>`
  }</li>`
}

function renderSums({ language }: PageFrame, order: OrderSummary, amount: string): Html {
  const { texts, locale } = language
  const row = (label: string, value: number | undefined): Html | false =>
    value !== undefined &&
    html`<div><dt>${label}</dt><dd><bdi>${formatMoney({ value, currency: order.amount.currency }, locale)}</bdi></dd></div>`
  return html`<dl class="sums">
${row(texts.subtotal, order.subtotal)}
${row(texts.discount, order.discount === undefined ? undefined : -order.discount)}
${row(texts.shipping, order.shipping)}
${order.isTaxIncluded !== true && row(texts.tax, order.tax)}
<div class="sum-total"><dt>${texts.total}</dt><dd>${amount}</dd></div>
${order.isTaxIncluded === true && row(texts.taxIncluded, order.tax)}
${order.reference !== undefined && html`<div class="sum-note"><dt>${texts.reference}</dt><dd><bdi>${order.reference}</bdi></dd></div>`}
</dl>`
}
