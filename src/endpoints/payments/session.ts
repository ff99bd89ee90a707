/** `POST /payments/sessions`: a checkout page on which the customer chooses how to pay. */
import { beginSession } from '#endpoints/payments/begin-session.ts'
import type { Services } from '#endpoints/services.ts'
import { endpoint } from '#http/endpoint.ts'
import { answerSession } from '#operations/payments/answer.ts'
import { failedResult } from '#schemas/result.ts'
import { createSession, session } from '#schemas/session.ts'

export const sessionEndpoint = endpoint<Services, typeof createSession>({
  verb: 'POST',
  scope: 'payments',
  path: '/payments/sessions',
  operationId: 'createSession',
  summary: 'Open a checkout page',
  description:
    'Makes a payment whose method the customer chooses on our page. Send the customer to `_links.redirect.href`; it ' +
    'comes back to `urls.return` or `urls.cancel` with `PayId` appended. Without `expirationTime` the page lives 24 hours.',
  tag: 'Payments',
  version: '2.5.0',
  access: 'merchant',
  idempotent: true,
  frequent: true,
  dialect: 'payment',
  body: createSession,
  answers: { 200: session, 422: failedResult },
  examples: [
    {
      summary: 'A basket, to be paid by whatever the customer likes',
      body: {
        transId: 'order-3001',
        amount: { value: 4999, currency: 'EUR' },
        urls: { return: 'https://shop.example/thanks', cancel: 'https://shop.example/basket' },
        order: { items: [{ name: 'Felt hat', quantity: 1, grossPrice: 4999 }] },
        language: 'de',
      },
      status: 200,
      answer: {
        payId: '019a3f6e33f49d2cb7031b2c3d4e5f60',
        transId: 'order-3001',
        status: 'AUTHORIZE_REQUEST',
        responseCode: '60000100',
        responseDescription: 'The customer has a step to take.',
        expirationTime: '2026-03-02T12:00:00.000Z',
        _links: { redirect: { href: 'https://pay.example/pay/Zk3x9Q', type: 'text/html' } },
      },
    },
  ],
  handle: (call, services) => beginSession(call, services, { answerWaiting: answerSession }),
})
