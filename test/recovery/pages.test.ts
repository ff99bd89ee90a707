/** A customer's form while the connection to the database breaks: one effect, and a page that shows the state. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openPageShop, type PageShop } from '#test/support/browser/page-shop.ts'
import { type DatabaseProxy, startDatabaseProxy } from '#test/support/database/database-proxy.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { findBrokenRules } from '#test/support/simulation/invariants.ts'

const urls = { return: 'https://shop.example/thanks', cancel: 'https://shop.example/basket' }

let direct: TestGateway
let gateway: TestGateway
let proxy: DatabaseProxy
let shop: PageShop
beforeAll(async () => {
  direct = await startTestGateway()
  proxy = await startDatabaseProxy(direct.databaseUrl)
  gateway = await startTestGateway({ beside: direct, throughUrl: proxy.url })
  shop = await openPageShop(direct, { urls })
})
afterAll(async () => {
  expect(await findBrokenRules(direct.databaseUrl)).toEqual({})
  await gateway.stop()
  await proxy.close()
  await direct.stop()
})

/** The same page at the gateway whose connection can be cut. */
const through = (href: string): string => `${gateway.url}${new URL(href).pathname}`

async function pay(href: string, number: string): Promise<Response> {
  const attempt = /name="attempt" value="(\d+)"/.exec(await (await fetch(through(href))).text())?.[1] ?? ''
  const fields = { type: 'CARD', number, expiry: '12/39', securityCode: '123', cardholderName: 'Ada' }
  const body = new URLSearchParams({ ...fields, attempt })
  return fetch(through(href), { method: 'POST', body, redirect: 'manual' })
}

// Each row: when the connection is cut, and how many commits pass before that.
test.each([
  ['before', 0],
  ['after', 0],
  ['before', 1],
  ['after', 1],
] as const)('cut %s commit %i: paid once', async (moment, skip) => {
  const { payId, href } = await shop.session()
  proxy.cutNextCommit(moment, skip)
  expect((await pay(href, '4111111111111111')).status).toBe(303)
  expect(await shop.tries(payId)).toEqual(['OK', ['00000000']])
})

test.each([['before'], ['after']] as const)(
  'cut %s the commit of a challenge: approved once',
  async moment => {
    const { payId, href } = await shop.session()
    const step = (await pay(href, '4000002760003184')).headers.get('location') ?? ''
    proxy.cutNextCommit(moment)
    const body = new URLSearchParams({ action: 'approve' })
    const done = await fetch(`${gateway.url}${step}`, { method: 'POST', body, redirect: 'manual' })
    expect(done.headers.get('location')).toBe(`${urls.return}?PayId=${payId}`)
    expect(await shop.tries(payId)).toEqual(['OK', ['00000000']])
  },
)

test('503 while the database is unavailable, and the same page when it is back', async () => {
  const { payId, href } = await shop.session()
  await proxy.close()
  const response = await fetch(through(href))
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '2'])
  expect(response.headers.get('content-type')).toContain('text/html')
  const html = await response.text()
  expect(html).toContain('We will be back in a moment')
  expect(html).toContain(`href="${new URL(href).pathname}"`)
  expect(await shop.tries(payId)).toEqual(['AUTHORIZE_REQUEST', ['60000100']])
  expect((await fetch(href)).status).toBe(200)
})
