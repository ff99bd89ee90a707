/**
 * The answers of a double of Adyen: Checkout v72 with sessions and redirects, modifications that are always `received`,
 * and the Dispute API. It does no transport; double.ts passes requests to it.
 */
import { AdyenLedger, type LedgerPayment, toTokenData } from '#test/support/adyen/ledger.ts'
import type { AnyJson } from '#test/support/any-json.ts'

export interface Answer {
  readonly status: number
  readonly body: AnyJson
}

interface Session {
  readonly id: string
  readonly asked: AnyJson
  status: string
  payment?: LedgerPayment
}

/** `decline`: a try on a hosted page that may be followed by another. `wait`: the method's own system decides later. */
export type Verdict = 'approve' | 'refuse' | 'cancel' | 'decline' | 'wait'

/** Refused card numbers and the code that Adyen gives with them. */
const refused: Readonly<Record<string, readonly [code: string, reason: string]>> = {
  '4000000000000002': ['2', 'Refused'],
  '4000000000009995': ['12', 'Not enough balance'],
  '4000000000000069': ['6', 'Expired Card'],
  // In Adyen's test system the name on the card asks for a refusal.
  NOT_ENOUGH_BALANCE: ['12', 'Not enough balance'],
}
/** A card that requires 3-D Secure. */
export const challengeCard = '4000002760003184'

const vouchers = ['multibanco', 'boletobancario', 'oxxo', 'econtext_stores', 'doku_bca_va']
const qrCodes = ['wechatpayQR', 'pix', 'swish', 'paynow']
export const refuse = (status: number, errorCode: string, message: string): Answer => ({
  status,
  body: { status, errorCode, message, errorType: status === 401 ? 'security' : 'validation' },
})

export class AdyenCheckout {
  readonly ledger: AdyenLedger
  readonly sessions = new Map<string, Session>()
  readonly disputes: { readonly path: string; readonly body: AnyJson }[] = []
  readonly merchantAccount: string
  /** The origin of the pages to which customers are redirected. */
  origin = ''

  constructor(merchantAccount: string, multipleCaptures: boolean) {
    this.merchantAccount = merchantAccount
    this.ledger = new AdyenLedger(merchantAccount, multipleCaptures)
  }

  paymentOf(pspReference: string | undefined): LedgerPayment | undefined {
    return this.ledger.payments.get(pspReference ?? '')
  }

  pay(body: AnyJson): Answer {
    const { paymentMethod } = body
    if (body.amount?.value === undefined || paymentMethod?.type === undefined || !body.reference)
      return refuse(422, '130', "Required field 'reference' is not provided.")
    const payment = this.ledger.begin({
      reference: body.reference,
      amount: body.amount,
      method: paymentMethod.type,
      isAutomatic: body.additionalData?.manualCapture !== 'true',
      returnUrl: body.returnUrl,
      // Adyen stores a method only if it is asked to.
      storedFor: body.storePaymentMethod === true ? body.shopperReference : undefined,
    })
    const isArmed = this.ledger.declining.delete('AUTHORIZATION')
    const decline = isArmed
      ? (['2', 'Refused'] as const)
      : (refused[paymentMethod.holderName ?? ''] ?? refused[paymentMethod.number ?? ''])
    if (decline) this.ledger.refuse(payment, decline[1])
    else if (this.needsCustomer(body)) return { status: 200, body: this.toAction(payment) }
    else if (paymentMethod.type === 'sepadirectdebit')
      return { status: 200, body: this.toResult(payment, 'Received') }
    else this.ledger.authorise(payment)
    return { status: 200, body: this.toResult(payment, undefined, decline?.[0]) }
  }

  needsCustomer({ paymentMethod, shopperInteraction, mpiData, authenticationData }: AnyJson): boolean {
    if (shopperInteraction === 'ContAuth' || paymentMethod.type === 'sepadirectdebit') return false
    if (paymentMethod.type !== 'scheme') return paymentMethod.type !== 'applepay'
    const mayAsk = mpiData === undefined && authenticationData?.attemptAuthentication !== 'never'
    return mayAsk && paymentMethod.number === challengeCard
  }

