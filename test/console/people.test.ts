/** Setting up, signing in, sessions: single use, expiry, and limits against guessing. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { withPeople } from '#console/people.ts'
import { totpCode, totpStep } from '#console/totp.ts'
import {
  makeLink,
  optionsOf,
  type Person,
  readCookie,
  readCsrf,
  readSecret,
  signUp,
} from '#test/support/browser/console.ts'
import { createSoftwarePasskey } from '#test/support/browser/software-passkey.ts'
import { createTestClock } from '#test/support/clock.ts'
import { findFreePort } from '#test/support/free-port.ts'
import { cardPayment, startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startTestGateway()
})
afterAll(() => gateway.stop())

const send = (path: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
  fetch(`${gateway.url}${path}`, {
    method: 'POST',
    redirect: 'manual',
    headers,
    body: new URLSearchParams(fields),
  })

const codeNow = (secret: Buffer, drift = 0) => totpCode(secret, totpStep(Date.now()) + drift)

/** Signs in with the code of a time step this many steps after the one that set-up used, whatever the current time. */
const signIn = ({ email, password, totpSecret, usedStep }: Person, stepsLater: number) =>
  send('/console/sign-in', { email, password, code: totpCode(totpSecret, usedStep + stepsLater) })

test('a link works once and requires twelve characters and the right code, and the cookie is for this host only', async () => {
  const { path, email } = await makeLink(gateway, { role: 'owner' })
  const secret = readSecret(await (await fetch(`${gateway.url}${path}`)).text())
  expect((await send(path, { password: 'short', code: codeNow(secret) })).status).toBe(422)
  expect((await send(path, { password: 'long enough, surely', code: '000000' })).status).toBe(422)
  const done = await send(path, { password: 'long enough, surely', code: codeNow(secret) })
  expect(done.status).toBe(303)
  expect(done.headers.get('set-cookie')).toMatch(
    /^__Host-\S+=\S+; Path=\/; Secure; HttpOnly; SameSite=Strict$/,
  )
  expect((await fetch(`${gateway.url}${path}`)).status).toBe(410)
  expect((await send(path, { password: 'long enough, surely', code: codeNow(secret) })).status).toBe(410)
  const acts = await queryRows(
    gateway.databaseUrl,
    `SELECT act, after FROM audit WHERE actor = '${email}' ORDER BY number`,
  )
  expect(acts).toEqual([
    { act: 'operator.set-up', after: { signsInWith: 'password' } },
    { act: 'console.sign-in', after: null },
  ])
})

test.each([
  ['a'.repeat(1_025), 'The password has 1025 characters; allowed are 12 to 1024.'],
  // A text of twelve units: each of these characters is two of them.
  ['🔑'.repeat(6), 'The password has 6 characters; allowed are 12 to 1024.'],
])(
  '422 a password that is too long or too short is refused with its length and what is allowed',
  async (password, said) => {
    const { path } = await makeLink(gateway, { role: 'viewer' })
    const secret = readSecret(await (await fetch(`${gateway.url}${path}`)).text())
    const refused = await send(path, { password, code: codeNow(secret) })
    expect([refused.status, await refused.text()]).toEqual([422, expect.stringContaining(said)])
  },
)

test('each code works once, and a step of drift is taken', async () => {
  const person = await signUp(gateway, { role: 'viewer' })
  // Set-up has used the code of this step.
  expect((await signIn(person, 0)).status).toBe(401)
  expect((await signIn(person, 1)).status).toBe(303)
  expect((await signIn(person, 1)).status).toBe(401)
})

test('guessing is stopped after ten tries, even with the right password', async () => {
  const person = await signUp(gateway, { role: 'viewer' })
  const { email } = person
  const statuses: number[] = []
  for (let tried = 0; tried < 12; tried += 1)
    statuses.push(
      (await send('/console/sign-in', { email, password: 'wrong password', code: '123456' })).status,
    )
  expect(statuses.slice(0, 10)).toEqual(Array.from({ length: 10 }, () => 401))
  expect(statuses.at(-1)).toBe(429)
  const right = await signIn(person, 1)
  expect([right.status, right.headers.get('retry-after'), right.headers.get('set-cookie')]).toEqual([
    429,
    '60',
    null,
  ])
})

