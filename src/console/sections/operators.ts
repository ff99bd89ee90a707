/** The operators: adding one, changing what somebody may do, a new link, and removing. Operators cannot grant more than their own rights. */
import { isDeepStrictEqual } from 'node:util'
import { loadConsoleAssets } from '#console/assets.ts'
import type { GlobalPage, Visit } from '#console/context.ts'
import { renderInside, renderNotFound, seeOther } from '#console/layout.ts'
import { sessionLimits } from '#console/people.ts'
import { actAlone, busyProblem } from '#console/sent-forms.ts'
import {
  type Field,
  renderForm,
  renderPairs,
  renderProblem,
  renderTable,
  renderTerminal,
  shellWord,
  showTime,
  type TypedColumn,
} from '#console/views/parts.ts'
import { isOperatorEmail, isRefundLimit, type Role, roles } from '#domain/console-roles.ts'
import { html, type Part } from '#http/html.ts'
import type { PageAnswer } from '#http/server/page-routes.ts'
import type { Operator, StoredSession } from '#storage/console/people.ts'

/** The operators whose merchants the signed-in person may see; all operators if that person may see all merchants. */
export async function listKnown({ deps, operator }: Visit): Promise<readonly Operator[]> {
  const people = await deps.peopleStore.list()
  const { merchants: scope } = operator
  return scope === undefined
    ? people
    : people.filter(({ merchants }) => merchants?.every(merchant => scope.includes(merchant)))
}

const findKnown = async (visit: Visit): Promise<Operator | undefined> =>
  (await listKnown(visit)).find(({ operatorId }) => operatorId === visit.request.params.id)

const signInMethods = ({ passwordHash, passkeys }: Operator): string =>
  [passwordHash ? 'password' : '', passkeys > 0 ? 'passkey' : ''].filter(Boolean).join(', ') ||
  'not set up yet'

const columns: readonly TypedColumn<Operator>[] = [
  {
    title: 'Person',
    show: ({ operatorId, email }) =>
      html`<a href="/console/operators/${operatorId}" title="${email}">${email}</a>`,
  },
  { title: 'Role', show: ({ role }) => role },
  { title: 'Merchants', show: ({ merchants }) => merchants?.join(', ') ?? 'all', clip: true },
  { title: 'Refund limit', show: ({ refundLimits }) => refundLimits?.join(', ') ?? 'none', clip: true },
  { title: 'Signs in with', show: signInMethods },
  { title: 'Added', show: ({ createdAt }) => showTime(createdAt) },
]

interface Wanted {
  readonly role: string
  readonly merchants: string
  readonly refundLimit: string
}

const fieldsOf = ({ role, merchants, refundLimit }: Wanted): readonly Field[] => [
  { name: 'role', label: 'Role', choices: roles, value: role },
  { name: 'merchants', label: 'Merchants', hint: 'Ids with commas; empty: all', value: merchants },
  {
    name: 'refundLimit',
    label: 'Refund limit',
    hint: 'For support: 20000EUR,15000USD; empty: none',
    value: refundLimit,
  },
]

async function showOperators(visit: Visit, notice?: Part, status = 200): Promise<PageAnswer> {
  const { email = '', role = 'viewer', merchants = '', refundLimit = '' } = visit.request.form ?? {}
  const typed =
    status === 200 ? { role: 'viewer', merchants: '', refundLimit: '' } : { role, merchants, refundLimit }
  const main = html`${notice}${renderTable(await listKnown(visit), columns, 'Nobody.', 'Operators')}<h2>Add a person</h2>${renderForm(
    {
      action: '/console/operators',
      csrf: visit.csrf,
      fields: [
        { name: 'email', label: 'E-mail', type: 'email', required: true, value: status === 200 ? '' : email },
        ...fieldsOf(typed),
      ],
      button: 'Add',
    },
  )}${renderTerminal('operator add --email ada@example.com --role support', 'operator list')}`
  return renderInside(loadConsoleAssets(), visit, { title: 'Operators', main, status })
}

const showNewLink = (visit: Visit, path: string): Part =>
  html`<p class="note good" role="status">Send this link; it works once, for 24 hours: <code data-copy>${visit.deps.consoleOrigin()}${path}</code></p>`

