/** People of the console among themselves, over HTTP: roles, sessions of others, owners of some merchants, the audit trail. */
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { totpCode, totpStep } from '#console/totp.ts'
import { createAuditStore } from '#storage/audit/audit.ts'
import { createFormStore } from '#storage/console/forms.ts'
import { openDatabase } from '#storage/database.ts'
import { listActs, type Person, readSecret, signUp } from '#test/support/browser/console.ts'
import { mainOf, readForms } from '#test/support/browser/console-forms.ts'
import { type CommandsHere, commandsHere } from '#test/support/command-here.ts'
import { masterKeyOf, startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

let gateway: TestGateway
let owner: Person
beforeAll(async () => {
  gateway = await startTestGateway()
  owner = await signUp(gateway, { role: 'owner' })
})
afterAll(() => gateway.stop())

const at = (path: string) => `/console/m/${gateway.merchantId}${path}`
const read = async (path: string) => (await owner.get(path)).text()
const actsOf = (object: string) => listActs(gateway, owner, object)

test('303 the role, merchants and refund limit of a person are changed, but owners cannot lock themselves out', async () => {
  const helper = await signUp(gateway, { role: 'viewer' })
  const list = await read('/console/operators')
  const idOf = (email: string) =>
    new RegExp(`/console/operators/([0-9a-f]{32})"[^>]*>${email}<`).exec(list)?.[1] ?? ''
  const address = `/console/operators/${idOf(helper.email)}`
  const changed = await owner.post(address, {
    role: 'support',
    merchants: gateway.merchantId,
    refundLimit: '500EUR',
  })
  expect(changed.headers.get('location')).toBe(`${address}?done=saved`)
  const page = await read(address)
  for (const text of ['support', gateway.merchantId, '500EUR']) expect(page).toContain(text)
  expect((await helper.get(at('/test'))).status).toBe(200)
  expect((await owner.post(address, { role: 'king' })).status).toBe(422)
  const own = `/console/operators/${idOf(owner.email)}`
  expect((await owner.post(own, { role: 'viewer' })).status).toBe(422)
  expect((await owner.post(`${own}/remove`, { sure: 'yes' })).status).toBe(422)
  expect(await actsOf(helper.email)).toEqual([
    `operator.set-up by ${helper.email}`,
    'operator.set by the owner',
  ])
  expect((await owner.post(`${address}/remove`)).status).toBe(200)
  expect((await helper.get('/console/merchants')).status).toBe(200)
  expect((await owner.post(`${address}/remove`, { sure: 'yes' })).status).toBe(303)
  expect((await helper.get('/console/merchants')).status).toBe(303)
})

test('a person is added with their refund limit in one step, so that a crash leaves nobody without it', async () => {
  const noChange = `CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE ''cut off''; END';
    CREATE TRIGGER no_change BEFORE UPDATE ON operator FOR EACH ROW EXECUTE FUNCTION refuse_change()`
  await queryRows(gateway.databaseUrl, noChange)
  try {
    const email = 'limited@example.com'
    await owner.post('/console/operators', { email, role: 'support', refundLimit: '500EUR,900USD' })
    const limits = 'SELECT refund_limits FROM operator WHERE email = $1'
    expect(await queryRows(gateway.databaseUrl, limits, [email])).toEqual([
      { refund_limits: ['500EUR', '900USD'] },
    ])
  } finally {
    await queryRows(gateway.databaseUrl, 'DROP TRIGGER no_change ON operator; DROP FUNCTION refuse_change')
  }
})

test('422 a form that was shown before another owner changed the person gives back nothing that was taken', async () => {
  const helper = await signUp(gateway, { role: 'admin' })
  const bob = await signUp(gateway, { role: 'owner' })
  const [row] = await queryRows<{ id: string }>(
    gateway.databaseUrl,
    "SELECT replace(operator_id::text, '-', '') AS id FROM operator WHERE email = $1",
    [helper.email],
  )
  const address = `/console/operators/${row?.id}`
  const rightsOn = (page: string) => readForms(mainOf(page)).find(({ action }) => action === address)?.fields
  const mine = rightsOn(await read(address))
  const theirs = rightsOn(await (await bob.get(address)).text())
  expect((await bob.post(address, { ...theirs, role: 'viewer' })).status).toBe(303)
  const refused = await owner.post(address, { ...mine, refundLimit: '500EUR' })
  const page = await refused.text()
  expect([refused.status, page]).toEqual([422, expect.stringContaining('Somebody else has changed')])
  const shown = rightsOn(page)
  expect(shown).toMatchObject({ role: 'viewer', refundLimit: '' })
  expect((await owner.post(address, { ...shown, refundLimit: '500EUR' })).status).toBe(303)
  expect(rightsOn(await read(address))).toMatchObject({ role: 'viewer', refundLimit: '500EUR' })
})

test.each([
  ['take the role from', '', { role: 'viewer' }],
  ['remove', '/remove', { sure: 'yes' }],
])('of two owners who %s each other at the same moment, one stays owner', async (_, path, form) => {
  const [ada, bob] = [await signUp(gateway, { role: 'owner' }), await signUp(gateway, { role: 'owner' })]
  const against = async (one: Person, other: Person) => {
    const [row] = await queryRows<{ operator_id: string }>(
      gateway.databaseUrl,
      "SELECT replace(operator_id::text, '-', '') AS operator_id FROM operator WHERE email = $1",
      [other.email],
    )
    return one.post(`/console/operators/${row?.operator_id}${path}`, form)
  }
  const answers = await Promise.all([against(ada, bob), against(bob, ada)])
  expect(answers.filter(({ headers }) => headers.get('location')?.includes('?done='))).toHaveLength(1)
  const owners = await queryRows(
    gateway.databaseUrl,
    "SELECT 1 FROM operator WHERE role = 'owner' AND email = ANY($1)",
    [[ada.email, bob.email]],
  )
  expect(owners).toHaveLength(1)
})

test('422 an owner who is being changed at this moment adds nobody and makes no link', async () => {
  const bob = await signUp(gateway, { role: 'owner' })
  const [row] = await queryRows<{ id: string }>(
    gateway.databaseUrl,
    "SELECT replace(operator_id::text, '-', '') AS id FROM operator WHERE email = $1",
    [bob.email],
  )
  const id = row?.id ?? ''
  const database = openDatabase(gateway.databaseUrl, () => undefined)
  // What another owner holds while their form is executed.
  const release = await createFormStore(database).hold(createHash('sha256').update(id).digest('hex'))
  const add = () => bob.post('/console/operators', { email: `by-${bob.email}`, role: 'owner' })
  const refused = [await add(), await bob.post(`/console/operators/${id}/link`)]
  for (const answer of refused) {
    expect([answer.status, await answer.text()]).toEqual([422, expect.stringContaining('Nothing was done.')])
  }
  const added = () =>
    queryRows(gateway.databaseUrl, 'SELECT 1 FROM operator WHERE email = $1', [`by-${bob.email}`])
  expect(await added()).toEqual([])
  await release?.()
  await database.close()
  expect((await add()).status).toBe(200)
  expect(await added()).toHaveLength(1)
})

test('422 a person needs a valid e-mail address and existing merchants', async () => {
  const person = { email: 'typo@example.com', role: 'viewer' }
  const unknown = await owner.post('/console/operators', {
    ...person,
    merchants: `${gateway.merchantId},mer_typo`,
  })
  expect([unknown.status, (await unknown.text()).includes('There is no merchant mer_typo')]).toEqual([
    422,
    true,
  ])
  const unreadable = await owner.post('/console/operators', { ...person, email: '\u001b[31m@example.com' })
  expect(unreadable.status).toBe(422)
  expect(await read('/console/operators')).not.toContain(person.email)
})

test.each([
  [{ merchants: 'mer_misspelt' }, 'There is no merchant mer_misspelt'],
  [{ refundLimit: '500EUR,100XXX' }, 'The refund limit is 100XXX'],
  [{ email: 'nobody' }, 'The e-mail address is nobody'],
])('422 a person is not added with %j, which would let them see or refund nothing', async (entries, said) => {
  const person = { email: 'careless@example.com', role: 'support', ...entries }
  const refused = await owner.post('/console/operators', person)
  expect([refused.status, await refused.text()]).toEqual([422, expect.stringContaining(said)])
})

test('303 an owner ends the session of another person', async () => {
  const helper = await signUp(gateway, { role: 'viewer' })
  const list = await read('/console/operators')
  const [, id] = new RegExp(`/console/operators/([0-9a-f]{32})"[^>]*>${helper.email}<`).exec(list) ?? []
  const address = `/console/operators/${id}`
  const [, sessionId = ''] = /name="sessionId" value="([0-9a-f]{32})"/.exec(await read(address)) ?? []
  const ended = await owner.post(`${address}/sessions/end`, { sessionId })
  expect(ended.headers.get('location')).toBe(`${address}?done=ended`)
  expect((await helper.get('/console/merchants')).headers.get('location')).toContain('/console/sign-in')
  expect((await owner.post(`${address}/sessions/end`, { sessionId })).status).toBe(422)
  expect(await actsOf(helper.email)).toEqual([
    `operator.set-up by ${helper.email}`,
    'session.end by the owner',
  ])
})

test('an owner of some merchants neither sees nor adds people of others', async () => {
  const scoped = await signUp(gateway, { role: 'owner', merchants: [gateway.merchantId] })
  const list = await (await scoped.get('/console/operators')).text()
  expect(list).not.toContain(owner.email)
  expect(list).toContain(scoped.email)
  const foreign = { email: 'x@example.com', role: 'owner', merchants: 'mer_of_somebody_else' }
  expect((await scoped.post('/console/operators', foreign)).status).toBe(422)
  const added = await scoped.post('/console/operators', { email: 'y@example.com', role: 'owner' })
  expect(added.status).toBe(200)
  const [row] = await queryRows<{ merchants: string[] }>(
    gateway.databaseUrl,
    "SELECT merchants FROM operator WHERE email = 'y@example.com'",
  )
  expect(row?.merchants).toEqual([gateway.merchantId])
  expect(await (await scoped.get('/console/audit')).text()).not.toContain(owner.email)
})

test('200 the audit trail pages to older acts, also for an owner of some merchants', async () => {
  const scoped = await signUp(gateway, { role: 'owner', merchants: [gateway.merchantId] })
  const acts = Array.from({ length: 120 }, (_, index) => `marked-${index}`)
  const database = openDatabase(gateway.databaseUrl, () => undefined)
  const entry = { from: 'a test', act: 'test.marked' }
  await createAuditStore(database).append([
    ...acts.map(object => ({ ...entry, actor: scoped.email, object })),
    ...Array.from({ length: 500 }, () => ({ ...entry, actor: owner.email, object: 'other-marked-1' })),
  ])
  await database.close()
  const seen: string[] = []
  for (let next: string | undefined = '?act=test.marked'; next !== undefined; ) {
    const page = await (await scoped.get(`/console/audit${next}`)).text()
    seen.push(...[...page.matchAll(/>((?:other-)?marked-\d+)<\/code>/g)].map(([, object]) => object ?? ''))
    next = /rel="next" href="([^"]+)"/.exec(page)?.[1]?.replaceAll('&amp;', '&')
  }
  expect(seen).toEqual(acts.toReversed())
})

