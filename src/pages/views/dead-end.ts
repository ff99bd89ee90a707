/** Pages on which nothing can be paid: a friendly text, the right status, and a link to continue where there is one. */

import { html } from '#http/html.ts'
import { toLink } from '#pages/address.ts'
import type { TextKey } from '#pages/texts/en.ts'
import { type IconName, icon } from '#pages/views/icons.ts'
import { type PageFrame, renderPage, withMerchant } from '#pages/views/layout.ts'

export type DeadEndKind =
  | 'expired'
  | 'completed'
  | 'unknown'
  | 'tooManyTries'
  | 'slowDown'
  | 'error'
  | 'unavailable'

export interface DeadEndModel {
  readonly kind: DeadEndKind
  /** Back to the shop. */
  readonly returnUrl?: string | undefined
  /** The page itself, for temporary errors. */
  readonly retryUrl?: string | undefined
  /** Money had arrived, which goes back. */
  readonly isSentBack?: boolean | undefined
}

interface Look {
  readonly icon: IconName
  readonly title: TextKey
  readonly text: TextKey
  readonly status: number
}

const looks: Readonly<Record<DeadEndKind, Look>> = {
  expired: { icon: 'clock', title: 'expiredTitle', text: 'expiredText', status: 410 },
  completed: { icon: 'check', title: 'completedTitle', text: 'completedText', status: 410 },
  unknown: { icon: 'search', title: 'unknownTitle', text: 'unknownText', status: 404 },
  tooManyTries: { icon: 'lock', title: 'triesTitle', text: 'triesText', status: 410 },
  slowDown: { icon: 'clock', title: 'slowDownTitle', text: 'slowDownText', status: 429 },
  error: { icon: 'alert', title: 'errorTitle', text: 'errorText', status: 500 },
  unavailable: { icon: 'clock', title: 'unavailableTitle', text: 'unavailableText', status: 503 },
}

/** The HTTP status that belongs to the page. */
export const statusOfDeadEnd = (kind: DeadEndKind): number => looks[kind].status

export function renderDeadEnd(frame: PageFrame, model: DeadEndModel): string {
  const { texts } = frame.language
  const { kind } = model
  const look = looks[kind]
  const back = toLink(model.returnUrl)
  const retry = toLink(model.retryUrl)
  return renderPage(frame, {
    title: texts[look.title],
    main: html`<div class="outcome" data-kind="${kind}"><span class="badge">${icon(look.icon)}</span>
<h1>${texts[look.title]}</h1>
<p class="lead">${withMerchant(frame, texts[model.isSentBack ? 'sentBackText' : look.text])}</p></div>
${
  (retry !== undefined || back !== undefined) &&
  html`<p class="buttons">${retry !== undefined && html`<a class="primary" href="${retry}"><span>${texts.tryAgain}</span></a>`}${
    back !== undefined &&
    html`<a class="${retry === undefined ? 'primary' : 'secondary'}" href="${back}"><span>${withMerchant(frame, texts.backToMerchant) || texts.continueButton}</span></a>`
  }</p>`
}`,
  })
}
