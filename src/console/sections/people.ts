/** The person's own sessions and passkeys, and the audit trail. */
import { loadConsoleAssets } from '#console/assets.ts'
import { type GlobalPage, isJson, type Visit } from '#console/context.ts'
import { renderInside, seeOther } from '#console/layout.ts'
import { siteOf } from '#console/outside.ts'
import { sessionLimits } from '#console/people.ts'
import { isSessionId, listKnown, sessionColumns } from '#console/sections/operators.ts'
import {
  renderProblem,
  renderTable,
  renderTerminal,
  shellWord,
  showTime,
  type TypedColumn,
} from '#console/views/parts.ts'
import { html, type Part } from '#http/html.ts'
import type { PageAnswer } from '#http/server/page-routes.ts'
import type { ActorSince, AuditRow } from '#storage/audit/audit.ts'

async function showSessions(visit: Visit, problem?: string): Promise<PageAnswer> {
  const sessions = await visit.deps.peopleStore.listSessions(visit.operator.operatorId, sessionLimits)
  const ceremony = await visit.deps.passkeys.beginRegistration(
    visit.operator,
    siteOf(visit.request, visit.deps),
  )
  const main = html`${renderProblem(problem)}${renderTable(sessions, sessionColumns(visit, '/console/sessions/end'), '', 'Sessions')}${renderTerminal(`operator link --email ${shellWord(visit.operator.email)}`)}<p class="quiet">The command ends all of them once its link is used.</p><h2>Passkeys</h2><p>${visit.operator.passkeys === 0 ? 'You have none yet.' : `You have ${visit.operator.passkeys}.`} A lost one ends when you set up anew: an owner makes the link.</p><noscript><p class="quiet">Passkeys need a script; a password with a code works without.</p></noscript><form method="post" action="/console/passkeys" data-passkey="create" data-options="${JSON.stringify(ceremony.options)}" hidden><input type="hidden" name="csrf" value="${visit.csrf}"><input type="hidden" name="challenge" value="${ceremony.challenge}"><input type="hidden" name="credential"><button>Add a passkey</button></form>`
  const status = problem === undefined ? 200 : 422
  return renderInside(loadConsoleAssets(), visit, { title: 'Sessions and passkeys', main, status })
}

async function endSession(visit: Visit): Promise<PageAnswer> {
  const { sessionId = '' } = visit.request.form ?? {}
  const { operatorId, email } = visit.operator
  // A session that has ended meanwhile needs no further action.
  if (isSessionId(sessionId) && (await visit.deps.peopleStore.endSession(operatorId, sessionId)))
    await visit.audit({ act: 'session.end', object: email, before: { sessionId } })
  return seeOther('/console/sessions?done=ended')
}

async function addPasskey(visit: Visit): Promise<PageAnswer> {
  const { challenge = '', credential = '' } = visit.request.form ?? {}
  const site = siteOf(visit.request, visit.deps)
  const passkey = await visit.deps.passkeys
    .finishRegistration(visit.operator, { challenge, credential }, site)
    .catch(() => undefined)
  if (!passkey) return showSessions(visit, 'The passkey could not be checked. Try again.')
  await visit.deps.peopleStore.insertPasskey(passkey)
  await visit.audit({ act: 'passkey.add', object: visit.operator.email })
  return seeOther('/console/sessions?done=saved')
}

/** 100: a page that is read; the whole trail is for `audit export`. */
const auditShown = 100

const auditColumns: readonly TypedColumn<AuditRow>[] = [
  { title: 'At', show: ({ at }) => showTime(at) },
  { title: 'Who', show: ({ actor }) => actor, clip: true },
  { title: 'From', show: ({ from }) => from, clip: true },
  { title: 'Act', show: ({ act }) => html`<a href="?act=${encodeURIComponent(act)}">${act}</a>` },
  {
    title: 'Object',
    show: ({ object }) => html`<code class="clip" title="${object}">${object}</code>`,
  },
  { title: 'Change', show: showChange },
]

/**
 * A person with access to some merchants sees what the people of these merchants did: since they are people of these alone,
 * because what they did before may be about others.
 */
async function listActors(visit: Visit, scope: readonly string[]): Promise<readonly ActorSince[]> {
  const people = await listKnown(visit)
  const rows = await visit.deps.auditStore.list({ objects: people.map(({ email }) => email) })
  return people.map(({ email }) => {
    const began = rows.findLast(row => row.object === email && beganWithin(row, scope))
    return { actor: email, after: began?.number ?? 0 }
  })
}

/** A person was added under this address, or had more merchants until then. All of them are written as null or not at all. */
function beganWithin({ act, before, after }: AuditRow, scope: readonly string[]): boolean {
  if (act !== 'operator.set') return act === 'operator.add'
  const [earlier, later] = [before, after].map(rights => (isJson(rights) ? rights.merchants : undefined))
  if (earlier === undefined && later === undefined) return false
  return !(Array.isArray(earlier) && earlier.every(merchant => scope.includes(merchant)))
}

async function showAudit(visit: Visit): Promise<PageAnswer> {
  const { before: typed = '' } = visit.request.query
  const act = visit.request.query.act?.replaceAll('\0', '').toWellFormed()
  const before = /^\d{1,15}$/.test(typed) ? Number(typed) : undefined
  const { merchants: scope } = visit.operator
  const actors = scope && (await listActors(visit, scope))
  const found = await visit.deps.auditStore.list({
    limit: auditShown + 1,
    actors,
    before,
    ...(act ? { act } : {}),
  })
  const shown = found.toReversed().slice(0, auditShown)
  const oldest = found.length > auditShown ? shown.at(-1)?.number : undefined
  const filter = act ? `act=${encodeURIComponent(act)}` : ''
  const main = html`${act && html`<p>Only <strong>${act}</strong>. <a href="/console/audit">Show all</a></p>`}${renderTable(
    shown,
    auditColumns,
    'Nothing was done.',
    'Audit',
  )}<p class="pager">${before !== undefined && html`<a href="?${filter}">The newest</a> `}${
    oldest !== undefined && html`<a rel="next" href="?${filter}&before=${oldest}">Older ones</a>`
  }</p>${renderTerminal(act ? `audit list --act ${shellWord(act)}` : 'audit list', 'audit export', 'audit verify')}`
  return renderInside(loadConsoleAssets(), visit, { title: 'Audit', main })
}

const showPart = (title: string, change: unknown): Part =>
  change !== undefined &&
  change !== null &&
  html`<p>${title}</p><pre tabindex="0"><code>${JSON.stringify(change, null, 2)}</code></pre>`

function showChange({ before, after }: AuditRow): Part {
  const parts = html`${showPart('Before', before)}${showPart('After', after)}`
  return parts.text !== '' && html`<details class="change"><summary>Show</summary>${parts}</details>`
}

export const peoplePages: readonly GlobalPage[] = [
  { verb: 'GET', path: '/sessions', act: 'read', show: visit => showSessions(visit) },
  { verb: 'POST', path: '/sessions/end', act: 'read', show: endSession },
  { verb: 'POST', path: '/passkeys', act: 'read', show: addPasskey },
  { verb: 'GET', path: '/audit', act: 'audit', show: showAudit },
]