test('ten wrong codes with the right password block codes from every address; wrong passwords lock nobody out', async () => {
  const behindProxy = await startTestGateway({ beside: gateway, trustedProxies: 1 })
  const [robbed, named] = [
    await signUp(gateway, { role: 'viewer' }),
    await signUp(gateway, { role: 'viewer' }),
  ]
  const tryFrom = (place: number, fields: Record<string, string>) =>
    fetch(`${behindProxy.url}/console/sign-in`, {
      method: 'POST',
      redirect: 'manual',
      headers: { 'x-forwarded-for': `2001:db8:0:${place}::1` },
      body: new URLSearchParams(fields),
    })
  const rightCode = ({ totpSecret, usedStep }: Person) =>
    totpCode(totpSecret, Math.max(totpStep(Date.now()), usedStep + 1))
  for (let place = 1; place <= 10; place += 1) {
    const { email, password } = robbed
    expect((await tryFrom(place, { email, password, code: wrongCode(robbed) })).status).toBe(401)
    const stranger = { email: named.email, password: 'wrong password', code: rightCode(named) }
    expect((await tryFrom(place, stranger)).status).toBe(401)
  }
  const right = async (person: Person) => {
    const { email, password } = person
    return (await tryFrom(11, { email, password, code: rightCode(person) })).status
  }
  expect([await right(robbed), await right(named)]).toEqual([401, 303])
  // A person who sets up anew has other codes.
  const path = await withPeople(optionsOf(gateway), async ({ makeLink: link }, { findByEmail }) =>
    link((await findByEmail(robbed.email))?.operatorId ?? ''),
  )
  const totpSecret = readSecret(await (await fetch(`${gateway.url}${path}`)).text())
  const usedStep = totpStep(Date.now())
  const password = 'another long password'
  expect((await send(path, { password, code: totpCode(totpSecret, usedStep) })).status).toBe(303)
  expect(await right({ ...robbed, password, totpSecret, usedStep })).toBe(303)
  await behindProxy.gateway.close()
})

/** A code of none of the time steps of this test. */
function wrongCode({ totpSecret, usedStep }: Person): string {
  const near = Array.from({ length: 41 }, (_, at) => totpCode(totpSecret, usedStep - 20 + at))
  return ['111111', '222222', '333333'].find(code => !near.includes(code)) ?? '444444'
}

test('failed sign-ins are audited by the minute; only people who exist are named', async () => {
  // The clock stands still, so that all failures fall into one minute.
  const own = await startTestGateway({ beside: gateway, clock: createTestClock() })
  const { email } = await signUp(gateway, { role: 'viewer' })
  for (const typed of [email, email.toUpperCase(), email, 'a-password-in-the-wrong-field'])
    await fetch(`${own.url}/console/sign-in`, {
      method: 'POST',
      body: new URLSearchParams({ email: typed, password: 'wrong password', code: '123456' }),
    })
  await own.gateway.close()
  const rows = await queryRows<{ actor: string; count: number }>(
    gateway.databaseUrl,
    `SELECT actor, (after ->> 'count')::int AS count FROM audit WHERE act = 'console.sign-in-failed'
       AND actor IN ('${email}', 'unknown') ORDER BY actor`,
  )
  expect(rows).toEqual([
    { actor: email, count: 3 },
    { actor: 'unknown', count: 1 },
  ])
})

