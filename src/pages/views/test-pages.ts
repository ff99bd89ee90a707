/**
 * Pages that stand in for somebody else in the test environment: a provider's own page, and the bank that asks for
 * confirmation (3-D Secure). Both are marked as test and send one of four values as `action`.
 */
import { fill, type Html, html } from '#http/html.ts'
import { brandMark, icon, nameBrand } from '#pages/icons.ts'
import { type HiddenField, hiddenFields, type PageFrame, renderPage } from '#pages/layout.ts'
import { formatMoment, formatMoney, type Money } from '#pages/money-text.ts'
import { type InstalmentSchedule, renderInstalmentSchedule } from '#pages/views/plan-terms.ts'

export interface TestStep {
  readonly amount: Money
  readonly action: string
  readonly hidden: readonly HiddenField[]
}

export interface ProviderPageModel extends TestStep {
  readonly methodLabel: string
  readonly reference?: string | undefined
  readonly instalments?: InstalmentSchedule | undefined
}

export interface ChallengeModel extends TestStep {
  readonly brand: string
  readonly last4Digits: string
  /** ISO 8601: when the payment was made. */
  readonly date: string
}

type Row = readonly [label: string, value: string | Html | undefined]

const renderRows = (rows: readonly Row[]): Html =>
  html`<dl class="facts">${rows.map(([label, value]) => value !== undefined && html`<div><dt>${label}</dt><dd>${value}</dd></div>`)}</dl>`

function renderChoices(
  { language }: PageFrame,
  { action, hidden }: Pick<TestStep, 'action' | 'hidden'>,
): Html {
  const { texts } = language
  return html`<form method="post" action="${action}" class="choices" data-once data-sending="${texts.sending}">
${hiddenFields(hidden)}
<button class="primary" name="action" value="approve">${icon('check')}<span>${texts.approve}</span></button>
<button class="secondary" name="action" value="decline">${icon('cross')}<span>${texts.decline}</span></button>
<button class="secondary" name="action" value="cancel">${icon('arrow')}<span>${texts.cancel}</span></button>
<button class="secondary" name="action" value="pending">${icon('clock')}<span>${texts.leavePending}</span></button>
<p class="progress" role="status" data-progress></p>
</form>`
}

/** Below instructions that in live mode are followed elsewhere, at a till or a bank. */
export const renderChoicesElsewhere = (
  frame: PageFrame,
  { methodLabel, ...step }: Pick<ProviderPageModel, 'action' | 'hidden' | 'methodLabel'>,
): Html =>
  html`<div class="no-print"><p class="hint">${fill(frame.language.texts.providerText, { method: methodLabel })}</p>
${renderChoices(frame, step)}</div>`

export function renderProviderPage(frame: PageFrame, model: ProviderPageModel): string {
  const { texts, locale } = frame.language
  const title = fill(texts.providerTitle, { method: model.methodLabel })
  return renderPage(frame, {
    title,
    main: html`<h1>${title}</h1>
<p class="lead">${fill(texts.providerText, { method: model.methodLabel })}</p>
${renderRows([
  [texts.merchant, frame.merchantName],
  [texts.amount, formatMoney(model.amount, locale)],
  [texts.reference, model.reference],
])}
${model.instalments !== undefined && renderInstalmentSchedule(frame, model.instalments)}
${renderChoices(frame, model)}`,
  })
}

export function renderChallenge(frame: PageFrame, model: ChallengeModel): string {
  const { texts, locale } = frame.language
  const brand = nameBrand(model.brand, texts.card)
  return renderPage(frame, {
    title: texts.challengeTitle,
    main: html`<div class="issuer"><span class="issuer-name">${icon('shield')}${texts.testBank}</span>${brandMark(model.brand)}</div>
<h1>${texts.challengeTitle}</h1>
<p class="lead">${texts.challengeText}</p>
${renderRows([
  [texts.merchant, frame.merchantName],
  [texts.amount, formatMoney(model.amount, locale)],
  [texts.date, html`<time datetime="${model.date}">${formatMoment(model.date, locale)}</time>`],
  [texts.card, fill(texts.cardEnding, { brand, digits: model.last4Digits })],
])}
${renderChoices(frame, model)}`,
  })
}
