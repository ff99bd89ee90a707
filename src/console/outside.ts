/** Pages for people who are not signed in: signing in, setting up, and returning to where they were. */
import { createHmac } from 'node:crypto'
import { renderSVG } from 'uqr'
import { loadConsoleAssets } from '#console/assets.ts'
import type { ConsoleDeps } from '#console/context.ts'
import { renderOutside, seeOther } from '#console/layout.ts'
import type { Site } from '#console/passkeys.ts'
import { passwordLengthMax } from '#console/password.ts'
import { toBase32, totpAddress } from '#console/totp.ts'
import { newOnce, renderField, renderPairs } from '#console/views/parts.ts'
import { type Html, html, raw } from '#http/html.ts'
import type { PageAnswer, PageRequest } from '#http/server/page-routes.ts'
import { auditAs } from '#operations/audit/audit.ts'

/** `__Host-` binds it to this host and to TLS; browsers count loopback as safe. */
export const cookieName = '__Host-tollgate-console'

const cookieRules = 'Path=/; Secure; HttpOnly; SameSite=Strict'

/** The site as the browser sees it, for passkeys. */
export function siteOf({ headers }: PageRequest, { origin }: Pick<ConsoleDeps, 'origin'>): Site {
  const seen = new URL(origin())
  const [host = seen.host] = [headers.host]
  return { host: host.replace(/:\d+$/, ''), origin: `${seen.protocol}//${host}` }
}

export function readCookie({ headers }: Pick<PageRequest, 'headers'>): string | undefined {
  const pair = (headers.cookie ?? '').split(';').find(one => one.trim().startsWith(`${cookieName}=`))
  return pair?.slice(pair.indexOf('=') + 1).trim()
}

/**
 * Derived from the session token, so that nothing has to be stored; it cannot be computed without reading the cookie.
 */
export const csrfOf = (token: string): string =>
  createHmac('sha256', token).update('csrf').digest('base64url')

/** Only addresses of the console itself: a sign-in must not lead elsewhere, nor up and out of it. */
const safeNext = (next: string | undefined): string =>
  next !== undefined &&
  /^\/console(?:[/?][\w\-./?=&%+,:@~*!$;]*)?$/.test(next) &&
  !next.includes('//') &&
  !/\/(?:\.|%2e)/i.test(next)
    ? next
    : '/console'

/** Entries typed while the session ended, kept in the sign-in form until the person has signed in. */
const keptFields = (form: Readonly<Record<string, string>>): readonly (readonly [string, string])[] =>
  Object.entries(form).filter(([name]) => name !== 'csrf' && !/password|code|secret/i.test(name))

/** A form that could not be accepted: its entries, and whether it had files, which cannot be kept. */
export interface KeptForm {
  readonly fields: Readonly<Record<string, string>>
  readonly hadFiles: boolean
}

export interface SignInPage {
  readonly next?: string | undefined
  readonly email?: string | undefined
  readonly problem?: string
  readonly kept?: KeptForm | undefined
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
}

const isMultipart = ({ headers }: PageRequest): boolean =>
  (headers['content-type'] ?? '').startsWith('multipart/')

export const keepForm = (request: PageRequest): KeptForm => ({
  fields: Object.fromEntries(keptFields(request.form ?? {})),
  hadFiles: isMultipart(request),
})

/** Hidden fields of the sign-in form that carry the entries of another form; `kept` marks them, even where there are none. */
const renderKept = ({ fields, hadFiles }: KeptForm): Html =>
  html`<input type="hidden" name="kept" value="${hadFiles ? 'with files' : 'form'}">${Object.entries(
    fields,
  ).map(([name, value]) => html`<input type="hidden" name="kept.${name}" value="${value}">`)}`

function readKept({ form = {} }: PageRequest): KeptForm | undefined {
  if (form.kept === undefined) return undefined
  const fields = Object.entries(form)
    .filter(([name]) => name.startsWith('kept.'))
    .map(([name, value]) => [name.slice('kept.'.length), value] as const)
  return {
    fields: Object.fromEntries(keptFields(Object.fromEntries(fields))),
    hadFiles: form.kept !== 'form',
  }
}

/** Names of fields that people never typed. */
const ownFields = ['key', 'once', 'asked', 'shown', 'version', 'sure', 'challenge', 'credential']

