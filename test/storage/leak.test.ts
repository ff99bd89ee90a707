/**
 * Card numbers, security codes, API keys and webhook secrets go through successes, declines, refusals and faults; then
 * every log line, every answer, every file of the database and its log are searched for them.
 *
 * A number that a merchant writes into its own fields (transId, refNr, metadata, Idempotency-Key and the like) is
 * stored and returned as sent: that is the contract of those fields. Logs and errors are clean even then.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { simulatedBy } from '#connectors/registry.ts'
import { cleanUpAll, clusterOf, makePreparedFolder, open } from '#test/support/database/embedded.ts'
import {
  basic,
  cardPayment,
  startTestGateway,
  type TestAnswer,
  type TestGateway,
} from '#test/support/gateway.ts'
import { createCarelessProvider } from '#test/support/providers/careless-provider.ts'
import { findNeedles, formsOfCard, formsOfText, type Needle } from '#test/support/secrets.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

/** Public test numbers, none of which any other test or example uses here. */
const paid = '4012888888881881'
const declined = '5105105105105100'
const misplaced = '6011000990139424'
const faulty = '3530111333300000'
/** The number that a merchant writes into its own fields. */
const written = '30569309025904'
const cards = [paid, declined, misplaced, faulty, written]
/** Used in look-ups only; they pay nothing. */
const exchanged = '5200828282828210'
const updated = '6250941006528599'
/**
 * Public examples of IBANs: one that pays, one that is declined, one that is paid out to and exchanged, one that is
 * misplaced.
 */
const accounts = [
  'GB82WEST12345698765432',
  'FR1420041010050500013M02606',
  'NL91ABNA0417164300',
  'ES9121000418450200051332',
] as const
const [debited, refusedAccount, exchangedAccount, misplacedAccount] = accounts
const allCards = [...cards, exchanged, updated]
const securityCode = '7391'
/** As a separate word: four digits inside a longer number or an id are coincidence. */
const bareCode = new RegExp(`(?<![0-9A-Fa-f])${securityCode}(?![0-9A-Fa-f])`)

let directory: string
let gateway: TestGateway
let webhookSecret: string
let otherKey: string
/** Requests that are refused before an operation, or malformed: their answers must not echo any input. */
const errors: TestAnswer[] = []
const results: TestAnswer[] = []

const pay = (card: object, more: Record<string, unknown> = {}) =>
  gateway.call('POST', '/payments', cardPayment({ card: { securityCode, ...card }, ...more }))

async function goWell(): Promise<void> {
  for (const more of [{}, { captureMethod: { type: 'MANUAL' } }, { simulationMode: '9998' }]) {
    results.push(await pay({ number: paid }, more))
  }
  const customerInfo = { merchantCustomerId: 'leak', email: 'ada@example.com' }
  const { body: kept } = await pay({ number: paid }, { customerInfo })
  const customer = `/customers/${kept.customerInfo.gatewayCustomerId}`
  for (const path of ['/customers?page=1', customer, `${customer}/paymentMethods`]) {
    results.push(await gateway.call('GET', path))
  }
  const { body } = await pay({ number: paid }, { captureMethod: { type: 'MANUAL' } })
  const capture = { transId: 'x', amount: { value: 1, currency: 'EUR' } }
  results.push(await gateway.call('POST', `/payments/${body.payId}/captures`, capture))
  results.push(await gateway.call('GET', `/payments/getByPayId/${body.payId}`))
  const key = { 'idempotency-key': 'leak-1' }
  const request = cardPayment({ card: { number: paid, securityCode } })
  for (let count = 0; count < 2; count++) results.push(await gateway.call('POST', '/payments', request, key))
  errors.push(await gateway.call('POST', '/payments', { ...request, refNr: 'other' }, key))
}

async function bePicky(): Promise<void> {
  results.push(await pay({ number: declined }, { simulationMode: '0305' }))
  results.push(await pay({ number: declined, expiryDate: '202001' }))
  results.push(await pay({ number: declined }, { simulationMode: '0351', captureMethod: { type: 'MANUAL' } }))
}

const grouped = misplaced.replace(/(.{4})(?=.)/g, '$1 ')
const long = 'x'.repeat(50)

