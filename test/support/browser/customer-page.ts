/** A customer with a browser that supports only forms: opens a page, fills it in, sends it. */

export interface OpenPage {
  /** The address of its form. */
  readonly url: string
  /** The hidden fields of the form. */
  readonly hidden: Readonly<Record<string, string>>
  readonly html: string
}

/**
 * Follows redirects to the payment's current page: the form, the provider's page, the challenge. Not back to the shop.
 */
export async function openPage(url: string): Promise<OpenPage> {
  const response = await fetch(url, { redirect: 'manual' })
  const html = await response.text()
  const next = new URL(response.headers.get('location') ?? url, url)
  if (next.href !== url && next.hostname === new URL(url).hostname) return openPage(next.href)
  const inputs = html.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)
  const hidden = Object.fromEntries([...inputs].map(([, name, value]) => [name, value]))
  return { url, hidden, html }
}

export async function sendForm(
  { url, hidden }: Pick<OpenPage, 'url' | 'hidden'>,
  fields: Readonly<Record<string, string>>,
  signal?: AbortSignal,
): Promise<number> {
  const body = new URLSearchParams({ ...hidden, ...fields })
  const response = await fetch(url, { method: 'POST', body, redirect: 'manual', signal })
  await response.text()
  return response.status
}

export const cardEntries = (number: string): Record<string, string> => ({
  type: 'CARD',
  number,
  expiry: '12/30',
  securityCode: '123',
  cardholderName: 'Ada Lovelace',
  // Read where the page begins a plan.
  planConsent: 'yes',
})

/** A page without following its redirect. */
export interface ShownPage {
  readonly status: number
  readonly html: string
  readonly headers: Headers
  /** Value of the hidden field that tells which state of the payment the page showed. */
  readonly attempt: string
}

async function readPage(response: Response): Promise<ShownPage> {
  const html = await response.text()
  const attempt = /name="attempt" value="(\d+)"/.exec(html)?.[1] ?? ''
  return { status: response.status, html, headers: response.headers, attempt }
}

export const getPage = async (href: string, headers: Record<string, string> = {}): Promise<ShownPage> =>
  readPage(await fetch(href, { headers, redirect: 'manual' }))

export const postPage = async (
  href: string,
  fields: Record<string, string> | string,
  headers: Record<string, string> = {},
): Promise<ShownPage> =>
  readPage(
    await fetch(href, {
      method: 'POST',
      headers,
      body: typeof fields === 'string' ? fields : new URLSearchParams(fields),
      redirect: 'manual',
    }),
  )