const split = (text: string): readonly string[] =>
  text
    .split(',')
    .map(word => word.trim())
    .filter(word => word !== '')

interface Rights {
  readonly role: Role
  /** Undefined: all. */
  readonly merchants: readonly string[] | undefined
  readonly refundLimits: readonly string[] | undefined
}

/** What the form asks for, or what is wrong with it. */
function readRights({ request, operator, merchants: seen }: Visit): Rights | string {
  const { role = '', merchants = '', refundLimit = '' } = request.form ?? {}
  const known = roles.find(one => one === role)
  if (known === undefined) return `The role must be one of ${roles.join(', ')}.`
  const limits = split(refundLimit)
  const wrong = limits.find(limit => !isRefundLimit(limit))
  if (wrong !== undefined)
    return `The refund limit is ${wrong}; it must be smallest units and a currency, such as 20000EUR. Several are separated by commas.`
  const { merchants: scope } = operator
  const wanted = split(merchants)
  const unknown = wanted.find(merchant => !seen.some(({ merchantId }) => merchantId === merchant))
  if (unknown !== undefined) return `There is no merchant ${unknown} that you may see.`
  return {
    role: known,
    merchants: wanted.length > 0 ? wanted : scope,
    refundLimits: limits.length > 0 ? limits : undefined,
  }
}

const refuse = (visit: Visit, message: string): Promise<PageAnswer> =>
  showOperators(visit, renderProblem(message), 422)

async function addOperator(visit: Visit): Promise<PageAnswer> {
  const { email = '' } = visit.request.form ?? {}
  if (!isOperatorEmail(email))
    return refuse(
      visit,
      `The e-mail address is ${email.slice(0, 254)}; it must be one such as ada@example.com.`,
    )
  const rights = readRights(visit)
  if (typeof rights === 'string') return refuse(visit, rights)
  const path = await visit.deps.people.add({ email, ...rights, madeBy: visit.operator.operatorId })
  if (path === undefined) return refuse(visit, 'Somebody has this address already.')
  await visit.audit({ act: 'operator.add', object: email, after: rights })
  return showOperators(visit, showNewLink(visit, path))
}

const notFound = (visit: Visit): PageAnswer =>
  renderNotFound(loadConsoleAssets(), visit, {
    main: html`<p>There is no such person.</p><p><a href="/console/operators">All operators</a></p>`,
  })

async function showOperator(visit: Visit, notice?: Part, status = 200): Promise<PageAnswer> {
  const person = await findKnown(visit)
  if (!person) return notFound(visit)
  const { operatorId, email, role, merchants, refundLimits } = person
  const address = `/console/operators/${operatorId}`
  const stored = {
    role,
    merchants: merchants?.join(',') ?? '',
    refundLimit: refundLimits?.join(',') ?? '',
  }
  const shown = rightsIn(person)
  const typed = status === 200 ? { ...stored, shown } : { ...stored, shown, ...visit.request.form }
  const isSelf = operatorId === visit.operator.operatorId
  const sessions = await visit.deps.peopleStore.listSessions(operatorId, sessionLimits)
  const main = html`${notice}${renderPairs([
    ['Role', role],
    ['Merchants', stored.merchants || 'all'],
    ['Refund limit', stored.refundLimit || 'none'],
    ['Signs in with', signInMethods(person)],
    ['Added', showTime(person.createdAt)],
  ])}<h2>What they may do</h2>${renderForm({ action: address, csrf: visit.csrf, hidden: { shown: typed.shown }, fields: fieldsOf(typed), button: 'Save' })}${renderTerminal(`operator set --email ${shellWord(email)} --role ${role}`)}
<h2>Way in</h2><p class="quiet">With a new link this person sets up a password or a passkey anew; then their earlier ones and all their sessions end.</p>${renderForm({ action: `${address}/link`, csrf: visit.csrf, button: 'New link', tone: 'plain' })}${renderTerminal(`operator link --email ${shellWord(email)}`)}
<h2>Sessions</h2>${renderTable(sessions, sessionColumns(visit, `${address}/sessions/end`), 'Not signed in at the moment.', 'Sessions')}${
    !isSelf &&
    html`<h2>Remove</h2>${renderForm({ action: `${address}/remove`, csrf: visit.csrf, button: 'Remove this person …', tone: 'danger' })}${renderTerminal(`operator remove --email ${shellWord(email)}`)}`
  }`
  return renderInside(loadConsoleAssets(), visit, { title: email, main, status })
}