test('setting up anew ends all earlier sessions, passkeys, the password, and other open links', async () => {
  const person = await signUp(gateway, { role: 'viewer' })
  const [row] = await queryRows<{ operator_id: string }>(
    gateway.databaseUrl,
    `WITH lost AS (INSERT INTO operator_passkey (credential_id, operator_id, public_key, counter)
       SELECT 'lost', operator_id, '\\x00', 0 FROM operator WHERE email = '${person.email}')
     SELECT operator_id FROM operator WHERE email = '${person.email}'`,
  )
  const links = await withPeople(optionsOf(gateway), async people => [
    await people.makeLink(row?.operator_id ?? ''),
    await people.makeLink(row?.operator_id ?? ''),
  ])
  const [path = '', other = ''] = links
  const secret = readSecret(await (await fetch(`${gateway.url}${path}`)).text())
  const fields = { password: 'another long password', code: codeNow(secret) }
  const both = await Promise.all([send(path, fields), send(path, fields)])
  expect(both.map(({ status }) => status).toSorted()).toEqual([303, 410])
  expect((await person.get('/console/merchants')).status).toBe(303)
  expect((await fetch(`${gateway.url}${other}`)).status).toBe(410)
  const [left] = await queryRows<{ passkeys: number }>(
    gateway.databaseUrl,
    `SELECT count(*)::int AS passkeys FROM operator_passkey WHERE credential_id = 'lost'`,
  )
  expect(left?.passkeys).toBe(0)
  expect((await signIn(person, 1)).status).toBe(401)
})

test('the answer of a passkey signs in once, so that an observer cannot replay it', async () => {
  const { email } = await signUp(gateway, { role: 'viewer' })
  const passkey = createSoftwarePasskey('bm90LXR3aWNl')
  await queryRows(
    gateway.databaseUrl,
    `INSERT INTO operator_passkey (credential_id, operator_id, public_key, counter)
     SELECT 'bm90LXR3aWNl', operator_id, '\\x${passkey.publicKey.toString('hex')}', 0 FROM operator WHERE email = '${email}'`,
  )
  const page = await (await fetch(`${gateway.url}/console/sign-in`)).text()
  const challenge = /name="challenge" value="([^"]*)"/.exec(page)?.[1] ?? ''
  const [asked = ''] = challenge.split('.')
  const fields = { challenge, credential: passkey.answer({ challenge: asked, origin: gateway.url }) }
  const first = await send('/console/passkey-sign-in', fields)
  expect([first.status, first.headers.get('location')]).toEqual([303, '/console'])
  const again = await send('/console/passkey-sign-in', fields)
  expect([again.status, again.headers.get('set-cookie')]).toEqual([401, null])
})

test('a session ends by signing out, by idling and by age', async () => {
  const person = await signUp(gateway, { role: 'viewer' })
  expect((await person.get('/console/merchants')).status).toBe(200)
  await queryRows(gateway.databaseUrl, `UPDATE operator_session SET seen_at = now() - interval '16 minutes'`)
  expect((await person.get('/console/merchants')).status).toBe(303)
  const again = await signUp(gateway, { role: 'viewer' })
  await queryRows(gateway.databaseUrl, `UPDATE operator_session SET created_at = now() - interval '13 hours'`)
  expect((await again.get('/console/merchants')).status).toBe(303)
  const third = await signUp(gateway, { role: 'viewer' })
  expect((await third.post('/console/sign-out')).status).toBe(303)
  expect((await third.get('/console/merchants')).status).toBe(303)
})

/** Signs in through the page that answered a form after its session had ended. */
async function signInAgain({ email, password, totpSecret }: Person, page: string) {
  const kept = [
    ...page.slice(0, page.indexOf('</form>')).matchAll(/name="(next|kept[^"]*)" value="([^"]*)"/g),
  ]
  const back = await send('/console/sign-in', {
    ...Object.fromEntries(kept.map(([, name = '', value = '']) => [name, value])),
    email,
    password,
    code: codeNow(totpSecret, 1),
  })
  return { cookie: readCookie(back), page: await back.text() }
}

test('entries typed when the session ended are offered again after signing in', async () => {
  const person = await signUp(gateway, { role: 'owner' })
  const lost = await send('/console/merchants', { name: 'A new shop', csrf: 'gone' })
  expect(lost.status).toBe(401)
  const offered = await signInAgain(person, await lost.text())
  expect(offered.page).toContain('<dd>A new shop</dd>')
  expect(offered.page).toContain('action="/console/merchants"')
  const made = await send(
    '/console/merchants',
    { name: 'A new shop', csrf: readCsrf(offered.page) },
    { cookie: offered.cookie },
  )
  expect([made.status, (await made.text()).includes('A new shop')]).toEqual([200, true])
})

