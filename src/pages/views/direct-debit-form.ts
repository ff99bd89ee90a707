/** The account's fields and the mandate with which the customer lets the merchant collect. */
import { fill, type Html, html } from '#http/html.ts'
import { type FieldErrors, renderField, renderTick } from '#pages/views/field.ts'
import type { PageFrame } from '#pages/views/layout.ts'

export interface DirectDebitForm {
  /** Who collects; the merchant's name where absent. */
  readonly creditorName?: string | undefined
  readonly creditorId?: string | undefined
  readonly mandateReference?: string | undefined
  /** The customer agrees to later debits too. */
  readonly isRepeated?: boolean | undefined
  readonly entered?:
    | {
        readonly accountHolder?: string | undefined
        readonly iban?: string | undefined
        readonly hasConsented?: boolean | undefined
      }
    | undefined
}

export function renderDirectDebitForm(frame: PageFrame, form: DirectDebitForm, errors: FieldErrors): Html {
  const { texts } = frame.language
  return html`${renderField({
    name: 'accountHolder',
    label: texts.accountHolder,
    autocomplete: 'name',
    lengthMax: 64,
    value: form.entered?.accountHolder,
    error: errors.accountHolder,
    mistakes: { missing: texts.accountHolderMissing, wrong: texts.accountHolderWrong },
  })}
${renderField({
  name: 'iban',
  label: texts.iban,
  hint: texts.ibanHint,
  autocomplete: 'off',
  isCode: true,
  // 34 characters are the longest IBAN, in groups of four.
  lengthMax: 50,
  value: form.entered?.iban,
  error: errors.iban,
  mistakes: { missing: texts.ibanMissing, wrong: texts.ibanWrong },
})}
${renderMandate(frame, form)}
${renderTick({
  name: 'consent',
  label: texts.consent,
  isTicked: form.entered?.hasConsented,
  error: errors.consent,
  mistake: texts.consentMissing,
})}`
}

function renderMandate({ language, merchantName }: PageFrame, form: DirectDebitForm): Html {
  const { texts } = language
  const creditor = form.creditorName ?? merchantName ?? ''
  const row = (label: string, value: string | undefined): Html | false =>
    value !== undefined && html`<div><dt>${label}</dt><dd><bdi>${value}</bdi></dd></div>`
  return html`<section class="mandate" aria-labelledby="mandate-title"><h2 id="mandate-title">${texts.mandate}</h2>
<p>${fill(form.isRepeated ? texts.mandateTextRepeated : texts.mandateText, { creditor })}</p>
<dl>${row(texts.merchant, creditor)}${row(texts.creditorId, form.creditorId)}${row(texts.mandateReference, form.mandateReference)}</dl></section>`
}