/** The rights that a form was filled with, to notice when they are no longer those of the person. */
const rightsIn = ({ role, merchants, refundLimits }: Operator): string =>
  [role, ...(merchants ?? ['all']), ...(refundLimits ?? [])].join(' ')

/** Without the entries: with those of somebody else among them, nobody could tell which ones to keep. */
function showStored(visit: Visit): Promise<PageAnswer> {
  const problem =
    'Somebody else has changed what this person may do meanwhile. Nothing of yours was saved, and below is what is stored now: enter your change again.'
  return showOperator(
    { ...visit, request: { ...visit.request, form: undefined } },
    renderProblem(problem),
    422,
  )
}

async function changeOperator(visit: Visit): Promise<PageAnswer> {
  const person = await findKnown(visit)
  if (!person) return notFound(visit)
  // The form holds all rights, so saving it would give back what another owner has taken since it was shown.
  const { shown = rightsIn(person) } = visit.request.form ?? {}
  if (shown !== rightsIn(person)) return showStored(visit)
  const rights = readRights(visit)
  if (typeof rights === 'string') return showOperator(visit, renderProblem(rights), 422)
  const isSelf = person.operatorId === visit.operator.operatorId
  if (isSelf && rights.role !== 'owner') {
    const problem = 'You cannot take the role of owner from yourself; another owner can.'
    return showOperator(visit, renderProblem(problem), 422)
  }
  const { role, merchants, refundLimits } = rights
  const set = await visit.deps.peopleStore.set(person.operatorId, {
    role,
    merchants: merchants ?? null,
    refundLimits: refundLimits ?? null,
  })
  if (!set) return notFound(visit)
  await visit.audit({ act: 'operator.set', object: person.email, before: set.before, after: rights })
  const notice = set.endedLinks > 0 ? 'linkended' : 'saved'
  return seeOther(`/console/operators/${person.operatorId}?done=${notice}`)
}

async function newLink(visit: Visit): Promise<PageAnswer> {
  const person = await findKnown(visit)
  if (!person) return notFound(visit)
  await visit.audit({ act: 'operator.link', object: person.email })
  const path = await visit.deps.people.makeLink(person.operatorId, visit.operator.operatorId)
  return showOperator(visit, showNewLink(visit, path))
}

async function endOperatorSession(visit: Visit): Promise<PageAnswer> {
  const person = await findKnown(visit)
  if (!person) return notFound(visit)
  const { sessionId = '' } = visit.request.form ?? {}
  const isEnded =
    isSessionId(sessionId) && (await visit.deps.peopleStore.endSession(person.operatorId, sessionId))
  if (!isEnded) return showOperator(visit, renderProblem('There is no such session any more.'), 422)
  await visit.audit({ act: 'session.end', object: person.email, before: { sessionId } })
  return seeOther(`/console/operators/${person.operatorId}?done=ended`)
}

async function removeOperator(visit: Visit): Promise<PageAnswer> {
  const person = await findKnown(visit)
  if (!person) return notFound(visit)
  const { operatorId, email } = person
  if (operatorId === visit.operator.operatorId)
    return showOperator(visit, renderProblem('You cannot remove yourself; another owner can.'), 422)
  if (visit.request.form?.sure !== 'yes') {
    const action = `/console/operators/${operatorId}/remove`
    const main = html`<p>Remove ${email}? Their sessions end at once, and their way in is gone.</p>${renderForm({ action, csrf: visit.csrf, hidden: { sure: 'yes' }, button: 'Yes: remove', tone: 'danger' })}<p><a href="/console/operators/${operatorId}">No, go back</a></p>${renderTerminal(`operator remove --email ${shellWord(email)}`)}`
    return renderInside(loadConsoleAssets(), visit, { title: `Remove ${email}`, main })
  }
  const before = await visit.deps.peopleStore.remove(operatorId)
  if (!before) return notFound(visit)
  await visit.audit({ act: 'operator.remove', object: email, before })
  return seeOther('/console/operators?done=removed')
}

