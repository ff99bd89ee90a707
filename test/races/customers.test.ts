/**
 * Concurrent changes of customers, in one process and over two: each is created once; deletions and payments in any
 * order.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { examine } from '#storage/doctor/doctor.ts'
import { cardPayment, startTestGateway, type TestAnswer, type TestGateway } from '#test/support/gateway.ts'
import { createAcquirer } from '#test/support/providers/acquirer.ts'
import { findBrokenRules, queryRows } from '#test/support/simulation/invariants.ts'

let left: TestGateway
let right: TestGateway
/** The point at which `left` waits, between the provider's answer and recording it. */
let gate: (() => Promise<void>) | undefined
beforeAll(async () => {
  const { connectors } = createAcquirer()
  const testCrash = (point: string) => (point === 'afterCall' ? gate?.() : undefined)
  left = await startTestGateway({ connectors, testCrash, requestsPerSecond: 100_000 })
  right = await startTestGateway({ connectors, beside: left })
})
afterAll(async () => {
  expect(await findBrokenRules(left.databaseUrl)).toEqual({})
  expect((await examine(left.databaseUrl)).filter(({ found }) => found > 0)).toEqual([])
  for (const gateway of [left, right]) {
    expect(gateway.logged.filter(line => line.includes('"level":"error"'))).toEqual([])
  }
  await right.stop()
  await left.stop()
})

const everywhere = (count: number, send: (at: TestGateway, index: number) => Promise<TestAnswer>) =>
  Promise.all(Array.from({ length: count }, (_, index) => send(index % 2 ? left : right, index)))

const pay = (at: TestGateway, merchantCustomerId: string, change: object = {}) => {
  const customerInfo = { merchantCustomerId, email: 'ada@example.com' }
  return at.call('POST', '/payments', cardPayment({ customerInfo, ...change }))
}

const idOf = ({ status, body, text }: TestAnswer): string => {
  expect(status, text).toBe(200)
  return body.customerInfo.gatewayCustomerId
}

const methodsOf = async (id: string) =>
  (await right.call('GET', `/customers/${id}/paymentMethods`)).body.data as { last4Digits: string }[]

const countStored = async (name: string): Promise<number> =>
  (await queryRows(left.databaseUrl, 'SELECT 1 FROM customer WHERE merchant_customer_id = $1', [name])).length

describe('creation', () => {
  test('one new customer, 60 payments over two processes: one customer, one card', async () => {
    const answers = await everywhere(60, at => pay(at, 'one'))
    expect(new Set(answers.map(idOf)).size).toBe(1)
    expect(await countStored('one')).toBe(1)
    const [first] = answers
    expect(await methodsOf(first ? idOf(first) : '')).toHaveLength(1)
    for (const { body } of answers) {
      const record = (await right.call('GET', `/payments/getByPayId/${body.payId}`)).body
      expect(record.customerInfo.gatewayCustomerId).toBe(body.customerInfo.gatewayCustomerId)
    }
  })

  test('one new customer with ten cards at once keeps all ten', async () => {
    const cards = Array.from({ length: 10 }, (_, index) => withCheckDigit(`45000000000000${index}`))
    const answers = await everywhere(40, (at, index) =>
      pay(at, 'rich', { card: { number: cards[index % 10] } }),
    )
    const ids = new Set(answers.map(idOf))
    expect(ids.size).toBe(1)
    const [id = ''] = ids
    expect(await methodsOf(id)).toHaveLength(10)
  })

  test('twenty new customers, each three times: twenty', async () => {
    const answers = await everywhere(60, (at, index) => pay(at, `crowd-${index % 20}`))
    expect(new Set(answers.map(idOf)).size).toBe(20)
  })

  test('the same name at two merchants is two customers', async () => {
    const { merchantId, apiKey } = await left.gateway.merchants.create('Other')
    const authorization = `Basic ${Buffer.from(`${merchantId}:${apiKey}`).toString('base64')}`
    const answers = await everywhere(20, (at, index) => {
      const customerInfo = { merchantCustomerId: 'shared', email: 'ada@example.com' }
      return at.call(
        'POST',
        '/payments',
        cardPayment({ customerInfo }),
        index % 4 < 2 ? {} : { authorization },
      )
    })
    expect(new Set(answers.map(idOf)).size).toBe(2)
    expect(await countStored('shared')).toBe(2)
  })

  test('a process that settles late finds the customer that the other has created', async () => {
    const opened = Promise.withResolvers<void>()
    const reached = Promise.withResolvers<void>()
    gate = () => {
      reached.resolve()
      return opened.promise
    }
    const late = pay(left, 'overtaken')
    await reached.promise
    gate = undefined
    const id = idOf(await pay(right, 'overtaken'))
    opened.resolve()
    expect(idOf(await late)).toBe(id)
  })
})

