/** People among themselves: one's own sessions and passkeys, and the audit trail. */
import { loadConsoleAssets } from '#console/assets.ts'
import type { GlobalPage, Visit } from '#console/context.ts'
import { renderInside, seeOther } from '#console/layout.ts'
import { siteOf } from '#console/outside.ts'
import { sessionLimits } from '#console/people.ts'
import { listKnown } from '#console/sections/operators.ts'
import { type Column, renderForm, renderTable, renderTerminal, showTime } from '#console/views/parts.ts'
import { html } from '#http/html.ts'
import type { PageAnswer } from '#http/server/page-routes.ts'

async function showSessions(visit: Visit): Promise<PageAnswer> {
  const sessions = await visit.deps.peopleStore.listSessions(visit.operator.operatorId, sessionLimits)
  const columns: readonly Column[] = [
    { title: 'Since', show: row => showTime(row.createdAt) },
    { title: 'Last seen', show: row => showTime(row.seenAt) },
    { title: 'From', show: row => String(row.address) },
    { title: 'Browser', show: row => String(row.browser) },
    {
      title: 'End it',
      show: row =>
        row.sessionId === visit.sessionId
          ? 'this one'
          : renderForm({
              action: '/console/sessions/end',
              csrf: visit.csrf,
              hidden: { sessionId: String(row.sessionId) },
              button: 'End',
              tone: 'danger',
            }),
    },
  ]
  const ceremony = await visit.deps.passkeys.beginRegistration(
    visit.operator,
    siteOf(visit.request, visit.deps),
  )
  const main = html`${renderTable(sessions as never, columns, '')}<h2>Passkey</h2><p>You have ${visit.operator.passkeys}.</p><form method="post" action="/console/passkeys" data-passkey="create" data-options="${JSON.stringify(ceremony.options)}"><input type="hidden" name="csrf" value="${visit.csrf}"><input type="hidden" name="challenge" value="${ceremony.challenge}"><input type="hidden" name="credential"><button>Add a passkey</button><noscript><p class="quiet">Passkeys need a script; a password with a code works without.</p></noscript></form>`
  return renderInside(loadConsoleAssets(), visit, { title: 'Sessions and passkeys', main })
}

async function endSession(visit: Visit): Promise<PageAnswer> {
  const { sessionId = '' } = visit.request.form ?? {}
  if (/^[0-9a-f]{32}$/.test(sessionId))
    await visit.deps.peopleStore.endSession(visit.operator.operatorId, sessionId)
  await visit.audit({ act: 'session.end', object: sessionId })
  return seeOther('/console/sessions?done=removed')
}

async function addPasskey(visit: Visit): Promise<PageAnswer> {
  const { challenge = '', credential = '' } = visit.request.form ?? {}
  const site = siteOf(visit.request, visit.deps)
  const isAdded = await visit.deps.passkeys.finishRegistration(
    visit.operator,
    { challenge, credential },
    site,
  )
  if (isAdded) await visit.audit({ act: 'passkey.add', object: visit.operator.email })
  return isAdded ? seeOther('/console/sessions?done=saved') : { ...(await showSessions(visit)), status: 422 }
}

/** 500: the newest; the rest is for `audit export`. */
const auditShown = 500

async function showAudit(visit: Visit): Promise<PageAnswer> {
  const { act } = visit.request.query
  const rows = await visit.deps.auditStore.list({ limit: auditShown, ...(act ? { act } : {}) })
  // A person with access to some merchants sees what the people of these merchants did.
  const known = visit.operator.merchants && (await listKnown(visit)).map(({ email }) => email)
  const shown = known ? rows.filter(({ actor }) => known.includes(actor)) : rows
  const columns: readonly Column[] = [
    { title: 'At', show: row => showTime(row.at) },
    { title: 'Who', show: row => String(row.actor) },
    { title: 'From', show: row => String(row.from) },
    { title: 'Act', show: row => html`<a href="?act=${String(row.act)}">${String(row.act)}</a>` },
    { title: 'Object', show: row => html`<code>${String(row.object)}</code>` },
    { title: 'Before', show: row => showChange(row.before) },
    { title: 'After', show: row => showChange(row.after) },
  ]
  const main = html`${act && html`<p>Only <strong>${act}</strong>. <a href="/console/audit">Show all</a></p>`}${renderTable(
    shown.toReversed() as never,
    columns,
    'Nothing was done yet.',
    'Audit',
  )}<p class="quiet">The newest ${auditShown} acts.</p>${renderTerminal(
    act ? `audit list --act ${act}` : 'audit list',
    'audit export',
    'audit verify',
  )}`
  return renderInside(loadConsoleAssets(), visit, { title: 'Audit', main })
}

const showChange = (change: unknown) =>
  change !== undefined && change !== null && html`<code>${JSON.stringify(change)}</code>`

export const peoplePages: readonly GlobalPage[] = [
  { verb: 'GET', path: '/sessions', act: 'read', show: showSessions },
  { verb: 'POST', path: '/sessions/end', act: 'read', show: endSession },
  { verb: 'POST', path: '/passkeys', act: 'read', show: addPasskey },
  { verb: 'GET', path: '/audit', act: 'audit', show: showAudit },
]
