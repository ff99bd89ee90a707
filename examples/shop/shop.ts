/**
 * A shop in one file: basket → checkout (redirect, embedded, card fields or link) → return, verified → webhooks → ship =
 * capture → refund, and a subscription. Three pages, no framework, orders in memory: read it, then write your own.
 */
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import {
  PaymentFailedError,
  type PaymentRecord,
  Tollgate,
  TollgateError,
  verifyWebhook,
} from '../../clients/typescript/src/index.ts'

export interface ShopSettings {
  /** Of the gateway, such as http://127.0.0.1:8080. */
  readonly gateway: string
  readonly merchantId: string
  readonly apiKey: string
  readonly webhookSecret: string
}

const hat = { name: 'One felt hat', amount: { value: 4999, currency: 'EUR' } }
const price = (value: number): string => `€${(value / 100).toFixed(2)}`

export function createShop(settings: ShopSettings): Server {
  const tollgate = new Tollgate({
    baseUrl: `${settings.gateway}/api/v2`,
    merchantId: settings.merchantId,
    apiKey: settings.apiKey,
  })
  /** The newest event of each payment: an event may arrive twice, or after a later one. */
  const heard = new Map<string, { readonly type: string; readonly sequence: number }>()

  /** What the customer is asked to pay. The money is reserved now and taken when the hat is shipped. */
  function order(origin: string, subscribes: boolean) {
    return {
      transId: newOrder(),
      amount: hat.amount,
      order: { description: hat.name },
      urls: { return: `${origin}/order`, cancel: `${origin}/`, webhook: `${origin}/webhooks` },
      ...(subscribes
        ? {
            credentialOnFile: {
              type: 'RECURRING' as const,
              initialPayment: true,
              recurring: { frequency: 'MONTHLY' as const, useCase: 'FIXED' as const },
            },
            customerInfo: { merchantCustomerId: `customer-${randomUUID()}`, email: 'ada@example.com' },
            allowedPaymentMethod: ['CARD' as const],
          }
        : { captureMethod: { type: 'MANUAL' as const } }),
    }
  }

  /**
   * The payId of an order, paid at most once: its transId is taken if the button was pressed twice, and an outcome that is
   * not known has no payId. In both cases the gateway knows what became of it.
   */
  async function paidOnce<T extends { readonly payId?: string }>(transId: string, payment: Promise<T>) {
    const made = await payment.catch((error: unknown) => {
      if (error instanceof PaymentFailedError && error.responseCode === '20170001') return undefined
      throw error
    })
    return made?.payId === undefined ? tollgate.payments.getByTransId(transId) : made
  }

  async function checkOut(form: URLSearchParams, origin: string): Promise<Answer> {
    const how = form.get('how')
    if (how === 'link') {
      const { urls, ...rest } = order(origin, false)
      const link = await tollgate.links.create({ ...rest, urls: { webhook: urls.webhook } })
      const { href } = link._links.redirect
      return page('Send this link', `<p><a id="link" href="${escapeText(href)}">${escapeText(href)}</a></p>`)
    }
    if (how === 'fields') return page('Your card', cardFields(settings))
    const session = await tollgate.payments.createSession(order(origin, how === 'subscription'))
    const { href } = session._links.redirect
    if (how !== 'embedded') return { status: 303, headers: { location: href } }
    return page(
      'Checkout',
      `<div id="pay" data-session="${escapeText(href)}"></div>
<script src="${settings.gateway}/js/tollgate.js"></script>
<script>tollgate.checkout({ session: document.querySelector('#pay').dataset.session }).mount('#pay')</script>`,
    )
  }

  /** The card fields have given the browser a token for the card; it pays once. The number was never here. */
  async function payByToken(form: URLSearchParams, origin: string): Promise<Answer> {
    const transId = form.get('order') ?? ''
    const payment = tollgate.payments.create({
      ...order(origin, false),
      transId,
      paymentMethods: {
        integrationType: 'DIRECT',
        type: 'CARD',
        card: { number: form.get('token') ?? '' },
      },
    })
    const paid = await paidOnce(transId, payment)
    // With 3-D Secure the customer goes to the gateway's page first, and comes back to /order from there.
    const next = '_links' in paid ? paid._links?.redirect.href : undefined
    return { status: 303, headers: { location: next ?? `/order?PayId=${paid.payId}` } }
  }

  /** What stands in the address proves nothing: the payment is read from the gateway before anything is said. */
  async function showOrder(payId: string): Promise<Answer> {
    const payment = await tollgate.payments.get(payId)
    const { capturedValue = 0, refundedValue = 0 } = payment.amount ?? {}
    return page(
      'Your order',
      `<p id="status">${payment.status}</p>
<p>Captured <span id="captured">${price(capturedValue)}</span>, refunded <span id="refunded">${price(refundedValue)}</span></p>
<p>Last event: ${escapeText(heard.get(payId)?.type ?? 'none yet')}</p>
${buttons(payment)}`,
    )
  }

  async function act(form: URLSearchParams): Promise<Answer> {
    const payId = form.get('payId') ?? ''
    const { transId = '', paymentPlanId = '' } = await tollgate.payments.get(payId)
    const request = { transId, amount: hat.amount }
    if (form.get('act') === 'ship') await tollgate.payments.capture(payId, request)
    if (form.get('act') === 'refund') await tollgate.payments.refund(payId, request)
    if (form.get('act') === 'next') {
      // One charge follows this payment, however often the button is pressed.
      const following = `hat-after-${payId}`
      const next = await paidOnce(following, tollgate.plans.charge(paymentPlanId, { transId: following }))
      return { status: 303, headers: { location: `/order?PayId=${next.payId}` } }
    }
    return { status: 303, headers: { location: `/order?PayId=${payId}` } }
  }

  /** Answer at once, work afterwards; an event whose signature does not fit is refused. */
  function receive(body: string, headers: IncomingMessage['headers']): Answer {
    const { event } = verifyWebhook({ body, headers, secret: settings.webhookSecret })
    if (event.sequence > (heard.get(event.payId)?.sequence ?? 0)) heard.set(event.payId, event)
    return { status: 204 }
  }

  async function answer(request: IncomingMessage): Promise<Answer> {
    const origin = `http://${request.headers.host}`
    const url = new URL(request.url ?? '/', origin)
    const body = request.method === 'POST' ? await text(request) : ''
    switch (`${request.method} ${url.pathname}`) {
      case 'GET /':
        return page('Hats', basket)
      case 'POST /checkout':
        return checkOut(new URLSearchParams(body), origin)
      case 'POST /pay':
        return payByToken(new URLSearchParams(body), origin)
      case 'GET /order':
        return showOrder(url.searchParams.get('PayId') ?? '')
      case 'POST /order':
        return act(new URLSearchParams(body))
      case 'POST /webhooks':
        return receive(body, request.headers)
      default:
        return { ...page('Not here', '<p><a href="/">To the hats</a></p>'), status: 404 }
    }
  }

  return createServer((request, response) => {
    answer(request).then(
      told => send(response, told),
      (error: unknown) => {
        const advice = error instanceof TollgateError ? ` Next: ${error.advice ?? 'ask us'}.` : ''
        send(response, {
          ...page('That did not work', `<p>${escapeText(String(error))}${advice}</p>`),
          status: 400,
        })
      },
    )
  })
}