test('the command accepts only existing merchants: with a mistyped id a person would see nothing', async () => {
  const commands = commandsHere(gateway.databaseUrl, {
    TOLLGATE_MASTER_KEY: masterKeyOf(gateway.databaseUrl),
  })
  const add = (merchants: string) =>
    commands.run(
      'operator',
      'add',
      '--email',
      'typed@example.com',
      '--role',
      'viewer',
      '--merchants',
      merchants,
    )
  const unknown = {
    code: 1,
    stderr: expect.stringContaining('there is no merchant "mer_typo"; "tollgate merchant list" shows all'),
  }
  expect(await add(`${gateway.merchantId},mer_typo`)).toMatchObject(unknown)
  expect(await add(' , ')).toMatchObject({ code: 2, stderr: expect.stringContaining('names no merchant') })
  expect(await add(gateway.merchantId)).toMatchObject({ code: 0 })
  const set = (merchants: string) =>
    commands.run('operator', 'set', '--email', 'typed@example.com', '--merchants', merchants)
  expect(await set('mer_typo')).toMatchObject(unknown)
  expect(await set('all')).toMatchObject({ code: 0 })
  commands.remove()
})

const linkTo = async (commands: CommandsHere, words: readonly string[]): Promise<string> =>
  new URL((await commands.json('operator', ...words)).link).pathname

