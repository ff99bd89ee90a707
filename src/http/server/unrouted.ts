/**
 * Answers requests that match no route: OPTIONS, 405 with `Allow` if the address exists for another verb, otherwise
 * 404.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Refusal } from '#http/answers/refusal.ts'
import { quoteValue } from '#http/body/json-text.ts'
import type { Dialect } from '#http/endpoint.ts'
import { type Sender, sendPage, sendRefusal } from '#http/server/send.ts'

export interface Routed {
  readonly verb: string
  /** The full path, with `{name}` for parameters. */
  readonly path: string
  readonly dialect: Dialect
}

interface Address {
  readonly segments: readonly string[]
  readonly verb: string
  readonly dialect: Dialect
}

const fits = (address: Address, segments: readonly string[]): boolean =>
  address.segments.length === segments.length &&
  address.segments.every((part, at) => (part.startsWith('{') ? segments[at] !== '' : part === segments[at]))

/** As it was sent, without the query. A proxy may send the address of a request with its origin. */
const readPath = ({ raw }: FastifyRequest): string =>
  (raw.url ?? '').replace(/^https?:\/\/[^/?#]*/i, '').split('?', 1)[0] || '/'

/**
 * Another spelling of a single-spelt address, such as /%6detrics, counts as unknown: a proxy that hides an address from strangers
 * compares it as it was sent.
 */
export function isUnrouted(request: FastifyRequest, singleSpelt: readonly string[]): boolean {
  const { url } = request.routeOptions
  return request.is404 || (url !== undefined && singleSpelt.includes(url) && readPath(request) !== url)
}

/** The query is left out: it may hold what must not be repeated, and it did not decide. */
const refuseAddress = (path: string, basePath: string): Refusal =>
  new Refusal(
    'notFound',
    `Nothing has the address ${quoteValue(path)}; addresses of the API begin with ${basePath}/, and /docs lists them.`,
  )

export function createUnrouted(
  routes: readonly Routed[],
  { basePath, sender }: { readonly basePath: string; readonly sender: Sender },
) {
  const addresses: readonly Address[] = routes.map(({ verb, path, dialect }) => ({
    verb,
    dialect,
    segments: path.split('/'),
  }))
  return (request: FastifyRequest, reply: FastifyReply): void => {
    const path = readPath(request)
    const segments = path.split('/')
    const here = addresses.filter(address => fits(address, segments))
    const [first] = here
    if (first === undefined) {
      sendRefusal(reply, { dialect: 'customer', refusal: refuseAddress(path, basePath) }, sender)
      return
    }
    const verbs = new Set(here.map(({ verb }) => verb))
    if (verbs.has('GET')) verbs.add('HEAD')
    const allow = [...verbs, 'OPTIONS'].join(', ')
    if (request.method === 'OPTIONS') {
      sendPage(reply, { status: 204, contentType: 'text/plain', body: '', headers: { allow } }, sender)
      return
    }
    const refusal = new Refusal('wrongVerb', `Allowed here: ${allow}.`, { headers: { allow } })
    sendRefusal(reply, { dialect: first.dialect, refusal }, sender)
  }
}
