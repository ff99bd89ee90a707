/** Random requests for one endpoint: valid, slightly broken and hopeless ones. Their targets are in fuzz-world.ts. */
import { testBins } from '#connectors/simulator/test-bins.ts'
import type { endpoints } from '#endpoints/index.ts'
import { cardPayment } from '#test/support/gateway.ts'
import type { World } from '#test/support/simulation/fuzz-world.ts'
import type { Random } from '#test/support/simulation/random.ts'
import { makeValue, spoil, spoilText } from '#test/support/simulation/schema-values.ts'

export type Endpoint = (typeof endpoints)[number]

export interface Shot {
  readonly endpoint: Endpoint
  readonly verb: string
  /** False: the address is not the endpoint's. */
  readonly aimed: boolean
  readonly path: string
  readonly headers: Record<string, string>
  readonly body: Buffer | undefined
}

interface Draw {
  readonly random: Random
  readonly world: World
}

function fillCustomerPath(path: string, draw: Draw): string {
  const { random, world } = draw
  const { customerId, methodId } = random.pick(world.customers)
  const filled = path.replace('{paymentMethodId}', methodId).replace(/\{\w+\}/, customerId)
  return random.chance(0.7) ? filled : fillPath(path, draw)
}

function makeQuery({ query }: Endpoint, random: Random): string {
  if (query === undefined || random.chance(0.1)) {
    return random.chance(0.05)
      ? random.pick(['?', '?a=1', '?id=%00', '?__proto__=1', '?a[b]=c&a[b]=d', `?${'q'.repeat(500)}=`])
      : ''
  }
  const value = makeValue(query as never, random)
  const spoilt = random.chance(0.4) ? spoil(value, random) : value
  return `?${typeof spoilt === 'object' ? toForm(spoilt) : encodeLoosely(String(spoilt))}`
}

const strangePaths: readonly string[] = [
  '',
  '%00',
  '%ff',
  '..%2f..',
  'a%20b',
  'x'.repeat(300),
  '%F0%9F%98%80',
  '%',
  "'--",
]

const idsOf = (path: string, world: World): readonly string[] => {
  if (path.startsWith('/events')) return world.eventIds
  if (path.startsWith('/payments/links')) return world.linkIds
  if (path.includes('TransId')) return world.transIds
  if (path.startsWith('/payment-plans')) return world.planIds
  return path.startsWith('/payment-intents') ? world.intentIds.slice(-newest) : world.payIds
}

/** 50: some are still open, some have been confirmed by chance. */
const newest = 50

function fillPath(path: string, { random, world }: Draw): string {
  return path.replace(/\{\w+\}/g, () =>
    random.chance(0.7)
      ? random.pick(idsOf(path, world))
      : random.pick([...strangePaths, '0'.repeat(32), 'fuzz-1']),
  )
}

const strangeHeaders: readonly Record<string, string>[] = [
  { 'content-type': 'text/plain' },
  { 'content-type': 'application/json; charset=utf-16' },
  { 'content-type': '' },
  { 'content-encoding': 'gzip' },
  { 'idempotency-key': '' },
  { 'idempotency-key': 'a b' },
  { 'idempotency-key': 'x'.repeat(300) },
  { authorization: 'Basic' },
  { authorization: `Basic ${'A'.repeat(5000)}` },
  { authorization: 'Bearer a.b.c' },
  { traceparent: '00-zz' },
  { accept: 'text/html' },
  { 'x-http-method-override': 'DELETE' },
  { 'x-long': 'y'.repeat(9000) },
]

