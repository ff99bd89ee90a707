/** The instalments of a method that is paid in parts: when, how much, and what it costs. */
import { type Html, html } from '#http/html.ts'
import type { PageFrame } from '#pages/layout.ts'
import { formatCount, formatDay, formatMoney } from '#pages/money-text.ts'

export interface InstalmentSchedule {
  readonly currency: string
  readonly instalments: readonly { readonly dueDate: string; readonly value: number }[]
  /** Interest and fees of all instalments. */
  readonly cost?: number | undefined
  readonly total: number
}

export function renderInstalmentSchedule({ language }: PageFrame, schedule: InstalmentSchedule): Html {
  const { texts, locale } = language
  const money = (value: number): string => formatMoney({ value, currency: schedule.currency }, locale)
  return html`<table class="plan"><caption>${texts.instalmentPlan}</caption>
<thead><tr><th scope="col">${texts.instalment}</th><th scope="col">${texts.dueDate}</th><th scope="col" class="sum">${texts.amount}</th></tr></thead>
<tbody>${schedule.instalments.map(
    ({ dueDate, value }, index) =>
      html`<tr><th scope="row">${formatCount(index + 1, locale)}</th><td>${formatDay(dueDate, locale)}</td><td class="sum">${money(value)}</td></tr>`,
  )}</tbody>
<tfoot>${
    schedule.cost !== undefined &&
    html`<tr><th scope="row" colspan="2">${texts.interest}</th><td class="sum">${money(schedule.cost)}</td></tr>`
  }<tr><th scope="row" colspan="2">${texts.total}</th><td class="sum">${money(schedule.total)}</td></tr></tfoot></table>`
}
