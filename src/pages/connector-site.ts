/**
 * The site of a provider that has none of its own: its page and that of the card's issuer, where a developer decides
 * for the customer. Customers arrive and leave as on any provider's page.
 */
import type { PageAnswer, PageRequest, PageRoute } from '#http/server/page-routes.ts'
import { openAction } from '#lifecycle/customer-step.ts'
import { openTry } from '#lifecycle/payment.ts'
import type { Hosted, PageDeps } from '#pages/hosted.ts'
import type { PageFrame } from '#pages/layout.ts'
import { type PageContext, returnPath } from '#pages/page-context.ts'
import { takeBack } from '#pages/provider-step.ts'
import { amountOf, shownAmount } from '#pages/show.ts'
import { labelMethod } from '#pages/views/checkout.ts'
import type { InstalmentSchedule } from '#pages/views/plan-terms.ts'
import { renderChallenge, renderProviderPage } from '#pages/views/test-pages.ts'

interface Site {
  /** The root of its pages, as the connector declares it. */
  readonly root: string
  readonly pageContext: PageContext
  readonly deps: PageDeps
}

interface SiteRoute {
  readonly verb: PageRoute['verb']
  readonly path: string
  readonly handle: (request: PageRequest, hosted: Hosted) => Promise<PageAnswer>
}

export function siteRoutes(site: Site): readonly SiteRoute[] {
  const path = `${site.root}{pageToken}`
  return [
    { verb: 'GET', path, handle: async (request, hosted) => show(request, hosted, site) },
    { verb: 'POST', path, handle: (request, hosted) => leave(request, hosted, site) },
  ]
}

/** Only payments whose provider sent its customer here: other payments must not be decided here. */
function isHere({ payment }: Hosted, address: string): boolean {
  const waiting = openTry(payment)
  const action = waiting && openAction(waiting)
  return (action?.type === 'redirect' ? action.url : action?.testUrl) === address
}

const addressOf = ({ params }: PageRequest, { root }: Site): string => `${root}${params.pageToken ?? ''}`

function show(request: PageRequest, hosted: Hosted, site: Site): PageAnswer {
  const { pageContext } = site
  if (!isHere(hosted, addressOf(request, site))) return pageContext.deadEnd(request, 'unknown')
  const action = `${returnPath}${request.params.pageToken ?? ''}`
  const instalments = pageContext.planOf(hosted, hosted.payment.method)
  const html = renderStep(hosted, pageContext.frame(request, hosted), { action, instalments })
  return pageContext.answer(200, html, hosted)
}

/** The page's form leads to our return address. A client that posts to the page's own address gets there as well. */
const leave = async (request: PageRequest, hosted: Hosted, site: Site): Promise<PageAnswer> =>
  isHere(hosted, addressOf(request, site))
    ? takeBack(request, { context: site.pageContext, deps: site.deps })
    : site.pageContext.deadEnd(request, 'unknown')

function renderStep(
  { payment, label }: Hosted,
  frame: PageFrame,
  { action, instalments }: { readonly action: string; readonly instalments?: InstalmentSchedule | undefined },
): string {
  // The customer approves the amount that this page shows; if the merchant changes it meanwhile, the page is shown again.
  const step = { amount: amountOf(payment), action, hidden: [{ name: 'shown', value: shownAmount(payment) }] }
  const { instrument } = payment
  return openTry(payment)?.prepared.step === 'challenge' && instrument
    ? renderChallenge(frame, {
        ...step,
        brand: instrument.brand,
        last4Digits: instrument.last4Digits,
        date: payment.updatedAt.toISOString(),
      })
    : renderProviderPage(frame, {
        ...step,
        methodLabel: label ?? labelMethod(payment.method, frame.language.texts),
        reference: payment.transId,
        instalments,
      })
}
