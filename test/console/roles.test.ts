/** Every route of the console with every role, a stranger, and somebody who may see other merchants only. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { globalPages, merchantPages } from '#console/routes.ts'
import { mayAct, type Role, roles } from '#domain/console-roles.ts'
import { type Person, signUp } from '#test/support/console.ts'
import { cardPayment, startTestGateway, type TestGateway } from '#test/support/gateway.ts'

let gateway: TestGateway
let payId: string
const people = new Map<Role, Person>()
let foreigner: Person

beforeAll(async () => {
  gateway = await startTestGateway()
  const paid = await gateway.call('POST', '/payments', cardPayment())
  payId = paid.body.payId
  for (const role of roles) people.set(role, await signUp(gateway, { role }))
  foreigner = await signUp(gateway, { role: 'owner', merchants: ['mer_of_somebody_else'] })
})
afterAll(() => gateway.stop())

const fill = (path: string): string => path.replace('{payId}', payId).replace('{id}', '0'.repeat(32))

const routes = [
  ...globalPages.map(page => ({ ...page, address: () => `/console${fill(page.path)}`, scoped: false })),
  ...merchantPages.map(page => ({
    ...page,
    address: () => `/console/m/${gateway.merchantId}${fill(page.path)}`,
    scoped: true,
  })),
]
const named = routes.map(route => ({
  ...route,
  name: `${route.verb} ${route.scoped ? '/m/{merchant}' : ''}${route.path}`,
}))

describe.each(named)('$name', ({ verb, path, act, address, scoped }) => {
  const ask = (person: Person) => (verb === 'GET' ? person.get(address()) : person.post(address()))

  test.each(roles)('%s', async role => {
    const person = people.get(role)
    if (!person) throw new Error('nobody has this role')
    const { status } = await ask(person)
    if (mayAct(role, act)) expect(status).not.toBe(403)
    else expect(status).toBe(403)
    expect(status).toBeLessThan(500)
  })

  test('somebody who is not signed in is asked to', async () => {
    const response = await fetch(gateway.url + address(), {
      method: verb,
      redirect: 'manual',
      ...(verb === 'POST' ? { body: new URLSearchParams({ amount: '1' }) } : {}),
    })
    expect([response.status, response.headers.get('location')?.startsWith('/console/sign-in')]).toEqual(
      verb === 'GET' ? [303, true] : [401, undefined],
    )
  })

  test('a form without its token has no effect', async () => {
    if (verb === 'GET') return expect((await ask(foreigner)).status).toBeLessThan(500)
    const owner = people.get('owner')
    const response = await owner?.post(address(), { csrf: 'forged' })
    expect(response?.status).toBe(403)
  })

  test('a merchant that the person may not see is not found', async () => {
    // What names a person that nobody is is not found either.
    if (scoped || path.includes('{id}')) expect((await ask(foreigner)).status).toBe(404)
    else expect((await ask(foreigner)).status).not.toBe(404)
  })
})
