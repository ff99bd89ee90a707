/**
 * `GET /payments/links`, `GET /payments/links/{id}` and `PATCH /payments/links/{id}`: reads and changes existing links.
 */

import { collectFaults, nameCursor, oneOf, readList } from '#endpoints/filters.ts'
import { readExpiry } from '#endpoints/payments/payment-command.ts'
import { perform, type Services } from '#endpoints/services.ts'
import { answer, endpoint } from '#http/endpoint.ts'
import { merchantNow } from '#operations/engine.ts'
import { getLink, listLinks, updateLink } from '#operations/finding/links.ts'
import { Type } from '#schemas/parts/type.ts'
import { failedResult } from '#schemas/result.ts'
import {
  type LinkQuery,
  link,
  linkList,
  linkQuery,
  linkStates,
  updateLink as updateLinkSchema,
} from '#schemas/session.ts'

const linkPath = Type.Object({ id: Type.String({ maxLength: 64, description: 'The id of the link.' }) })

const example = {
  id: 'pl_3q2-7wQAAAAAAAAAAAAAAA',
  payId: '019a3f6e44059e3dc8142c3d4e5f6071',
  transId: 'invoice-4001',
  status: 'ACTIVE',
  expirationTime: '2026-03-02T12:00:00.000Z',
  amount: { value: 12000, currency: 'EUR' },
  description: 'Consulting in March',
  creationDate: '2026-03-01T12:00:00.000Z',
  _links: { redirect: { href: 'https://pay.example/pay/Zk3x9Q', type: 'text/html' } },
}

const shared = { tag: 'Payments', version: '2.6.0', access: 'merchant' } as const

const usualLimit = 20

export const listLinksEndpoint = endpoint<Services, undefined, undefined, typeof linkQuery>({
  ...shared,
  verb: 'GET',
  scope: 'read',
  path: '/payments/links',
  operationId: 'listLinks',
  summary: 'List payment links',
  description:
    'The newest first: ACTIVE can be paid, COMPLETED was, EXPIRED and CANCELLED cannot be any more.',
  idempotent: false,
  dialect: 'customer',
  query: linkQuery,
  findFaults: query => collectFaults(() => readStates(query)),
  answers: { 200: linkList },
  examples: [
    {
      summary: 'Links that can be paid',
      after: ['createLink'],
      query: { status: 'ACTIVE', limit: '1' },
      status: 200,
      answer: { data: [example] },
    },
  ],
  async handle({ query, merchant }, { engine }) {
    const { limit, cursor, ...filters } = query
    const request = {
      merchant,
      states: readStates(query),
      limit: Number(limit ?? usualLimit),
      cursor,
      scope: { list: 'links', filters },
    }
    return answer(200, await perform(listLinks(request, engine)).catch(nameCursor))
  },
})

const readStates = ({ status }: LinkQuery) => readList('status', status, oneOf(linkStates))

export const getLinkEndpoint = endpoint<Services, undefined, typeof linkPath>({
  ...shared,
  verb: 'GET',
  scope: 'read',
  path: '/payments/links/{id}',
  operationId: 'getLink',
  summary: 'Retrieve a payment link',
  description: 'Where the link stands, and its address.',
  idempotent: false,
  dialect: 'customer',
  params: linkPath,
  answers: { 200: link },
  examples: [
    {
      summary: 'A link that can be paid',
      after: ['createLink'],
      params: { id: '{id}' },
      status: 200,
      answer: example,
    },
  ],
  async handle({ params, merchant }, { engine }) {
    return answer(200, await perform(getLink(merchant, params.id, engine)))
  },
})

export const updateLinkEndpoint = endpoint<Services, typeof updateLinkSchema, typeof linkPath>({
  ...shared,
  verb: 'PATCH',
  scope: 'payments',
  path: '/payments/links/{id}',
  operationId: 'updateLink',
  summary: 'Change a payment link',
  description: 'Another end or another description, as long as the link is ACTIVE; else 422 20200011.',
  idempotent: true,
  dialect: 'payment',
  params: linkPath,
  body: updateLinkSchema,
  answers: { 200: link, 422: failedResult },
  examples: [
    {
      summary: 'Another text',
      after: ['createLink'],
      params: { id: '{id}' },
      body: { description: 'Consulting in April' },
      status: 200,
      answer: { ...example, description: 'Consulting in April' },
    },
  ],
  async handle({ params, body, merchant, key }, { engine }) {
    const { expirationTime, description } = body
    const expiresAt = readExpiry(expirationTime, merchantNow(engine.clock, merchant))
    return perform(updateLink({ merchant, id: params.id, expiresAt, description, key }, engine))
  },
})