/** The number in the wrong fields, which schemas refuse. */
async function misplace(): Promise<void> {
  const wrong: Record<string, unknown>[] = [
    { card: { number: Number(misplaced) } },
    { card: { number: grouped } },
    { card: { number: `${misplaced}0` } },
    { card: { number: [misplaced] } },
    { card: { number: { value: misplaced } } },
    { card: { number: misplaced, securityCode: Number(securityCode) } },
    { card: { number: misplaced, securityCode: `${securityCode}1` } },
    { card: { number: misplaced, securityCode: [securityCode] } },
    { card: { number: misplaced, securityCode: { code: securityCode } } },
    { card: { number: misplaced, expiryDate: misplaced } },
    { card: { number: misplaced, cardholderName: `${misplaced.repeat(4)}` } },
    { card: { number: misplaced, brand: misplaced.repeat(3) } },
    { card: { number: misplaced, cvv: securityCode } },
    { card: { number: misplaced, [misplaced]: 1 } },
    { card: { number: misplaced, [`${long}${misplaced}`]: 1 } },
    { amount: { value: Number(misplaced), currency: 'EUR' } },
    { amount: { value: misplaced, currency: misplaced } },
    { refNr: Number(misplaced) },
    { refNr: `${long}${misplaced}` },
    { transId: `${long}${misplaced}` },
    { transId: Number(misplaced) },
    { channel: misplaced },
    { channel: grouped },
    { channel: `${long}${misplaced}` },
    { captureMethod: { type: misplaced } },
    { language: misplaced },
    { customerInfo: { email: misplaced } },
    { urls: { webhook: misplaced } },
    { order: { items: [{ name: 'a', quantity: misplaced }] } },
    { metadata: { [`${long}${misplaced}`]: 1 } },
    { metadata: { n: 1e300, m: misplaced } },
    { metadata: misplaced },
    { paymentMethods: misplaced },
    { paymentMethods: { integrationType: misplaced, type: misplaced } },
    { paymentMethods: { integrationType: 'DIRECT', type: misplaced } },
    { [misplaced]: 1 },
    { [grouped]: 1 },
    { [`${long}${misplaced}`]: 1 },
    { securityCode },
  ]
  for (const change of wrong) {
    const answer = await gateway.call('POST', '/payments', cardPayment(change))
    expect(answer.status, JSON.stringify(change)).toBe(400)
    errors.push(answer)
  }
  const texts = [
    `{"transId":"${misplaced}","transId":"${misplaced}"}`,
    `{"${misplaced}":1,"${misplaced}":2}`,
    `{"transId":"${misplaced}\\u0000"}`,
    `{"${misplaced}\\u0000":1}`,
    `{"__proto__":"${misplaced}"}`,
    `{"card":${misplaced}`,
    misplaced,
    `"${misplaced}"`,
  ]
  for (const text of texts) errors.push(await gateway.call('POST', '/payments', text))
}

/** The number in URLs, headers, forms and malformed requests. */
async function misaddress(): Promise<void> {
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const forms = [
    `grant_type=${misplaced}`,
    `grant_type=client_credentials&client_id=${misplaced}&client_secret=${misplaced}`,
    `grant_type=client_credentials&client_id=a&client_secret=b&${misplaced}=1`,
    `grant_type=client_credentials&client_id=a&client_secret=b&${long}${misplaced}=1`,
    `${misplaced}=1&${misplaced}=2`,
    `${long}${misplaced}=1&${long}${misplaced}=2`,
  ]
  for (const text of forms) errors.push(await gateway.call('POST', '/authorization/oauth/token', text, form))
  const encoded = encodeURIComponent(grouped)
  const paths = [
    `/payments/getByTransId/${misplaced}`,
    `/payments/getByTransId/${encoded}`,
    `/payments/getByTransId/x?card=${misplaced}`,
    `/payments/getByTransId/x?${misplaced}=1`,
    `/payments/getByTransId/x?${long}${misplaced}=1`,
    `/payments/getByTransId/${misplaced.repeat(20)}`,
    `/payments/getByPayId/${misplaced}`,
    `/cards/${misplaced}`,
    `/customers/${misplaced}`,
    `/customers?page=${misplaced}`,
    `/customers?page=1&phoneNumber=${misplaced}`,
    `/customers?page=1&${misplaced}=1`,
    `/customers/${misplaced}/paymentMethods/${misplaced}`,
    `/payments/${misplaced}`,
    `/payments/%ff${misplaced}`,
  ]
  for (const path of paths) errors.push(await gateway.call('GET', path))
  const headers: Record<string, string>[] = [
    { authorization: basic(misplaced, misplaced) },
    { authorization: `Bearer ${misplaced}` },
    { authorization: misplaced },
    { 'content-type': misplaced },
    { 'idempotency-key': `${misplaced} ${misplaced}` },
    { traceparent: misplaced, 'x-card': misplaced, 'user-agent': misplaced, surprise: '1' },
  ]
  for (const given of headers) {
    errors.push(await gateway.call('POST', '/payments', cardPayment({ surprise: 1 }), given))
  }
  await sendBroken(`GET /${misplaced} HTTP/9.9\r\n${misplaced}: ${misplaced}\r\n\r\n`)
  await sendBroken(`${misplaced}\r\n\r\n`)
}