test('a link that was not used ends when its person gets more merchants, and stays for any other change', async () => {
  const commands = commandsHere(gateway.databaseUrl, {
    TOLLGATE_MASTER_KEY: masterKeyOf(gateway.databaseUrl),
  })
  const email = 'widened@example.com'
  const other = (await gateway.gateway.merchants.create('Of other people')).merchantId
  const both = `${gateway.merchantId},${other}`
  const status = async (path: string) => (await fetch(`${gateway.url}${path}`)).status
  const first = await linkTo(commands, ['add', '--email', email, '--role', 'viewer', '--merchants', both])
  const set = (...words: string[]) => commands.run('operator', 'set', '--email', email, ...words)
  await set('--refund-limit', '20000EUR', '--role', 'support')
  await set('--merchants', gateway.merchantId)
  expect(await status(first)).toBe(200)
  expect((await set('--merchants', both)).stderr).toContain('"tollgate operator link" makes a new one')
  expect(await status(first)).toBe(410)
  const second = await linkTo(commands, ['link', '--email', email])
  const [row] = await queryRows<{ id: string }>(
    gateway.databaseUrl,
    `SELECT replace(operator_id::text, '-', '') AS id FROM operator WHERE email = '${email}'`,
  )
  const page = `/console/operators/${row?.id}`
  const same = await owner.post(page, { role: 'owner', merchants: both })
  expect([same.headers.get('location'), await status(second)]).toEqual([`${page}?done=saved`, 200])
  const all = await owner.post(page, { role: 'owner', merchants: '' })
  expect([all.headers.get('location'), await status(second)]).toEqual([`${page}?done=linkended`, 410])
  commands.remove()
})

