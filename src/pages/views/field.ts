/** One labelled field with hint and error, and the summary of all errors above a form. Errors are announced and linked. */
import { type Html, html } from '#http/html.ts'
import type { Texts } from '#pages/texts/en.ts'
import { icon } from '#pages/views/icons.ts'

/** The fields of all forms that a customer fills in. */
export type FieldName =
  | 'number'
  | 'expiry'
  | 'securityCode'
  | 'cardholderName'
  | 'iban'
  | 'accountHolder'
  | 'consent'
  | 'planConsent'
  | 'dcc'
/** Ready texts in the customer's language. */
export type FieldErrors = Partial<Readonly<Record<FieldName, string>>>

export interface FormNotice {
  /** The heading of the message; by default it says that the payment was declined. */
  readonly title?: string | undefined
  /** Why the last try failed, in the customer's language. */
  readonly message?: string | undefined
  readonly errors?: FieldErrors | undefined
}

export interface Field {
  readonly name: FieldName
  readonly label: string
  readonly hint?: string | undefined
  /** Shown again after an error. Never given for card number and security code. */
  readonly value?: string | undefined
  readonly error?: string | undefined
  readonly autocomplete: string
  readonly isNumeric?: boolean | undefined
  readonly placeholder?: string | undefined
  /** Written from left to right in every language: digits, dates, account numbers. */
  readonly isCode?: boolean | undefined
  /** The script's error messages, by kind of mistake. */
  readonly mistakes: Readonly<Record<string, string>>
  /** Inside the frame of the field, after the input. */
  readonly decoration?: Html | undefined
  readonly lengthMax: number
}

export function renderField(field: Field): Html {
  const { name, hint, error } = field
  return html`<div class="field"${error !== undefined && html` data-wrong`}>
<label for="${name}">${field.label}</label>
<div class="control"><input id="${name}" name="${name}" type="text" autocomplete="${field.autocomplete}" maxlength="${field.lengthMax}"${
    field.isNumeric === true && html` inputmode="numeric"`
  }${field.isCode === true && html` dir="ltr" autocapitalize="off" autocorrect="off" spellcheck="false"`}${
    field.placeholder !== undefined && html` placeholder="${field.placeholder}"`
  }${field.value !== undefined && html` value="${field.value}"`} aria-required="true"${
    error !== undefined && html` aria-invalid="true"`
  } aria-describedby="${name}-error${hint !== undefined && ` ${name}-hint`}"${Object.entries(
    field.mistakes,
  ).map(([kind, text]) => html` data-${kind}="${text}"`)}>${field.decoration}</div>
${hint !== undefined && html`<p class="hint" id="${name}-hint">${hint}</p>`}
<p class="error" id="${name}-error">${error}</p>
</div>`
}

export interface Tick {
  readonly name: 'saveCard' | 'consent' | 'planConsent'
  readonly label: string
  readonly isTicked?: boolean | undefined
  readonly error?: string | undefined
  readonly mistake?: string | undefined
}

export const renderTick = ({ name, label, isTicked, error, mistake }: Tick): Html =>
  html`<div class="tick"${error !== undefined && html` data-wrong`}><label><input type="checkbox" id="${name}" name="${name}" value="yes"${
    isTicked === true && html` checked`
  }${error !== undefined && html` aria-invalid="true"`}${
    mistake !== undefined &&
    html` aria-required="true" aria-describedby="${name}-error" data-missing="${mistake}"`
  }><span>${label}</span></label>${mistake !== undefined && html`<p class="error" id="${name}-error">${error}</p>`}</div>`

/**
 * Always present, so that the script can fill it; when empty it takes no space. It has the focus when the page opens
 * with errors.
 */
export function renderNotice(texts: Texts, { title, message, errors = {} }: FormNotice): Html {
  const entries = Object.entries(errors)
  const isShown = message !== undefined || entries.length > 0
  return html`<div class="notice" role="alert" tabindex="-1" data-notice data-title="${texts.errorSummary}" data-declined="${texts.declineTitle}"${
    isShown ? html` autofocus` : html` hidden`
  }>${
    isShown &&
    html`${icon('alert')}<div><p class="notice-title">${title ?? (message === undefined ? texts.errorSummary : texts.declineTitle)}</p>${
      message !== undefined && html`<p>${message}</p>`
    }${
      entries.length > 0 &&
      html`<ul>${entries.map(([name, text]) => html`<li><a href="#${name}">${text}</a></li>`)}</ul>`
    }</div>`
  }</div>`
}