/**
 * An owner who is being changed or removed must not let somebody in who stays. So nobody is changed while they act on
 * people themselves, and who acts must still be allowed to when their turn comes.
 */
const unchanged =
  (act: (visit: Visit) => Promise<PageAnswer>) =>
  async (visit: Visit): Promise<PageAnswer> =>
    (await actAlone(visit, visit.operator.operatorId, () => actIfUnchanged(visit, act))) ?? showBusy(visit)

/**
 * The same for who changes others: two owners who take the role from each other at the same moment would leave nobody who
 * can give it back.
 */
const alone =
  (act: (visit: Visit) => Promise<PageAnswer>) =>
  async (visit: Visit): Promise<PageAnswer> => {
    const { operator, request } = visit
    // In one order, so that of two who change each other one goes on.
    const [first = '', second] = [...new Set([operator.operatorId, request.params.id ?? ''])].sort()
    const actInTurn = () => actIfUnchanged(visit, act)
    const done = await actAlone(visit, first, async () =>
      second === undefined ? actInTurn() : ((await actAlone(visit, second, actInTurn)) ?? showBusy(visit)),
    )
    return done ?? showBusy(visit)
  }

async function actIfUnchanged(visit: Visit, act: (visit: Visit) => Promise<PageAnswer>): Promise<PageAnswer> {
  const { deps, operator } = visit
  const self = await deps.peopleStore.find(operator.operatorId)
  if (!self) return seeOther('/console')
  const isSame = self.role === operator.role && isDeepStrictEqual(self.merchants, operator.merchants)
  return isSame ? act(visit) : showChangedRights({ ...visit, operator: self })
}

function showBusy(visit: Visit): Promise<PageAnswer> {
  const show = visit.request.params.id === undefined ? showOperators : showOperator
  return show(visit, renderProblem(busyProblem), 422)
}

function showChangedRights(visit: Visit): PageAnswer {
  const main = html`<div class="empty"><p>An owner has just changed what you may do, so nothing was done here.</p><p><a href="/console">Go to the overview</a></p></div>`
  return renderInside(loadConsoleAssets(), visit, { title: 'Not done', main, status: 403 })
}

export const operatorPages: readonly GlobalPage[] = [
  { verb: 'GET', path: '/operators', act: 'operators', show: visit => showOperators(visit) },
  { verb: 'POST', path: '/operators', act: 'operators', show: unchanged(addOperator) },
  { verb: 'GET', path: '/operators/{id}', act: 'operators', show: visit => showOperator(visit) },
  { verb: 'POST', path: '/operators/{id}', act: 'operators', show: alone(changeOperator) },
  { verb: 'POST', path: '/operators/{id}/link', act: 'operators', show: unchanged(newLink) },
  { verb: 'POST', path: '/operators/{id}/sessions/end', act: 'operators', show: endOperatorSession },
  { verb: 'POST', path: '/operators/{id}/remove', act: 'operators', show: alone(removeOperator) },
]

export const isSessionId = (text: string): boolean => /^[0-9a-f]{32}$/.test(text)

/** Where a person is signed in, each with the way to end it. */
export const sessionColumns = (visit: Visit, action: string): readonly TypedColumn<StoredSession>[] => [
  { title: 'Since', show: ({ createdAt }) => showTime(createdAt) },
  { title: 'Last seen', show: ({ seenAt }) => showTime(seenAt) },
  { title: 'From', show: ({ address }) => address },
  { title: 'Browser', show: ({ browser }) => browser, clip: true },
  {
    title: 'End it',
    show: ({ sessionId }) =>
      sessionId === visit.sessionId
        ? 'this one'
        : renderForm({ action, csrf: visit.csrf, hidden: { sessionId }, button: 'End', tone: 'danger' }),
  },
]
