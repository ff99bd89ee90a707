/**
 * A double of Adyen on loopback: passes requests to checkout.ts, stores the answers of idempotency keys, sends signed
 * notices, shows pages to customers, and fails in every way that a network and a provider can.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { AdyenCheckout, type Answer, refuse, type Verdict } from '#test/support/adyen/checkout.ts'
import { signItem } from '#test/support/adyen/signer.ts'
import type { AnyJson } from '#test/support/any-json.ts'

/**
 * `lostBefore`: the connection ends before anything is done. `lostAfter`: it ends after. `html500`: done, but answered with
 * a page of a proxy. `truncated`: half an answer. `wrongEcho`: the answer names another reference. `silent`: done, and no
 * answer until the caller gives up. `turnedAway`: not even looked at. `toldToWait`: the same, for 30 s. `keyRefused`: the key is no longer good.
 * `accountRefused`: there is no such merchant account. `quotes`: refused, in a sentence that repeats what was sent.
 * `newWords`: the answer of a version that does not exist yet.
 */
export type AdyenFault =
  | 'lostBefore'
  | 'lostAfter'
  | 'html500'
  | 'truncated'
  | 'wrongEcho'
  | 'silent'
  | 'turnedAway'
  | 'toldToWait'
  | 'keyRefused'
  | 'accountRefused'
  | 'newWords'
  | 'quotes'

export interface AdyenDoubleOptions {
  readonly merchantAccount?: string
  readonly apiKey?: string
  readonly hmacKey?: string
  readonly multipleCaptures?: boolean
  readonly reportApiKey?: string
}

export interface AdyenRequest {
  readonly verb: string
  readonly path: string
  readonly key?: string
  readonly body: AnyJson
}

export class AdyenDouble {
  readonly checkout: AdyenCheckout
  readonly apiKey: string
  readonly hmacKey: string
  /** The key of the report user, which differs from the one for payments. */
  readonly reportApiKey: string
  /** Files that can be downloaded, by name. */
  readonly reports = new Map<string, string>()
  /** Every call to the API, in order. */
  readonly requests: AdyenRequest[] = []
  /** The address for notices; empty: none are sent. */
  noticeUrl = ''
  /** Called when a request has been carried out, before its answer is given: notices may overtake it. */
  beforeAnswer: () => Promise<unknown> = async () => undefined
  /** Called when a request has been carried out and its answer is withheld. */
  onSilence: () => void = () => {}
  readonly #stored = new Map<string, Answer>()
  readonly #faults: { readonly path: RegExp; readonly kind: AdyenFault }[] = []
  readonly #server: Server

