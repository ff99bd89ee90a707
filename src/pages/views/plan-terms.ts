/** What a customer agrees to who begins a plan: how much, how often, from when until when, and how it ends. */
import type { Frequency } from '#domain/calendar.ts'
import type { Money } from '#domain/money.ts'
import { fill, type Html, html } from '#http/html.ts'
import { type PageFrame, withMerchant } from '#pages/layout.ts'
import { formatCount, formatDay, formatMoney } from '#pages/money-text.ts'
import { renderTick } from '#pages/views/field.ts'

export interface PlanTerms {
  readonly amount: Money
  readonly frequency?: Frequency | undefined
  /** Days, as the calendar writes them. */
  readonly firstCharge: string
  readonly lastCharge?: string | undefined
  readonly hasConsented?: boolean | undefined
}

const units: Readonly<Record<Frequency, string>> = {
  DAILY: 'day',
  WEEKLY: 'week',
  MONTHLY: 'month',
  YEARLY: 'year',
}

/** Intl has the words for an interval in every language. */
const interval = (frequency: Frequency, locale: string): string =>
  new Intl.NumberFormat(locale, { style: 'unit', unit: units[frequency], unitDisplay: 'long' }).format(1)

/** `error`: why the plan cannot begin, where the customer has not agreed to it. */
export function renderPlan(frame: PageFrame, plan: PlanTerms, error?: string): Html {
  const { texts, locale } = frame.language
  const { amount, frequency, firstCharge, lastCharge } = plan
  const row = (label: string, value: string): Html =>
    html`<div><dt>${label}</dt><dd><bdi>${value}</bdi></dd></div>`
  return html`<section class="terms" data-plan aria-label="${texts.planTitle}">
<h2>${texts.planTitle}</h2>
<dl class="facts">${row(texts.amount, formatMoney(amount, locale))}${frequency ? row(texts.planInterval, interval(frequency, locale)) : ''}${row(texts.planFirst, formatDay(firstCharge, locale))}${row(texts.planLast, lastCharge === undefined ? texts.planOpenEnd : formatDay(lastCharge, locale))}</dl>
<p class="hint">${withMerchant(frame, texts.planHowToEnd)}</p>
${renderTick({
  name: 'planConsent',
  label: fill(texts.planConsent, { merchant: frame.merchantName ?? texts.merchant }),
  isTicked: plan.hasConsented,
  error,
  mistake: texts.planConsentMissing,
})}
</section>`
}

/** The instalments of a method that is paid in parts: when, how much, and what it costs. */
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