/** Offers to submit the entries again. Forms that ask for confirmation before they move money ask again. */
export function renderOffer({ fields, hadFiles }: KeptForm, { action, csrf }: Offered): Html {
  const entries = Object.entries({ once: newOnce(), ...fields }).filter(([name]) => name !== 'sure')
  const typed = entries.filter(([name, value]) => !ownFields.includes(name) && value !== '')
  return html`${typed.length > 0 && renderPairs(typed)}<form method="post" action="${action}"${
    hadFiles && html` enctype="multipart/form-data"`
  }><input type="hidden" name="csrf" value="${csrf}">${entries.map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  )}${
    hadFiles &&
    renderField({ name: 'files', label: 'Files', type: 'file', hint: 'Files have to be chosen again' })
  }<button>Send it</button></form><p><a href="/console">No, go to the console</a></p>`
}

interface Offered {
  readonly action: string
  readonly csrf: string
}

export async function showSignIn(
  request: PageRequest,
  deps: ConsoleDeps,
  page: SignInPage,
): Promise<PageAnswer> {
  const { next, email, problem, kept, status = 200, headers } = page
  const ceremony = await deps.passkeys.beginSignIn(siteOf(request, deps))
  const hidden = html`<input type="hidden" name="next" value="${safeNext(next)}">${kept && renderKept(kept)}`
  // Entries may be long, and multipart encoding sends them unchanged: the default encoding triples every non-ASCII
  // character.
  const way = kept && html` enctype="multipart/form-data"`
  const main = html`${problem !== undefined && html`<p class="note bad" role="alert">${problem}</p>`}
<form method="post" action="/console/sign-in"${way}>${hidden}${renderField({ name: 'email', label: 'E-mail', type: 'email', value: email, required: true, autocomplete: 'username' })}${renderField({ name: 'password', label: 'Password', type: 'password', required: true, autocomplete: 'current-password' })}${renderField({ name: 'code', label: 'Code from your authenticator app', required: true, autocomplete: 'one-time-code' })}<button>Sign in</button></form>
<form method="post" action="/console/passkey-sign-in" data-passkey="get" data-options="${JSON.stringify(ceremony.options)}"${way} hidden>${hidden}<input type="hidden" name="challenge" value="${ceremony.challenge}"><input type="hidden" name="credential"><button class="plain">Sign in with a passkey</button></form>`
  const answer = renderOutside(loadConsoleAssets(), { title: 'Sign in', main, status })
  return { ...answer, headers: { ...answer.headers, ...headers } }
}

export async function signIn(request: PageRequest, deps: ConsoleDeps): Promise<PageAnswer> {
  const { email = '', password = '', code = '' } = request.form ?? {}
  const guesser = { email: email.slice(0, 254), address: request.address }
  const tried = await deps.guessing.attempt(guesser, async () =>
    password.length > 0 && password.length <= passwordLengthMax
      ? deps.people.signIn({ email: guesser.email, password, code: code.replace(/\s/g, '') })
      : undefined,
  )
  if (tried.over) return refuseTooManyTries(request, deps, email)
  if (tried.found) return welcome(request, deps, tried.found)
  const problem =
    'E-mail, password or code is not right. Each code works once, and after ten wrong codes none is taken for an hour.'
  return refuseSignIn(request, deps, { email, problem })
}

export async function signInWithPasskey(request: PageRequest, deps: ConsoleDeps): Promise<PageAnswer> {
  const { challenge = '', credential = '' } = request.form ?? {}
  const tried = await deps.guessing.attempt({ email: '', address: request.address }, async () => {
    const operatorId = await deps.passkeys
      .finishSignIn({ challenge, credential }, siteOf(request, deps))
      .catch(() => undefined)
    return operatorId && deps.peopleStore.find(operatorId)
  })
  if (tried.over) return refuseTooManyTries(request, deps, '')
  if (tried.found) return welcome(request, deps, tried.found)
  return refuseSignIn(request, deps, { email: '', problem: 'The passkey could not be checked. Try again.' })
}

const refuseSignIn = (
  request: PageRequest,
  deps: ConsoleDeps,
  { email, problem }: { readonly email: string; readonly problem: string },
): Promise<PageAnswer> =>
  showSignIn(request, deps, {
    next: request.form?.next,
    kept: readKept(request),
    status: 401,
    email,
    problem,
  })

/** 60 s: failures are counted per minute. */
const guessingPause = { 'retry-after': '60' }

const refuseTooManyTries = (request: PageRequest, deps: ConsoleDeps, email: string): Promise<PageAnswer> =>
  showSignIn(request, deps, {
    next: request.form?.next,
    kept: readKept(request),
    status: 429,
    problem: 'Too many tries. Wait a minute.',
    headers: guessingPause,
    email,
  })

interface Person {
  readonly operatorId: string
  readonly email: string
}

