/** The collection and the HTTP file name every endpoint, use no variable that nobody sets, and work one after the other. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { endpoints } from '#endpoints/index.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { buildDocument } from '../../tools/client-types.ts'
import { projectRoot } from '../../tools/generate.ts'
import {
  givenVariables,
  listRequests,
  renderCollection,
  renderHttpFile,
  type SampleRequest,
  savedVariables,
} from '../../tools/request-collections.ts'

const baseUrl = 'http://127.0.0.1:8080/api/v2'
const document = buildDocument(baseUrl)
const requests = listRequests(document)
const texts = { http: renderHttpFile(document, baseUrl), postman: renderCollection(document, baseUrl) }

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startTestGateway()
})
afterAll(() => gateway.stop())

test('every documented endpoint is among the requests', () => {
  const documented = Object.values(document.paths).flatMap(verbs =>
    Object.values(verbs).map(({ operationId }) => operationId),
  )
  expect([...new Set(requests.map(({ operationId }) => operationId))]).toEqual(documented)
  const names = requests.map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
  expect(endpoints.length).toBeGreaterThanOrEqual(documented.length)
  for (const id of documented) expect(texts.http).toContain(`# @name ${id}\n`)
})

test.each(Object.entries(texts))('%s uses only variables that are set', (_, text) => {
  const known = [...givenVariables, ...savedVariables, '$timestamp']
  const used = [...text.matchAll(/\{\{(\$?\w+)/g)].map(([, name = '']) => name)
  const operations = requests.map(({ operationId }) => operationId)
  expect(used.filter(name => !known.includes(name) && !operations.includes(name))).toEqual([])
})

test('the page for people who come from elsewhere names only endpoints that there are', () => {
  const page = readFileSync(join(projectRoot, 'docs/migrate-from.md'), 'utf8')
  const ours = page
    .split('\n')
    .filter(line => line.startsWith('|'))
    .map(line => line.split('|')[2] ?? '')
    .flatMap(cell => [...cell.matchAll(/`(GET|POST|PATCH|DELETE) (\/[\w/{}-]+)/g)])
    .map(([, verb = '', path = '']) => `${verb} ${path.replace(/\{\w+\}/g, '{}')}`)
  const known = Object.entries(document.paths).flatMap(([path, verbs]) =>
    Object.keys(verbs).map(verb => `${verb.toUpperCase()} ${path.replace(/\{\w+\}/g, '{}')}`),
  )
  expect(ours.length).toBeGreaterThan(30)
  expect(ours.filter(call => !known.includes(call))).toEqual([])
})

test('no key and no secret stands in the files', () => {
  for (const text of Object.values(texts)) expect(text).not.toMatch(/tg_(?:test|live)_|whsec_/)
})

const memberAt = (body: unknown, way: string): unknown =>
  way
    .split('.')
    .reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], body)

/** As the programs do it: fills the variables in, sends, and keeps what the request saves. */
async function sendInOrder(wanted: readonly string[]): Promise<readonly (readonly [string, number])[]> {
  const variables = new Map<string, string>([['$timestamp', '1']])
  const fill = (text: string): string =>
    text.replace(/\{\{([\w$]+)\}\}/g, (mark, name) => variables.get(name) ?? mark)
  const answered: (readonly [string, number])[] = []
  for (const wantedName of wanted) {
    const request = requests.find(({ name }) => name === wantedName) as SampleRequest
    const filled = Object.entries(request.query).map(([name, value]) => [name, fill(value)] as const)
    const query = new URLSearchParams(Object.fromEntries(filled))
    const { status, body } = await gateway.call(
      request.verb,
      `${fill(request.path)}${query.size > 0 ? `?${query}` : ''}`,
      request.json === undefined ? undefined : JSON.parse(fill(request.json)),
    )
    answered.push([wantedName, status])
    for (const [name, way] of Object.entries(request.saves)) {
      const value = memberAt(body, way)
      if (value !== undefined) variables.set(name, String(value))
    }
  }
  return answered
}

test('requests that follow each other carry the ids of the answers before', async () => {
  const wanted = [
    'createPayment',
    'createPayment4',
    'createPayment5',
    'getPaymentByPayId',
    'getPaymentByTransId',
    'capturePayment',
    'refundPayment',
    'listOperations',
    'createLink',
    'getLink',
    'createPaymentIntent',
    'getPaymentIntent',
    'cancelPaymentIntent',
    'sendSampleEvent',
    'listEvents',
    'getEvent',
    'listCustomers',
    'getCustomer',
    'listStoredMethods',
    'listPaymentPlans',
    'getPaymentPlan',
    'pausePaymentPlan',
    'resumePaymentPlan',
    'getTestClock',
  ]
  const answered = await sendInOrder(wanted)
  expect(answered).toEqual(wanted.map(id => [id, id === 'createPaymentIntent' ? 201 : 200]))
})
