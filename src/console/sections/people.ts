/** People among themselves: operators and their links, one's own sessions and passkeys, and the audit trail. */
import { loadConsoleAssets } from '#console/assets.ts'
import type { GlobalPage, Visit } from '#console/context.ts'
import { renderInside, seeOther } from '#console/layout.ts'
import { siteOf } from '#console/outside.ts'
import { sessionLimits } from '#console/people.ts'
import { type Column, renderForm, renderTable, renderTerminal, showTime } from '#console/views/parts.ts'
import { isRefundLimit, type Role, roles } from '#domain/console-roles.ts'
import { html, type Part } from '#http/html.ts'
import type { PageAnswer } from '#http/server/page-routes.ts'

async function showOperators(visit: Visit, told?: Part): Promise<PageAnswer> {
  const people = await visit.deps.peopleStore.list()
  const columns: readonly Column[] = [
    { title: 'Person', show: row => String(row.email) },
    { title: 'Role', show: row => String(row.role) },
    { title: 'Merchants', show: row => String(row.merchants ?? 'all') },
    { title: 'Refund limit', show: row => String(row.refundLimits ?? 'none') },
    {
      title: 'Signs in with',
      show: row =>
        [row.passwordHash ? 'password' : '', Number(row.passkeys) > 0 ? 'passkey' : '']
          .filter(Boolean)
          .join(', ') || 'not set up yet',
    },
    {
      title: 'Change',
      show: row =>
        html`<div class="acts">${renderForm({ action: '/console/operators/link', csrf: visit.csrf, hidden: { operatorId: String(row.operatorId) }, button: 'New link', tone: 'plain' })}${
          row.operatorId !== visit.operator.operatorId &&
          renderForm({
            action: '/console/operators/remove',
            csrf: visit.csrf,
            hidden: { operatorId: String(row.operatorId) },
            button: 'Remove',
            tone: 'danger',
          })
        }</div>`,
    },
  ]
  const main = html`${told}${renderTable(people as never, columns, 'Nobody.')}<h2>Add a person</h2>${renderForm(
    {
      action: '/console/operators',
      csrf: visit.csrf,
      fields: [
        { name: 'email', label: 'E-mail', type: 'email', required: true },
        { name: 'role', label: 'Role', choices: roles },
        { name: 'merchants', label: 'Merchants', hint: 'Ids with commas; empty: all' },
        {
          name: 'refundLimit',
          label: 'Refund limit',
          hint: 'Such as 20000EUR; empty: none',
        },
      ],
      button: 'Add',
    },
  )}${renderTerminal('operator add --email ada@example.com --role support')}`
  return renderInside(loadConsoleAssets(), visit, { title: 'Operators', main })
}

const tellLink = (visit: Visit, path: string): Part =>
  html`<p class="note good" role="status">Send this link; it works once, for 24 hours: <code data-copy>${visit.deps.consoleOrigin()}${path}</code></p>`

const refuse = async (visit: Visit, message: string): Promise<PageAnswer> => ({
  ...(await showOperators(visit, html`<p class="note bad" role="alert">${message}</p>`)),
  status: 422,
})

async function addOperator(visit: Visit): Promise<PageAnswer> {
  const { email = '', role = '', merchants = '', refundLimit = '' } = visit.request.form ?? {}
  if (!/^[^@\s]+@[^@\s]+$/.test(email) || email.length > 254)
    return refuse(visit, 'This is not an e-mail address.')
  if (!(roles as readonly string[]).includes(role))
    return refuse(visit, `The role must be one of ${roles.join(', ')}.`)
  if (refundLimit !== '' && !isRefundLimit(refundLimit))
    return refuse(visit, 'A refund limit looks like 20000EUR.')
  const scoped = merchants
    .split(',')
    .map(id => id.trim())
    .filter(id => id !== '')
  const path = await visit.deps.people.add({
    email,
    role: role as Role,
    merchants: scoped.length > 0 ? scoped : undefined,
  })
  if (path === undefined) return refuse(visit, 'Somebody has this address already.')
  const person = await visit.deps.peopleStore.findByEmail(email)
  if (person && refundLimit !== '')
    await visit.deps.peopleStore.set(person.operatorId, { refundLimits: [refundLimit] })
  await visit.audit({ act: 'operator.add', object: email, after: { role, merchants: scoped } })
  return showOperators(visit, tellLink(visit, path))
}

async function newLink(visit: Visit): Promise<PageAnswer> {
  const person = await visit.deps.peopleStore.find(idIn(visit))
  if (!person) return showOperators(visit)
  await visit.audit({ act: 'operator.link', object: person.email })
  return showOperators(visit, tellLink(visit, await visit.deps.people.makeLink(person.operatorId)))
}

async function removeOperator(visit: Visit): Promise<PageAnswer> {
  const person = await visit.deps.peopleStore.find(idIn(visit))
  if (person && person.operatorId !== visit.operator.operatorId) {
    await visit.deps.peopleStore.remove(person.operatorId)
    await visit.audit({ act: 'operator.remove', object: person.email })
  }
  return seeOther('/console/operators?done=removed')
}

/** 32 hex digits, or an id that nobody has. */
const idIn = ({ request }: Visit): string => {
  const { operatorId = '' } = request.form ?? {}
  return /^[0-9a-f]{32}$/.test(operatorId) ? operatorId : '0'.repeat(32)
}

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
  const columns: readonly Column[] = [
    { title: 'At', show: row => showTime(row.at) },
    { title: 'Who', show: row => String(row.actor) },
    { title: 'From', show: row => String(row.from) },
    { title: 'Act', show: row => html`<a href="?act=${String(row.act)}">${String(row.act)}</a>` },
    { title: 'Object', show: row => String(row.object) },
    {
      title: 'Change',
      show: row => html`<code>${row.after === undefined ? '' : JSON.stringify(row.after)}</code>`,
    },
  ]
  const main = renderTable(rows.toReversed() as never, columns, 'Nothing was done yet.')
  return renderInside(loadConsoleAssets(), visit, { title: 'Audit', main })
}

export const peoplePages: readonly GlobalPage[] = [
  { verb: 'GET', path: '/operators', act: 'operators', show: visit => showOperators(visit) },
  { verb: 'POST', path: '/operators', act: 'operators', show: addOperator },
  { verb: 'POST', path: '/operators/link', act: 'operators', show: newLink },
  { verb: 'POST', path: '/operators/remove', act: 'operators', show: removeOperator },
  { verb: 'GET', path: '/sessions', act: 'read', show: showSessions },
  { verb: 'POST', path: '/sessions/end', act: 'read', show: endSession },
  { verb: 'POST', path: '/passkeys', act: 'read', show: addPasskey },
  { verb: 'GET', path: '/audit', act: 'audit', show: showAudit },
]