async function welcome(request: PageRequest, deps: ConsoleDeps, person: Person): Promise<PageAnswer> {
  const browser = request.headers['user-agent'] ?? ''
  const token = await deps.people.startSession(person.operatorId, { address: request.address, browser })
  await auditAs(
    { actor: person.email, from: request.address },
    deps.auditStore,
  )({ act: 'console.sign-in', object: 'console' })
  const cookie = { 'set-cookie': `${cookieName}=${token}; ${cookieRules}` }
  const next = safeNext(request.form?.next)
  const kept = readKept(request)
  if (!kept) return seeOther(next, cookie)
  // Entries typed before the session ended are offered again; the person decides whether to send them.
  const offer = renderOffer(kept, { action: next, csrf: csrfOf(token) })
  const main = html`<p>You are signed in again. Send what you had typed?</p>${offer}`
  const page = renderOutside(loadConsoleAssets(), { title: 'Welcome back', main })
  return { ...page, headers: { ...page.headers, ...cookie } }
}

export const forgetCookie = { 'set-cookie': `${cookieName}=; ${cookieRules}; Max-Age=0` }

export async function showSetUp(
  request: PageRequest,
  deps: ConsoleDeps,
  problem?: string,
): Promise<PageAnswer> {
  const { token = '' } = request.params
  const opened = await deps.people.openLink(token)
  if (!opened) {
    const main = html`<p>This link was used or is older than 24 hours. Ask an owner for a new one, or run <code>operator link</code>.</p>`
    return renderOutside(loadConsoleAssets(), { title: 'This link is over', main, status: 410 })
  }
  const { operator, totpSecret } = opened
  const ceremony = await deps.passkeys.beginRegistration(operator, siteOf(request, deps))
  const main = html`<p>${operator.email}, ${operator.role}</p>${problem !== undefined && html`<p class="note bad" role="alert">${problem}</p>`}
<form method="post" action="/console/setup/${token}/passkey" data-passkey="create" data-options="${JSON.stringify(ceremony.options)}" hidden><input type="hidden" name="challenge" value="${ceremony.challenge}"><input type="hidden" name="credential"><button>Use a passkey</button></form>
<h2>Password with codes</h2><form method="post" action="/console/setup/${token}"><input class="unseen" type="text" name="username" value="${operator.email}" autocomplete="username" aria-label="E-mail" readonly tabindex="-1">${renderField({ name: 'password', label: 'Password', type: 'password', hint: '12 characters at least', required: true, autocomplete: 'new-password' })}
<p>Scan this with your authenticator app, or type the secret:</p><div class="qr">${raw(renderSVG(totpAddress(totpSecret, operator.email)))}</div><p><code data-copy id="totp-secret">${toBase32(totpSecret)}</code></p>${renderField({ name: 'code', label: 'The code that it shows', required: true, autocomplete: 'one-time-code' })}<button>Set up</button></form>`
  return renderOutside(loadConsoleAssets(), {
    title: 'Welcome',
    main,
    status: problem === undefined ? 200 : 422,
  })
}

export async function setUp(request: PageRequest, deps: ConsoleDeps): Promise<PageAnswer> {
  const { password = '', code = '' } = request.form ?? {}
  const result = await deps.people.setUpWithPassword(request.params.token ?? '', {
    password,
    code: code.replace(/\s/g, ''),
  })
  if (!result.done) return showSetUp(request, deps, result.message)
  await auditSetUp(request, deps, { email: result.operator.email, signsInWith: 'password' })
  return welcome(request, deps, result.operator)
}

export async function setUpPasskey(request: PageRequest, deps: ConsoleDeps): Promise<PageAnswer> {
  const { token = '' } = request.params
  const { challenge = '', credential = '' } = request.form ?? {}
  const opened = await deps.people.openLink(token)
  if (!opened) return showSetUp(request, deps)
  const site = siteOf(request, deps)
  const passkey = await deps.passkeys
    .finishRegistration(opened.operator, { challenge, credential }, site)
    .catch(() => undefined)
  if (!passkey)
    return showSetUp(request, deps, 'The passkey could not be checked. Try again, or use a password.')
  if (!(await deps.people.setUpWithPasskey(token, passkey))) return showSetUp(request, deps)
  await auditSetUp(request, deps, { email: opened.operator.email, signsInWith: 'passkey' })
  return welcome(request, deps, opened.operator)
}

/** The holder of the link decides how the person signs in from now on, so the audit trail records the address. */
const auditSetUp = (
  { address }: PageRequest,
  { auditStore }: ConsoleDeps,
  { email, signsInWith }: { readonly email: string; readonly signsInWith: 'password' | 'passkey' },
): Promise<void> =>
  auditAs(
    { actor: email, from: address },
    auditStore,
  )({ act: 'operator.set-up', object: email, after: { signsInWith } })
