/** What people see who are not signed in: signing in, setting up, and the way back to where they were. */
import { createHmac } from 'node:crypto'
import { renderSVG } from 'uqr'
import { loadConsoleAssets } from '#console/assets.ts'
import type { ConsoleDeps } from '#console/context.ts'
import { renderOutside, seeOther } from '#console/layout.ts'
import type { Site } from '#console/passkeys.ts'
import { toBase32, totpAddress } from '#console/totp.ts'
import { renderField } from '#console/views/parts.ts'
import { html, raw } from '#http/html.ts'
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

/** Follows from the session, so that nothing has to be stored: whoever cannot read the cookie cannot make it. */
export const csrfOf = (token: string): string =>
  createHmac('sha256', token).update('csrf').digest('base64url')

/** Only addresses of the console itself: a sign-in must not lead elsewhere. */
const safeNext = (next: string | undefined): string =>
  next !== undefined && /^\/console(?:[/?][\w\-./?=&%+,:@~*!$;]*)?$/.test(next) && !next.includes('//')
    ? next
    : '/console'

/** What somebody typed while their session ended, kept in the form until they are back. */
const keptFields = (form: Readonly<Record<string, string>>): readonly (readonly [string, string])[] =>
  Object.entries(form).filter(([name]) => name !== 'csrf' && !/password|code|secret/i.test(name))

export interface SignInPage {
  readonly next?: string | undefined
  readonly email?: string | undefined
  readonly problem?: string
  readonly kept?: Readonly<Record<string, string>>
  readonly status?: number
}

export async function showSignIn(
  request: PageRequest,
  deps: ConsoleDeps,
  page: SignInPage,
): Promise<PageAnswer> {
  const { next, email, problem, kept = {}, status } = page
  const ceremony = await deps.passkeys.beginSignIn(siteOf(request, deps))
  const hidden = html`<input type="hidden" name="next" value="${safeNext(next)}">${keptFields(kept).map(
    ([name, value]) => html`<input type="hidden" name="kept.${name}" value="${value}">`,
  )}`
  const main = html`${problem !== undefined && html`<p class="note bad" role="alert">${problem}</p>`}
<form method="post" action="/console/sign-in">${hidden}${renderField({ name: 'email', label: 'E-mail', type: 'email', value: email, required: true, autocomplete: 'username' })}${renderField({ name: 'password', label: 'Password', type: 'password', required: true, autocomplete: 'current-password' })}${renderField({ name: 'code', label: 'Code from your authenticator app', required: true, autocomplete: 'one-time-code' })}<button>Sign in</button></form>
<form method="post" action="/console/passkey-sign-in" data-passkey="get" data-options="${JSON.stringify(ceremony.options)}" hidden>${hidden}<input type="hidden" name="challenge" value="${ceremony.challenge}"><input type="hidden" name="credential"><button class="plain">Sign in with a passkey</button></form>`
  return renderOutside(loadConsoleAssets(), { title: 'Sign in', main, status: status ?? 200 })
}

export async function signIn(request: PageRequest, deps: ConsoleDeps): Promise<PageAnswer> {
  const { email = '', password = '', code = '' } = request.form ?? {}
  const operator =
    password.length > 0 && password.length <= 1_024
      ? await deps.people.signIn({ email: email.slice(0, 254), password, code: code.replace(/\s/g, '') })
      : undefined
  return operator ? welcome(request, deps, operator) : refuseSignIn(request, deps, email)
}

export async function signInWithPasskey(request: PageRequest, deps: ConsoleDeps): Promise<PageAnswer> {
  const { challenge = '', credential = '' } = request.form ?? {}
  const operatorId = await deps.passkeys
    .finishSignIn({ challenge, credential }, siteOf(request, deps))
    .catch(() => undefined)
  const operator = operatorId && (await deps.peopleStore.find(operatorId))
  return operator ? welcome(request, deps, operator) : refuseSignIn(request, deps, '')
}

async function refuseSignIn(request: PageRequest, deps: ConsoleDeps, email: string): Promise<PageAnswer> {
  const { next } = request.form ?? {}
  await auditAs(
    { actor: email.slice(0, 254) || 'unknown', from: request.address },
    deps.auditStore,
  )({
    act: 'console.sign-in-failed',
    object: 'console',
  })
  const kept = readKept(request)
  if (deps.isGuessing(email, request.address)) {
    const problem = 'Too many tries. Wait a minute.'
    return showSignIn(request, deps, { next, email, kept, problem, status: 429 })
  }
  const problem = 'E-mail, password or code is not right. Each code works once.'
  return showSignIn(request, deps, { next, email, kept, problem, status: 401 })
}

const readKept = ({ form = {} }: PageRequest): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(form)
      .filter(([name]) => name.startsWith('kept.'))
      .map(([name, value]) => [name.slice('kept.'.length), value]),
  )

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
  const kept = Object.entries(readKept(request))
  if (kept.length === 0) return seeOther(next, cookie)
  // What was typed before the session ended is offered again, to be sent or not.
  const main = html`<p>You are signed in again. Send what you had typed?</p><form method="post" action="${next}"><input type="hidden" name="csrf" value="${csrfOf(token)}">${kept.map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  )}<button>Send it</button></form><p><a href="/console">No, go to the console</a></p>`
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
  return result.done ? welcome(request, deps, result.operator) : showSetUp(request, deps, result.message)
}

export async function setUpPasskey(request: PageRequest, deps: ConsoleDeps): Promise<PageAnswer> {
  const { token = '' } = request.params
  const { challenge = '', credential = '' } = request.form ?? {}
  const opened = await deps.people.openLink(token)
  if (!opened) return showSetUp(request, deps)
  const site = siteOf(request, deps)
  const isAdded = await deps.passkeys
    .finishRegistration(opened.operator, { challenge, credential }, site)
    .catch(() => false)
  if (!isAdded)
    return showSetUp(request, deps, 'The passkey could not be checked. Try again, or use a password.')
  await deps.people.closeLink(token)
  return welcome(request, deps, opened.operator)
}
