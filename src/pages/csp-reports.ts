/**
 * Violations of our pages' policy, reported by browsers: something forbidden tried to load or run. Anybody may send a
 * report, so only a few known values are read from it, and few reports are logged.
 */
import { isRecord, memberOf, parseJson } from '#domain/json.ts'
import type { RawRoute } from '#http/server/raw-routes.ts'

export const reportPath = '/pay/csp-reports'

/** The directives of our policy; all others count as `other`. */
const directives: readonly string[] = [
  'script-src',
  'style-src',
  'img-src',
  'connect-src',
  'form-action',
  'frame-ancestors',
  'base-uri',
  'require-trusted-types-for',
  'default-src',
]

/** 8 KiB: a usual report has about 1 KiB. */
const reportBytesMax = 8_192
/** 10 a minute: enough to see what is going on, too few to fill a disk with. */
const loggedMax = 10
const windowMs = 60_000

export interface ReportDeps {
  readonly count: (directive: string) => void
  readonly log: (directive: string, blocked: string) => void
  readonly nowMs: () => number
}

export function createReportRoute({ count, log, nowMs }: ReportDeps): RawRoute {
  let windowEndsMs = 0
  let logged = 0
  return {
    verb: 'POST',
    path: reportPath,
    bodyBytesMax: reportBytesMax,
    async handle({ body }) {
      for (const { directive, blocked } of readReports(body.toString('utf8'))) {
        count(directive)
        if (nowMs() >= windowEndsMs) {
          windowEndsMs = nowMs() + windowMs
          logged = 0
        }
        logged += 1
        if (logged <= loggedMax) log(directive, blocked)
      }
      return { status: 204, contentType: 'text/plain', body: '' }
    },
  }
}

interface Report {
  readonly directive: string
  readonly blocked: string
}

/** Both forms: one object of `report-uri`, or a list of the Reporting API. */
export function readReports(text: string): readonly Report[] {
  const parsed = parseJson(text)
  const bodies = Array.isArray(parsed)
    ? parsed.slice(0, 10).map(entry => memberOf(entry, 'body'))
    : [memberOf(parsed, 'csp-report')]
  return bodies.filter(isRecord).map(readReport)
}

function readReport(body: unknown): Report {
  const named = memberOf(body, 'effectiveDirective') ?? memberOf(body, 'effective-directive')
  const given = named ?? memberOf(body, 'violated-directive')
  // An object could have a `toString` that is no function, and lists could be nested too deep to become text.
  const violated = typeof given === 'string' ? (given.split(' ', 1)[0] ?? '') : ''
  const plain = violated.replace(/-(elem|attr)$/, '')
  const blocked = memberOf(body, 'blockedURL') ?? memberOf(body, 'blocked-uri')
  return { directive: directives.includes(plain) ? plain : 'other', blocked: originOf(blocked) }
}

/** The origin alone: the rest of an address may hold anything. */
function originOf(address: unknown): string {
  if (typeof address !== 'string') return 'unknown'
  if (!URL.canParse(address)) return /^[a-z-]{1,20}$/.test(address) ? address : 'unknown'
  const { protocol, origin } = new URL(address)
  return /^https?:$/.test(protocol) && /^[a-z0-9.:/[\]-]{1,200}$/.test(origin) ? origin : 'unknown'
}
