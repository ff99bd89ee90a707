/** Sends customers to a provider's page, handles their return, and replaces a provider page that has expired. */

import type { PageAnswer, PageRequest } from '#http/server/page-routes.ts'
import { countDeclines } from '#lifecycle/attempt.ts'
import { openAction } from '#lifecycle/customer-step.ts'
import { openTry } from '#lifecycle/payment.ts'
import { merchantNow } from '#operations/engine.ts'
import { attemptPayment } from '#operations/payments/customer-pages/attempt.ts'
import { takeReturn } from '#operations/payments/customer-pages/customer-action.ts'
import { returnAgain } from '#operations/payments/customer-pages/return-again.ts'
import { isCountedFor, triedBy } from '#operations/payments/velocity.ts'
import { type Hosted, openHosted, type PageDeps, pageOf, providerAction, returnUrl } from '#pages/hosted.ts'
import { declineKeys, type Limits } from '#pages/limits.ts'
import { baseOf, type PageContext } from '#pages/page-context.ts'

/** An expired provider page is replaced at the customer's next visit. Providers use real time, not the test clock. */
export async function withFreshAction(hosted: Hosted, context: PageContext, deps: PageDeps): Promise<Hosted> {
  const waiting = openTry(hosted.payment)
  const action = waiting && openAction(waiting)
  const hasEnded =
    (action?.type === 'redirect' && action.hasEnded) ||
    (action?.expiresAt !== undefined && Date.parse(action.expiresAt) <= deps.engine.clock.nowMs())
  // A page whose address an earlier release stored in another form is replaced too.
  const isLost = action?.type === 'redirect' && providerAction(hosted) === undefined
  if (!hasEnded && !isLost) return hosted
  const { merchant, payment } = hosted
  const { payId, method, version: seenVersion } = payment
  await attemptPayment({ merchant, payId, method, seenVersion, renews: true }, deps.engine)
  return context.reopen(hosted)
}

export interface TakingBack {
  readonly context: PageContext
  /** Limits on declines. */
  readonly limits: Limits
  readonly deps: PageDeps
}

/**
 * The customer returns from the provider. The operation is completed with the browser's parameters; a return after that, or
 * after the notice, only redirects. If the provider has another page for the customer, they are sent there.
 */
export async function takeBack(
  request: PageRequest,
  { context, limits, deps }: TakingBack,
): Promise<PageAnswer> {
  const hosted = await openHosted(request.params.pageToken ?? '', deps)
  if (!hosted?.step) return context.deadEnd(request, 'unknown')
  const { merchant, payment, step } = hosted
  const { payId } = payment
  const before = providerAction(hosted)
  const returned = { query: request.query ?? {}, form: request.form ?? {} }
  const isAwaited = openTry(payment)?.xId === step.xId
  const decision = isAwaited
    ? await takeReturn({ merchant, payId, returned, shown: step }, deps.engine)
    : undefined
  if (!isAwaited) await returnAgain({ merchant, payId, xId: step.xId, returned }, deps.engine)
  const own = { ...hosted, step: undefined, pageToken: deps.pageTokens.issue(pageOf(payment)) }
  const after = await context.reopen(own)
  await countDeclineAfter(request, { before: hosted, after }, { limits, deps })
  const next = providerAction(after)
  // Sending the customer to a page that sends them straight back would loop; the shop gets the result by an event.
  if (next && next.url === before?.url && !decision)
    return context.seeOther(returnUrl(after) ?? `${baseOf(after)}/result`)
  return context.redirectToNextStep(request, after)
}

/** A try that was declined at an issuer or a provider, after the customer had left our form, counts for their address. */
async function countDeclineAfter(
  { address }: PageRequest,
  { before, after }: { readonly before: Hosted; readonly after: Hosted },
  { limits, deps: { engine } }: Pick<TakingBack, 'limits' | 'deps'>,
): Promise<void> {
  const { merchant, payment } = after
  if (countDeclines(payment) <= countDeclines(before.payment)) return
  const { instrument: card } = payment
  // Customers who turn back from a wallet or bank test no card.
  if (card) limits.count(declineKeys({ ...merchant, address, cardId: card.cardId, card }))
  // The card was counted with the outcome, and so was the address if the merchant has named it.
  if (isCountedFor(payment, address)) return
  const now = merchantNow(engine.clock, merchant)
  await engine.velocity.countDecline(merchant, { ...triedBy(payment), address }, now, 'ADDRESS')
}
