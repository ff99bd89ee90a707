/**
 * Compares our requests with those of another production system to Stripe (the field probe). Every field that only one
 * of the two sends is listed here and explained in the connector's README.
 */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { HttpRequest, Inquiry } from '#connectors/contract.ts'
import { stripe } from '#connectors/stripe/connector.ts'
import {
  accountOf,
  answered,
  authorizationOf,
  captureReference,
  followUpOf,
  intentOf,
  paymentOf,
  sessionOf,
} from '#connectors/stripe/examples.test-support.ts'
import { Secret } from '#domain/secret.ts'
import {
  isObject,
  materialIsThere,
  parseObject,
  readMaterial,
  sayItIsAbsent,
} from '#test/support/stripe/material.ts'
import { scriptHttp } from '#test/support/stripe/scripted-http.ts'

const signal = AbortSignal.timeout(60_000)
const returnUrl = 'https://example.com/return'
const amount = { value: 1000, currency: 'USD' }

interface Sample {
  readonly verb: string
  readonly path: string
  readonly fields: ReadonlySet<string>
  readonly body: URLSearchParams
}

function sampleOf(flow: string, name = 'default'): Sample {
  const probe = parseObject(readMaterial('field-probe.json'))
  const flows = isObject(probe.flows) ? probe.flows : {}
  const cases = isObject(flows[flow]) ? flows[flow] : {}
  const entry = isObject(cases[name]) ? cases[name] : {}
  const sample = isObject(entry.sample) ? entry.sample : {}
  return toSample(String(sample.method), String(sample.url), String(sample.body ?? ''))
}

function toSample(verb: string, url: string, text: string): Sample {
  const { pathname, search } = new URL(url)
  const body = new URLSearchParams(text === '' ? search : text)
  return { verb: verb.toUpperCase(), path: pathname, fields: new Set(body.keys()), body }
}

const ours = ({ verb, url, body }: HttpRequest): Sample => toSample(verb, url, String(body ?? ''))

type Work = (connector: ReturnType<typeof stripe.open>) => Promise<unknown> | undefined

/** Our request for an operation; the first one by default, if there are several. */
async function sendOurs(work: Work, which = 0): Promise<Sample> {
  const http = scriptHttp(({ url }) =>
    answered(url.includes('sessions') ? sessionOf('open') : intentOf('succeeded')),
  )
  const connector = stripe.open(accountOf(), { http, nowMs: () => 0 })
  await work(connector)
  const request = http.requests.at(which)
  if (request === undefined) throw new Error('nothing was sent')
  return ours(request)
}

const card = {
  number: new Secret('4111111111111111'),
  expiryDate: '203003',
  securityCode: new Secret('737'),
}
const account = { number: new Secret('DE89370400440532013000'), holderName: 'John Doe' }
const usd = (type: string) => ({ amount, captureReference, payment: paymentOf(type, { amount, returnUrl }) })
const probed = 'probe_connector_txn_001'

const inquiryOf = (operation: Inquiry['operation'], transactionId: string): Inquiry => {
  const request = followUpOf('REFUND', { amount, authorizationTransactionId: `pi_${probed}` })
  const echo = { reference: request.reference, amount }
  return { ...request, operation, provider: { echo, transactionId }, sentAt: request.at }
}

