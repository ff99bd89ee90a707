/**
 * The site of a provider that has none of its own, as its connector describes it. Customers arrive and leave as on any
 * provider's page.
 */
import type { PageAnswer, PageRequest, PageRoute } from '#http/server/page-routes.ts'
import { openAction } from '#lifecycle/customer-step.ts'
import { openTry } from '#lifecycle/payment.ts'
import type { Hosted, PageDeps } from '#pages/hosted.ts'
import type { Limits } from '#pages/limits.ts'
import { type PageContext, returnPath } from '#pages/page-context.ts'
import { takeBack } from '#pages/provider-step.ts'
import { amountOf, drawSitePage } from '#pages/show.ts'
import type { PageFrame } from '#pages/views/layout.ts'
import type { InstalmentSchedule } from '#pages/views/plan-terms.ts'
import { renderSitePage } from '#pages/views/site-page.ts'

interface Site {
  /** The root of its pages, as the connector declares it. */
  readonly root: string
  readonly pageContext: PageContext
  /** Limits on declines. */
  readonly limits: Limits
  readonly deps: PageDeps
}

interface StepPlace {
  readonly frame: PageFrame
  /** The address to which the form is posted. */
  readonly action: string
  readonly instalments?: InstalmentSchedule | undefined
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
  const html = renderStep(hosted, {
    frame: pageContext.frame(request, hosted),
    action: `${returnPath}${request.params.pageToken ?? ''}`,
    instalments: pageContext.planOf(hosted, hosted.payment.method),
  })
  return html === undefined ? pageContext.deadEnd(request, 'unknown') : pageContext.answer(200, html, hosted)
}

/** The page's form leads to our return address. A client that posts to the page's own address gets there as well. */
const leave = async (request: PageRequest, hosted: Hosted, site: Site): Promise<PageAnswer> =>
  isHere(hosted, addressOf(request, site))
    ? takeBack(request, { ...site, context: site.pageContext })
    : site.pageContext.deadEnd(request, 'unknown')

function renderStep(hosted: Hosted, { frame, action, instalments }: StepPlace): string | undefined {
  const { payment } = hosted
  const page = drawSitePage(hosted, frame)
  return (
    page &&
    renderSitePage(frame, {
      ...page,
      action,
      amount: amountOf(payment),
      reference: payment.transId,
      card: payment.instrument,
      date: payment.updatedAt.toISOString(),
      instalments,
    })
  )
}
