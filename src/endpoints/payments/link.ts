/** `POST /payments/links`: the address of a page to pay on, to be sent by e-mail, text message or any other way. */
import { randomBytes } from 'node:crypto'
import { beginSession } from '#endpoints/payments/begin-session.ts'
import type { Services } from '#endpoints/services.ts'
import { endpoint } from '#http/endpoint.ts'
import { answerLink } from '#operations/payments/answer.ts'
import { failedResult } from '#schemas/result.ts'
import { createLink, link } from '#schemas/session.ts'

/** 16 bytes: too long to guess. */
const linkIdBytes = 16

export const linkEndpoint = endpoint<Services, typeof createLink>({
  verb: 'POST',
  scope: 'payments',
  path: '/payments/links',
  operationId: 'createLink',
  summary: 'Make a payment link',
  description:
    'Makes a payment and the address of its page. The link can be paid once, until `expirationTime` (24 hours unless ' +
    'given, 70 days at most); a try that fails leaves it open. With TOKENIZE the card is kept for later payments.',
  tag: 'Payments',
  version: '2.5.0',
  access: 'merchant',
  idempotent: true,
  dialect: 'payment',
  body: createLink,
  answers: { 200: link, 422: failedResult },
  examples: [
    {
      summary: 'An invoice by e-mail',
      body: {
        transId: 'invoice-4001',
        amount: { value: 12000, currency: 'EUR' },
        description: 'Consulting in March',
      },
      status: 200,
      answer: {
        id: 'pl_3q2-7wQAAAAAAAAAAAAAAA',
        payId: '019a3f6e44059e3dc8142c3d4e5f6071',
        transId: 'invoice-4001',
        status: 'ACTIVE',
        expirationTime: '2026-03-02T12:00:00.000Z',
        _links: { redirect: { href: 'https://pay.example/pay/Zk3x9Q', type: 'text/html' } },
      },
    },
  ],
  handle: (call, services) =>
    beginSession(call, services, {
      answerWaiting: answerLink,
      linkId: `pl_${randomBytes(linkIdBytes).toString('base64url')}`,
    }),
})
