/** The capture that a payment was created to make by itself, hours after its approval. */
import { isLapsed, openAmount } from '#lifecycle/payment.ts'
import type { Engine } from '#operations/engine.ts'
import { capture } from '#operations/payments/capture.ts'
import type { DueTimer } from '#operations/timer.ts'

/** Takes whatever is still open; a payment that was captured, closed or reversed by hand meanwhile is left alone. */
export async function captureDelayed({ timer, merchant, at }: DueTimer, engine: Engine): Promise<void> {
  const { merchantId, payId } = timer
  const payment = await engine.payments.byPayId(merchantId, payId)
  const open = payment ? openAmount(payment) : 0
  if (!payment || open === 0 || payment.closedForCapture || isLapsed(payment, at)) {
    await engine.commit({ dropTimers: [timer] })
    return
  }
  const { transId, refNr, amount } = payment
  const command = { transId, refNr, amount: { value: open, currency: amount.currency }, details: {} }
  await capture({ merchant, payId, command, at, unattended: true, timer }, engine)
}