  toAction(payment: LedgerPayment): AnyJson {
    const { method: paymentMethodType, pspReference } = payment
    const url = `${this.origin}/redirect/${pspReference}`
    if (vouchers.includes(paymentMethodType))
      return {
        ...this.toResult(payment, 'PresentToShopper'),
        action: {
          type: 'voucher',
          paymentMethodType,
          reference: '501 422 944',
          entity: '12101',
          expiresAt: '2099-12-01T12:00:00Z',
          downloadUrl: `${this.origin}/voucher/${pspReference}`,
        },
      }
    if (qrCodes.includes(paymentMethodType))
      return {
        ...this.toResult(payment, 'Pending'),
        action: { type: 'qrCode', paymentMethodType, qrCodeData: `QR-${pspReference}` },
      }
    const isCard = paymentMethodType === 'scheme'
    const action = { type: 'redirect', paymentMethodType, url, method: isCard ? 'POST' : 'GET' }
    return {
      resultCode: 'RedirectShopper',
      action: isCard ? { ...action, data: { MD: pspReference, PaReq: 'eNpV' } } : action,
    }
  }

  toResult(payment: LedgerPayment, resultCode?: string, refusalReasonCode?: string): AnyJson {
    const words = { open: 'Pending', authorised: 'Authorised', refused: 'Refused', cancelled: 'Cancelled' }
    return {
      resultCode: resultCode ?? words[payment.state],
      pspReference: payment.pspReference,
      merchantReference: payment.reference,
      amount: { value: payment.asked, currency: payment.currency },
      paymentMethod: { type: payment.method, brand: 'visa' },
      ...(refusalReasonCode === undefined ? {} : { refusalReasonCode, refusalReason: 'Refused' }),
      additionalData: {
        networkTxReference: 'NTX123',
        authCode: '065696',
        ...(payment.state === 'authorised' ? toTokenData(payment) : {}),
      },
    }
  }

  /** The result that the redirect handed to the browser is the payment's reference. */
  payDetails({ details }: AnyJson): Answer {
    const payment = this.paymentOf(details?.redirectResult ?? details?.MD)
    if (!payment) return refuse(422, '101', 'Invalid redirectResult')
    // 3-D Secure only proves who pays; the issuer is asked now.
    if (payment.isAuthenticated) this.ledger.authorise(payment)
    if (payment.state !== 'open') return { status: 200, body: this.toResult(payment) }
    return { status: 200, body: this.toResult(payment, 'Pending') }
  }

  openSession(body: AnyJson): Answer {
    const id = `CS${this.ledger.nextReference()}`
    this.sessions.set(id, { id, asked: body, status: 'active' })
    const { reference, amount, returnUrl } = body
    const expiresAt = '2099-12-01T12:00:00Z'
    const url = `${this.origin}/hosted/${id}`
    return {
      status: 201,
      body: { id, url, reference, amount, returnUrl, merchantAccount: this.merchantAccount, expiresAt },
    }
  }

  readSession(id: string): Answer {
    const session = this.sessions.get(id)
    if (!session) return { status: 500, body: { status: 500, errorCode: '701' } }
    const { payment } = session
    // A pending result is not updated, as Adyen documents.
    const isPending = session.status === 'paymentPending'
    const isListed = payment?.state === 'authorised' || isPending
    const payments = payment && isListed ? [this.toResult(payment, isPending ? 'Received' : undefined)] : []
    const { reference, storePaymentMethodMode, shopperReference } = session.asked
    const isStored = storePaymentMethodMode === 'enabled' && payments.length > 0
    const additionalData = {
      'tokenization.storedPaymentMethodId': `TOKEN-${id}`,
      'tokenization.shopperReference': shopperReference,
    }
    const told = { id, reference, status: session.status, payments }
    return { status: 200, body: isStored ? { ...told, additionalData } : told }
  }

