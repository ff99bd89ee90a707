/**
 * The ledger of a double of Adyen: payments, their modifications and the notices to send. We derived it from Adyen's
 * documents and recordings; it decides by its own data and never reads the gateway's. Amounts are Adyen's.
 */
import type { AnyJson } from '#test/support/any-json.ts'

export interface LedgerPayment {
  readonly pspReference: string
  readonly reference: string
  readonly currency: string
  readonly method: string
  readonly isAutomatic: boolean
  readonly sessionId?: string
  /** The shopper for whom Adyen stores the method. */
  readonly storedFor?: string
  returnUrl: string
  isAuthenticated: boolean
  state: 'open' | 'authorised' | 'refused' | 'cancelled'
  asked: number
  authorised: number
  captured: number
  refunded: number
  released: number
}

export interface NewPayment {
  readonly reference: string
  readonly amount: { readonly value: number; readonly currency: string }
  readonly method: string
  readonly isAutomatic: boolean
  readonly returnUrl: string
  readonly sessionId?: string
  readonly storedFor?: string
}

/** The data of a stored method in Adyen's answers and notices. */
export const toTokenData = ({ storedFor, pspReference }: LedgerPayment): AnyJson =>
  storedFor === undefined
    ? {}
    : {
        'tokenization.storedPaymentMethodId': `TOKEN-${pspReference}`,
        'tokenization.shopperReference': storedFor,
      }

/** One movement in Adyen's books, in the words of the conformance suite. */
export interface LedgerMovement {
  readonly operation: 'AUTHORIZATION' | 'CAPTURE' | 'REFUND' | 'REVERSAL' | 'INCREMENTAL'
  readonly reference: string
  readonly amount: number
  state: 'approved' | 'declined' | 'undone'
}

/** The effect of a modification, or the reason why it failed. */
type Effect = string | undefined

export class AdyenLedger {
  readonly payments = new Map<string, LedgerPayment>()
  /** Items of notices that nobody has sent yet, oldest first. */
  readonly owed: AnyJson[] = []
  readonly movements: LedgerMovement[] = []
  /** Operations whose next request is declined, whatever the ledger says. */
  readonly declining = new Set<LedgerMovement['operation']>()
  /** Adyen's references of captures that were asked for; a capture with the authorisation has none. */
  readonly captures = new Set<string>()
  #count = 0

  readonly merchantAccount: string
  readonly multipleCaptures: boolean

  constructor(merchantAccount: string, multipleCaptures: boolean) {
    this.merchantAccount = merchantAccount
    this.multipleCaptures = multipleCaptures
  }

  /** Sixteen characters, as Adyen's are. */
  nextReference(): string {
    this.#count += 1
    return `D${String(this.#count).padStart(15, '0')}`
  }

  begin(asked: NewPayment): LedgerPayment {
    const payment: LedgerPayment = {
      pspReference: this.nextReference(),
      reference: asked.reference,
      currency: asked.amount.currency,
      method: asked.method,
      isAutomatic: asked.isAutomatic,
      sessionId: asked.sessionId,
      storedFor: asked.storedFor,
      returnUrl: asked.returnUrl,
      isAuthenticated: false,
      state: 'open',
      asked: asked.amount.value,
      authorised: 0,
      captured: 0,
      refunded: 0,
      released: 0,
    }
    this.payments.set(payment.pspReference, payment)
    return payment
  }

