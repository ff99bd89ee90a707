/**
 * A double of Stripe on loopback: the API over the double's books, idempotency keys, a payment page, a challenge page,
 * signed notices, and faults. A fault is armed for the next call that fits it and happens once.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import Stripe from 'stripe'
import { type Fields, type Refund, Refused, StripeBooks, text } from '#test/support/stripe/books.ts'
import { parseForm } from '#test/support/stripe/form.ts'

export type Fault =
  | 'lost before'
  | 'lost after'
  | 'error page'
  | 'error page after'
  | 'slow'
  | 'truncated'
  | 'wrong echo'
  | 'declined'
  | 'too many requests'
  | 'told to wait'

interface ArmedFault {
  readonly verb: string
  readonly path: RegExp
  readonly fault: Fault
}

export interface Call {
  readonly verb: string
  readonly path: string
  readonly fields: Fields
  readonly key?: string
  readonly version?: string
}

interface Kept {
  readonly text: string
  readonly status: number
  readonly body: string
}

export interface DoubleOptions {
  readonly secretKey: string
  readonly webhookSecret: string
}

type Answer = Readonly<Record<string, unknown>>

export class StripeDouble {
  readonly calls: Call[] = []
  readonly events: { readonly id: string; readonly payload: string }[] = []
  readonly books: StripeBooks
  /** While false, search does not find newly made objects, because it lags behind the list. */
  searchIsFresh = true
  readonly #options: DoubleOptions
  readonly #keys = new Map<string, Kept>()
  readonly #armed: ArmedFault[] = []
  readonly #held: (() => void)[] = []
  #onHeld: (() => void) | undefined
  /** Runs after a POST was executed and before it is answered. */
  beforeAnswer: (() => Promise<void>) | undefined
  #stale = new Set<string>()
  readonly #library = new Stripe('sk_test_double')
  readonly #server = createServer((request, response) => void this.#serve(request, response))

  private constructor(options: DoubleOptions) {
    this.#options = options
    this.books = new StripeBooks({
      now: () => Math.floor(Date.now() / 1000),
      origin: () => this.origin,
      tell: (type, object, before) => this.#record(type, object, before),
    })
  }

  static async start(options: DoubleOptions): Promise<StripeDouble> {
    const double = new StripeDouble(options)
    await new Promise<void>(resolve => double.#server.listen(0, '127.0.0.1', resolve))
    return double
  }

  get origin(): string {
    const { port } = this.#server.address() as AddressInfo
    return `http://127.0.0.1:${port}`
  }

  async stop(): Promise<void> {
    this.release()
    this.#server.closeAllConnections()
    await new Promise(resolve => this.#server.close(resolve))
  }

  arm(verb: 'GET' | 'POST', path: RegExp, fault: Fault): void {
    this.#armed.push({ verb, path, fault })
  }

  /** Resolves when a slow call has been executed and its answer is being held back. */
  untilHeld(): Promise<void> {
    return new Promise(resolve => {
      this.#onHeld = resolve
    })
  }

  /** Sends the held answers. */
  release(): void {
    for (const go of this.#held.splice(0)) go()
  }

  // ── Notices ─────────────────────────────────────────────────────────────────────────────────────────────────────

  #record(type: string, object: Answer, before: Answer | undefined): void {
    const id = this.books.newId('evt')
    const data = { object, ...(before ? { previous_attributes: before } : {}) }
    const request = { id: this.books.newId('req'), idempotency_key: this.books.caller ?? null }
    const created = Math.floor(Date.now() / 1000)
    const payload = JSON.stringify({ id, object: 'event', type, created, livemode: false, request, data })
    this.events.push({ id, payload })
    if (typeof object.id === 'string' && !this.searchIsFresh) this.#stale.add(object.id)
  }

  /** Takes the events that have not been fetched yet. */
  takeEvents(): readonly { readonly id: string; readonly payload: string }[] {
    return this.events.splice(0)
  }

  sign(payload: string, secret = this.#options.webhookSecret): string {
    return this.#library.webhooks.generateTestHeaderString({ payload, secret })
  }

  async send(url: string, payload: string, header = this.sign(payload)): Promise<number> {
    const answer = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'stripe-signature': header },
      body: payload,
    })
    await answer.arrayBuffer()
    return answer.status
  }

  /** Sends all events so far, in order, reversed, or each one twice. */
  async deliver(
    url: string,
    manner: 'in order' | 'reversed' | 'twice' = 'in order',
  ): Promise<readonly number[]> {
    const events = this.takeEvents()
    const ordered =
      manner === 'reversed' ? events.toReversed() : manner === 'twice' ? events.flatMap(e => [e, e]) : events
    const statuses: number[] = []
    for (const { payload } of ordered) statuses.push(await this.send(url, payload))
    return statuses
  }

  // ── Serving ─────────────────────────────────────────────────────────────────────────────────────────────────────

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks).toString('utf8')
    const url = new URL(request.url ?? '/', this.origin)
    const verb = request.method ?? 'GET'
    if (url.pathname.startsWith('/c/pay/') || url.pathname.startsWith('/3ds/'))
      return this.#servePage(url, verb, response)
    const index = this.#armed.findIndex(armed => armed.verb === verb && armed.path.test(url.pathname))
    const [{ fault } = { fault: undefined }] = index === -1 ? [] : this.#armed.splice(index, 1)
    if (fault === 'lost before') return void request.socket.destroy()
    if (fault === 'error page') return errorPage(response)
    const refusal = fault === undefined ? undefined : refusals[fault]
    const answer = refusal ?? this.#answer(verb, url, body, request)
    if (verb === 'POST') await this.beforeAnswer?.()
    if (fault === 'lost after') return void request.socket.destroy()
    if (fault === 'error page after') return errorPage(response)
    if (fault === 'slow') {
      await new Promise<void>(resolve => {
        this.#held.push(resolve)
        this.#onHeld?.()
      })
    }
    const shown =
      fault === 'wrong echo'
        ? answer.body.replace(/"amount(_received|_total)?":(\d+)/g, '"amount$1":1$2')
        : answer.body
    if (fault === 'truncated') {
      response.writeHead(answer.status, {
        'content-type': 'application/json',
        'content-length': shown.length,
      })
      response.write(shown.slice(0, shown.length / 2))
      return void request.socket.destroySoon()
    }
    const wait = fault === 'told to wait' ? { 'retry-after': '30' } : {}
    response.writeHead(answer.status, { 'content-type': 'application/json', ...wait })
    response.end(shown)
  }

  #answer(verb: string, url: URL, body: string, request: IncomingMessage): Kept {
    const key = header(request, 'idempotency-key')
    const multipart = header(request, 'content-type')?.startsWith('multipart/')
    const fields = verb === 'GET' ? parseForm(url.search.slice(1)) : multipart ? {} : parseForm(body)
    this.calls.push({ verb, path: url.pathname, fields, key, version: header(request, 'stripe-version') })
    const fingerprint = `${url.pathname}?${body}`
    if (header(request, 'authorization') !== `Bearer ${this.#options.secretKey}`) {
      return show(401, { error: { type: 'invalid_request_error', message: 'Invalid API Key provided.' } })
    }
    const kept = verb === 'POST' && key !== undefined ? this.#keys.get(key) : undefined
    if (kept !== undefined) {
      const conflict = {
        type: 'idempotency_error',
        message: 'Keys can only be used with the same parameters.',
      }
      return kept.text === fingerprint ? kept : show(400, { error: conflict })
    }
    this.books.caller = key
    const answer = this.#attempt(verb, url.pathname, fields)
    this.books.caller = undefined
    const whole = { ...answer, text: fingerprint }
    if (verb === 'POST' && key !== undefined) this.#keys.set(key, whole)
    return whole
  }

  #attempt(verb: string, path: string, fields: Fields): Kept {
    try {
      const [resource = '', ...rest] = path.split('/').slice(2)
      return show(
        200,
        resource === 'checkout'
          ? this.#routeSession(verb, rest.slice(1), fields)
          : this.#route(verb, [resource, ...rest], fields),
      )
    } catch (error) {
      if (error instanceof Refused) return show(error.status, { error: error.error })
      throw error
    }
  }

  #route(verb: string, [resource = '', id, action]: readonly string[], fields: Fields): Answer {
    const key = `${verb} ${resource}${id === undefined ? '' : '/'}${action ?? ''}`
    if (id === 'search') return this.#search(fields)
    const { books } = this
    switch (key) {
      case 'POST payment_intents':
        return this.#expand(books.showIntent(books.createIntent(fields)))
      case 'GET payment_intents':
        return this.#list(
          [...books.intents.values()].toReversed().map(intent => books.showIntent(intent)),
          fields,
        )
      case 'GET payment_intents/':
        return this.#expand(books.showIntent(books.findIntent(id ?? '')))
      case 'POST payment_intents/capture':
        return this.#expand(books.showIntent(books.capture(id ?? '', fields)))
      case 'POST payment_intents/cancel':
        return this.#expand(books.showIntent(books.cancel(id ?? '', fields)))
      case 'POST payment_intents/increment_authorization':
        return this.#expand(books.showIntent(books.increment(id ?? '', fields)))
      default:
        return this.#routeRest(key, id, fields)
    }
  }

  #routeRest(key: string, id: string | undefined, fields: Fields): Answer {
    const { books } = this
    switch (key) {
      case 'POST refunds':
        return books.showRefund(books.refund(fields))
      case 'GET refunds':
        return this.#list(
          [...books.refunds.values()]
            .filter(refund => refund.intent.id === text(fields, 'payment_intent'))
            .map(refund => ({
              ...books.showRefund(refund),
              ...(isExpanded(fields, 'data.balance_transaction')
                ? { balance_transaction: categoryOf(refund) }
                : {}),
            })),
          {},
        )
      case 'GET refunds/': {
        const refund = books.refunds.get(id ?? '')
        if (!refund) throw new Refused(404, { code: 'resource_missing' })
        return books.showRefund(refund)
      }
      case 'POST customers':
        return { id: books.newId('cus'), object: 'customer' }
      case 'POST files':
        return { id: books.newId('file'), object: 'file' }
      case 'POST disputes/':
        return books.showDispute(books.moveDispute(id ?? '', 'under_review', 'charge.dispute.updated'))
      case 'POST disputes/close':
        return books.showDispute(books.moveDispute(id ?? '', 'lost'))
      case 'GET webhook_endpoints':
        return this.#list([], {})
      case 'GET balance_transactions':
        return this.#list(this.balanceTransactions(), {})
      default:
        throw new Refused(404, { type: 'invalid_request_error', message: `Unrecognized request: ${key}` })
    }
  }

  #routeSession(verb: string, [id, action]: readonly string[], fields: Fields): Answer {
    const { books } = this
    if (id === undefined) return books.showSession(books.createSession(fields))
    if (verb === 'POST' && action === 'expire') return books.showSession(books.expireSession(id))
    const session = books.findSession(id)
    const shown = books.showSession(session)
    return session.intent
      ? { ...shown, payment_intent: this.#expand(books.showIntent(session.intent)) }
      : shown
  }

  #expand(shown: Answer): Answer {
    const intent = this.books.intents.get(String(shown.id))
    return intent?.charge === undefined ? shown : { ...shown, latest_charge: this.books.showCharge(intent) }
  }

  #search(fields: Fields): Answer {
    const [, reference] = /:'([^']+)'/.exec(text(fields, 'query') ?? '') ?? []
    const found = [...this.books.intents.values()]
      .filter(({ id, metadata }) => metadata.tollgate === reference && !this.#stale.has(id))
      .map(intent => this.#expand(this.books.showIntent(intent)))
    return { object: 'search_result', data: found, has_more: false }
  }

  #list(data: readonly Answer[], fields: Fields): Answer {
    const from = Number(text(fields, 'created', 'gte') ?? 0)
    const to = Number(text(fields, 'created', 'lte') ?? Number.MAX_SAFE_INTEGER)
    const after = text(fields, 'starting_after')
    const limit = Number(text(fields, 'limit') ?? 10)
    const inTime = data.filter(
      ({ created }) => created === undefined || (Number(created) >= from && Number(created) <= to),
    )
    const start = after === undefined ? 0 : inTime.findIndex(({ id }) => id === after) + 1
    const page = inTime.slice(start, start + limit)
    return {
      object: 'list',
      data: page.map(item => this.#expand(item)),
      has_more: start + limit < inTime.length,
    }
  }

  /**
   * The account's balance transactions: Stripe's fee is 1.4 % and 25 cents of each capture. A partial capture is a line
   * for the whole authorisation, and one that takes back the amount that was not captured.
   */
  balanceTransactions(): readonly Answer[] {
    const created = Math.floor(Date.now() / 1000)
    const line = (type: string, amount: number, fee: number, more: Answer): Answer => ({
      id: this.books.newId('txn'),
      object: 'balance_transaction',
      amount,
      fee,
      net: amount - fee,
      type,
      reporting_category: type,
      created,
      available_on: created,
      ...more,
    })
    const captures = [...this.books.intents.values()]
      .filter(({ received }) => received > 0)
      .map(intent => {
        const whole = intent.received + this.books.releasedOf(intent)
        const fee = Math.floor((whole * 14) / 1000) + 25
        return line('charge', whole, fee, { currency: intent.currency, source: intent.charge ?? '' })
      })
    const refunds = [...this.books.refunds.values()]
      .filter(
        ({ status, intent, isRelease }) => status === 'succeeded' && (!isRelease || intent.received > 0),
      )
      .map(refund => {
        const fee = refund.isRelease ? -Math.floor((refund.amount * 14) / 1000) : 0
        return line('refund', -refund.amount, fee, {
          reporting_category: categoryOf(refund)?.reporting_category,
          currency: refund.intent.currency,
          source: this.books.showRefund(refund),
        })
      })
    return [...captures, ...refunds]
  }

  // ── Pages ───────────────────────────────────────────────────────────────────────────────────────────────────────

  /** `/c/pay/{session}`: pay or leave. `/3ds/{intent}`: pass or fail. A page without a choice shows both links. */
  #servePage(url: URL, verb: string, response: ServerResponse): void {
    const [, , , paid] = url.pathname.split('/')
    const id = paid ?? url.pathname.split('/')[2] ?? ''
    const choice = url.searchParams.get('choice')
    if (verb !== 'GET') return void response.writeHead(405).end()
    if (choice === null) {
      response.writeHead(200, { 'content-type': 'text/html' })
      return void response.end(
        `<a id="yes" href="?choice=yes">Pay</a> <a id="no" href="?choice=no">Leave</a>`,
      )
    }
    const target = url.pathname.startsWith('/3ds/')
      ? this.#leaveChallenge(id, choice)
      : this.#leavePage(id, choice)
    response.writeHead(303, { location: target })
    response.end()
  }

  #leavePage(id: string, choice: string): string {
    const { fields } = this.books.findSession(id)
    if (choice === 'yes') this.books.payOnPage(id)
    return text(fields, choice === 'yes' ? 'success_url' : 'cancel_url') ?? this.origin
  }

  #leaveChallenge(id: string, choice: string): string {
    const intent = this.books.findIntent(id)
    if (intent.status === 'requires_action') {
      if (choice === 'yes') this.books.approve(intent)
      else this.books.decline(intent, 'authentication_not_handled')
    }
    const target = new URL(intent.returnUrl ?? this.origin)
    target.searchParams.set('payment_intent', id)
    return target.href
  }
}

const isExpanded = (fields: Fields, name: string): boolean =>
  JSON.stringify(fields.expand ?? []).includes(`"${name}"`)

/** Null: the balance did not change, because nothing had been captured. */
const categoryOf = ({ isRelease, intent }: Refund): { reporting_category: string } | null =>
  isRelease && intent.received === 0
    ? null
    : { reporting_category: isRelease ? 'partial_capture_reversal' : 'refund' }

const tooMany = show(429, { error: { type: 'invalid_request_error', code: 'rate_limit' } })

const refusals: Partial<Record<Fault, Kept>> = {
  declined: show(402, { error: { type: 'card_error', code: 'card_declined', decline_code: 'do_not_honor' } }),
  'too many requests': tooMany,
  'told to wait': tooMany,
}

const header = (request: IncomingMessage, name: string): string | undefined => {
  const value = request.headers[name]
  return typeof value === 'string' ? value : undefined
}

function show(status: number, body: Answer): Kept {
  return { text: '', status, body: JSON.stringify(body) }
}

function errorPage(response: ServerResponse): void {
  response.writeHead(500, { 'content-type': 'text/html' })
  response.end('<html><body>Something went wrong.</body></html>')
}