describe('deletions', () => {
  test('a customer is deleted during their payments: no payment is lost, and none refers to a missing customer', async () => {
    for (let round = 0; round < 5; round += 1) {
      const name = `leaving-${round}`
      const id = idOf(await pay(left, name))
      const payments = everywhere(16, at => pay(at, name))
      const deletion = right.call('DELETE', `/customers/${id}`)
      expect((await deletion).status).toBe(200)
      const ids = new Set((await payments).map(idOf))
      // Some payments came before the deletion; the others created the same new customer.
      ids.delete(id)
      expect(ids.size).toBeLessThanOrEqual(1)
      expect((await right.call('GET', `/customers/${id}`)).status).toBe(404)
      const after = idOf(await pay(left, name))
      expect(after).not.toBe(id)
      expect(await methodsOf(after)).toHaveLength(1)
    }
  })

  test('a process that has cached a deleted customer creates a new one', async () => {
    const id = idOf(await pay(left, 'remembered'))
    expect(idOf(await pay(right, 'remembered'))).toBe(id)
    await left.call('DELETE', `/customers/${id}`)
    const fresh = idOf(await pay(right, 'remembered'))
    expect(fresh).not.toBe(id)
    expect(idOf(await pay(left, 'remembered'))).toBe(fresh)
  })

  test('a card is destroyed between the two commits of a payment: the customer is created without it', async () => {
    const number = '5105105105105100'
    const id = idOf(await pay(right, 'keeps it first', { card: { number } }))
    const opened = Promise.withResolvers<void>()
    const reached = Promise.withResolvers<void>()
    gate = () => {
      reached.resolve()
      return opened.promise
    }
    const late = pay(left, 'keeps it second', { card: { number } })
    await reached.promise
    gate = undefined
    expect((await right.call('DELETE', `/customers/${id}`)).status).toBe(200)
    opened.resolve()
    const second = idOf(await late)
    expect(await methodsOf(second)).toEqual([])
    // The next payment with the card stores it.
    expect(idOf(await pay(left, 'keeps it second', { card: { number } }))).toBe(second)
    expect(await methodsOf(second)).toMatchObject([{ last4Digits: '5100' }])
  })

  test('one of ten concurrent deletions succeeds', async () => {
    const id = idOf(await pay(left, 'ten times'))
    const answers = await everywhere(10, at => at.call('DELETE', `/customers/${id}`))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(answers.filter(({ status }) => status === 404)).toHaveLength(9)
  })

  test('two customers with the same card are deleted at once: the number is destroyed', async () => {
    const number = '378282246310005'
    const ids = [
      idOf(await pay(left, 'pair-1', { card: { number } })),
      idOf(await pay(left, 'pair-2', { card: { number } })),
    ]
    await Promise.all(ids.map((id, index) => (index ? left : right).call('DELETE', `/customers/${id}`)))
    const rows = await queryRows(
      left.databaseUrl,
      `SELECT v.sealed FROM payment p JOIN vault_card v USING (merchant_id, card_id)
       WHERE p.instrument->>'last4Digits' = '0005'`,
    )
    expect(rows).toEqual([{ sealed: null }, { sealed: null }])
  })

  test('concurrent changes and payments of one customer all take effect', async () => {
    const id = idOf(await pay(left, 'busy'))
    const answers = await everywhere(40, (at, index) =>
      index % 2 ? pay(at, 'busy') : at.call('PATCH', `/customers/${id}`, { lastName: `L${index}` }),
    )
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(40)
    const [row] = await queryRows<{ version: number }>(
      left.databaseUrl,
      `SELECT version FROM customer WHERE merchant_customer_id = 'busy'`,
    )
    expect(row?.version).toBe(21)
  })
})

function withCheckDigit(digits: string): string {
  const sum = [...digits].reverse().reduce((total, digit, index) => {
    const counted = Number(digit) * (index % 2 === 0 ? 2 : 1)
    return total + (counted > 9 ? counted - 9 : counted)
  }, 0)
  return `${digits}${(10 - (sum % 10)) % 10}`
}
