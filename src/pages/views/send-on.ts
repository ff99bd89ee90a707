/** On the way to a provider's page: a form that sends itself, or an address that opens itself. Both work without a script. */
import { fill, html } from '#http/html.ts'
import { hiddenFields, type PageFrame, renderPage } from '#pages/layout.ts'

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
