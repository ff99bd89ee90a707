/** Both retrievals over HTTP, and the wall between merchants. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { basic, cardPayment, startTestGateway, type TestGateway } from '#test/support/gateway.ts'

let gateway: TestGateway
let stranger: string
beforeAll(async () => {
  gateway = await startTestGateway()
  const other = await gateway.gateway.merchants.create('Another shop')
  stranger = basic(other.merchantId, other.apiKey)
})
afterAll(() => gateway.stop())

test('200 both ways show the same record', async () => {
  const { body } = await gateway.call('POST', '/payments', cardPayment())
  const byPayId = await gateway.call('GET', `/payments/getByPayId/${body.payId}`)
  const byTransId = await gateway.call('GET', `/payments/getByTransId/${body.transId}`)
  expect(byPayId.status).toBe(200)
  expect(byTransId.text).toBe(byPayId.text)
  expect(byPayId.body.creationDate).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  expect(byPayId.headers.get('content-type')).toBe('application/json')
})

test.each(['a b', 'a/b', 'ä€😀', '100%', 'a?b#c', '%00', '..', "'; --", '𝕏'.repeat(32)])(
  '200 transId %j',
  async transId => {
    const created = await gateway.call('POST', '/payments', cardPayment({ transId }))
    expect(created.status, created.text).toBe(200)
    // fetch resolves dots in a path by itself, whether encoded or not.
    if (transId === '..') return
    const found = await gateway.call('GET', `/payments/getByTransId/${encodeURIComponent(transId)}`)
    expect(found).toMatchObject({ status: 200, body: { payId: created.body.payId, transId } })
  },
)

/** The trace id is the only thing in which two of these may differ. */
const withoutTrace = (text: string) => text.replace(/"traceId":"[0-9a-f]{32}"/, '"traceId":""')

test('404 the same bytes for an unknown payment and for one of another merchant', async () => {
  const { body } = await gateway.call('POST', '/payments', cardPayment({ captureMethod: { type: 'MANUAL' } }))
  const authorization = stranger
  const capture = { transId: 't', amount: { value: 1, currency: 'EUR' } }
  const answers = await Promise.all([
    gateway.call('GET', `/payments/getByPayId/${body.payId}`, undefined, { authorization }),
    gateway.call('GET', `/payments/getByPayId/${'0'.repeat(32)}`),
    gateway.call('GET', '/payments/getByPayId/nonsense'),
    gateway.call('GET', `/payments/getByPayId/${body.payId.toUpperCase()}`),
    gateway.call('GET', `/payments/getByTransId/${body.transId}`, undefined, { authorization }),
    gateway.call('GET', '/payments/getByTransId/never-was'),
    gateway.call('POST', `/payments/${body.payId}/captures`, capture, { authorization }),
    gateway.call('POST', `/payments/${'0'.repeat(32)}/captures`, capture),
  ])
  for (const answer of answers) {
    expect(answer.status).toBe(404)
    expect(answer.headers.get('content-type')).toBe('application/problem+json')
    expect(answer.headers.get('traceparent')).toContain(answer.body.traceId)
    expect(withoutTrace(answer.text)).toBe(withoutTrace(answers[0].text))
  }
  const names = (headers: Headers) => [...headers.keys()].sort()
  expect(names(answers[0].headers)).toEqual(names(answers[1].headers))
  const record = await gateway.call('GET', `/payments/getByPayId/${body.payId}`)
  expect(record.body.operations).toHaveLength(1)
})

test('404 for a stranger’s request with an Idempotency-Key, which leaves no trace with the owner', async () => {
  const { body } = await gateway.call('POST', '/payments', cardPayment({ captureMethod: { type: 'MANUAL' } }))
  const capture = { transId: 't', amount: { value: 1000, currency: 'EUR' } }
  const path = `/payments/${body.payId}/captures`
  const key = { 'idempotency-key': 'shared' }
  expect((await gateway.call('POST', path, capture, { ...key, authorization: stranger })).status).toBe(404)
  expect((await gateway.call('POST', path, capture, key)).status).toBe(200)
  expect((await gateway.call('POST', path, capture, { ...key, authorization: stranger })).status).toBe(404)
})

test('400 a query where none is expected', async () => {
  const answer = await gateway.call('GET', '/payments/getByTransId/x?expand=all')
  expect(answer).toMatchObject({ status: 400, body: { field: 'expand' } })
})