const operations: readonly (readonly [string, string, string, Work])[] = [
  [
    'get',
    'default',
    `/v1/payment_intents/${probed}`,
    c => c.inquire?.(inquiryOf('AUTHORIZATION', `pi_${probed}`), signal),
  ],
  [
    'refund_get',
    'default',
    '/v1/refunds/probe_refund_id_001',
    c => c.inquire?.(inquiryOf('REFUND', 're_probe_refund_id_001'), signal),
  ],
  [
    'create_customer',
    'default',
    '/v1/customers',
    c =>
      c.authorize(
        authorizationOf('SEPACREDITTRANSFER', {
          payment: paymentOf('SEPACREDITTRANSFER', {
            returnUrl,
            customer: { firstName: 'John', lastName: 'Doe', email: 'test@example.com' },
          }),
        }),
        signal,
      ),
  ],
  [
    'authorize',
    'Card',
    '/v1/payment_intents',
    c => c.authorize(authorizationOf('CARD', { ...usd('CARD'), card }), signal),
  ],
  [
    'authorize',
    'Sepa',
    '/v1/payment_intents',
    c => c.authorize(authorizationOf('DIRECTDEBIT', { ...usd('DIRECTDEBIT'), account }), signal),
  ],
  [
    'capture',
    'default',
    `/v1/payment_intents/${probed}/capture`,
    c =>
      c.capture?.(
        followUpOf('CAPTURE', {
          amount,
          newTotal: 1000,
          final: true,
          authorizationTransactionId: `pi_${probed}`,
        }),
        signal,
      ),
  ],
  [
    'incremental_authorization',
    'default',
    `/v1/payment_intents/${probed}/increment_authorization`,
    c =>
      c.increment?.(
        followUpOf('INCREMENTAL', {
          amount: { value: 100, currency: 'USD' },
          newTotal: 1100,
          authorizationTransactionId: `pi_${probed}`,
        }),
        signal,
      ),
  ],
  [
    'void',
    'default',
    `/v1/payment_intents/${probed}/cancel`,
    c => c.reverse?.(followUpOf('REVERSAL', { amount, authorizationTransactionId: `pi_${probed}` }), signal),
  ],
  [
    'refund',
    'default',
    '/v1/refunds',
    c => c.refund?.(followUpOf('REFUND', { amount, authorizationTransactionId: `pi_${probed}` }), signal),
  ],
  [
    'recurring_charge',
    'default',
    '/v1/payment_intents',
    c =>
      c.authorize(
        authorizationOf('CARD', {
          ...usd('CARD'),
          customerPresent: false,
          credentialOnFile: {
            type: 'RECURRING',
            initial: false,
            initiator: 'MERCHANT',
            providerToken: 'cus_1/pm_1',
          },
        }),
        signal,
      ),
  ],
]

/** Fields that only one of the two sends, and fields whose values differ. Explained in the README. */
const differences: Readonly<Record<string, { ours: string[]; theirs: string[]; values: string[] }>> = {
  'get default': { ours: [], theirs: [], values: [] },
  'refund_get default': { ours: [], theirs: [], values: [] },
  'create_customer default': { ours: ['metadata[tollgate]'], theirs: [], values: [] },
  'authorize Card': {
    ours: ['description', 'metadata[tollgate]', 'metadata[tollgate_capture]'],
    theirs: ['metadata[order_id]', 'payment_method_options[card][request_three_d_secure]'],
    values: ['currency'],
  },
  'authorize Sepa': {
    ours: [
      'description',
      'mandate_data[customer_acceptance][type]',
      'metadata[tollgate]',
      'metadata[tollgate_capture]',
      'payment_method_data[billing_details][name]',
    ],
    theirs: ['metadata[order_id]'],
    values: ['currency'],
  },
  'capture default': { ours: ['expand[0]'], theirs: [], values: [] },
  'incremental_authorization default': { ours: ['expand[0]'], theirs: [], values: [] },
  'void default': { ours: ['expand[0]'], theirs: [], values: [] },
  'refund default': {
    ours: ['metadata[tollgate]'],
    theirs: ['metadata[is_refund_id_as_reference]', 'metadata[order_id]'],
    values: ['payment_intent'],
  },
  'recurring_charge default': {
    ours: ['description', 'metadata[tollgate]', 'metadata[tollgate_capture]', 'payment_method_types[0]'],
    theirs: ['metadata[order_id]', 'return_url'],
    values: ['currency', 'customer', 'payment_method'],
  },
}

