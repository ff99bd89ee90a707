/** Setting up, signing in, sessions: what works once, what ends, and what guessing gets. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { totpCode, totpStep } from '#console/totp.ts'
import { makeLink, type Person, readCookie, readCsrf, readSecret, signUp } from '#test/support/console.ts'
import { cardPayment, startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { queryRows } from '#test/support/invariants.ts'

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

const signIn = ({ email, password, totpSecret }: Person, drift: number) =>
  send('/console/sign-in', { email, password, code: codeNow(totpSecret, drift) })

test('a link works once, wants twelve characters and the right code, and the cookie is for this host alone', async () => {
  const { path } = await makeLink(gateway, { role: 'owner' })
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
})

test('each code works once, and a step of drift is taken', async () => {
  const person = await signUp(gateway, { role: 'viewer' })
  // The code of this step was used by the set-up.
  expect((await signIn(person, 0)).status).toBe(401)
  expect((await signIn(person, 1)).status).toBe(303)
  expect((await signIn(person, 1)).status).toBe(401)
})

test('guessing is stopped after ten tries', async () => {
  const { email } = await signUp(gateway, { role: 'viewer' })
  const statuses: number[] = []
  for (let tried = 0; tried < 12; tried += 1)
    statuses.push(
      (await send('/console/sign-in', { email, password: 'wrong password', code: '123456' })).status,
    )
  expect(statuses.slice(0, 10)).toEqual(Array.from({ length: 10 }, () => 401))
  expect(statuses.at(-1)).toBe(429)
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

test('what was typed when the session ended comes back after signing in', async () => {
  const person = await signUp(gateway, { role: 'owner' })
  const lost = await send('/console/merchants', { name: 'A new shop', csrf: 'gone' })
  const page = await lost.text()
  expect(lost.status).toBe(401)
  expect(page).toContain('name="kept.name" value="A new shop"')
  const { email, password, totpSecret } = person
  const entry = {
    email,
    password,
    code: codeNow(totpSecret, 1),
    next: '/console/merchants',
    'kept.name': 'A new shop',
  }
  const back = await send('/console/sign-in', entry)
  const offered = await back.text()
  expect(offered).toContain('action="/console/merchants"')
  const made = await send(
    '/console/merchants',
    { name: 'A new shop', csrf: readCsrf(offered) },
    { cookie: readCookie(back) },
  )
  expect([made.status, (await made.text()).includes('A new shop')]).toEqual([200, true])
})

test('the way to the sign-in and back stays short', async () => {
  const ask = async (path: string) =>
    (await fetch(`${gateway.url}${path}`, { redirect: 'manual' })).headers.get('location')
  expect(await ask('/console/merchants?x=1')).toBe('/console/sign-in?next=%2Fconsole%2Fmerchants%3Fx%3D1')
  expect(await ask(`/console/merchants?x=${'a'.repeat(12_000)}`)).toBe(
    '/console/sign-in?next=%2Fconsole%2Fmerchants',
  )
})

test('a sign-in leads nowhere else', async () => {
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
})

test('a refund asks once more, is made once for a double click, keeps to the limit, and is audited', async () => {
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
  expect((await person.post(address, { amount: '300', key: 'k2', sure: 'yes' })).status).toBe(422)
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

test('a post from another site is refused', async () => {
  const person = await signUp(gateway, { role: 'owner' })
  const answer = await person.post('/console/merchants', { name: 'x' }, { 'sec-fetch-site': 'cross-site' })
  expect(answer.status).toBe(403)
})
