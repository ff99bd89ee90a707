/** The context of every console page: the person, the merchant, and the functions to read and act. */

import type { Guessing } from '#console/guessing.ts'
import type { Overviews } from '#console/overviews.ts'
import type { Passkeys } from '#console/passkeys.ts'
import type { PaymentRows } from '#console/payment-rows.ts'
import type { People } from '#console/people.ts'
import type { FoundInCells } from '#console/search-cells.ts'
import type { Role } from '#domain/console-roles.ts'
import { type ConsoleAct, mayAct } from '#domain/console-roles.ts'
import type { MerchantId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import { refusalCodes } from '#domain/response-codes.ts'
import type { TestTools } from '#endpoints/services.ts'
import type { CallInside, InsideAnswer, InsideRequest, InsideStream } from '#http/server/inside-call.ts'
import type { PageAnswer, PageRequest } from '#http/server/page-routes.ts'
import type { Act, Audit } from '#operations/audit/audit.ts'
import type { MerchantAdministration } from '#operations/merchants/merchants.ts'
import type { ProviderAdministration } from '#providers/administration.ts'
import type { AuditEntry, AuditStore } from '#storage/audit/audit.ts'
import type { FormStore } from '#storage/console/forms.ts'
import type { Operator, PeopleStore } from '#storage/console/people.ts'
import type { StoryStore } from '#storage/console/story.ts'
import type { NoticeStore } from '#storage/providers/notices.ts'
import type { SettlementStore } from '#storage/providers/settlements.ts'

export interface ConsoleDeps {
  readonly environment: 'test' | 'live'
  readonly people: People
  readonly peopleStore: PeopleStore
  readonly passkeys: Passkeys
  readonly overviews: Overviews
  /** Among the payments of these merchants, in all cells. */
  readonly search: (merchants: readonly string[], typed: string) => Promise<FoundInCells>
  readonly paymentRows: PaymentRows
  readonly story: StoryStore
  readonly settlements: Pick<SettlementStore, 'reconcile'>
  readonly notices: Pick<NoticeStore, 'list'>
  /** Opens a secret that signs the merchant's webhooks. */
  readonly openWebhookSecret: (merchantId: MerchantId, sealed: Buffer) => Uint8Array
  readonly auditStore: AuditStore
  /** The merchants whose cell can be reached. With an id only this merchant; fails while its cell is unreachable. */
  readonly listMerchants: (merchantId?: string) => Promise<readonly Merchant[]>
  /** The names of the cells that cannot be reached. */
  readonly cellsAway: () => readonly string[]
  readonly callInside: CallInside
  /** Administration on behalf of the person, so that the audit trail names them. */
  readonly merchantsAs: (audit: Audit) => MerchantAdministration
  readonly providersAs: (audit: Audit) => ProviderAdministration
  readonly testTools: TestTools
  readonly guessing: Guessing
  readonly forms: FormStore
  /** The origin of the gateway's API and pages. */
  readonly origin: () => string
  /** The origin of the console. */
  readonly consoleOrigin: () => string
  readonly newId: () => string
  readonly nowMs: () => number
}

/** A page request of a signed-in person. */
export interface Visit {
  readonly request: PageRequest
  readonly operator: Operator
  readonly sessionId: string
  /** Goes into every form and comes back with it. */
  readonly csrf: string
  /** A value unique to this form, so that it takes effect once however often it is submitted. */
  readonly once?: string | undefined
  /** The entry of the audit trail if this form is never answered. */
  readonly cutOff?: AuditEntry
  /** The merchants that the person may see. */
  readonly merchants: readonly Merchant[]
  readonly deps: ConsoleDeps
  readonly audit: Audit
}

/** The same, about one merchant that the person may see. */
export interface MerchantVisit extends Visit {
  readonly merchant: Merchant
  /** Calls an endpoint as the merchant. */
  readonly api: (request: InsideRequest) => Promise<InsideAnswer>
  /** The same, with the body of the answer as a stream. */
  readonly stream: (request: InsideRequest) => Promise<InsideStream>
}

export const may = ({ operator }: { readonly operator: { readonly role: Role } }, act: ConsoleAct): boolean =>
  mayAct(operator.role, act)

export interface ConsolePage {
  readonly verb: 'GET' | 'POST'
  /** Relative to /console, or to /console/m/{merchant} for pages about one merchant. */
  readonly path: string
  readonly act: ConsoleAct
  readonly testOnly?: true
  /** Its form may contain files, up to this many bytes in all. */
  readonly uploadBytesMax?: number
}

export interface GlobalPage extends ConsolePage {
  readonly show: (visit: Visit) => Promise<PageAnswer>
}

export interface MerchantPage extends ConsolePage {
  readonly show: (visit: MerchantVisit) => Promise<PageAnswer>
}

/** The parsed body of an answer, or undefined when the endpoint refused. */
export function readAnswer({ status, text }: InsideAnswer): Json | undefined {
  return status < 300 ? JSON.parse(text || '{}') : undefined
}

/** The refusal of an endpoint in its own words, which name the field, its value and what is allowed. */
export function readRefusal({ text }: InsideAnswer): string {
  const body: Json = JSON.parse(text || '{}')
  const faults = isJson(body.errors) ? Object.values(body.errors).flat().join(' ') : ''
  const said = body.error ?? body.responseDescription ?? body.detail ?? body.title
  return faults || String(said ?? 'This was refused.')
}

const ownRefusals: readonly string[] = Object.values(refusalCodes)

/**
 * The result of an action, for the audit trail. Empty: it succeeded. With a status: a provider declined it, or its
 * outcome is unknown. Undefined: it was refused before anything was tried, or this is the answer of an earlier request,
 * which has its own row.
 */
export function readOutcome({ status, text, isReplay }: InsideAnswer): Json | undefined {
  if (isReplay) return undefined
  if (status < 300) return {}
  if (status >= 500) return { status: 'UNKNOWN' }
  const { responseCode = '' } = JSON.parse(text || '{}')
  const isDeclined = status === 422 && !ownRefusals.includes(String(responseCode))
  return isDeclined ? { status: 'FAILED', responseCode } : undefined
}

/**
 * For the form that is shown again after a refusal. An endpoint repeats a 422 for every request with the same key, so
 * the form gets a new key. A key that was used with other entries stays: the person must first check the result of
 * those.
 */
export function withNewKey(visit: MerchantVisit, answer: InsideAnswer): MerchantVisit {
  const { request } = visit
  const isUsedUp = answer.status === 422 && JSON.parse(answer.text).responseCode !== refusalCodes.KEY_REUSED
  if (!request.form || !isUsedUp) return visit
  const { key: _, ...form } = request.form
  return { ...visit, request: { ...request, form } }
}

/**
 * Audits an action that the timeline of a payment shows. The timeline uses the merchant's test clock, which may be
 * moved later, so its current time is stored with the action.
 */
export function auditInStory({ audit, merchant, deps }: MerchantVisit, act: Act): Promise<void> {
  const { clockOffsetMs } = merchant
  if (clockOffsetMs === 0) return audit(act)
  const testClock = new Date(deps.nowMs() + clockOffsetMs).toISOString()
  return audit({ ...act, after: { ...(isJson(act.after) ? act.after : {}), testClock } })
}

export type Json = { readonly [member: string]: unknown }

export const isJson = (value: unknown): value is Json => typeof value === 'object' && value !== null

/** The objects of a list; an empty list for any other value. */
export const toRows = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.filter(isJson) : [])