test.each(operations)('%s %s', async (flow, name, path, work) => {
  if (!materialIsThere) return sayItIsAbsent()
  const theirs = sampleOf(flow, name)
  const mine = await sendOurs(work)
  expect([mine.verb, mine.path.replace(/(pi|re)_probe/, 'probe')]).toEqual([theirs.verb, path])
  expect(theirs.path).toEqual(path)
  const shared = [...mine.fields].filter(field => theirs.fields.has(field))
  expect({
    ours: [...mine.fields].filter(field => !theirs.fields.has(field)).sort(),
    theirs: [...theirs.fields].filter(field => !mine.fields.has(field)).sort(),
    values: shared.filter(field => mine.body.get(field) !== theirs.body.get(field)).sort(),
  }).toEqual(differences[`${flow} ${name}`])
})

/** Methods for which the probe creates an intent and we open a page: both must name the same method. */
const onThePage: readonly (readonly [string, string])[] = [
  ['Ach', 'ACHDIRECTDEBIT'],
  ['Affirm', 'AFFIRM'],
  ['Afterpay', 'AFTERPAY'],
  ['AliPayRedirect', 'ALIPAY'],
  ['AmazonPayRedirect', 'PROVIDERZ'],
  ['Bacs', 'BACSDIRECTDEBIT'],
  ['BancontactCard', 'BANCONTACT'],
  ['Becs', 'BECSAUSTRALIA'],
  ['Blik', 'BLIK'],
  ['CashappQr', 'CASHAPPPAY'],
  ['Eps', 'EPS'],
  ['Ideal', 'IDEAL'],
  ['Klarna', 'PROVIDERK'],
  ['MultibancoBankTransfer', 'MULTIBANCO'],
  ['Przelewy24', 'PRZELEWY24'],
  ['RevolutPay', 'REVOLUTPAY'],
  ['SepaBankTransfer', 'SEPACREDITTRANSFER'],
  ['WeChatPayQr', 'WECHATPAY'],
]

test.each(onThePage)('%s is the method that we open a page for as %s', async (name, type) => {
  if (!materialIsThere) return sayItIsAbsent()
  const mine = await sendOurs(c => c.authorize(authorizationOf(type, usd(type)), signal), -1)
  expect(mine.path).toBe('/v1/checkout/sessions')
  expect(mine.body.get('payment_method_types[0]')).toBe(
    sampleOf('authorize', name).body.get('payment_method_data[type]'),
  )
})

/** Requests of the probe that we do not send. Explained in the README. */
const notCompared: readonly string[] = [
  'authorize AchBankTransfer',
  'authorize ApplePay',
  'authorize ApplePayDecrypted',
  'authorize BacsBankTransfer',
  'authorize Giropay',
  'authorize GooglePay',
  'create_client_authentication_token',
  'proxy_authorize',
  'proxy_setup_recurring',
  'setup_recurring',
  'token_authorize',
  'tokenize',
]

test('every request of the probe is compared or listed as not sent', () => {
  if (!materialIsThere) return sayItIsAbsent()
  const { flows } = parseObject(readMaterial('field-probe.json'))
  const probes = Object.entries(isObject(flows) ? flows : {}).flatMap(([flow, cases]) =>
    Object.entries(isObject(cases) ? cases : {})
      .filter(([, entry]) => isObject(entry) && entry.status === 'supported')
      .map(([name]) => (name === 'default' ? flow : `${flow} ${name}`)),
  )
  const compared = [
    ...operations.map(([flow, name]) => (name === 'default' ? flow : `${flow} ${name}`)),
    ...onThePage.map(([name]) => `authorize ${name}`),
  ]
  expect(probes.sort()).toEqual([...compared, ...notCompared].sort())
})

test('the README explains every difference', () => {
  const readme = readFileSync(new URL('../../../src/connectors/stripe/README.md', import.meta.url), 'utf8')
  const fields = Object.values(differences).flatMap(found => [
    ...found.ours,
    ...found.theirs,
    ...found.values,
  ])
  const absent = notCompared.map(name => name.replace('authorize ', ''))
  expect([...new Set(fields), ...absent].filter(name => !readme.includes(`\`${name}\``))).toEqual([])
})
