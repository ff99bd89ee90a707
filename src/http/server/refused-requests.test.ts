import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createToy, goodBody, shop, type Toy } from '#test/support/toy-http.ts'

let toy: Toy
beforeAll(async () => {
  toy = await createToy()
})
afterAll(() => toy.app.close())

describe('415 names the header, its value and what the endpoint takes', () => {
  test.each<[name: string, headers: Record<string, string>, detail: string]>([
    [
      'another type',
      { 'content-type': 'text/plain' },
      'Content-Type is "text/plain"; send application/json.',
    ],
    ['no type', { 'content-type': '' }, 'Content-Type is missing; send application/json.'],
    [
      'another charset',
      { 'content-type': 'Application/JSON; charset=latin1' },
      'Content-Type is "Application/JSON; charset=latin1"; send application/json in UTF-8.',
    ],
    [
      'an encoding',
      { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      'Content-Encoding is "gzip"; send the body without encoding.',
    ],
    [
      'a card number',
      { 'content-type': 'text/4111111111111111' },
      'Content-Type is "text/411111******1111"; send application/json.',
    ],
  ])('%s', async (_, headers, detail) => {
    const response = await toy.app.inject({
      ...{ method: 'POST', url: '/api/v2/payment', payload: JSON.stringify(goodBody) },
      headers: { ...shop, ...headers },
    })
    expect([response.statusCode, response.json().detail]).toEqual([415, detail])
  })

  test('the encoding identity in any case is none', async () => {
    const response = await toy.app.inject({
      ...{ method: 'POST', url: '/api/v2/payment', payload: JSON.stringify(goodBody) },
      headers: { ...shop, 'content-type': 'application/json', 'content-encoding': 'Identity' },
    })
    expect(response.statusCode).toBe(200)
  })

  test('JSON at the token endpoint', async () => {
    const response = await toy.app.inject({ method: 'POST', url: '/api/v2/token', payload: {} })
    expect([response.statusCode, response.json().error_description]).toEqual([
      415,
      'Content-Type is "application/json"; send application/x-www-form-urlencoded.',
    ])
  })
})

describe('404 for an address that does not exist names it, without its query', () => {
  test.each([
    ['/payments?email=a@shop.example', '"/payments"'],
    ['/api/v2/toys/1/', '"/api/v2/toys/1/"'],
    ['/api/v2/cards/4111111111111111', '"/api/v2/cards/411111******1111"'],
  ])('%s', async (url, shown) => {
    const response = await toy.app.inject({ url, headers: shop })
    expect([response.statusCode, response.json().detail]).toEqual([
      404,
      `Nothing has the address ${shown}; addresses of the API begin with /api/v2/, and /docs lists them.`,
    ])
  })
})
