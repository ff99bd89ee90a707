/**
 * Every row of the catalogue can be paid in the test environment, by the first way of integration it has, up to the
 * status of its default capture method; operations that a row lacks are refused before a provider is called.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { allMethods, defaultCapture } from '#methods/catalogue.ts'
import type { Method, MethodOperation } from '#methods/rows.ts'
import { examine } from '#storage/doctor/doctor.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { type Acquirer, createAcquirer } from '#test/support/providers/acquirer.ts'
import { openShop, type Shop, tokenOf, urls } from '#test/support/shop.ts'
import { findBrokenRules } from '#test/support/simulation/invariants.ts'
import { inLongRun } from '#test/support/simulation/size.ts'

let acquirer: Acquirer
let gateway: TestGateway
let shop: Shop
beforeAll(async () => {
  acquirer = createAcquirer()
  gateway = await startTestGateway({ connectors: acquirer.connectors })
  shop = await openShop(gateway)
})
afterAll(async () => {
  expect(await findBrokenRules(gateway.databaseUrl)).toEqual({})
  expect((await examine(gateway.databaseUrl)).filter(({ found }) => found > 0)).toEqual([])
  await gateway.stop()
})

/** 50: enough to keep the gateway busy, few enough to keep its sockets. */
const atOnce = 50

/** Runs the work on all items, a limited number at a time; results are in the order of the items. */
async function forAll<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  let next = 0
  const take = async (): Promise<void> => {
    for (let at = next++; at < items.length; at = next++) results[at] = await work(items[at] as T)
  }
  await Promise.all(Array.from({ length: atOnce }, take))
  return results
}

const currencyOf = ({ currencies }: Method): string =>
  currencies === '*' || currencies.includes('EUR') ? 'EUR' : String(currencies[0])

/** Data that a request must contain if the merchant collects it. */
const directObjects: Readonly<Record<string, object>> = {
  card: { number: '4111111111111111', expiryDate: '209912', cardholderName: 'Ada Lovelace' },
  directDebit: { account: { number: 'DE89370400440532013000', accountHolderName: 'Ada Lovelace' } },
}

let orders = 0

function toRequest(method: Method, integrationType: string, captureType?: string) {
  const { type, key, countries } = method
  const object = integrationType === 'DIRECT' ? directObjects[key] : undefined
  return {
    transId: `every-${++orders}`,
    amount: { value: 1000, currency: currencyOf(method) },
    urls,
    ...(countries === '*' ? {} : { billingAddress: { country: countries[0] } }),
    ...(captureType ? { captureMethod: { type: captureType } } : {}),
    paymentMethods: { integrationType, type, ...(object ? { [key]: object } : {}) },
  }
}

/** Creates the payment and takes the next step of the answer: acts as the customer, or confirms. */
async function pay(method: Method, integrationType: string, captureType?: string): Promise<string> {
  const request = toRequest(method, integrationType, captureType)
  const { status, body } = await shop.call('POST', '/payments', request)
  if (status !== 200) throw new Error(`${method.type}: ${status} ${JSON.stringify(body)}`)
  if (body.status === 'AUTHORIZE_REQUEST' && body._links) await shop.customer(body.payId, 'approve')
  else if (body.status === 'AUTHORIZE_REQUEST') {
    const { amount } = request
    await shop.act(body.payId, 'confirms', 1000, { amount, ...tokenOf(body) })
  }
  return body.payId
}

/** The status of an approved payment, by its capture type. */
const paidStatus = { AUTOMATIC: 'OK', MANUAL: 'AUTHORIZED', DELAYED: 'CAPTURE_REQUEST' } as const