  constructor(options: AdyenDoubleOptions = {}) {
    const { merchantAccount = 'ExampleShopECOM', multipleCaptures = false } = options
    this.checkout = new AdyenCheckout(merchantAccount, multipleCaptures)
    this.apiKey = options.apiKey ?? 'adyen-api-key'
    this.hmacKey = options.hmacKey ?? 'ab'.repeat(32)
    this.reportApiKey = options.reportApiKey ?? 'adyen-report-key'
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch(error => response.writeHead(500).end(String(error)))
    })
  }

  get origin(): string {
    return this.checkout.origin
  }

  get ledger() {
    return this.checkout.ledger
  }

  async start(port = 0): Promise<this> {
    await new Promise<void>(resolve => this.#server.listen(port, '127.0.0.1', resolve))
    this.checkout.origin = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
    return this
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise(resolve => this.#server.close(resolve))
  }

  /** The next call to such a path fails in this way. */
  fail(path: RegExp, kind: AdyenFault): void {
    this.#faults.push({ path, kind })
  }

  /** Sends the due items, or the given ones, in one message; returns the gateway's answer. */
  async notify(
    items: readonly AnyJson[] = this.ledger.owed.splice(0),
  ): Promise<{ status: number; text: string }> {
    if (items.length === 0 || this.noticeUrl === '') return { status: 0, text: '' }
    return this.post(this.sign(items))
  }

  sign(items: readonly AnyJson[]): AnyJson {
    const notificationItems = items.map(item => ({
      NotificationRequestItem: signItem(structuredClone(item), this.hmacKey),
    }))
    return { live: 'false', notificationItems }
  }

  /** A message as it stands, signed or not. */
  async post(message: AnyJson): Promise<{ status: number; text: string }> {
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(this.noticeUrl, { method: 'POST', headers, body: JSON.stringify(message) })
    return { status: answer.status, text: await answer.text() }
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '/', this.origin)
    const [, page = '', id = '', verdict] = pathname.split('/')
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    if (page === 'hosted' || page === 'redirect') this.#showPage(page, id, verdict, response)
    else if (page === 'reports') this.#giveReport(request, pathname, response)
    else await this.#answer(request, pathname, Buffer.concat(chunks).toString(), response)
  }

  #giveReport({ headers }: IncomingMessage, path: string, response: ServerResponse): void {
    this.requests.push({ verb: 'GET', path, body: {} })
    const file = this.reports.get(path.slice(path.lastIndexOf('/') + 1))
    if (headers['x-api-key'] !== this.reportApiKey) response.writeHead(401).end()
    else response.writeHead(file === undefined ? 404 : 200, { 'content-type': 'text/csv' }).end(file)
  }

  #showPage(page: string, id: string, verdict: string | undefined, response: ServerResponse): void {
    if (isVerdict(verdict))
      response.writeHead(302, { location: this.checkout.decide(page, id, verdict) }).end()
    else response.setHeader('content-type', 'text/html').end(toPage(page, id))
  }

  async #answer(request: IncomingMessage, path: string, text: string, to: ServerResponse): Promise<void> {
    const body = text === '' ? {} : JSON.parse(text)
    const verb = request.method ?? 'GET'
    const key = request.headers['idempotency-key']?.toString()
    this.requests.push({ verb, path, key, body })
    const failing = this.#faults.findIndex(fault => fault.path.test(path))
    const kind = failing < 0 ? undefined : this.#faults.splice(failing, 1)[0]?.kind
    if (kind === 'lostBefore') {
      request.socket.destroy()
      return
    }
    if (kind === 'turnedAway' || kind === 'toldToWait') {
      to.writeHead(429, kind === 'toldToWait' ? { 'retry-after': '30' } : {}).end()
      return
    }
    const isKnown = request.headers['x-api-key'] === this.apiKey && kind !== 'keyRefused'
    const { number, iban, cvc } = body.paymentMethod ?? {}
    const refusals: Partial<Record<AdyenFault, Answer>> = {
      accountRefused: refuse(403, '901', 'Invalid Merchant Account'),
      quotes: refuse(422, '101', `Invalid: ${number ?? iban} with ${cvc}, asked by ${this.apiKey}`),
    }
    const answer = isKnown
      ? ((kind && refusals[kind]) ?? this.#once(key, () => this.checkout.route(verb, path, body)))
      : refuse(401, '000', 'HTTP Status Response - Unauthorized')
    await this.beforeAnswer()
    if (kind === 'silent') this.onSilence()
    else give(answer, kind, to)
  }

  /** A repeated key gets the first answer and has no second effect. */
  #once(key: string | undefined, act: () => Answer): Answer {
    const first = this.#stored.get(key ?? '')
    if (first !== undefined) return first
    const answer = act()
    if (key !== undefined && answer.status < 500) this.#stored.set(key, answer)
    return answer
  }
}

function give({ status, body }: Answer, kind: AdyenFault | undefined, to: ServerResponse): void {
  if (kind === 'lostAfter') {
    to.socket?.destroy()
    return
  }
  if (kind === 'html500') {
    to.writeHead(500, { 'content-type': 'text/html' }).end('<html><body>Internal error</body></html>')
    return
  }
  const wrong = { merchantReference: 'f'.repeat(32), reference: 'f'.repeat(32) }
  const changed = kind === 'wrongEcho' ? wrong : kind === 'newWords' ? { resultCode: 'Accepted' } : {}
  const text = JSON.stringify({ ...body, ...changed })
  to.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
  if (kind === 'truncated') to.write(text.slice(0, text.length / 2), () => to.socket?.destroy())
  else to.end(text)
}

const verdicts: readonly Verdict[] = ['approve', 'refuse', 'cancel', 'decline', 'wait']

const isVerdict = (text: string | undefined): text is Verdict => verdicts.some(verdict => verdict === text)

const toPage = (page: string, id: string): string =>
  `<!doctype html><title>Adyen’s double</title>${verdicts
    .map(verdict => `<a id="${verdict}" href="/${page}/${id}/${verdict}">${verdict}</a>`)
    .join(' ')}`
