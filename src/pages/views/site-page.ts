/** A page of a provider without a web site of its own, as its connector describes it, in our design. */
import type { SiteFact, SitePage } from '#connectors/contract.ts'
import { fill, type Html, html } from '#http/html.ts'
import { formatMoment, formatMoney, type Money } from '#pages/money-text.ts'
import { brandMark, icon, nameBrand } from '#pages/views/icons.ts'
import { hiddenFields, type PageFrame, renderPage } from '#pages/views/layout.ts'
import { type InstalmentSchedule, renderInstalmentSchedule } from '#pages/views/plan-terms.ts'

/** The form of a page: its buttons and what they send, and where to. */
export interface SiteForm extends Pick<SitePage, 'text' | 'buttons' | 'hidden'> {
  readonly action: string
}

export interface SitePageModel extends SiteForm, SitePage {
  /** The amount that the customer pays. */
  readonly amount: Money
  readonly reference?: string | undefined
  readonly card?: { readonly brand: string; readonly last4Digits: string } | undefined
  /** ISO 8601: when the payment was made. */
  readonly date: string
  readonly instalments?: InstalmentSchedule | undefined
}

function renderForm({ language }: PageFrame, { action, buttons, hidden }: SiteForm): Html {
  const fields = Object.entries(hidden).map(([name, value]) => ({ name, value }))
  return html`<form method="post" action="${action}" class="choices" data-once data-sending="${language.texts.sending}">
${hiddenFields(fields)}
${buttons.map(
  (button, index) =>
    html`<button class="${index === 0 ? 'primary' : 'secondary'}" name="${button.name}" value="${button.value}">${
      button.icon !== undefined && icon(button.icon)
    }<span>${button.label}</span></button>
`,
)}<p class="progress" role="status" data-progress></p>
</form>`
}

/** Below instructions that the customer follows elsewhere, at a till or a bank. */
export const renderSiteForm = (frame: PageFrame, form: SiteForm): Html =>
  html`<div class="no-print"><p class="hint">${form.text}</p>
${renderForm(frame, form)}</div>`

type Row = readonly [label: string, value: string | Html | undefined]

function rowOf(fact: SiteFact, frame: PageFrame, model: SitePageModel): Row | undefined {
  const { texts, locale } = frame.language
  switch (fact) {
    case 'merchant':
      return [texts.merchant, frame.merchantName]
    case 'amount':
      return [texts.amount, formatMoney(model.amount, locale)]
    case 'reference':
      return [texts.reference, model.reference]
    case 'date':
      return [texts.date, html`<time datetime="${model.date}">${formatMoment(model.date, locale)}</time>`]
    case 'card': {
      const { brand, last4Digits: digits } = model.card ?? {}
      if (brand === undefined) return undefined
      return [
        texts.card,
        fill(texts.cardEnding, { brand: nameBrand(brand, texts.card), digits: digits ?? '' }),
      ]
    }
    case 'instalments':
      return undefined
  }
}

const renderRows = (frame: PageFrame, model: SitePageModel): Html => {
  const rows = model.shows.map(fact => rowOf(fact, frame, model)).filter(row => row !== undefined)
  return html`<dl class="facts">${rows.map(([label, value]) => value !== undefined && html`<div><dt>${label}</dt><dd>${value}</dd></div>`)}</dl>`
}

export function renderSitePage(frame: PageFrame, model: SitePageModel): string {
  const { title, text, issuer, card, shows, instalments } = model
  return renderPage(frame, {
    title,
    main: html`${
      issuer !== undefined &&
      html`<div class="issuer"><span class="issuer-name">${icon('shield')}${issuer}</span>${card && brandMark(card.brand)}</div>
`
    }<h1>${title}</h1>
<p class="lead">${text}</p>
${renderRows(frame, model)}
${shows.includes('instalments') && instalments !== undefined && renderInstalmentSchedule(frame, instalments)}
${renderForm(frame, model)}`,
  })
}
