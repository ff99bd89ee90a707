/** The card's fields alone, for a frame inside a shop's page. The shop's own button asks for the token. */
import { html } from '#http/html.ts'
import { type PageFrame, renderBare } from '#pages/layout.ts'
import { renderCardForm } from '#pages/views/card-form.ts'

export function renderCardFields(frame: PageFrame, action: string): string {
  const { texts } = frame.language
  // The hidden button lets Enter in a field submit the form.
  const main = html`<form method="post" action="${action}" class="pay" novalidate autocomplete="on" data-fields data-sending="${texts.sending}" data-lost="${texts.connectionLost}" data-broken="${texts.errorText}">
${renderCardForm(frame, {}, {})}
<button type="submit" hidden></button>
</form>`
  return renderBare(frame, { title: texts.methodCard, main })
}
