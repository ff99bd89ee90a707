/**
 * The double's ledger: intents, sessions, refunds and disputes, with rules that we derived from Stripe's documents and
 * recordings. It knows nothing of the gateway. Amounts are Stripe's.
 */
import type { FormTree } from '#test/support/stripe/form.ts'

export type Fields = Readonly<Record<string, FormTree>>

/** An error as Stripe answers it. */
export class Refused extends Error {
  readonly status: number
  readonly error: Readonly<Record<string, unknown>>
  constructor(status: number, error: Readonly<Record<string, unknown>>) {
    super(String(error.message ?? error.code))
    this.status = status
    this.error = error
  }
}

const invalid = (message: string, code?: string): Refused =>
  new Refused(400, { type: 'invalid_request_error', message, ...(code ? { code } : {}) })

export interface Intent {
  readonly id: string
  amount: number
  received: number
  capturable: number
  readonly currency: string
  readonly captureMethod: string
  status: string
  metadata: Readonly<Record<string, string>>
  readonly created: number
  readonly type: string
  readonly multicapture: boolean
  returnUrl?: string
  charge?: string
  error?: Readonly<Record<string, unknown>>
  cancellation?: string
  refunded: number
  readonly future?: string
  customer?: string
}

export interface Session {
  readonly id: string
  status: 'open' | 'complete' | 'expired'
  readonly fields: Fields
  readonly amount: number
  readonly currency: string
  readonly created: number
  intent?: Intent
}

export interface Refund {
  readonly id: string
  readonly intent: Intent
  readonly amount: number
  status: string
  readonly metadata: Readonly<Record<string, string>>
  failure?: string
  /** Stripe's own refund of the part that was never captured. */
  readonly isRelease?: boolean
}

export interface Dispute {
  readonly id: string
  readonly intent: Intent
  readonly amount: number
  status: string
  readonly reason: string
  evidence: Fields
}

/** One movement of money, with the reference under which it was asked for. */
export interface Movement {
  readonly operation: 'AUTHORIZATION' | 'CAPTURE' | 'REVERSAL' | 'INCREMENTAL' | 'REFUND'
  readonly reference: string
  readonly amount: number
  readonly state: 'approved'
}

/** Reports an event for the notices: its type, its object, and the object's previous values. */
export type Tell = (
  type: string,
  object: Readonly<Record<string, unknown>>,
  before?: Readonly<Record<string, unknown>>,
) => void

/** Card numbers of Stripe's sandbox and their results. */
const cards: Readonly<Record<string, string>> = {
  '4000000000000002': 'generic_decline',
  '4000000000009995': 'insufficient_funds',
  '4000000000009987': 'lost_card',
  '4000000000009979': 'stolen_card',
  '4000000000000069': 'expired_card',
}
const storedDebit = 'pm_debit_'
export const challengedCard = '4000000000003220'

export const at = (fields: Fields, ...path: readonly string[]): FormTree | undefined => {
  let value: FormTree | undefined = fields
  for (const name of path) {
    if (value === undefined || typeof value === 'string') return undefined
    value = Array.isArray(value) ? value[Number(name)] : (value as Fields)[name]
  }
  return value
}

export const text = (fields: Fields, ...path: readonly string[]): string | undefined => {
  const value = at(fields, ...path)
  return typeof value === 'string' ? value : undefined
}

const textsOf = (value: FormTree | undefined): Record<string, string> =>
  typeof value === 'object' && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, String(inner)]))
    : {}

export class StripeBooks {
  readonly intents = new Map<string, Intent>()
  readonly sessions = new Map<string, Session>()
  readonly refunds = new Map<string, Refund>()
  readonly disputes = new Map<string, Dispute>()
  /** The account's contract has no multicapture. */
  capturesOnce = false
  readonly movements: Movement[] = []
  /** The key of the request that is being answered. */
  caller: string | undefined
  readonly #tell: Tell
  readonly #now: () => number
  readonly origin: () => string
  #count = 0

  constructor(parts: { tell: Tell; now: () => number; origin: () => string }) {
    this.#tell = parts.tell
    this.#now = parts.now
    this.origin = parts.origin
  }

