/** The OpenAPI document and the reference page as the server serves them, made when they are first asked for. */
import type { OpenApiDocument } from '#http/reference/document.ts'
import { type ReferencePage, renderReference } from '#http/reference/render-reference.ts'
import type { Page } from '#http/server/send.ts'

/** Its own style and script and nothing else: the page cannot be made to ask anybody for anything. */
const contentSecurityPolicy =
  "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

export function referencePages(describe: () => OpenApiDocument): Record<string, () => Page> {
  let rendered: ReferencePage | undefined
  const reference = (): ReferencePage => {
    rendered ??= renderReference(describe())
    return rendered
  }
  return {
    '/openapi.json': () => ({ contentType: 'application/json', body: JSON.stringify(describe()) }),
    '/docs': () => ({
      contentType: 'text/html; charset=utf-8',
      body: reference().html,
      headers: { 'content-security-policy': contentSecurityPolicy },
    }),
    '/docs/reference.css': () => ({ contentType: 'text/css; charset=utf-8', body: reference().css }),
    '/docs/reference.js': () => ({ contentType: 'text/javascript; charset=utf-8', body: reference().js }),
  }
}