/** A request to this endpoint, or to its path with another verb, or to a similar path. */
export function aim(endpoint: Endpoint, random: Random, world: World): Shot {
  const draw = { random, world }
  const verb = random.chance(0.97)
    ? endpoint.verb
    : random.pick(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD'])
  const fill = endpoint.access === 'customer' ? fillCustomerPath : fillPath
  const aimed = random.chance(0.98)
  const path = aimed ? fill(endpoint.path, draw) : `/${random.pick(strangePaths)}`
  const query = makeQuery(endpoint, random)
  const headers: Record<string, string> = {
    'content-type': endpoint.accepts ?? 'application/json',
    // The token endpoint needs none, and its failures would count against this client.
    authorization: world.authorization,
    ...(random.chance(0.3) ? { 'idempotency-key': `fuzz-${random.below(40)}` } : {}),
    ...(random.chance(0.1) ? random.pick(strangeHeaders) : {}),
  }
  return { endpoint, verb, aimed, path: `/api/v2${path}${query}`, headers, body: makeBody(endpoint, draw) }
}

function makeBody(endpoint: Endpoint, draw: Draw): Buffer | undefined {
  const { random } = draw
  if (endpoint.body === undefined) return random.chance(0.9) ? undefined : Buffer.from('{}')
  const known = random.chance(0.6) ? fitting[endpoint.operationId] : undefined
  const made = makeValue(endpoint.body as never, random)
  let value = known ? known(draw, made as Readonly<Record<string, unknown>>) : made
  const isForm = endpoint.accepts === 'application/x-www-form-urlencoded'
  const spoils = random.pick(known ? [0, 0, 0, 1, 2] : [0, 1, 1, 1, 2, 4])
  for (let spoilt = 0; spoilt < spoils; spoilt++) value = spoil(value, random)
  const text = isForm ? toForm(value) : (JSON.stringify(value) ?? '')
  return random.chance(0.12) ? spoilText(text, random) : Buffer.from(text)
}

type Members = Readonly<Record<string, unknown>>

/**
 * Values that random generation would hardly ever find: a known bin, valid check digits, a method with its own object.
 */
const fitting: Readonly<Record<string, (draw: Draw, made: Members) => object>> = {
  createPayment: ({ random }, { captureMethod: _, urls: __, ...made }) => ({
    ...made,
    ...cardPayment(),
    transId: `fuzz-card-${random.below(50)}`,
  }),
  confirmPaymentIntent: () => cardPayment().paymentMethods as object,
  ...Object.fromEntries(
    Object.entries(fittingMembers()).map(([operationId, members]) => [
      operationId,
      (draw: Draw, made: Members) => ({ ...made, ...members(draw) }),
    ]),
  ),
}

/** Members that replace randomly made ones. */
function fittingMembers(): Readonly<Record<string, (draw: Draw) => Members>> {
  return {
    // An intent without special requirements fits every confirmation.
    createPaymentIntent: ({ random }) => ({
      ...withoutTerms,
      transId: undefined,
      amount: { value: 1 + random.below(5000), currency: 'EUR' },
      simulationMode: undefined,
      urls: undefined,
    }),
    creditWithoutReference: ({ random }) => ({
      transId: `fuzz-credit-${random.below(1_000_000)}`,
      amount: { value: 1 + random.below(5000), currency: 'EUR' },
      paymentMethods: {
        directDebit: { account: { number: 'DE89370400440532013000', accountHolderName: 'Ada Lovelace' } },
      },
    }),
    createSession: ({ random }) => fittingPage('session', random),
    createLink: ({ random }) => fittingPage('link', random),
    moveTestClock: () => ({ advance: 'PT1H', now: undefined }),
    lookUpBin: ({ random }) => ({ bin: random.pick(testBins).bin }),
    quoteConversion: ({ random }) => ({ bin: random.pick(testBins).bin }),
    exchangeNumber: ({ random }) =>
      random.pick([
        { type: 'CARD', number: '4111111111111111', cardholderName: 'Ada Lovelace' },
        { type: 'CARD', number: '4111111111111112', cardholderName: 'Ada Lovelace' },
        { type: 'IBAN', number: 'DE89370400440532013000', expiryDate: undefined, cardholderName: undefined },
      ]),
    chargePaymentPlan: ({ random }) => ({
      transId: `fuzz-charge-${random.below(1_000_000)}`,
      ...(random.chance(0.5) ? { amount: undefined } : { amount: { value: 1000, currency: 'EUR' } }),
      captureMethod: undefined,
    }),
    createUnscheduledPayment: ({ random, world }) => ({
      transId: `fuzz-mit-${random.below(1_000_000)}`,
      amount: { value: 1 + random.below(5000), currency: 'EUR' },
      captureMethod: undefined,
      paymentMethods: undefined,
      gatewayCustomerId: undefined,
      paymentMethodId: undefined,
      ...random.pick([
        { paymentPlanId: random.pick(world.planIds) },
        { paymentPlanId: undefined, ...onFile({ random, world }) },
      ]),
    }),
    updateAccounts: ({ random }) => ({
      cards: Array.from({ length: 1 + random.below(3) }, () => ({
        number: random.pick(['4111111111111111', '4000000000003220', '4000000000003246', '0123456789012345']),
      })),
    }),
  }
}

/** Random methods, countries and dates hardly ever leave a way to pay. */
const withoutTerms = {
  expirationTime: undefined,
  billingAddress: undefined,
  shipping: undefined,
  browserInfo: undefined,
  captureMethod: undefined,
  fraudData: undefined,
  metadata: undefined,
  order: undefined,
}

/** A page on which something can be paid. */
const fittingPage = (name: string, random: Random): Members => ({
  ...withoutTerms,
  // Few, so that some are taken.
  transId: `fuzz-${name}-${random.below(6)}`,
  amount: { value: 1 + random.below(5000), currency: 'EUR' },
  urls: { return: 'https://shop.example/', cancel: 'https://shop.example/' },
  allowedPaymentMethod: undefined,
  credentialOnFile: undefined,
  paymentMethods: undefined,
})

function onFile({ random, world }: Draw): Members {
  const { customerId, methodId } = random.pick(world.customers)
  return { gatewayCustomerId: customerId, paymentMethodId: methodId }
}

const toForm = (value: unknown): string =>
  typeof value === 'object' && value !== null
    ? Object.entries(value)
        .map(
          ([name, member]) =>
            `${encodeLoosely(name)}=${encodeLoosely(String(JSON.stringify(member) ?? '').replaceAll('"', ''))}`,
        )
        .join('&')
    : String(value)

/** encodeURIComponent throws at half a surrogate pair. */
const encodeLoosely = (text: string): string => encodeURIComponent(text.toWellFormed())