interface Answer {
  readonly status: number
  readonly headers?: Record<string, string>
  readonly body?: string
}

const basket = `<p>${hat.name}, ${price(hat.amount.value)}</p>
<form method="post" action="/checkout">
  <button name="how" value="redirect">Pay on the gateway's page</button>
  <button name="how" value="embedded">Pay here</button>
  <button name="how" value="fields">Pay by card here</button>
  <button name="how" value="link">Get a payment link</button>
  <button name="how" value="subscription">A hat every month</button>
</form>`

/** The shop's own id of an order, made once: the same order sent twice is one payment. */
const newOrder = (): string => `hat-${randomUUID()}`

/** The shop's own form around the gateway's card fields: only the token comes here. */
const cardFields = ({ gateway, merchantId }: ShopSettings): string => `<form method="post" action="/pay">
  <div id="card"></div>
  <input type="hidden" name="order" value="${newOrder()}">
  <input type="hidden" name="token">
  <p id="problem" role="alert"></p>
  <button>Pay ${price(hat.amount.value)}</button>
</form>
<script src="${gateway}/js/tollgate.js"></script>
<script>
  const form = document.querySelector('form')
  const card = tollgate.fields({ merchant: '${merchantId}', onSubmit: () => form.requestSubmit() }).mount('#card')
  form.addEventListener('submit', async event => {
    event.preventDefault()
    try {
      form.elements.token.value = (await card.tokenize()).token
      form.submit()
    } catch (error) {
      document.querySelector('#problem').textContent = error.message
    }
  })
</script>`

function buttons({ payId, status, amount, paymentPlanId }: PaymentRecord): string {
  const { capturedValue = 0, refundedValue = 0 } = amount ?? {}
  const acts = [
    ...(status === 'AUTHORIZED' ? [['ship', 'Ship it (capture)']] : []),
    ...(capturedValue > refundedValue ? [['refund', 'Take it back (refund)']] : []),
    ...(paymentPlanId && capturedValue > 0 ? [['next', 'Charge the next month']] : []),
  ]
  const shown = acts
    .map(([value, words]) => `<button name="act" value="${value}">${words}</button>`)
    .join(' ')
  return `<form method="post" action="/order"><input type="hidden" name="payId" value="${payId}">${shown}</form>`
}

const escapeText = (words: string): string =>
  words.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')

const page = (title: string, body: string): Answer => ({
  status: 200,
  headers: { 'content-type': 'text/html; charset=utf-8' },
  body: `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${title}</title><style>body{font:1rem/1.5 system-ui;max-width:42rem;margin:2rem auto;padding:0 1rem}</style>
<h1>${title}</h1>${body}</html>`,
})

function send(response: ServerResponse, { status, headers = {}, body = '' }: Answer): void {
  response.writeHead(status, headers).end(body)
}
