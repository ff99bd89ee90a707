/** Sends an authorisation to its account, and to the next one if the first was certainly not reached. */
import type { AuthorizationRequest, Unsent } from '#connectors/contract.ts'
import type { OpenedAccount } from '#connectors/directory.ts'
import { hideSent } from '#connectors/quoted-secrets.ts'
import type { Merchant } from '#domain/merchant.ts'
import { failOver } from '#lifecycle/fail-over.ts'
import { findOperation, type Payment } from '#lifecycle/payment.ts'
import { type Engine, effectTime, newXId } from '#operations/engine.ts'
import type { Authorization } from '#operations/payments/authorize.ts'
import { amountMisfit, providerOf } from '#operations/payments/provider-calls/choose-account.ts'
import { returnAddressOf } from '#operations/payments/provider-calls/payment-context.ts'

export interface Sending {
  readonly merchant: Merchant
  readonly payment: Payment
  readonly account: OpenedAccount
  readonly message: Omit<AuthorizationRequest, 'send'>
}

/** Builds the call. A credit is sent like an authorisation: one message, one answer. */
export function toAuthorization({ merchant, payment, account, message }: Sending): Authorization {
  const { operation, reference, amount, captureReference } = message
  const { connector } = account
  return {
    merchant,
    payment,
    account,
    question: { operation, reference, amount },
    captureReference,
    ask: async (send, signal) =>
      hideSent(
        operation === 'CREDIT'
          ? {
              authorization: (await connector.credit?.({ ...message, send }, signal)) ?? {
                kind: 'unreached',
              },
            }
          : await connector.authorize({ ...message, send }, signal),
        message,
      ),
  }
}

interface Failing extends Omit<Sending, 'account'> {
  readonly unattended?: boolean
  /** The merchant's time for which the timer behind it was set; now unless given. */
  readonly at?: Date
}

/** Undefined if there is no other account. */
export function failOverTo(
  others: readonly OpenedAccount[],
  failing: Failing,
  engine: Engine,
): Authorization['failOver'] {
  const [next, ...rest] = others
  if (!next) return undefined
  return async () => {
    const { merchant, payment, message, unattended, at } = failing
    if (amountMisfit(next, message.amount)) return failOverTo(rest, failing, engine)?.()
    const xId = newXId(engine)
    const captureReference = message.captureReference && newXId(engine)
    const unsent: Unsent<AuthorizationRequest> = {
      ...message,
      reference: xId,
      captureReference,
      payment: { ...message.payment, returnUrl: returnAddressOf(payment, xId, engine) },
    }
    const kept = { ...(await next.connector.keep?.({ request: unsent })), account: next.accountId }
    const { merchantId, payId } = payment
    const moved = await engine.queue.update({ merchantId, payId, known: payment }, stored => {
      // An earlier round committed, but its answer was lost.
      if (findOperation(stored, xId)) return { result: stored }
      const now = effectTime(engine, merchant, at)
      const provider = providerOf(next)
      const unreached = message.reference
      const over = failOver(stored, {
        unreached,
        xId,
        captureXId: captureReference,
        provider,
        prepared: kept,
        now,
      })
      return over ? { next: over, result: over } : { result: undefined }
    })
    if (!moved) return undefined
    const again = { merchant, payment: moved, message: { ...unsent, kept } }
    return {
      ...toAuthorization({ ...again, account: next }),
      unattended,
      at,
      failOver: failOverTo(rest, { ...again, unattended, at }, engine),
    }
  }
}