  authorise(payment: LedgerPayment): void {
    if (payment.state !== 'open') return
    payment.state = 'authorised'
    payment.authorised = payment.asked
    if (payment.isAutomatic) payment.captured = payment.asked
    this.#move('AUTHORIZATION', payment.reference, payment.asked, undefined)
    this.#owe(payment, {
      eventCode: 'AUTHORISATION',
      success: 'true',
      additionalData: toTokenData(payment),
    })
  }

  refuse(payment: LedgerPayment, reason: string): void {
    if (payment.state !== 'open') return
    payment.state = 'refused'
    this.#move('AUTHORIZATION', payment.reference, payment.asked, 'declined')
    this.#owe(payment, { eventCode: 'AUTHORISATION', success: 'false', reason })
  }

  capture(payment: LedgerPayment, value: number, reference: string): string {
    const open = payment.authorised - payment.captured - payment.released
    const isOpen = payment.state === 'authorised' && value <= open
    const effect = this.#judge('CAPTURE', isOpen, 'Insufficient balance on payment')
    if (effect === undefined) {
      payment.captured += value
      if (!this.multipleCaptures) payment.released += open - value
    }
    this.#move('CAPTURE', reference, value, effect)
    const pspReference = this.#modify(payment, 'CAPTURE', { value, reference, effect })
    this.captures.add(pspReference)
    return pspReference
  }

  refund(payment: LedgerPayment, value: number, reference: string): string {
    const isOpen = value <= payment.captured - payment.refunded
    const effect = this.#judge('REFUND', isOpen, 'Insufficient balance on payment')
    if (effect === undefined) payment.refunded += value
    this.#move('REFUND', reference, value, effect)
    return this.#modify(payment, 'REFUND', { value, reference, effect })
  }

  cancel(payment: LedgerPayment, reference: string): string {
    const effect = this.#judge('REVERSAL', true, 'Refused') ?? this.#release(payment)
    this.#move('REVERSAL', reference, payment.authorised - payment.captured, effect)
    return this.#modify(payment, 'CANCELLATION', { value: payment.asked, reference, effect })
  }

  adjust(payment: LedgerPayment, total: number, reference: string): string {
    const isOpen = payment.state === 'authorised' && payment.captured === 0
    const difference = total - payment.authorised
    const operation = difference > 0 ? 'INCREMENTAL' : 'REVERSAL'
    const effect = this.#judge(operation, isOpen, 'Transaction cannot be adjusted')
    if (effect === undefined) payment.authorised = total
    this.#move(operation, reference, Math.abs(difference), effect)
    return this.#modify(payment, 'AUTHORISATION_ADJUSTMENT', { value: total, reference, effect })
  }

  /** Releases everything that was authorised under our reference; it succeeds even if there is nothing. */
  technicalCancel(reference: string): string {
    const payment = [...this.payments.values()].find(each => each.reference === reference)
    const pspReference = this.nextReference()
    const base = { eventCode: 'TECHNICAL_CANCEL', pspReference, merchantReference: reference }
    if (payment === undefined)
      this.#push({
        ...base,
        amount: { value: 0, currency: 'EUR' },
        success: 'false',
        reason: 'Transaction not found',
      })
    else {
      if (payment.state === 'open') payment.state = 'cancelled'
      const effect = this.#release(payment)
      const authorised = this.movements.find(movement => movement.reference === reference)
      if (authorised && effect === undefined) authorised.state = 'undone'
      const isDone = effect === undefined || payment.state === 'refused' || payment.state === 'cancelled'
      this.#owe(payment, {
        ...base,
        originalReference: payment.pspReference,
        success: String(isDone),
        reason: isDone ? '' : effect,
      })
    }
    return pspReference
  }

  #judge(operation: LedgerMovement['operation'], isPossible: boolean, reason: string): Effect {
    return this.declining.delete(operation) || !isPossible ? reason : undefined
  }

  #move(operation: LedgerMovement['operation'], reference: string, amount: number, effect: Effect): void {
    const state = effect === undefined ? 'approved' : 'declined'
    this.movements.push({ operation, reference, amount, state })
  }

  #release(payment: LedgerPayment): Effect {
    if (payment.state !== 'authorised' || payment.captured > 0) return 'Transaction hasn’t been authorised'
    payment.released = payment.authorised
    payment.state = 'cancelled'
    return undefined
  }

  #modify(
    payment: LedgerPayment,
    eventCode: string,
    { value, reference, effect }: { value: number; reference: string; effect: Effect },
  ): string {
    const pspReference = this.nextReference()
    this.#owe(payment, {
      eventCode,
      pspReference,
      originalReference: payment.pspReference,
      merchantReference: reference,
      amount: { value, currency: payment.currency },
      success: String(effect === undefined),
      reason: effect ?? '',
    })
    return pspReference
  }

  // ── What happens later, without being asked ────────────────────────────────────────────────────────────────────

  captureFailed(
    payment: LedgerPayment,
    captured: { pspReference: string; reference: string; value: number },
  ): void {
    payment.captured -= captured.value
    this.#later(payment, 'CAPTURE_FAILED', captured)
  }

  refundFailed(
    payment: LedgerPayment,
    refunded: { pspReference: string; reference: string; value: number },
    eventCode: 'REFUND_FAILED' | 'REFUNDED_REVERSED' = 'REFUND_FAILED',
  ): void {
    payment.refunded -= refunded.value
    this.#later(payment, eventCode, refunded)
  }

  /** The authorisation expires: the part that was not captured is released. */
  expire(payment: LedgerPayment): void {
    payment.released = payment.authorised - payment.captured
    this.#owe(payment, { eventCode: 'EXPIRE', success: 'true' })
  }

  /** Any event about a dispute of this payment, under one reference for the whole dispute. */
  dispute(
    payment: LedgerPayment,
    eventCode: string,
    pspReference: string,
    additionalData: AnyJson = {},
  ): void {
    this.#owe(payment, {
      eventCode,
      pspReference,
      originalReference: payment.pspReference,
      success: 'true',
      additionalData: { chargebackReasonCode: '10.4', ...additionalData },
    })
  }

  report(name: string, url: string): void {
    this.#push({
      eventCode: 'REPORT_AVAILABLE',
      pspReference: name,
      merchantReference: '',
      amount: { value: 0, currency: 'EUR' },
      success: 'true',
      reason: url,
    })
  }

  #later(
    payment: LedgerPayment,
    eventCode: string,
    { pspReference, reference, value }: { pspReference: string; reference: string; value: number },
  ): void {
    this.#owe(payment, {
      eventCode,
      pspReference,
      originalReference: payment.pspReference,
      merchantReference: reference,
      amount: { value, currency: payment.currency },
      success: 'true',
      reason: 'Failed later',
    })
  }

  #owe(payment: LedgerPayment, item: AnyJson): void {
    const additionalData = {
      ...(payment.sessionId === undefined ? {} : { checkoutSessionId: payment.sessionId }),
      ...item.additionalData,
    }
    this.#push({
      pspReference: payment.pspReference,
      merchantReference: payment.reference,
      amount: { value: payment.asked, currency: payment.currency },
      paymentMethod: payment.method === 'scheme' ? 'visa' : payment.method,
      ...item,
      additionalData,
    })
  }

  #push(item: AnyJson): void {
    this.owed.push({
      eventDate: '2026-03-01T12:00:00+01:00',
      merchantAccountCode: this.merchantAccount,
      reason: '',
      ...item,
    })
  }
}
