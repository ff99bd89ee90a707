/** The headers of every hosted page: what it may load, where its forms may lead, who may frame it. Nothing inline. */
import { toSource } from '#pages/address.ts'
import { reportPath } from '#pages/csp-reports.ts'
import { logoOrigin, styleTheme, type Theme } from '#pages/views/theme.ts'

export interface PageSecurity {
  /** Addresses the forms may end at after our own redirect: the return and cancel addresses of the stored payment. */
  readonly formActions?: readonly string[] | undefined
  /** The address of a form that leads to a provider, on a page on which nothing is typed. */
  readonly formTarget?: string | undefined
  /** The merchant's theme, which adds the hash of its style and the origin of its logo. */
  readonly theme?: Theme | undefined
  /** Origins that may show the page in a frame; none where absent. */
  readonly frameAncestors?: readonly string[] | undefined
  /** Whether the customer reached us by TLS, directly or through the trusted proxy. */
  readonly tls: boolean
}

const toSources = (addresses: readonly string[] = []): readonly string[] => [
  ...new Set(addresses.map(toSource).filter(source => source !== undefined)),
]

const joinSources = (...sources: readonly (string | undefined)[]): string =>
  sources.filter(source => source !== undefined).join(' ')

/**
 * Origin and path, with characters encoded that would end the directive. Then the scheme: browsers apply the policy of
 * our page to every redirect of the provider, and providers redirect to banks that nobody can list. Nothing is typed on
 * that page.
 */
function toProviderSources(address: string): string {
  const { origin, pathname, protocol } = new URL(address)
  return `${origin}${pathname.replace(/[;,'\s]/g, character => encodeURIComponent(character).replace("'", '%27'))} ${protocol}`
}

/** A year. Subdomains are not included, because they may belong to other systems of the operator. */
const strictTransport = 'max-age=31536000'

const permissions =
  'accelerometer=(), browsing-topics=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), ' +
  'magnetometer=(), microphone=(), midi=(), usb=(), payment=(), clipboard-write=(self)'

export function securityHeaders({
  formActions,
  formTarget,
  theme = {},
  frameAncestors,
  tls,
}: PageSecurity): Record<string, string> {
  const ancestors = toSources(frameAncestors)
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    `style-src ${joinSources("'self'", styleTheme(theme)?.source)}`,
    `img-src ${joinSources("'self'", logoOrigin(theme))}`,
    "connect-src 'self'",
    `form-action ${formTarget === undefined ? joinSources("'self'", ...toSources(formActions)) : toProviderSources(formTarget)}`,
    `frame-ancestors ${ancestors.length === 0 ? "'none'" : ancestors.join(' ')}`,
    "base-uri 'none'",
    // A mistake in a template must not become a script: with this the browser refuses strings as code altogether.
    "require-trusted-types-for 'script'",
    // PCI DSS 11.6.1: browsers report when a manipulated page tries to load something else.
    `report-uri ${reportPath}`,
    'report-to csp',
  ]
  return {
    'content-security-policy': policy.join('; '),
    'reporting-endpoints': `csp="${reportPath}"`,
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'permissions-policy': permissions,
    'x-robots-tag': 'noindex, nofollow',
    ...(ancestors.length === 0 ? { 'x-frame-options': 'DENY' } : {}),
    ...(tls ? { 'strict-transport-security': strictTransport } : {}),
  }
}