test('a form without fields is offered as well, and a confirmation is asked again', async () => {
  const person = await signUp(gateway, { role: 'owner' })
  const path = `/console/m/${gateway.merchantId}/test/faults/clear`
  const offered = await signInAgain(person, await (await send(path, {})).text())
  expect(offered.page).toContain(`action="${path}"`)
  const other = await signUp(gateway, { role: 'owner' })
  const sure = await signInAgain(other, await (await send(path, { amount: '300', sure: 'yes' })).text())
  expect(sure.page).toContain('name="amount" value="300"')
  expect(sure.page).not.toContain('name="sure"')
})

test('files cannot be kept: the form asks for them again, and secrets are not repeated', async () => {
  const person = await signUp(gateway, { role: 'owner' })
  const body = new FormData()
  body.set('text', 'what happened')
  body.set('secret.apiKey', 'a-secret')
  body.set('files', new Blob(['%PDF-']), 'receipt.pdf')
  const path = `/console/m/${gateway.merchantId}/disputes/${'0'.repeat(32)}/evidence`
  const lost = await fetch(`${gateway.url}${path}`, { method: 'POST', body })
  const offered = await signInAgain(person, await lost.text())
  expect(offered.page).toContain('name="text" value="what happened"')
  expect(offered.page).toContain('enctype="multipart/form-data"')
  expect(offered.page).toContain('type="file"')
  expect(offered.page).not.toContain('a-secret')
})

test('a form of an earlier session is refused, and offered to be sent again', async () => {
  const person = await signUp(gateway, { role: 'owner' })
  const stale = await person.post('/console/merchants', { name: 'Of another tab', csrf: 'of before' })
  const page = await stale.text()
  expect(stale.status).toBe(403)
  const again = { name: 'Of another tab', csrf: readCsrf(page) }
  expect((await send('/console/merchants', again, { cookie: person.cookie })).status).toBe(200)
})

test('signing out of an expired session redirects to the sign-in', async () => {
  const answer = await send('/console/sign-out', { csrf: 'gone' })
  expect([answer.status, answer.headers.get('location')]).toEqual([303, '/console/sign-in'])
})

test('a page that refreshes itself does not keep a session alive', async () => {
  const person = await signUp(gateway, { role: 'viewer' })
  const seenAgo = async (headers: Record<string, string>) => {
    await queryRows(
      gateway.databaseUrl,
      `UPDATE operator_session SET seen_at = now() - interval '10 minutes' WHERE operator_id =
         (SELECT operator_id FROM operator WHERE email = '${person.email}')`,
    )
    expect((await person.get('/console/merchants', headers)).status).toBe(200)
    const [row] = await queryRows<{ idle: boolean }>(
      gateway.databaseUrl,
      `SELECT seen_at < now() - interval '9 minutes' AS idle FROM operator_session WHERE operator_id =
         (SELECT operator_id FROM operator WHERE email = '${person.email}')`,
    )
    return row?.idle
  }
  expect([await seenAgo({ 'x-refresh': '1' }), await seenAgo({})]).toEqual([true, false])
})

test('200 an unknown notice in the address shows nothing', async () => {
  const person = await signUp(gateway, { role: 'viewer' })
  const page = await person.get('/console/merchants?done=constructor')
  expect([page.status, (await page.text()).includes('role="status"')]).toEqual([200, false])
})

test('303 HEAD is answered like GET, so that monitoring sees no error', async () => {
  const ask = (method: string) => fetch(`${gateway.url}/console`, { method, redirect: 'manual' })
  const [head, get] = [await ask('HEAD'), await ask('GET')]
  expect([head.status, head.headers.get('location')]).toEqual([303, get.headers.get('location')])
})

test('the redirect to the sign-in and back stays short', async () => {
  const ask = async (path: string) =>
    (await fetch(`${gateway.url}${path}`, { redirect: 'manual' })).headers.get('location')
  expect(await ask('/console/merchants?x=1')).toBe('/console/sign-in?next=%2Fconsole%2Fmerchants%3Fx%3D1')
  expect(await ask(`/console/merchants?x=${'a'.repeat(12_000)}`)).toBe(
    '/console/sign-in?next=%2Fconsole%2Fmerchants',
  )
})

