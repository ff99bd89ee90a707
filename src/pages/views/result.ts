/** The result of a payment, for customers whose shop gave no return address, and while a result is awaited. */

import { html } from '#http/html.ts'
import { toLink } from '#pages/address.ts'
import { formatMoment, formatMoney, type Money } from '#pages/money-text.ts'
import type { TextKey } from '#pages/texts/en.ts'
import { type IconName, icon } from '#pages/views/icons.ts'
import { type PageFrame, renderPage, withMerchant } from '#pages/views/layout.ts'

export type ResultKind = 'paid' | 'pending' | 'failed' | 'cancelled'

export interface ResultModel {
  readonly kind: ResultKind
  readonly amount?: Money | undefined
  /** Empty if no method was chosen. */
  readonly methodLabel?: string | undefined
  readonly reference?: string | undefined
  /** ISO 8601. */
  readonly date?: string | undefined
  /** Back to the shop. */
  readonly returnUrl?: string | undefined
  /** It ended without success, but money had arrived, which goes back. */
  readonly isSentBack?: boolean | undefined
}

interface Look {
  readonly icon: IconName
  readonly title: TextKey
  readonly text: TextKey
}

const looks: Readonly<Record<ResultKind, Look>> = {
  paid: { icon: 'check', title: 'paidTitle', text: 'paidText' },
  pending: { icon: 'clock', title: 'pendingTitle', text: 'pendingText' },
  failed: { icon: 'cross', title: 'failedTitle', text: 'failedText' },
  cancelled: { icon: 'cross', title: 'cancelledTitle', text: 'cancelledText' },
}

export function renderResult(frame: PageFrame, model: ResultModel): string {
  const { texts, locale } = frame.language
  const look = looks[model.kind]
  const back = toLink(model.returnUrl)
  const rows = [
    [texts.amount, model.amount === undefined ? undefined : formatMoney(model.amount, locale)],
    [texts.method, model.methodLabel],
    [texts.reference, model.reference],
    [texts.date, model.date === undefined ? undefined : formatMoment(model.date, locale)],
  ] as const
  return renderPage(frame, {
    title: texts[look.title],
    main: html`<div class="outcome" data-kind="${model.kind}"><span class="badge">${icon(look.icon)}</span>
<h1>${texts[look.title]}</h1>
<p class="lead">${withMerchant(frame, texts[model.isSentBack ? 'sentBackText' : look.text])}</p></div>
<dl class="facts">${rows.map(([label, value]) => value && html`<div><dt>${label}</dt><dd><bdi>${value}</bdi></dd></div>`)}</dl>
${back !== undefined && html`<p class="buttons"><a class="primary" href="${back}"><span>${withMerchant(frame, texts.backToMerchant) || texts.continueButton}</span></a></p>`}`,
  })
}
