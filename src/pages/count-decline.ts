/** Counts a try that was declined after the customer had left our form, at an issuer or a provider, towards the limit of their address. */
import type { PageRequest } from '#http/server/page-routes.ts'
import { countDeclines } from '#lifecycle/attempt.ts'
import { merchantNow } from '#operations/engine.ts'
import { triedBy } from '#operations/payments/velocity.ts'
import type { Hosted, PageDeps } from '#pages/hosted.ts'

export async function countDeclineAfter(
  { address }: PageRequest,
  { before, after }: { readonly before: Hosted; readonly after: Hosted },
  { engine }: Pick<PageDeps, 'engine'>,
): Promise<void> {
  const { merchant, payment } = after
  if (countDeclines(payment) <= countDeclines(before.payment)) return
  const tried = triedBy(payment)
  // The card was counted with the outcome, and so was the address if the merchant has given it.
  if (tried.address !== undefined) return
  const now = merchantNow(engine.clock, merchant)
  await engine.velocity.countDecline(merchant, { ...tried, address }, now, 'ADDRESS')
}
