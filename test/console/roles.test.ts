/** Every route of the console with every role, without sign-in, and with access to other merchants only. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { globalPages, merchantPages } from '#console/routes.ts'
import { type Role, roles } from '#domain/console-roles.ts'
import { type Person, signUp } from '#test/support/browser/console.ts'
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

/** Written by hand from the contract: a new page needs its row, and a page with the wrong act fails. */
const leastRole: Readonly<Record<string, Role>> = {
  'GET ': 'viewer',
  'GET /search': 'viewer',
  'GET /merchants': 'viewer',
  'POST /merchants': 'admin',
  'GET /operators': 'owner',
  'POST /operators': 'owner',
  'GET /operators/{id}': 'owner',
  'POST /operators/{id}': 'owner',
  'POST /operators/{id}/link': 'owner',
  'POST /operators/{id}/sessions/end': 'owner',
  'POST /operators/{id}/remove': 'owner',
  'GET /sessions': 'viewer',
  'POST /sessions/end': 'viewer',
  'POST /passkeys': 'viewer',
  'GET /audit': 'owner',
  'GET /m/{merchant}': 'viewer',
  'GET /m/{merchant}/payments': 'viewer',
  'GET /m/{merchant}/payments.json': 'viewer',
  'GET /m/{merchant}/payments/{payId}': 'viewer',
  'GET /m/{merchant}/payments/{payId}/captures': 'support',
  'POST /m/{merchant}/payments/{payId}/captures': 'support',
  'GET /m/{merchant}/payments/{payId}/refunds': 'support',
  'POST /m/{merchant}/payments/{payId}/refunds': 'support',
  'GET /m/{merchant}/payments/{payId}/reversals': 'support',
  'POST /m/{merchant}/payments/{payId}/reversals': 'support',
  'GET /m/{merchant}/payments/{payId}/cancellations': 'support',
  'POST /m/{merchant}/payments/{payId}/cancellations': 'support',
  'GET /m/{merchant}/operations': 'viewer',
  'GET /m/{merchant}/operations.csv': 'viewer',
  'GET /m/{merchant}/customers': 'viewer',
  'GET /m/{merchant}/customers/{id}': 'viewer',
  'GET /m/{merchant}/plans': 'viewer',
  'GET /m/{merchant}/plans/{id}': 'viewer',
  'POST /m/{merchant}/plans/{id}/pause': 'admin',
  'POST /m/{merchant}/plans/{id}/resume': 'admin',
  'POST /m/{merchant}/plans/{id}/charge': 'admin',
  'POST /m/{merchant}/plans/{id}/amount': 'admin',
  'POST /m/{merchant}/plans/{id}/method': 'admin',
  'POST /m/{merchant}/plans/{id}/cancel': 'admin',
  'GET /m/{merchant}/links': 'viewer',
  'GET /m/{merchant}/links/new': 'admin',
  'POST /m/{merchant}/links/new': 'admin',
  'GET /m/{merchant}/links/{id}': 'viewer',
  'POST /m/{merchant}/links/{id}/cancel': 'admin',
  'GET /m/{merchant}/disputes': 'viewer',
  'GET /m/{merchant}/disputes/{id}': 'viewer',
  'POST /m/{merchant}/disputes/{id}/evidence': 'support',
  'POST /m/{merchant}/disputes/{id}/accept': 'support',
  'GET /m/{merchant}/settlements': 'viewer',
  'GET /m/{merchant}/reconciliation': 'viewer',
  'GET /m/{merchant}/events': 'viewer',
  'GET /m/{merchant}/events/{id}': 'viewer',
  'POST /m/{merchant}/events/{id}/replay': 'support',
  'GET /m/{merchant}/endpoints': 'admin',
  'POST /m/{merchant}/endpoints': 'admin',
  'POST /m/{merchant}/endpoints/remove': 'admin',
  'POST /m/{merchant}/endpoints/rotate': 'admin',
  'GET /m/{merchant}/providers': 'admin',
  'GET /m/{merchant}/providers/new': 'admin',
  'GET /m/{merchant}/providers/notices': 'admin',
  'POST /m/{merchant}/providers/new': 'admin',
  'GET /m/{merchant}/providers/accounts/{id}': 'admin',
  'POST /m/{merchant}/providers/accounts/{id}': 'admin',
  'POST /m/{merchant}/providers/switch': 'admin',
  'POST /m/{merchant}/providers/routes': 'admin',
  'POST /m/{merchant}/providers/routes/remove': 'admin',
  'GET /m/{merchant}/settings': 'admin',
  'POST /m/{merchant}/settings/retention': 'admin',
  'GET /m/{merchant}/keys': 'admin',
  'POST /m/{merchant}/keys': 'admin',
  'POST /m/{merchant}/keys/revoke': 'admin',
  'GET /m/{merchant}/inbox': 'support',
  'POST /m/{merchant}/inbox': 'support',
  'GET /m/{merchant}/test': 'support',
  'POST /m/{merchant}/test/payment': 'support',
  'POST /m/{merchant}/test/clock': 'support',
  'POST /m/{merchant}/test/faults': 'support',
  'POST /m/{merchant}/test/faults/clear': 'support',
}

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

test('the table of rights has a row for every route, and a route for every row', () => {
  expect(named.map(({ name }) => name).toSorted()).toEqual(Object.keys(leastRole).toSorted())
})

describe.each(named)('$name', ({ verb, path, name, address, scoped }) => {
  const ask = (person: Person) => (verb === 'GET' ? person.get(address()) : person.post(address()))

  test.each(roles)('a person with the role %s may use it, or gets 403, as the table says', async role => {
    const person = people.get(role)
    if (!person) throw new Error('nobody has this role')
    const { status } = await ask(person)
    const isAllowed = roles.indexOf(role) >= roles.indexOf(leastRole[name] ?? 'owner')
    if (isAllowed) expect(status).not.toBe(403)
    else expect(status).toBe(403)
    expect(status).toBeLessThan(500)
  })

  test('a person who is not signed in is redirected to the sign-in', async () => {
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
    // A route with the id of an unknown person answers 404, too.
    if (scoped || path.includes('{id}')) expect((await ask(foreigner)).status).toBe(404)
    else expect((await ask(foreigner)).status).not.toBe(404)
  })
})
