/**
 * The requests of the load generator as bytes. Each is built once; before a send only its variable digits are written
 * over, always at the same places, so that making load costs little of the machine that is measured.
 */

export interface Request {
  readonly bytes: Buffer
}

export interface PaymentRequest extends Request {
  /** Makes it the request of this order: its own transId, card and amount. */
  write(order: number): void
}

export interface CaptureRequest extends Request {
  write(payId: string, order: number): void
}

export interface ReadRequest extends Request {
  write(payId: string): void
}

export interface Target {
  readonly port: number
  readonly authorization: string
}

/** 13 digits: with two leading and one check digit they make a card number. */
const orderDigits = 13

const orderMark = '#'.repeat(orderDigits)
const cardMark = '9'.repeat(16)
const amountMark = '8888'
const payIdMark = 'f'.repeat(32)

/** Four digits, different from order to order, so that sums in the database mean something. */
export const amountOf = (order: number): number => 1000 + (order % 9000)

const head = (verb: string, path: string, { authorization }: Target, more = ''): string =>
  `${verb} /api/v2${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: ${authorization}\r\n` +
  `accept: application/json\r\nuser-agent: shop/1.0\r\n${more}\r\n`

const post = (path: string, body: object, target: Target): Buffer => {
  const json = JSON.stringify(body).replace(`"${amountMark}"`, amountMark)
  const more = `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(json)}\r\n`
  return Buffer.from(head('POST', path, target, more) + json, 'latin1')
}

/** About 1 KB, as a shop with a small basket sends it. */
const paymentBody = (captureType: string) => ({
  transId: `order-${orderMark}`,
  refNr: 'invoice-2026-11-0815',
  amount: { value: amountMark, currency: 'EUR' },
  language: 'en',
  captureMethod: { type: captureType },
  paymentMethods: {
    integrationType: 'DIRECT',
    type: 'CARD',
    card: { number: cardMark, expiryDate: '203012', cardholderName: 'Ada Lovelace', securityCode: '123' },
  },
  order: {
    merchantReference: 'basket-77',
    numberOfArticles: 2,
    items: [
      {
        sku: 'TEA-0042',
        name: 'Green tea, 250 g',
        quantity: 2,
        taxRate: 700,
        grossPrice: 1299,
        netPrice: 1214,
      },
      { sku: 'CUP-0007', name: 'Cup, white', quantity: 1, taxRate: 1900, grossPrice: 899, netPrice: 755 },
    ],
  },
  billingAddress: {
    streetName: 'Long Street',
    streetNumber: '12a',
    city: 'Hamburg',
    country: 'DEU',
    postalCode: '20095',
  },
  customerInfo: {
    firstName: 'Ada',
    lastName: 'Lovelace',
    email: 'ada@shop.example',
    phone: { countryCode: '+49', number: '4012345678' },
  },
  metadata: { basket: 'b-17', channel: 'web', campaign: 'autumn' },
})

export function makePaymentRequest(target: Target, captureType: 'AUTOMATIC' | 'MANUAL'): PaymentRequest {
  const bytes = post('/payments', paymentBody(captureType), target)
  const places = {
    order: bytes.indexOf(orderMark),
    card: bytes.indexOf(cardMark),
    amount: bytes.indexOf(amountMark),
  }
  return {
    bytes,
    write(order) {
      bytes.write(digitsOf(order), places.order, 'latin1')
      bytes.write(cardNumberOf(order), places.card, 'latin1')
      bytes.write(String(amountOf(order)), places.amount, 'latin1')
    },
  }
}

/** Of the whole amount of its order. */
export function makeFollowUpRequest(target: Target, operation: 'captures' | 'refunds'): CaptureRequest {
  const body = {
    transId: `order-${orderMark}`,
    refNr: 'parcel-1',
    amount: { value: amountMark, currency: 'EUR' },
    metadata: { parcel: 'p-1' },
  }
  const bytes = post(`/payments/${payIdMark}/${operation}`, body, target)
  const places = {
    payId: bytes.indexOf(payIdMark),
    order: bytes.indexOf(orderMark),
    amount: bytes.indexOf(amountMark),
  }
  return {
    bytes,
    write(payId, order) {
      bytes.write(payId, places.payId, 'latin1')
      bytes.write(digitsOf(order), places.order, 'latin1')
      bytes.write(String(amountOf(order)), places.amount, 'latin1')
    },
  }
}

/** The smallest capture there is, always of the same payment. */
export const makeSmallCapture = (target: Target, payId: string): Buffer =>
  post(`/payments/${payId}/captures`, { transId: 'small', amount: { value: 1, currency: 'EUR' } }, target)

export function makeReadRequest(target: Target): ReadRequest {
  const bytes = Buffer.from(head('GET', `/payments/getByPayId/${payIdMark}`, target), 'latin1')
  const place = bytes.indexOf(payIdMark)
  return { bytes, write: payId => void bytes.write(payId, place, 'latin1') }
}

/** A request without variable digits. */
export const makeGetRequest = (path: string, target: Target): Buffer =>
  Buffer.from(head('GET', path, target), 'latin1')
/** A look-up of eight digits from a list; see bins.ts. */
export function makeBinRequest(target: Target, example: string): Request & { write(bin: number): void } {
  const bytes = post('/services/binLookup', { bin: example }, target)
  const place = bytes.indexOf(example)
  return { bytes, write: bin => void bytes.write(String(bin), place, 'latin1') }
}

const digitsOf = (order: number): string => String(order).padStart(orderDigits, '0')

/** 45…: no number of the simulator begins like this, so every one is approved. The last digit is Luhn's. */
export function cardNumberOf(order: number): string {
  const body = `45${digitsOf(order)}`
  let sum = 0
  for (let i = 0; i < body.length; i += 1) {
    const digit = body.charCodeAt(i) - 48
    // Counted from the check digit, the first of the fifteen stands at an even distance and counts twice.
    const counted = i % 2 === 0 ? digit * 2 : digit
    sum += counted > 9 ? counted - 9 : counted
  }
  return body + ((10 - (sum % 10)) % 10)
}
