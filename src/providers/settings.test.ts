import { describe, expect, test } from 'vitest'
import type { ConnectorFacts } from '#connectors/contract.ts'
import {
  checkSecretNames,
  checkSecrets,
  checkSettings,
  labelOf,
  narrowedTypes,
  withDefaults,
} from '#providers/settings.ts'

const facts: ConnectorFacts = {
  name: 'acme',
  liveHosts: ['api.acme.example'],
  settings: {
    shop: { required: true, description: 'the number of the shop' },
    prefix: { required: true, environment: 'live', description: 'the prefix of the live address' },
    rawCards: {
      default: 'false',
      description: 'whether card numbers may be sent',
      check: value => (['true', 'false'].includes(value) ? undefined : 'it must be true or false'),
    },
  },
  secrets: {
    apiKey: { required: true, description: 'the key' },
    hmacKey: {
      required: false,
      description: 'the signing key',
      check: value => (/^[0-9a-f]+$/.test(value) ? undefined : 'it must be hexadecimal'),
    },
  },
  serves: type => type !== 'PROVIDERK',
  exponent: () => 2,
  lostAnswer: { noticeWithinMs: 0, undo: false },
  timeoutMs: 1_000,
  pendingMs: () => 1_000,
}

const test_ = { facts, environment: 'test' as const }
const live = { facts, environment: 'live' as const }

test('valid settings are accepted', () => {
  const all = { shop: '1', rawCards: 'true', baseUrl: 'http://127.0.0.1:9/x', types: 'CARD, PROVIDERP' }
  expect(() => checkSettings({ ...all, 'labels.PROVIDERP': 'PayPal' }, test_)).not.toThrow()
  expect(() => checkSettings({ shop: '1', prefix: 'abc' }, live)).not.toThrow()
})

describe('settings that are refused by name', () => {
  const rows: [string, Record<string, string>, typeof test_ | typeof live, string][] = [
    [
      'a missing setting',
      {},
      test_,
      'the setting shop is missing: acme needs --set shop=… (the number of the shop)',
    ],
    ['a setting missing in live only', { shop: '1' }, live, 'the setting prefix is missing'],
    [
      'a setting that exists in live only',
      { shop: '1', prefix: 'x' },
      test_,
      'the setting prefix exists in the live',
    ],
    [
      'an unknown setting',
      { shop: '1', shopp: '1' },
      test_,
      'acme has no setting "shopp"; it has shop, prefix, rawCards',
    ],
    ['a name of every object', { shop: '1', toString: '1' }, test_, 'acme has no setting "toString"'],
    [
      'a wrong value',
      { shop: '1', rawCards: 'yes' },
      test_,
      'the setting rawCards is "yes": it must be true or false',
    ],
    [
      'a base address in live',
      { shop: '1', prefix: 'a', baseUrl: 'https://x.example' },
      live,
      'baseUrl exists in the test',
    ],
    [
      'a base address with credentials',
      { shop: '1', baseUrl: 'https://a:b@x.example' },
      test_,
      'the setting baseUrl is',
    ],
    [
      'a base address that is not http',
      { shop: '1', baseUrl: 'ftp://x' },
      test_,
      'the setting baseUrl is "ftp://x"',
    ],
    ['a type that is no method', { shop: '1', types: 'CARD,NOTHING' }, test_, 'types names "NOTHING"'],
    [
      'a type that the connector lacks',
      { shop: '1', types: 'PROVIDERK' },
      test_,
      'PROVIDERK, which acme does not serve',
    ],
    ['a label for no method', { shop: '1', 'labels.NOTHING': 'x' }, test_, 'labels.NOTHING names "NOTHING"'],
    ['an empty value', { shop: '' }, test_, 'the setting shop must have 1 to 1000 visible characters'],
  ]
  test.each(rows)('%s', (_, settings, occasion, sentence) => {
    expect(() => checkSettings(settings, occasion)).toThrow(sentence)
  })
})

test('secrets are refused by name and never quoted', () => {
  expect(() => checkSecrets({ apiKey: 'k', hmacKey: '0a' }, test_)).not.toThrow()
  expect(() => checkSecrets({ password: 'hunter2' }, test_)).toThrow(
    'acme has no secret "password"; it has apiKey, hmacKey',
  )
  expect(() => checkSecrets({ hmacKey: 'hunter2' }, test_)).toThrow(
    /^the secret hmacKey is wrong: it must be hexadecimal$/,
  )
  expect(() => checkSecrets({ apiKey: '' }, test_)).toThrow('the secret apiKey must have 1 to')
  expect(() => checkSecretNames(['hmacKey'], test_)).toThrow(
    'the secret apiKey is missing: acme needs --secret apiKey=@FILE',
  )
  expect(() => checkSecretNames(['apiKey'], test_)).not.toThrow()
})

test('defaults apply to missing settings; labels and types are parsed', () => {
  const settings = withDefaults({ shop: '1', types: 'CARD', 'labels.PROVIDERP': 'PayPal' }, test_)
  expect(settings).toMatchObject({ shop: '1', rawCards: 'false' })
  expect(narrowedTypes(settings)).toEqual(new Set(['CARD']))
  expect(narrowedTypes({})).toBeUndefined()
  expect([labelOf(settings, 'PROVIDERP'), labelOf(settings, 'CARD')]).toEqual(['PayPal', undefined])
})