describe('a link that an owner has read ends with the rights of that owner', () => {
  const idOf = async (email: string) => {
    const [row] = await queryRows<{ id: string }>(
      gateway.databaseUrl,
      `SELECT replace(operator_id::text, '-', '') AS id FROM operator WHERE email = '${email}'`,
    )
    return row?.id ?? ''
  }
  const shownLink = (page: string) => /\/console\/setup\/[\w-]{43}/.exec(page)?.[0] ?? 'none'
  const status = async (path: string) => (await fetch(`${gateway.url}${path}`)).status
  const other = async () => (await gateway.gateway.merchants.create('Another one')).merchantId

  test.each<[how: string, after: number, change: (address: string) => Promise<unknown>]>([
    ['removed', 410, address => owner.post(`${address}/remove`, { sure: 'yes' })],
    ['no owner any more', 410, address => owner.post(address, { role: 'admin', merchants: '' })],
    [
      'owner of one merchant',
      410,
      address => owner.post(address, { role: 'owner', merchants: gateway.merchantId }),
    ],
    [
      'set up anew',
      410,
      async address => {
        const path = shownLink(await (await owner.post(`${address}/link`)).text())
        const secret = readSecret(await (await fetch(`${gateway.url}${path}`)).text())
        const entry = { password: 'another long password', code: totpCode(secret, totpStep(Date.now())) }
        const body = new URLSearchParams(entry)
        expect(
          (await fetch(`${gateway.url}${path}`, { method: 'POST', redirect: 'manual', body })).status,
        ).toBe(303)
      },
    ],
    [
      'still an owner of all',
      200,
      address => owner.post(address, { role: 'owner', merchants: '', refundLimit: '1EUR' }),
    ],
  ])('who is %s: %i', async (_, after, change) => {
    const maker = await signUp(gateway, { role: 'owner' })
    const target = await signUp(gateway, { role: 'owner' })
    const added = await maker.post('/console/operators', { email: `new-${maker.email}`, role: 'viewer' })
    const made = await maker.post(`/console/operators/${await idOf(target.email)}/link`)
    const links = [shownLink(await added.text()), shownLink(await made.text())]
    expect(await Promise.all(links.map(status))).toEqual([200, 200])
    await change(`/console/operators/${await idOf(maker.email)}`)
    expect(await Promise.all(links.map(status))).toEqual([after, after])
  })

  test('200 links stay that another owner made, and those of an owner who gets more merchants', async () => {
    const more = await other()
    const maker = await signUp(gateway, { role: 'owner', merchants: [gateway.merchantId] })
    const target = await signUp(gateway, { role: 'viewer', merchants: [gateway.merchantId] })
    const page = `/console/operators/${await idOf(target.email)}/link`
    const links = await Promise.all(
      [maker, owner].map(async one => shownLink(await (await one.post(page)).text())),
    )
    const address = `/console/operators/${await idOf(maker.email)}`
    await owner.post(address, { role: 'owner', merchants: `${gateway.merchantId},${more}` })
    expect(await Promise.all(links.map(status))).toEqual([200, 200])
    await owner.post(`${address}/remove`, { sure: 'yes' })
    expect(await Promise.all(links.map(status))).toEqual([410, 200])
  })
})

test('an owner of some merchants does not see what people did who had others then', async () => {
  const commands = commandsHere(gateway.databaseUrl, {
    TOLLGATE_MASTER_KEY: masterKeyOf(gateway.databaseUrl),
  })
  const scoped = await signUp(gateway, { role: 'owner', merchants: [gateway.merchantId] })
  const mover = await signUp(gateway, { role: 'admin' })
  const other = (await gateway.gateway.merchants.create('Not theirs')).merchantId
  expect((await mover.post(`/console/m/${other}/keys`, { name: 'of another merchant' })).status).toBe(200)
  const set = (merchants: string) =>
    commands.json('operator', 'set', '--email', mover.email, '--merchants', merchants)
  await set(gateway.merchantId)
  await commands.json('operator', 'set', '--email', mover.email, '--role', 'support')
  expect((await mover.post(at('/test/clock'), { advance: 'PT1S', key: 'seen' })).status).toBeLessThan(400)
  const trail = await (await scoped.get('/console/audit')).text()
  expect(trail).toContain(mover.email)
  expect(trail).not.toContain('of another merchant')
  expect(await read('/console/audit')).toContain('of another merchant')
  commands.remove()
})