/** All errors in the record of a paid payment, as texts. */
async function findFaults(method: Method, payId: string): Promise<string[]> {
  const record = await shop.read(payId)
  const capture = defaultCapture(method)
  const captured = capture === 'AUTOMATIC' ? 1000 : 0
  const { authorizedValue, capturedValue } = record.amount
  const approvals = acquirer.ledger.filter(
    message => message.payId === payId && message.approved && message.operation !== 'CAPTURE',
  )
  const faults = [
    record.status === paidStatus[capture] ? '' : `is ${record.status}, not ${paidStatus[capture]}`,
    authorizedValue === 1000 && capturedValue === captured ? '' : `${authorizedValue}/${capturedValue}`,
    record.paymentMethods.type === method.type ? '' : `has become ${record.paymentMethods.type}`,
    approvals.length === 1 ? '' : `was approved ${approvals.length} times`,
  ]
  return faults.filter(fault => fault !== '').map(fault => `${method.type} ${fault}`)
}

/** The traits that determine the course of a payment: rows with equal traits behave the same. */
const traitsOf = (row: Method): readonly string[] => [
  JSON.stringify([row.family, row.flow, Object.hasOwn(directObjects, row.key), row.capture, row.operations]),
  `paid in ${currencyOf(row)}`,
  `paid from ${row.countries === '*' ? 'anywhere' : row.countries[0]}`,
  `held for ${row.authorizationDays}`,
]

/** In the short run every row that has a trait which none before it had, and every fourth of the others. */
function pickRows(rows: readonly Method[]): readonly Method[] {
  const seen = new Set<string>()
  return rows.filter((row, index) => {
    const traits = traitsOf(row)
    const isFirst = traits.some(trait => !seen.has(trait))
    for (const trait of traits) seen.add(trait)
    return isFirst || index % inLongRun(4, 1) === 0
  })
}

test.each(['HOSTED', 'DIRECT'] as const)('200 every method that has %s is paid by it', async integration => {
  const methods = pickRows(allMethods.filter(method => method.integration.includes(integration)))
  expect(methods.length).toBeGreaterThan(50)
  const faults = await forAll(methods, async method => findFaults(method, await pay(method, integration)))
  expect(faults.flat()).toEqual([])
})

/** A request for each operation that a row may lack, and the capture type that the payment needs before it. */
const probes: readonly (readonly [MethodOperation, string, number, 'AUTOMATIC' | 'MANUAL'])[] = [
  ['capture', 'captures', 1000, 'AUTOMATIC'],
  ['partial_capture', 'captures', 400, 'MANUAL'],
  ['reverse', 'reversals', 1000, 'AUTOMATIC'],
  ['increment', 'incrementals', 1, 'MANUAL'],
  ['increment', 'incrementals', 1, 'AUTOMATIC'],
  ['refund', 'refunds', 1000, 'AUTOMATIC'],
  ['partial_refund', 'refunds', 400, 'AUTOMATIC'],
]

/** If a row lacks the second operation, it lacks the first as well: without any capture there is no partial one. */
const whole: Partial<Record<MethodOperation, MethodOperation>> = {
  partial_capture: 'capture',
  partial_refund: 'refund',
}

/** 25 rows of each kind of lack: spread over the whole catalogue, so that every family is met. */
const sampled = 25

test.each(probes)(
  '20200009 where a row lacks %s, before anybody is asked (%s of %i, %s)',
  async (...probe) => {
    const [operation, path, value, capture] = probe
    const needed = whole[operation]
    const lacking = allMethods.filter(
      method =>
        !method.operations.includes(operation) &&
        (needed === undefined || method.operations.includes(needed)) &&
        method.capture.includes(capture),
    )
    const step = Math.max(1, Math.floor(lacking.length / sampled))
    const sample = lacking.filter((_, index) => index % step === 0)
    expect(sample.length).toBeGreaterThan(0)
    const wrong = await forAll(sample, async method => {
      const [integration = 'HOSTED'] = method.integration
      const payId = await pay(method, integration, capture)
      const messages = acquirer.ledger.filter(message => message.payId === payId).length
      const currency = currencyOf(method)
      const { body } = await shop.act(payId, path as 'captures', value, { amount: { value, currency } })
      const sent = acquirer.ledger.filter(message => message.payId === payId).length - messages
      return body.responseCode === '20200009' && sent === 0 ? [] : [`${method.type} ${body.responseCode}`]
    })
    expect(wrong.flat()).toEqual([])
  },
)
