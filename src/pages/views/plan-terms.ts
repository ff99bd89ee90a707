/**
 * The terms to which a customer agrees when they begin a plan: amount, interval, first and last charge, and how it
 * ends.
 */

import type { Money } from '#domain/money/money.ts'
import type { Frequency } from '#domain/time/calendar.ts'
import { fill, type Html, html } from '#http/html.ts'
import { formatCount, formatDay, formatMoney } from '#pages/money-text.ts'
import type { Texts } from '#pages/texts/en.ts'
import { renderTick } from '#pages/views/field.ts'
import { type PageFrame, withMerchant } from '#pages/views/layout.ts'

export interface PlanTerms {
  /** Agreed days or an interval; otherwise the merchant charges when there is a reason, and there are no terms to show. */
  readonly isScheduled: boolean
  /** Every charge has this amount, at this interval. */
  readonly isFixed: boolean
  readonly amount: Money
  readonly frequency?: Frequency | undefined
  /** Days, as the calendar writes them. */
  readonly firstCharge: string
  readonly lastCharge?: string | undefined
  /** The last day of the plan, which may lie after its last charge. */
  readonly end?: string | undefined
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

/** On a line of its own, so that the day stays beside its name: the end of the plan where it lies after the last charge. */
function lastChargeOf(
  { lastCharge, end }: PlanTerms,
  { language: { texts, locale } }: PageFrame,
): readonly string[] {
  if (lastCharge === undefined) return [texts.planOpenEnd]
  const day = formatDay(lastCharge, locale)
  const isSame = end === undefined || end === lastCharge
  return isSame ? [day] : [day, `(${fill(texts.cardExpires, { date: formatDay(end, locale) })})`]
}

/** `error`: the message if the customer has not agreed to the plan. */
export function renderPlan(frame: PageFrame, plan: PlanTerms, error?: string): Html {
  const { texts } = frame.language
  const consent = plan.isFixed ? texts.planConsent : texts.laterConsent
  const howToEnd = html`<p class="hint">${withMerchant(frame, texts.planHowToEnd)}</p>`
  const tick = renderTick({
    name: 'planConsent',
    label: fill(consent, { merchant: frame.merchantName ?? texts.merchant }),
    isTicked: plan.hasConsented,
    error,
    mistake: consentMissing(plan, texts),
  })
  if (!plan.isScheduled) return html`<div class="terms" data-plan>${tick}${howToEnd}</div>`
  return html`<section class="terms" data-plan aria-label="${texts.planTitle}">
<h2>${texts.planTitle}</h2>
${renderTerms(frame, plan)}
${howToEnd}
${tick}
</section>`
}

export const consentMissing = ({ isScheduled }: Pick<PlanTerms, 'isScheduled'>, texts: Texts): string =>
  isScheduled ? texts.planConsentMissing : texts.laterConsentMissing

function renderTerms(frame: PageFrame, plan: PlanTerms): Html {
  const { texts, locale } = frame.language
  const { amount, frequency, firstCharge } = plan
  const row = (label: string, value: string, more?: string): Html =>
    html`<div><dt>${label}</dt><dd><bdi>${value}</bdi>${more === undefined ? '' : html`<br><bdi>${more}</bdi>`}</dd></div>`
  const [lastDay = '', end] = lastChargeOf(plan, frame)
  return html`<dl class="facts">${row(texts.amount, formatMoney(amount, locale))}${frequency ? row(texts.planInterval, interval(frequency, locale)) : ''}${row(texts.planFirst, formatDay(firstCharge, locale))}${row(texts.planLast, lastDay, end)}</dl>`
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
