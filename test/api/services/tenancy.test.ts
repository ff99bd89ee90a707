/** What one merchant owns does not exist for another: every id that a service takes, with every kind of credential. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { basic, startTestGateway, type TestAnswer, type TestGateway } from '#test/support/gateway.ts'
import { openShop, type Shop } from '#test/support/shop.ts'

let gateway: TestGateway
let owner: Shop
let stranger: Shop
const owned = { card: '', account: '', quote: '' }
const euros = { value: 4999, currency: 'EUR' }

beforeAll(async () => {
  gateway = await startTestGateway()
  owner = await openShop(gateway)
  stranger = await openShop(gateway)
  const token = async (body: object) => (await owner.call('POST', '/services/tokenService', body)).body.token
  owned.card = await token({ type: 'CARD', number: '4111111111111111', expiryDate: '203012' })
  owned.account = await token({ type: 'IBAN', number: 'DE89370400440532013000' })
  const quoted = await owner.call('POST', '/services/dccQuote', { bin: '411111', amount: euros })
  owned.quote = quoted.body.quoteId
})
afterAll(() => gateway.stop())

async function bearer({ merchantId, apiKey }: Shop): Promise<string> {
  const form = { grant_type: 'client_credentials', client_id: merchantId, client_secret: apiKey }
  const { body } = await gateway.call(
    'POST',
    '/authorization/oauth/token',
    new URLSearchParams(form).toString(),
    { 'content-type': 'application/x-www-form-urlencoded', authorization: '' },
  )
  return `Bearer ${body.access_token}`
}

const debit = (number: string) => ({
  integrationType: 'DIRECT',
  type: 'DIRECTDEBIT',
  directDebit: { account: { number, accountHolderName: 'Ada Lovelace' } },
})

const card = (number: string, more: object = {}) => ({
  integrationType: 'DIRECT',
  type: 'CARD',
  card: { number, expiryDate: '203012', ...more },
})

/** A request that names the id, and one that names an id that never existed. */
const requests: readonly [string, string, (id: string) => object, keyof typeof owned, string][] = [
  ['a card', '/services/tokenService', number => ({ type: 'CARD', number }), 'card', '0123456789012345'],
  [
    'an account',
    '/services/tokenService',
    number => ({ type: 'IBAN', number }),
    'account',
    'ZZ00BBBBBBBBBBBBBB3000',
  ],
  [
    'a card',
    '/payments',
    id => ({ transId: 't', amount: euros, paymentMethods: card(id) }),
    'card',
    '0123456789012345',
  ],
  [
    'an account',
    '/payments',
    id => ({ transId: 't', amount: euros, paymentMethods: debit(id) }),
    'account',
    'ZZ00BBBBBBBBBBBBBB3000',
  ],
  [
    'an account',
    '/payments/refunds',
    id => ({ transId: 't', amount: euros, paymentMethods: { directDebit: debit(id).directDebit } }),
    'account',
    'ZZ00BBBBBBBBBBBBBB3000',
  ],
  [
    'a quote',
    '/payments',
    quoteId => ({
      transId: 't',
      amount: euros,
      paymentMethods: card('4111111111111111', { dcc: { quoteId, accepted: true } }),
    }),
    'quote',
    '0'.repeat(32),
  ],
]

/** Removes the values that differ in every answer. */
const withoutIds = ({ status, text }: TestAnswer) => ({
  status,
  text: text.replace(/"(traceId|xId)":"[0-9a-f]{32}"/g, '"$1":"…"'),
})

describe.each(['Basic', 'Bearer'])('%s', scheme => {
  const sign = (shop: Shop) => (scheme === 'Basic' ? basic(shop.merchantId, shop.apiKey) : bearer(shop))

  test.each(requests)("%s of another's at %s is one that never was", async (_, path, make, kind, never) => {
    const authorization = await sign(stranger)
    const foreign = await gateway.call('POST', path, make(owned[kind]), { authorization })
    const unknown = await gateway.call('POST', path, make(never), { authorization })
    expect(foreign.status).toBeGreaterThanOrEqual(400)
    expect(withoutIds(foreign)).toEqual(withoutIds(unknown))
  })

  test("the account updater finds no card of another's", async () => {
    const authorization = await sign(stranger)
    const body = { transId: 't', cards: [{ number: owned.card }] }
    const answer = await gateway.call('POST', '/services/accountUpdater', body, { authorization })
    expect(answer.body.cards).toEqual([{ pseudoCardNumber: owned.card, updateStatus: 'NOT_FOUND' }])
  })
})

test('each of these numbers works for its owner', async () => {
  for (const [, path, make, kind] of requests) {
    const body = {
      ...make(owned[kind]),
      ...(path.includes('services') ? {} : { transId: `own-${kind}-${path}` }),
    }
    expect((await owner.call('POST', path, body)).status, `${path} ${kind}`).toBe(200)
  }
})

test('401 without credentials, at every service', async () => {
  for (const name of ['duplicationCheck', 'accountUpdater', 'binLookup', 'dccQuote', 'tokenService']) {
    const answer = await gateway.call('POST', `/services/${name}`, {}, { authorization: '' })
    expect({ status: answer.status, type: answer.headers.get('content-type') }).toEqual({
      status: 401,
      type: 'application/problem+json',
    })
  }
})
