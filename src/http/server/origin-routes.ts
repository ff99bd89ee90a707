/** Routes at the origin that need no credentials: health, metrics, the API document and its reference. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import { type Page, type Sender, sendPage } from '#http/server/send.ts'
import type { Logger } from '#http/telemetry/log.ts'

export interface OriginOptions {
  readonly metricsType: string
  readonly collectMetrics: () => Promise<string>
  readonly logger: Logger
  /** Why the gateway cannot serve at the moment; empty when it can. */
  readonly readiness: () => Promise<readonly string[]>
  /** Findings for operators that do not prevent serving; shown with the readiness. */
  readonly readinessDetails?: () => Readonly<Record<string, unknown>> | undefined
  /** Path → page, for example /openapi.json and /docs. Each is rendered once, on first request. */
  readonly pages: Readonly<Record<string, () => Page | Promise<Page>>>
  readonly sender: Sender
}

type Origin = (reply: FastifyReply) => Promise<FastifyReply>

const json = (
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): Page & { status: number } => ({
  status,
  contentType: 'application/json',
  body: JSON.stringify(value),
  headers: { 'cache-control': 'no-store', ...headers },
})

async function askReadiness({ readiness, logger, sender }: OriginOptions): Promise<readonly string[]> {
  if (sender.isLeaving()) return ['the gateway is stopping']
  try {
    return await readiness()
  } catch (err) {
    logger.error({ err }, 'the readiness check itself failed')
    return ['the readiness check itself failed']
  }
}

/** Renders and encodes a page once: the API document has almost a megabyte and can be requested without credentials. */
const showOnce = (render: () => Page | Promise<Page>, sender: Sender): Origin => {
  let page: (Omit<Page, 'body'> & { readonly body: Buffer }) | undefined
  return async reply => {
    if (!page) {
      const rendered = await render()
      page ??= { ...rendered, body: Buffer.from(rendered.body) }
    }
    return sendPage(reply, { ...page, status: 200 }, sender)
  }
}

/** The target of the origin's redirect. */
const homePage = '/docs'

function listRoutes(options: OriginOptions): Record<string, Origin> {
  const { metricsType, collectMetrics, pages, sender } = options
  const routes: Record<string, Origin> = {
    '/health/live': async reply => sendPage(reply, json(200, { status: 'live' }), sender),
    '/health/ready': async reply => {
      const reasons = await askReadiness(options)
      const details = options.readinessDetails?.()
      const page =
        reasons.length === 0
          ? json(200, { status: 'ready', details })
          : json(503, { status: 'not ready', reasons, details }, { 'retry-after': '1' })
      return sendPage(reply, page, sender)
    },
    '/metrics': async reply => {
      const page = { status: 200, contentType: metricsType, body: await collectMetrics() }
      return sendPage(reply, page, sender)
    },
  }
  for (const [path, render] of Object.entries(pages)) routes[path] = showOnce(render, sender)
  if (homePage in pages && !('/' in pages)) {
    const redirect = { status: 302, contentType: 'text/plain', body: '', headers: { location: homePage } }
    routes['/'] = async reply => sendPage(reply, redirect, sender)
  }
  return routes
}

/** Returns the paths of the routes. */
export function addOriginRoutes(app: FastifyInstance, options: OriginOptions): string[] {
  const routes = listRoutes(options)
  for (const [path, handle] of Object.entries(routes)) app.get(path, (_, reply) => handle(reply))
  return Object.keys(routes)
}
