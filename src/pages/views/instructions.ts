/** How to pay outside this page: reference, account, deadline, code to scan. Everything can be copied and printed. */
import { encode } from 'uqr'
import { fill, type Html, html, raw } from '#http/html.ts'
import { toLink } from '#pages/address.ts'
import { formatMoment, formatMoney, type Money } from '#pages/money-text.ts'
import type { TextKey } from '#pages/texts/en.ts'
import { icon } from '#pages/views/icons.ts'
import { hiddenFields, type PageFrame, renderPage, withMerchant } from '#pages/views/layout.ts'
import { renderSiteForm, type SiteForm } from '#pages/views/site-page.ts'

/** Entries that a customer writes on a payment slip or into a transfer form; each is the key of its own label. */
export type InstructionName = Extract<
  TextKey,
  | 'recipient'
  | 'iban'
  | 'bic'
  | 'bank'
  | 'accountNumber'
  | 'bankCode'
  | 'entity'
  | 'reference'
  | 'paymentCode'
>

export interface InstructionsModel {
  /** The amount to pay now. */
  readonly amount: Money
  /** The full amount, shown if a part has arrived already. */
  readonly total?: Money | undefined
  readonly methodLabel: string
  readonly kind: 'voucher' | 'transfer' | 'qr'
  /** In the order in which they are typed. */
  readonly entries: readonly { readonly name: InstructionName; readonly value: string }[]
  /** ISO 8601. */
  readonly deadline?: string | undefined
  /** The content of the QR code; without it there is none. */
  readonly qrText?: string | undefined
  /** Back to the shop. */
  readonly returnUrl?: string | undefined
  /** Test only: the form that simulates what the customer did with these instructions. */
  readonly siteForm?: SiteForm | undefined
}

const leads: Readonly<Record<InstructionsModel['kind'], TextKey>> = {
  voucher: 'instructionsVoucher',
  transfer: 'instructionsTransfer',
  qr: 'instructionsQr',
}

export function renderInstructions(frame: PageFrame, model: InstructionsModel): string {
  const { texts, locale } = frame.language
  const amount = formatMoney(model.amount, locale)
  const total = formatMoney(model.total ?? model.amount, locale)
  const back = toLink(model.returnUrl)
  const main = html`<h1>${fill(texts.instructionsTitle, { amount })}</h1>
<p class="lead">${texts[leads[model.kind]]}</p>
${model.qrText !== undefined && html`<figure class="qr">${renderQr(model.qrText, texts.qrCode)}</figure>`}
<dl class="slip">
<div><dt>${texts.method}</dt><dd>${model.methodLabel}</dd></div>
${total !== amount && html`<div><dt>${texts.total}</dt><dd>${total}</dd></div>`}
<div><dt>${texts.amount}</dt><dd>${amount}</dd></div>
${model.entries.map(({ name, value }) => renderEntry(frame, texts[name], value))}
${model.deadline !== undefined && html`<div><dt>${texts.payBefore}</dt><dd><time datetime="${model.deadline}">${formatMoment(model.deadline, locale)}</time></dd></div>`}
</dl>
<p class="hint">${withMerchant(frame, texts.instructionsAfter)}</p>
<div class="buttons no-print"><button class="secondary scripted" type="button" data-print>${icon('print')}<span>${texts.print}</span></button>${
    back !== undefined &&
    html`<a class="primary" href="${back}"><span>${withMerchant(frame, texts.backToMerchant)}</span></a>`
  }</div>
${model.siteForm !== undefined && renderSiteForm(frame, model.siteForm)}`
  return renderPage(frame, { title: fill(texts.instructionsTitle, { amount }), main })
}

/** Long codes are shown in groups of four where they are account numbers; copied they are without spaces. */
const inGroups = (value: string): string =>
  /^[A-Z]{2}\d{2}[A-Z0-9]{11,30}$/.test(value) ? value.replace(/(.{4})(?=.)/g, '$1 ') : value

const renderEntry = ({ language }: PageFrame, label: string, value: string): Html =>
  html`<div><dt>${label}</dt><dd><bdi class="code">${inGroups(value)}</bdi><button class="copy scripted no-print" type="button" data-copy="${value}" data-copied="${language.texts.copied}" aria-label="${fill(language.texts.copyWhat, { what: label })}">${icon('copy')}<span aria-hidden="true">${language.texts.copy}</span></button></dd></div>`

/** One path of horizontal runs: a third of the size that a square per module would have. */
export function renderQr(text: string, label: string): Html {
  const { data, size } = encode(text, { ecc: 'M', border: 4 })
  let path = ''
  for (const [y, row] of data.entries()) {
    for (let x = 0; x < size; x++) {
      if (row[x] !== true) continue
      const start = x
      while (row[x + 1] === true) x++
      path += `M${start} ${y}h${x - start + 1}v1H${start}z`
    }
  }
  return html`<svg class="qr-code" role="img" aria-label="${label}" viewBox="0 0 ${size} ${size}" shape-rendering="crispEdges"><rect class="qr-paper" width="${size}" height="${size}"/><path class="qr-ink" d="${raw(path)}"/></svg>`
}

/**
 * The page that redirects to a provider: a form that the script submits, or an address that opens itself. Both work
 * without a script.
 */
export interface SendOnModel {
  readonly methodLabel: string
  readonly url: string
  readonly verb: 'GET' | 'POST'
  readonly fields?: Readonly<Record<string, string>>
}

export function renderSendOn(frame: PageFrame, { methodLabel, url, verb, fields = {} }: SendOnModel): string {
  const { texts } = frame.language
  const label = fill(texts.continueWith, { method: methodLabel })
  const hidden = hiddenFields(Object.entries(fields).map(([name, value]) => ({ name, value })))
  const onward =
    verb === 'POST'
      ? html`<form method="post" action="${url}" data-onward>${hidden}<p class="buttons"><button class="primary" type="submit"><span>${label}</span></button></p></form>`
      : html`<p class="buttons"><a class="primary" href="${url}"><span>${label}</span></a></p>`
  return renderPage(frame, {
    title: label,
    // Without a script the customer must submit the form.
    opens: verb === 'GET' ? url : undefined,
    main: html`<h1>${label}</h1>
<p class="lead">${fill(texts.hintRedirect, { method: methodLabel })}</p>
${onward}`,
  })
}