test('a sign-in redirects only within the console', async () => {
  const person = await signUp(gateway, { role: 'viewer' })
  const { email, password, totpSecret } = person
  const code = codeNow(totpSecret, 1)
  const answer = await send('/console/sign-in', {
    email,
    password,
    code,
    next: 'https://evil.example/console',
  })
  expect(answer.headers.get('location')).toBe('/console')
  const shown = async (next: string) => {
    const page = await fetch(`${gateway.url}/console/sign-in?next=${encodeURIComponent(next)}`)
    return /name="next" value="([^"]*)"/.exec(await page.text())?.[1]
  }
  for (const next of ['//evil.example', '/console//x', '/console/../pay', '/console/%2E%2e/pay', '/consoles'])
    expect(await shown(next)).toBe('/console')
  expect(await shown('/console/merchants?x=..')).toBe('/console/merchants?x=..')
})

test('a refund asks for confirmation, is made once for a double click, obeys the limit, and is audited', async () => {
  const paid = await gateway.call('POST', '/payments', cardPayment())
  const { payId } = paid.body
  const person = await signUp(gateway, { role: 'support' })
  const address = `/console/m/${gateway.merchantId}/payments/${payId}/refunds`
  const asked = await person.post(address, { amount: '300', key: 'k1' })
  expect([asked.status, (await asked.text()).includes('cannot be undone')]).toEqual([200, true])
  const sure = { amount: '300', key: 'k1', sure: 'yes' }
  const both = await Promise.all([person.post(address, sure), person.post(address, sure)])
  expect(both.map(({ status }) => status)).toEqual([303, 303])
  const { body } = await gateway.call('GET', `/payments/getByPayId/${payId}`)
  expect(body.amount.refundedValue).toBe(300)
  await queryRows(
    gateway.databaseUrl,
    `UPDATE operator SET refund_limits = '{200EUR}' WHERE email = '${person.email}'`,
  )
  const refused = await person.post(address, { amount: '300', key: 'k2', sure: 'yes' })
  const said = 'The refund is €3.00; your refund limit is 200EUR'
  expect([refused.status, await refused.text()]).toEqual([422, expect.stringContaining(said)])
  const rows = await queryRows<{ actor: string }>(
    gateway.databaseUrl,
    `SELECT actor FROM audit WHERE act = 'payment.refund' AND object = '${payId}'`,
  )
  expect(rows[0]?.actor).toBe(person.email)
})

test("merchants' and customers' texts never become markup", async () => {
  const { merchantId } = await gateway.gateway.merchants.create('<script>alert(1)</script>')
  const person = await signUp(gateway, { role: 'viewer' })
  const page = await (await person.get(`/console/m/${merchantId}`)).text()
  expect(page).toContain('&lt;script&gt;alert(1)')
  expect(page).not.toContain('<script>alert(1)')
  const found = await (await person.get('/console/search?q=%22%3E%3Cimg%20src%3Dx%3E')).text()
  expect(found).not.toContain('<img')
})

test('the console can be switched off, or be served only on a port of its own', async () => {
  const statusOf = async (url: string) => (await fetch(url, { redirect: 'manual' })).status
  const off = await startTestGateway({ beside: gateway, console: 'off' })
  expect(await statusOf(`${off.url}/console/sign-in`)).toBe(404)
  await off.gateway.close()
  const port = await findFreePort()
  const apart = await startTestGateway({ beside: gateway, consolePort: port })
  const own = `http://127.0.0.1:${port}`
  expect([
    await statusOf(`${apart.url}/console/sign-in`),
    await statusOf(`${own}/console/sign-in`),
    await statusOf(`${own}/api/v2/payments`),
    await statusOf(`${apart.url}/api/v2/payments`),
  ]).toEqual([404, 200, 404, 401])
  await apart.gateway.close()
  await expect(fetch(`${own}/console/sign-in`)).rejects.toThrow('fetch failed')
})

test('a post from another site is refused', async () => {
  const person = await signUp(gateway, { role: 'owner' })
  const answer = await person.post('/console/merchants', { name: 'x' }, { 'sec-fetch-site': 'cross-site' })
  expect(answer.status).toBe(403)
})
