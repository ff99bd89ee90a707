import { createHmac } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { readSecret, showSecret, signMessage } from '#webhooks/sign.ts'

const secret = Buffer.from('0123456789abcdef0123456789abcdef')
const message = { id: 'msg_1', timestamp: 1_790_000_000, body: '{"a":"ü"}' }

test('signs id, time and body with each secret, the newest first', () => {
  const other = Buffer.alloc(32, 7)
  const [first, second, ...rest] = signMessage(message, [secret, other]).split(' ')
  const hmac = (key: Buffer) =>
    `v1,${createHmac('sha256', key).update('msg_1.1790000000.{"a":"ü"}').digest('base64')}`
  expect([first, second, rest]).toEqual([hmac(secret), hmac(other), []])
})

test('the library of the specification verifies the signature, and rejects every change', () => {
  const timestamp = Math.floor(Date.now() / 1000)
  const now = { ...message, timestamp }
  const headers = {
    'webhook-id': now.id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signMessage(now, [Buffer.alloc(32, 7), secret]),
  }
  const verifier = new Webhook(showSecret(secret))
  expect(verifier.verify(now.body, headers)).toEqual({ a: 'ü' })
  expect(() => verifier.verify('{"a":"u"}', headers)).toThrow()
  expect(() => verifier.verify(now.body, { ...headers, 'webhook-id': 'msg_2' })).toThrow()
  expect(() =>
    verifier.verify(now.body, { ...headers, 'webhook-timestamp': String(timestamp + 1) }),
  ).toThrow()
})

test.each([
  [showSecret(secret), secret],
  [showSecret(Buffer.alloc(24)), Buffer.alloc(24)],
  [showSecret(Buffer.alloc(23)), undefined],
  [showSecret(Buffer.alloc(65)), undefined],
  ['whsec_', undefined],
  ['whsec_not base64!', undefined],
  [secret.toString('base64'), undefined],
])('reads %s', (text, expected) => {
  expect(readSecret(text)).toEqual(expected)
})