/** Sends bytes that are not HTTP. Resolves when the server has closed the connection. */
async function sendBroken(text: string): Promise<void> {
  const socket = connect(Number(new URL(gateway.url).port))
  let said = ''
  socket.on('data', bytes => {
    said += bytes
  })
  socket.end(text)
  await new Promise(resolve => socket.once('close', resolve))
  errors.push({ status: 400, text: said, body: undefined, headers: new Headers() })
}

/** Faults of ours: in a connector, and in the database. */
async function breakDown(): Promise<void> {
  const broken = await pay({ number: faulty }, { simulationMode: '9999' })
  expect(broken.status).toBe(500)
  const lost = await pay({ number: faulty }, { simulationMode: '9998' })
  expect(lost).toMatchObject({ status: 200, body: { status: 'PENDING' } })
  await queryRows(gateway.databaseUrl, 'ALTER TABLE payment RENAME COLUMN live TO living')
  const torn = await pay({ number: faulty })
  expect(torn.status).toBe(500)
  await queryRows(gateway.databaseUrl, 'ALTER TABLE payment RENAME COLUMN living TO live')
  errors.push(broken, torn)
  results.push(lost)
}

const debit = (number: unknown, more: object = {}) =>
  gateway.call('POST', '/payments', {
    ...cardPayment(),
    paymentMethods: {
      integrationType: 'DIRECT',
      type: 'DIRECTDEBIT',
      directDebit: { account: { number, accountHolderName: 'Ada Lovelace' } },
    },
    ...more,
  })

/** Bank accounts and services: numbers in the requests, pseudo numbers in the answers. */
async function useAccounts(): Promise<void> {
  const paidOut = { transId: 'leak-credit', amount: { value: 1, currency: 'EUR' } }
  // Too few consecutive digits for the card number filter, so nothing else masks it in the provider's answer.
  const paymentMethods = { directDebit: { account: { number: exchangedAccount, accountHolderName: 'Ada' } } }
  const direct = await debit(debited)
  expect(direct).toMatchObject({ status: 200 })
  results.push(
    direct,
    await debit(refusedAccount, { simulationMode: '0351' }),
    await gateway.call('GET', `/payments/getByPayId/${direct.body.payId}`),
    await gateway.call('POST', '/payments/refunds', { ...paidOut, paymentMethods }),
  )
  const exchanges = [
    { type: 'CARD', number: exchanged, expiryDate: '203012' },
    { type: 'IBAN', number: exchangedAccount },
  ]
  for (const body of exchanges) {
    const answer = await gateway.call('POST', '/services/tokenService', body, {
      'idempotency-key': body.type,
    })
    expect(answer.status).toBe(200)
    results.push(answer)
  }
  const update = { transId: 'leak-update', cards: [{ number: updated }, { number: paid }] }
  for (const headers of [undefined, { 'idempotency-key': 'leak-update' }]) {
    const answer = await gateway.call('POST', '/services/accountUpdater', update, headers)
    expect(answer.body.cards).toHaveLength(2)
    results.push(answer)
  }
  errors.push(
    await debit(`${misplacedAccount}0`),
    await debit([misplacedAccount]),
    await debit(misplacedAccount, { refNr: Number(misplaced) }),
    await gateway.call('POST', '/services/tokenService', { type: 'IBAN', number: `${misplacedAccount} ` }),
    await gateway.call('POST', '/services/tokenService', { type: 'CARD', number: misplacedAccount }),
    await gateway.call('POST', '/services/tokenService', {
      type: 'CARD',
      number: `${misplaced.slice(0, -1)}5`,
    }),
    await gateway.call('POST', '/services/binLookup', { bin: misplaced }),
    await gateway.call('POST', '/services/dccQuote', { bin: misplaced }),
    await gateway.call('POST', '/services/accountUpdater', {
      transId: 't',
      cards: [{ number: Number(misplaced) }],
    }),
  )
}