  newId(prefix: string): string {
    this.#count++
    return `${prefix}_double${String(this.#count).padStart(6, '0')}`
  }

  #book(operation: Movement['operation'], amount: number, reference = this.caller): void {
    this.movements.push({ operation, reference: reference ?? 'somebody else', amount, state: 'approved' })
  }

  // ── Intents ─────────────────────────────────────────────────────────────────────────────────────────────────────

  createIntent(fields: Fields): Intent {
    const amount = Number(text(fields, 'amount'))
    if (!Number.isSafeInteger(amount) || amount < 1)
      throw invalid('Invalid integer: amount', 'parameter_invalid_integer')
    const stored = text(fields, 'payment_method')
    const type = text(fields, 'payment_method_types', '0')
    const isStoredDebit = stored?.startsWith(storedDebit) ?? false
    if (stored !== undefined && (type === 'bancontact' || isStoredDebit !== (type === 'sepa_debit')))
      throw invalid('The PaymentMethod provided cannot be used again by this type.')
    const intent = this.#openIntent({
      amount,
      currency: text(fields, 'currency') ?? '',
      type:
        text(fields, 'payment_method_data', 'type') ?? text(fields, 'payment_method_types', '0') ?? 'card',
      captureMethod: text(fields, 'capture_method') ?? 'automatic',
      metadata: textsOf(at(fields, 'metadata')),
      multicapture: text(fields, 'payment_method_options', 'card', 'request_multicapture') === 'if_available',
      future: text(fields, 'setup_future_usage'),
    })
    intent.returnUrl = text(fields, 'return_url')
    intent.customer = text(fields, 'customer')
    const number = text(fields, 'payment_method_data', 'card', 'number')
    const decline = number === undefined ? undefined : cards[number]
    if (decline !== undefined) {
      this.#fail(intent, decline)
      throw new Refused(402, { ...intent.error, payment_intent: this.showIntent(intent) })
    }
    if (number === challengedCard && intent.returnUrl !== undefined) intent.status = 'requires_action'
    else if (number === challengedCard) {
      this.#fail(intent, 'authentication_required')
      throw new Refused(402, { ...intent.error, payment_intent: this.showIntent(intent) })
    } else this.approve(intent)
    return intent
  }

  #openIntent(
    parts: Omit<Intent, 'id' | 'received' | 'capturable' | 'status' | 'created' | 'refunded'>,
  ): Intent {
    const intent: Intent = {
      ...parts,
      id: this.newId('pi'),
      received: 0,
      capturable: 0,
      refunded: 0,
      status: 'requires_payment_method',
      created: this.#now(),
    }
    this.intents.set(intent.id, intent)
    return intent
  }

  /** The customer or the card has approved. */
  approve(intent: Intent): void {
    intent.error = undefined
    intent.charge = this.newId(intent.type === 'card' ? 'ch' : 'py')
    this.#book('AUTHORIZATION', intent.amount, intent.metadata.tollgate)
    if (intent.type === 'sepa_debit') {
      intent.status = 'processing'
      this.#tell('payment_intent.processing', this.showIntent(intent))
    } else if (intent.captureMethod === 'manual') {
      intent.status = 'requires_capture'
      intent.capturable = intent.amount
      this.#tell('payment_intent.amount_capturable_updated', this.showIntent(intent))
    } else this.succeed(intent)
  }

  succeed(intent: Intent): void {
    intent.status = 'succeeded'
    intent.received = intent.amount
    this.#book('CAPTURE', intent.amount, intent.metadata.tollgate_capture)
    this.#tell('payment_intent.succeeded', this.showIntent(intent))
  }

  #fail(intent: Intent, decline: string): void {
    intent.status = 'requires_payment_method'
    intent.error = {
      type: 'card_error',
      code: decline === 'expired_card' ? 'expired_card' : 'card_declined',
      decline_code: decline,
      message: 'Your card was declined.',
    }
    this.#tell('payment_intent.payment_failed', this.showIntent(intent))
  }

  /** A debit, or a customer in a challenge, fails. */
  decline(intent: Intent, decline: string): void {
    this.#fail(intent, decline)
  }

  findIntent(id: string): Intent {
    const intent = this.intents.get(id)
    if (!intent)
      throw new Refused(404, {
        type: 'invalid_request_error',
        code: 'resource_missing',
        message: `No such payment_intent: '${id}'`,
      })
    return intent
  }

  capture(id: string, fields: Fields): Intent {
    const intent = this.findIntent(id)
    const amount = Number(text(fields, 'amount_to_capture') ?? intent.capturable)
    if (intent.status !== 'requires_capture') throw this.#unexpected(intent, 'captured')
    if (amount < 1 || amount > intent.capturable)
      throw invalid('The amount to capture is too large.', 'amount_too_large')
    const more = text(fields, 'final_capture') === 'false'
    if (more && (!intent.multicapture || this.capturesOnce))
      throw invalid('Multicapture is not available for this PaymentIntent.')
    const before = intent.received
    intent.received += amount
    this.#book('CAPTURE', amount)
    intent.capturable = more ? intent.capturable - amount : 0
    if (intent.capturable === 0) intent.status = 'succeeded'
    if (intent.status === 'succeeded') this.#release(intent, intent.amount - intent.received)
    this.#tell('charge.captured', this.showCharge(intent), { amount_captured: before })
    if (intent.status === 'succeeded') this.#tell('payment_intent.succeeded', this.showIntent(intent))
    return intent
  }

  cancel(id: string, fields: Fields): Intent {
    const intent = this.findIntent(id)
    if (intent.status === 'succeeded' || intent.status === 'canceled')
      throw this.#unexpected(intent, 'canceled')
    if (intent.capturable > 0) this.#book('REVERSAL', intent.capturable)
    this.#release(intent, intent.capturable)
    intent.status = 'canceled'
    intent.capturable = 0
    intent.cancellation = text(fields, 'cancellation_reason')
    this.#tell('payment_intent.canceled', this.showIntent(intent))
    return intent
  }

  increment(id: string, fields: Fields): Intent {
    const intent = this.findIntent(id)
    const amount = Number(text(fields, 'amount'))
    if (intent.status !== 'requires_capture') throw this.#unexpected(intent, 'incremented')
    if (!(amount > intent.amount)) throw invalid('The amount must be greater than the authorized amount.')
    const before = intent.amount
    intent.capturable += amount - before
    intent.amount = amount
    this.#book('INCREMENTAL', amount - before)
    this.#tell('payment_intent.amount_capturable_updated', this.showIntent(intent), { amount: before })
    return intent
  }

  #unexpected(intent: Intent, done: string): Refused {
    return new Refused(400, {
      type: 'invalid_request_error',
      code: 'payment_intent_unexpected_state',
      message: `This PaymentIntent could not be ${done} because it has a status of ${intent.status}.`,
      payment_intent: this.showIntent(intent),
    })
  }

  // ── Sessions ────────────────────────────────────────────────────────────────────────────────────────────────────

  createSession(fields: Fields): Session {
    if (text(fields, 'success_url') === undefined)
      throw invalid('Missing required param: success_url.', 'parameter_missing')
    const lines = Object.keys(Object(at(fields, 'line_items')))
    const session: Session = {
      id: this.newId('cs'),
      status: 'open',
      fields,
      amount: lines.reduce((sum, line) => sum + this.#priceOf(fields, line), 0),
      currency: text(fields, 'line_items', '0', 'price_data', 'currency') ?? '',
      created: this.#now(),
    }
    this.sessions.set(session.id, session)
    return session
  }

  #priceOf(fields: Fields, line: string): number {
    const [unit, quantity] = [
      text(fields, 'line_items', line, 'price_data', 'unit_amount'),
      text(fields, 'line_items', line, 'quantity'),
    ]
    return Number(unit) * Number(quantity)
  }

  findSession(id: string): Session {
    const session = this.sessions.get(id)
    if (!session)
      throw new Refused(404, {
        type: 'invalid_request_error',
        code: 'resource_missing',
        message: `No such session: ${id}`,
      })
    return session
  }

  expireSession(id: string): Session {
    const session = this.findSession(id)
    if (session.status !== 'open')
      throw invalid('Only Checkout Sessions with a status of open can be expired.')
    session.status = 'expired'
    // The intent of a session cannot be cancelled by itself: it ends with its session, as this one does after a failed try.
    if (session.intent) {
      session.intent.status = 'canceled'
      session.intent.cancellation = 'expired'
      this.#tell('payment_intent.canceled', this.showIntent(session.intent))
    }
    this.#tell('checkout.session.expired', this.showSession(session))
    return session
  }

  /** The customer tries to pay on the page; a decline leaves it open for another try. */
  payOnPage(id: string, decline?: string): Session {
    const session = this.findSession(id)
    if (session.status !== 'open') return session
    const { fields } = session
    const data = ['payment_intent_data'] as const
    session.intent ??= this.#openIntent({
      amount: session.amount,
      currency: session.currency,
      type: text(fields, 'payment_method_types', '0') ?? 'card',
      captureMethod: text(fields, ...data, 'capture_method') ?? 'automatic',
      metadata: textsOf(at(fields, ...data, 'metadata')),
      multicapture: text(fields, 'payment_method_options', 'card', 'request_multicapture') === 'if_available',
      future: text(fields, ...data, 'setup_future_usage'),
    })
    if (decline !== undefined) {
      this.#fail(session.intent, decline)
      return session
    }
    if (text(fields, 'customer_creation') === 'always') session.intent.customer = this.newId('cus')
    session.status = 'complete'
    this.approve(session.intent)
    this.#tell('checkout.session.completed', this.showSession(session))
    return session
  }

  // ── Refunds and disputes ────────────────────────────────────────────────────────────────────────────────────────

  refund(fields: Fields): Refund {
    const intent = this.findIntent(text(fields, 'payment_intent') ?? '')
    const amount = Number(text(fields, 'amount') ?? intent.received - intent.refunded)
    if (amount < 1 || amount > intent.received - intent.refunded) {
      throw invalid('Refund amount is greater than unrefunded amount on charge.', 'charge_already_refunded')
    }
    intent.refunded += amount
    const refund: Refund = {
      id: this.newId('re'),
      intent,
      amount,
      status: intent.type === 'card' ? 'succeeded' : 'pending',
      metadata: textsOf(at(fields, 'metadata')),
    }
    this.refunds.set(refund.id, refund)
    this.#book('REFUND', amount, refund.metadata.tollgate)
    this.#tell('refund.created', this.showRefund(refund))
    return refund
  }

  /** Stripe makes a refund of the released amount, and may send a notice about it as about any other. */
  #release(intent: Intent, amount: number): void {
    if (amount <= 0) return
    const id = this.newId('re')
    const refund: Refund = { id, intent, amount, status: 'succeeded', metadata: {}, isRelease: true }
    this.refunds.set(id, refund)
    this.#tell('refund.created', this.showRefund(refund))
  }

  moveRefund(id: string, status: 'succeeded' | 'failed', failure?: string): void {
    const refund = this.refunds.get(id)
    if (!refund) throw new Error(`no refund ${id}`)
    const before = refund.status
    refund.status = status
    refund.failure = failure
    if (status === 'failed') refund.intent.refunded -= refund.amount
    const type = status === 'failed' ? 'refund.failed' : 'refund.updated'
    this.#tell(type, this.showRefund(refund), { status: before })
  }

  dispute(intentId: string, reason: string, status = 'needs_response'): Dispute {
    const intent = this.findIntent(intentId)
    const dispute: Dispute = {
      id: this.newId('du'),
      intent,
      amount: intent.received - intent.refunded,
      status,
      reason,
      evidence: {},
    }
    this.disputes.set(dispute.id, dispute)
    this.#tell('charge.dispute.created', this.showDispute(dispute))
    return dispute
  }

  moveDispute(id: string, status: string, type = 'charge.dispute.closed'): Dispute {
    const dispute = this.disputes.get(id)
    if (!dispute)
      throw new Refused(404, {
        type: 'invalid_request_error',
        code: 'resource_missing',
        message: `No such dispute: ${id}`,
      })
    const before = dispute.status
    dispute.status = status
    this.#tell(type, this.showDispute(dispute), { status: before })
    return dispute
  }

  // ── How Stripe shows them ───────────────────────────────────────────────────────────────────────────────────────

  showIntent(intent: Intent): Record<string, unknown> {
    return {
      id: intent.id,
      object: 'payment_intent',
      amount: intent.amount,
      amount_capturable: intent.capturable,
      amount_received: intent.received,
      currency: intent.currency,
      capture_method: intent.captureMethod,
      created: intent.created,
      livemode: false,
      metadata: intent.metadata,
      payment_method_types: [intent.type],
      status: intent.status,
      latest_charge: intent.charge ?? null,
      last_payment_error: intent.error ?? null,
      cancellation_reason: intent.cancellation ?? null,
      customer: intent.customer ?? null,
      payment_method: intent.charge === undefined ? null : `pm_${intent.id.slice(3)}`,
      setup_future_usage: intent.future ?? null,
      next_action:
        intent.status === 'requires_action'
          ? {
              type: 'redirect_to_url',
              redirect_to_url: { url: `${this.origin()}/3ds/${intent.id}`, return_url: intent.returnUrl },
            }
          : null,
    }
  }

  releasedOf(intent: Intent): number {
    const released = [...this.refunds.values()].filter(one => one.intent === intent && one.isRelease)
    return released.reduce((sum, { amount }) => sum + amount, 0)
  }

  showCharge(intent: Intent): Record<string, unknown> {
    return {
      id: intent.charge,
      object: 'charge',
      amount: intent.amount,
      amount_captured: intent.received,
      amount_refunded: intent.refunded + this.releasedOf(intent),
      currency: intent.currency,
      payment_intent: intent.id,
      metadata: intent.metadata,
      payment_method_details:
        intent.type === 'card'
          ? {
              type: 'card',
              card: {
                network_transaction_id: `ntx${intent.id.slice(-6)}`,
                authorization_code: '123456',
                ...(this.capturesOnce ? { multicapture: { status: 'unavailable' } } : {}),
              },
            }
          : { type: intent.type, [intent.type]: this.#storedBehind(intent) },
    }
  }

  /** Bancontact cannot be charged again; Stripe stores the account behind it as a SEPA debit. */
  #storedBehind({ id, type, future }: Intent): Record<string, unknown> {
    return type === 'bancontact' && future !== undefined
      ? { generated_sepa_debit: `${storedDebit}${id.slice(3)}` }
      : {}
  }

  showSession(session: Session): Record<string, unknown> {
    const { intent } = session
    return {
      id: session.id,
      object: 'checkout.session',
      amount_total: session.amount,
      currency: session.currency,
      client_reference_id: text(session.fields, 'client_reference_id') ?? null,
      metadata: textsOf(at(session.fields, 'metadata')),
      created: session.created,
      expires_at: session.created + 86_400,
      livemode: false,
      payment_intent: intent?.id ?? null,
      payment_status: intent?.status === 'succeeded' ? 'paid' : 'unpaid',
      status: session.status,
      url: session.status === 'open' ? `${this.origin()}/c/pay/${session.id}` : null,
    }
  }

  showRefund(refund: Refund): Record<string, unknown> {
    return {
      id: refund.id,
      object: 'refund',
      amount: refund.amount,
      currency: refund.intent.currency,
      payment_intent: refund.intent.id,
      charge: refund.intent.charge ?? null,
      status: refund.status,
      metadata: refund.metadata,
      ...(refund.failure === undefined ? {} : { failure_reason: refund.failure }),
    }
  }

  showDispute(dispute: Dispute): Record<string, unknown> {
    return {
      id: dispute.id,
      object: 'dispute',
      amount: dispute.amount,
      currency: dispute.intent.currency,
      charge: dispute.intent.charge ?? null,
      payment_intent: dispute.intent.id,
      reason: dispute.reason,
      status: dispute.status,
      evidence_details: { due_by: this.#now() + 14 * 86_400 },
      ...(dispute.intent.type === 'card'
        ? { payment_method_details: { type: 'card', card: { network_reason_code: '10.4' } } }
        : {}),
    }
  }

  /** The ledger that an independent auditor compares with the gateway's. */
  ledger(): readonly { reference: string | undefined; captured: number; refunded: number; status: string }[] {
    return [...this.intents.values()].map(intent => ({
      reference: intent.metadata.tollgate,
      captured: intent.received,
      refunded: intent.refunded,
      status: intent.status,
    }))
  }
}
