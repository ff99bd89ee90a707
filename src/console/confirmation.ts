/**
 * Asks for confirmation before an act that moves money or cannot be undone. The form carries the question it showed.
 * When the form comes back, the question is built anew; if it differs, the act would no longer do what the page showed.
 */
import { renderForm } from '#console/views/parts.ts'
import { type Html, html } from '#http/html.ts'

type Entries = Readonly<Record<string, string>>

/** `changed`: the person confirmed another question. A form of the previous release carries no question. */
export function readConfirmation(
  { sure, asked }: Entries,
  question: string,
): 'missing' | 'changed' | 'given' {
  if (sure !== 'yes') return 'missing'
  return asked === undefined || asked === question ? 'given' : 'changed'
}

export interface Confirmation {
  readonly question: string
  /** An additional warning below the question. */
  readonly warning?: string
  readonly action: string
  readonly csrf: string
  /** The entries of the form that led here. */
  readonly entries: Entries
  readonly button: string
}

/** If the person confirmed another question, the page shows both. */
export function renderConfirmation(confirmation: Confirmation): Html {
  const { question, warning, action, csrf, entries, button } = confirmation
  const { csrf: _, once: __, ...kept } = entries
  return html`${
    readConfirmation(entries, question) === 'changed' &&
    html`<p class="note bad" role="alert">This has changed since the page was shown. Nothing was done. You were asked: “${entries.asked}”</p>`
  }<p>${question}${warning && ` ${warning}`}</p>${renderForm({
    action,
    csrf,
    hidden: { ...kept, asked: question, sure: 'yes' },
    button,
    tone: 'danger',
  })}`
}

/** 409 if the person confirmed another question. */
export const confirmationStatus = (entries: Entries, question: string): number =>
  readConfirmation(entries, question) === 'changed' ? 409 : 200
