import { expect, test } from 'vitest'
import type { AuthorizationOutcome } from '#connectors/contract.ts'
import { hideSecrets, hideSent } from '#connectors/quoted-secrets.ts'
import { Secret } from '#domain/secret.ts'

/** With characters that Adyen's keys have. */
const key = 'AQEyhm+/Kx&<"-z4'

test.each([
  ['verbatim', key],
  ['as JSON', JSON.stringify(key).slice(1, -1)],
  ['as JSON with escaped slashes', key.replace('/', '\\/').replace('"', '\\"')],
  ['as JSON for HTML', key.replace('&', '\\u0026').replace('<', '\\u003C').replace('"', '\\u0022')],
  ['as JSON for HTML in lower case', key.replace('+', '\\u002b').replace('<', '\\u003c')],
])('a key that an answer quotes %s is hidden, and nothing else', async (_, quoted) => {
  const body = `{"message":"no such key ${quoted}, ${quoted}","amount":1000}`
  const http = hideSecrets(
    { exchange: async () => ({ kind: 'answered', status: 401, headers: {}, body }) },
    { apiKey: new Secret(key), short: new Secret('amount') },
  )
  const answer = await http.exchange(
    { verb: 'GET', url: 'https://provider.example', headers: {} },
    new AbortController().signal,
  )
  expect(answer).toMatchObject({ body: '{"message":"no such key …, …","amount":1000}' })
})

test('the security code and the account number of the request are hidden in the text of a decline', () => {
  const echo = { reference: '0'.repeat(32), amount: { value: 1739, currency: 'EUR' } }
  const outcome = {
    authorization: {
      kind: 'declined',
      detail: '0305',
      provider: { echo, responseText: 'CVC 739 of DE89370400440532013000 is wrong, ref 17391' },
    },
  } as unknown as AuthorizationOutcome
  const sent = {
    card: { securityCode: new Secret('739') },
    account: { number: new Secret('DE89370400440532013000') },
  } as Parameters<typeof hideSent>[1]
  expect(hideSent(outcome, sent)).toMatchObject({
    authorization: { provider: { echo, responseText: 'CVC … of … is wrong, ref 17391' } },
  })
})