/** Numbers in the merchant's own fields. */
async function writeDown(): Promise<void> {
  const more = { transId: written, refNr: written, metadata: { card: written } }
  const answer = await gateway.call('POST', '/payments', cardPayment(more), { 'idempotency-key': written })
  expect(answer).toMatchObject({ status: 200, body: more })
  expect((await gateway.call('GET', `/payments/getByTransId/${written}`)).body).toMatchObject(more)
}

beforeAll(async () => {
  directory = makePreparedFolder()
  const database = await open(directory)
  gateway = await startTestGateway({
    databaseUrl: database.url,
    connectors: simulatedBy(createCarelessProvider()),
    logLevel: 'debug',
  })
  const other = await gateway.gateway.merchants.create('Another shop')
  webhookSecret = other.webhookSecret
  otherKey = other.apiKey
  await goWell()
  await bePicky()
  await misplace()
  await misaddress()
  await breakDown()
  await useAccounts()
  await writeDown()
  await gateway.stop()
  // Stopping flushes everything from memory into the files that are searched.
  await database.stop()
})
afterAll(cleanUpAll)

/** The whole value, and the value without the four characters that may be shown. */
const accountNeedles = (): Needle[] =>
  accounts.flatMap(iban => [
    ...formsOfText(iban, iban),
    ...formsOfText(`the body of ${iban}`, iban.slice(4, -4)),
  ])

const cardNeedles = (numbers: readonly string[]): Needle[] => numbers.flatMap(formsOfCard)

/** The random parts of keys, as text and as decoded bytes. */
const keyNeedles = (): Needle[] =>
  [gateway.apiKey.slice(-43), otherKey.slice(-43), webhookSecret.replace('whsec_', '')].flatMap(
    (text, index) => [
      ...formsOfText(`secret ${index}`, text),
      { name: `secret ${index} as bytes`, bytes: Buffer.from(text, 'base64url') },
    ],
  )

describe('logs', () => {
  test('logs were written, also about faults', () => {
    const text = gateway.logged.join('')
    expect(text).toContain('"level":"info"')
    expect(text).toContain('was refused')
    expect(text).toContain('CONNECTOR_THREW')
  })

  test('hold no card number, no security code and no key in any form', () => {
    const text = gateway.logged.join('')
    const needles = [...cardNeedles(allCards), ...accountNeedles(), ...keyNeedles()]
    expect(findNeedles(Buffer.from(text), needles)).toEqual([])
    expect(text).not.toMatch(bareCode)
    expect(text).not.toContain(basic(gateway.merchantId, gateway.apiKey).slice('Basic '.length))
  })
})

describe('answers', () => {
  test('that refuse a request repeat no card number and no security code', () => {
    expect(errors.length).toBeGreaterThan(60)
    for (const { text } of errors) {
      const needles = [...cardNeedles(allCards), ...accountNeedles(), ...keyNeedles()]
      expect(findNeedles(Buffer.from(text), needles), text).toEqual([])
      expect(text).not.toMatch(bareCode)
    }
  })

  test('about payments show a card masked only', () => {
    for (const { text } of results) {
      const needles = [...cardNeedles(allCards), ...accountNeedles()]
      expect(findNeedles(Buffer.from(text), needles), text).toEqual([])
      expect(text).not.toMatch(bareCode)
    }
  })
})

describe('files of the database', () => {
  const files = () =>
    readdirSync(directory, { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(entry => join(entry.parentPath, entry.name))

  test("are searched in the right places: the merchant's own fields are found in tables and in the WAL", () => {
    const found = files().filter(
      file => findNeedles(readFileSync(file), formsOfText('written', written)).length > 0,
    )
    expect(found.some(file => file.includes('pg_wal'))).toBe(true)
    expect(found.some(file => file.startsWith(join(clusterOf(directory), 'base')))).toBe(true)
  })

  test('hold no card number, no security code and no key in any form', () => {
    const needles = [
      ...cardNeedles(allCards.filter(number => number !== written)),
      ...accountNeedles(),
      ...keyNeedles(),
      { name: 'the security code', bytes: Buffer.from(`"${securityCode}"`) },
      { name: 'the name of the security code', bytes: Buffer.from('securityCode') },
    ]
    const found = files().flatMap(file =>
      findNeedles(readFileSync(file), needles).map(name => `${name} in ${file.slice(directory.length)}`),
    )
    expect(found).toEqual([])
  })
})