  modify(pspReference: string, name: string, body: AnyJson): Answer {
    const payment = this.paymentOf(pspReference)
    if (!payment) return refuse(422, '167', 'Original pspReference required for this operation')
    const capture = body.capturePspReference
    if (capture !== undefined && !this.ledger.captures.has(capture))
      return refuse(422, '167', 'Original pspReference required for this operation')
    const reference = body.reference ?? payment.reference
    const acts: Readonly<Record<string, () => string>> = {
      captures: () => this.ledger.capture(payment, body.amount.value, reference),
      refunds: () => this.ledger.refund(payment, body.amount.value, reference),
      cancels: () => this.ledger.cancel(payment, reference),
      amountUpdates: () => this.ledger.adjust(payment, body.amount.value, reference),
    }
    const modification = acts[name]?.()
    if (modification === undefined) return refuse(404, '702', 'No such operation')
    return {
      status: 201,
      body: {
        merchantAccount: this.merchantAccount,
        paymentPspReference: pspReference,
        pspReference: modification,
        reference,
        status: 'received',
        ...(body.amount === undefined ? {} : { amount: body.amount }),
      },
    }
  }

  technicalCancel({ paymentReference, reference }: AnyJson): Answer {
    const pspReference = this.ledger.technicalCancel(paymentReference)
    return {
      status: 201,
      body: {
        merchantAccount: this.merchantAccount,
        paymentReference,
        reference,
        pspReference,
        status: 'received',
      },
    }
  }

  answerDispute(path: string, body: AnyJson): Answer {
    this.disputes.push({ path, body })
    const defenseReasons = [
      {
        defenseReasonCode: 'GoodsOrServicesProvided',
        satisfied: false,
        defenseDocumentTypes: [
          { defenseDocumentTypeCode: 'DefenseMaterial', requirementLevel: 'Required', available: false },
        ],
      },
    ]
    return { status: 200, body: { disputeServiceResult: { success: true }, defenseReasons } }
  }

  route(verb: string, path: string, body: AnyJson): Answer {
    const [, , version, first, second, third] = ['', ...path.split('/')]
    if (path.startsWith('/ca/services/DisputeService/v30/')) return this.answerDispute(path, body)
    if (version !== 'v72') return refuse(404, '702', 'No such version')
    if (verb === 'GET' && first === 'sessions') return this.readSession(second ?? '')
    if (body.merchantAccount !== this.merchantAccount && second !== 'details')
      return refuse(422, '901', 'Invalid Merchant Account')
    if (first === 'paymentMethods') return { status: 200, body: { paymentMethods: [{ type: 'scheme' }] } }
    if (first === 'sessions') return this.openSession(body)
    if (first === 'cancels') return this.technicalCancel(body)
    if (first === 'payments' && second === 'details') return this.payDetails(body)
    return first === 'payments' && second === undefined
      ? this.pay(body)
      : this.modify(second ?? '', third ?? '', body)
  }

  /** Applies the customer's decision on a page; returns the address to which they are redirected. */
  decide(page: string, id: string, verdict: Verdict): string {
    const session = this.sessions.get(id)
    const payment = page === 'hosted' && session ? this.payOnPage(session, verdict) : this.paymentOf(id)
    if (page === 'redirect' && payment) {
      if (verdict === 'approve' && payment.method === 'scheme') payment.isAuthenticated = true
      else if (verdict === 'approve') this.ledger.authorise(payment)
      else if (verdict === 'refuse') this.ledger.refuse(payment, 'Refused')
      else payment.state = 'cancelled'
    }
    const back = new URL(session?.asked.returnUrl ?? payment?.returnUrl ?? this.origin)
    if (session) {
      back.searchParams.set('sessionId', id)
      back.searchParams.set('sessionResult', `result-of-${id}`)
    } else back.searchParams.set('redirectResult', id)
    return back.href
  }

  payOnPage(session: Session, verdict: Verdict): LedgerPayment | undefined {
    const words = {
      approve: 'completed',
      refuse: 'refused',
      cancel: 'canceled',
      decline: 'active',
      wait: 'paymentPending',
    }
    if (session.status !== 'active') return session.payment
    session.status = words[verdict]
    if (verdict === 'cancel') return undefined
    const { asked } = session
    const payment = this.ledger.begin({
      reference: asked.reference,
      amount: asked.amount,
      method: asked.allowedPaymentMethods?.[0] ?? 'scheme',
      isAutomatic: asked.additionalData?.manualCapture !== 'true',
      returnUrl: asked.returnUrl,
      sessionId: session.id,
    })
    session.payment = payment
    if (verdict === 'approve') this.ledger.authorise(payment)
    else if (verdict !== 'wait') this.ledger.refuse(payment, 'Refused')
    return payment
  }
}
