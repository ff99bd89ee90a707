import { connect } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { CardUpdate, Connector } from '#connectors/contract.ts'
import { simulatedBy } from '#connectors/registry.ts'
import { createSimulator } from '#connectors/simulator/simulator.ts'
import { passesLuhn } from '#domain/cards/card-numbers.ts'
import type { CardReplacement, StoredMethods } from '#operations/customers/stored-methods.ts'
import { startTestGateway, type TestAnswer, type TestGateway } from '#test/support/gateway.ts'
import { openShop, type Shop } from '#test/support/shop.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

let gateway: TestGateway
let shop: Shop
/** Replaces the simulator's answer, for tests in which the schemes fail. */
let answerInstead: Connector['updateCards']
/** A tiny wallet: who stored which card. */
const stored = new Map<string, { cardId: string; expiryDate?: string }>()
const replaced: { merchantId: string; cardId: string; by: CardReplacement }[] = []

const storedMethods: StoredMethods = {
  find: async (merchantId, { gatewayCustomerId, paymentMethodId }) =>
    stored.get(`${merchantId} ${gatewayCustomerId} ${paymentMethodId}`),
  replaceCard: async (merchantId, cardId, by) => void replaced.push({ merchantId, cardId, by }),
}

afterEach(() => {
  answerInstead = undefined
})
beforeAll(async () => {
  const simulator = createSimulator()
  const updateCards: Connector['updateCards'] = async (merchantId, cards) =>
    (answerInstead ?? simulator.updateCards)?.(merchantId, cards) ?? []
  gateway = await startTestGateway({ connectors: simulatedBy({ ...simulator, updateCards }), storedMethods })
  shop = await openShop(gateway)
})
afterAll(() => gateway.stop())

const update = (cards: unknown, headers?: Record<string, string>, who = shop) =>
  who.call('POST', '/services/accountUpdater', { transId: 'update-1', cards }, headers)

const tokenOf = async (number: string, expiryDate?: string, who = shop): Promise<string> =>
  (await who.call('POST', '/services/tokenService', { type: 'CARD', number, expiryDate })).body.token

const cardIdOf = async (pseudoNumber: string): Promise<string> => {
  const [row] = await queryRows<{ card_id: string }>(
    gateway.databaseUrl,
    'SELECT card_id FROM vault_card WHERE merchant_id = $1 AND pseudo_number = $2',
    [shop.merchantId, pseudoNumber],
  )
  return row?.card_id.replaceAll('-', '') ?? ''
}

describe('answers of the schemes', () => {
  test('200 one result for each card, in order', async () => {
    const numbers = {
      same: '4111111111111111',
      replaced: '4000000000003220',
      closed: '4000000000003238',
      renewed: '4000000000003246',
      contact: '4000000000003261',
      absent: '4000000000003279',
    }
    const cards = Object.entries(numbers).map(([reference, number]) => ({
      reference,
      number,
      expiryDate: '202711',
    }))
    const answer = await update(cards)
    expect(answer).toMatchObject({ status: 200 })
    const masked = (number: string) => ({ last4Digits: number.slice(-4), brand: 'visa' })
    const pseudo = (number: string) => expect.stringMatching(new RegExp(`^0[0-9]{12}${number.slice(-3)}$`))
    expect(answer.body).toEqual({
      transId: 'update-1',
      status: 'OK',
      responseCode: '00000000',
      responseDescription: 'Success.',
      cards: [
        {
          reference: 'same',
          pseudoCardNumber: pseudo(numbers.same),
          updateStatus: 'NO_CHANGE',
          ...masked(numbers.same),
        },
        {
          reference: 'replaced',
          pseudoCardNumber: pseudo(numbers.replaced),
          updateStatus: 'CARD_UPDATED',
          newPseudoCardNumber: pseudo('4000000000003253'),
          newExpiryDate: '203512',
          ...masked('4000000000003253'),
        },
        {
          reference: 'closed',
          pseudoCardNumber: pseudo(numbers.closed),
          updateStatus: 'CARD_CLOSED',
          ...masked(numbers.closed),
        },
        {
          reference: 'renewed',
          pseudoCardNumber: pseudo(numbers.renewed),
          updateStatus: 'EXPIRY_UPDATED',
          newExpiryDate: '203211',
          ...masked(numbers.renewed),
        },
        {
          reference: 'contact',
          pseudoCardNumber: pseudo(numbers.contact),
          updateStatus: 'CONTACT_CARDHOLDER',
          ...masked(numbers.contact),
        },
        {
          reference: 'absent',
          pseudoCardNumber: pseudo(numbers.absent),
          updateStatus: 'NOT_FOUND',
          ...masked(numbers.absent),
        },
      ],
    })
    for (const number of [...Object.values(numbers), '4000000000003253'])
      expect(answer.text).not.toContain(number)
  })

  test('200 pseudo numbers get the same answers as their cards, and the new pseudo number pays', async () => {
    const number = await tokenOf('4000000000003220', '202612')
    const { body } = await update([{ number }])
    expect(body.cards[0]).toMatchObject({ pseudoCardNumber: number, updateStatus: 'CARD_UPDATED' })
    const card = { number: body.cards[0].newPseudoCardNumber, expiryDate: undefined }
    const paid = await shop.create('CARD', { card })
    expect(paid).toMatchObject({ status: 200 })
    expect((await shop.read(paid.body.payId)).paymentMethods.card).toMatchObject({
      last4Digits: '3253',
      expiryDate: '203512',
    })
  })

  test('200 the old pseudo number pays with the new date', async () => {
    const number = await tokenOf('4000000000003246', '202612')
    expect((await update([{ number }])).body.cards[0]).toMatchObject({ newExpiryDate: '203112' })
    const paid = await shop.create('CARD', { card: { number, expiryDate: undefined } })
    expect((await shop.read(paid.body.payId)).paymentMethods.card.expiryDate).toBe('203112')
  })

  test('200 NOT_FOUND for unknown pseudo numbers and those of another merchant', async () => {
    const foreign = await tokenOf('4000000000003220', '202612', await openShop(gateway))
    const { body } = await update([{ reference: 'a', number: foreign }, { number: '0123456789012345' }])
    expect(body.cards).toEqual([
      { reference: 'a', pseudoCardNumber: foreign, updateStatus: 'NOT_FOUND' },
      { pseudoCardNumber: '0123456789012345', updateStatus: 'NOT_FOUND' },
    ])
  })

  test('200 the same card twice has two results', async () => {
    const number = '4000056655665556'
    const { body } = await update([{ number }, { number }])
    expect(body.cards[0]).toEqual(body.cards[1])
    expect(body.cards[0].updateStatus).toBe('NO_CHANGE')
  })
})

describe('stored payment methods', () => {
  test('200 are found by their two ids, and get the new card or date', async () => {
    const [changed, renewed] = [await tokenOf('4000000000003220'), await tokenOf('4000000000003246')]
    const [changedId, renewedId] = [await cardIdOf(changed), await cardIdOf(renewed)]
    stored.set(`${shop.merchantId} c-1 m-1`, { cardId: changedId, expiryDate: '202612' })
    stored.set(`${shop.merchantId} c-1 m-2`, { cardId: renewedId, expiryDate: '202701' })
    replaced.length = 0
    const { body } = await update([
      { gatewayCustomerId: 'c-1', paymentMethodId: 'm-1' },
      { reference: 'r', gatewayCustomerId: 'c-1', paymentMethodId: 'm-2' },
      { gatewayCustomerId: 'c-1', paymentMethodId: 'm-3' },
    ])
    expect(body.cards).toMatchObject([
      { pseudoCardNumber: changed, updateStatus: 'CARD_UPDATED' },
      { reference: 'r', pseudoCardNumber: renewed, updateStatus: 'EXPIRY_UPDATED', newExpiryDate: '203201' },
      { updateStatus: 'NOT_FOUND' },
    ])
    const successor = await cardIdOf(body.cards[0].newPseudoCardNumber)
    expect(replaced).toHaveLength(2)
    expect(replaced).toEqual(
      expect.arrayContaining([
        {
          merchantId: shop.merchantId,
          cardId: changedId,
          by: {
            cardId: successor,
            first6Digits: '400000',
            last4Digits: '3253',
            brand: 'visa',
            expiryDate: '203512',
            now: expect.any(Date),
          },
        },
        {
          merchantId: shop.merchantId,
          cardId: renewedId,
          by: {
            cardId: renewedId,
            first6Digits: '400000',
            last4Digits: '3246',
            brand: 'visa',
            expiryDate: '203201',
            now: expect.any(Date),
          },
        },
      ]),
    )
  })

  test('200 get the new card too if the request named its number', async () => {
    replaced.length = 0
    await update([{ number: '4000000000003220' }, { number: '4111111111111111' }])
    expect(replaced.map(({ by }) => by.last4Digits)).toEqual(['3253'])
  })

  test("200 NOT_FOUND for another merchant's", async () => {
    const other = await openShop(gateway)
    stored.set(`${shop.merchantId} c-9 m-9`, { cardId: await cardIdOf(await tokenOf('4111111111111111')) })
    const ids = { gatewayCustomerId: 'c-9', paymentMethodId: 'm-9' }
    expect((await update([ids])).body.cards[0].updateStatus).toBe('NO_CHANGE')
    expect((await update([ids], undefined, other)).body.cards).toEqual([{ updateStatus: 'NOT_FOUND' }])
  })
})

describe('when the schemes do not answer', () => {
  test.each<[string, Connector['updateCards']]>([
    ['throw', () => Promise.reject(new Error('down'))],
    ['answer for too few', async () => []],
  ])('200 FAILED when they %s', async (_, instead) => {
    answerInstead = instead
    const { status, body } = await update([{ number: '4000000000003220' }, { number: '0123456789012345' }])
    expect({ status, cards: body.cards }).toMatchObject({
      status: 200,
      cards: [{ updateStatus: 'FAILED', last4Digits: '3220' }, { updateStatus: 'NOT_FOUND' }],
    })
  })

  test('422 no such connector at all', async () => {
    const { updateCards: _, ...without } = createSimulator()
    const bare = await startTestGateway({ connectors: simulatedBy(without) })
    const answer = await bare.call('POST', '/services/accountUpdater', {
      transId: 't',
      cards: [{ number: '4111111111111111' }],
    })
    expect(answer).toMatchObject({ status: 422, body: { status: 422, responseCode: '20200009' } })
    expect(answer.headers.get('content-type')).toBe('application/problem+json')
    await bare.stop()
  })
})

test.each([
  ['transId', { transId: undefined }],
  ['cards', { cards: undefined }],
  ['cards', { cards: [] }],
  ['cards[0].number', { cards: [{}] }],
  ['cards[0].number', { cards: [{ expiryDate: '203012' }] }],
  ['cards[1].number', { cards: [{ number: '4111111111111111' }, { number: '4111111111111112' }] }],
  ['cards[0].expiryDate', { cards: [{ number: '4111111111111111', expiryDate: '2030' }] }],
  ['cards[0].paymentMethodId', { cards: [{ gatewayCustomerId: 'c' }] }],
  ['cards[0].paymentMethodId', { cards: [{ number: '4111111111111111', paymentMethodId: 'm' }] }],
  [
    'cards[0].number',
    { cards: [{ number: '4111111111111111', gatewayCustomerId: 'c', paymentMethodId: 'm' }] },
  ],
  ['cards[0].securityCode', { cards: [{ number: '4111111111111111', securityCode: '123' }] }],
  ['surprise', { surprise: 1 }],
])('400 names %s', async (field, change) => {
  const body = { transId: 't', cards: [{ number: '4111111111111111' }], ...change }
  const answer = await shop.call('POST', '/services/accountUpdater', body)
  expect(answer).toMatchObject({ status: 400, body: { errors: { [field]: [expect.any(String)] } } })
})

/** Valid numbers of a range that no test number lies in. */
const manyCards = (count: number) =>
  Array.from({ length: count }, (_, index) => {
    const body = `45${String(index).padStart(13, '0')}`
    const check = [...'0123456789'].find(digit => passesLuhn(body + digit))
    return { reference: `customer-${index}`, number: `${body}${check}`, expiryDate: '203012' }
  })

const statusesOf = ({ body }: TestAnswer): Set<CardUpdate['status']> =>
  new Set(body.cards.map(({ updateStatus }: { updateStatus: CardUpdate['status'] }) => updateStatus))

/** 5 minutes: their pseudo numbers are looked up 32 at a time, three hundred times, and a busy machine lets each of them wait. */
const manyLookUpsMs = 300_000

describe('ten thousand cards', () => {
  test('200 fit into one request, and each has its own result', { timeout: manyLookUpsMs }, async () => {
    const cards = manyCards(10_000)
    const answer = await update(cards)
    expect(answer.status).toBe(200)
    expect(answer.body.cards).toHaveLength(10_000)
    expect(answer.body.cards.map(({ reference }: { reference: string }) => reference)).toEqual(
      cards.map(({ reference }) => reference),
    )
    expect(statusesOf(answer)).toEqual(new Set(['NO_CHANGE']))
    const pseudoNumbers = answer.body.cards.map(
      ({ pseudoCardNumber }: { pseudoCardNumber: string }) => pseudoCardNumber,
    )
    expect(new Set(pseudoNumbers).size).toBe(10_000)
    // Again, by those pseudo numbers: each leads back to its card.
    const again = await update(pseudoNumbers.map((number: string) => ({ number })))
    expect(again.body.cards.map(({ last4Digits }: { last4Digits: string }) => last4Digits)).toEqual(
      cards.map(({ number }) => number.slice(-4)),
    )
  })

  test('400 one more does not', async () => {
    const answer = await update(Array.from({ length: 10_001 }, () => ({ number: '4111111111111111' })))
    expect(answer).toMatchObject({ status: 400, body: { errors: { cards: [expect.any(String)] } } })
  })
})

test('results are sent as they come in, a slice at a time', async () => {
  const simulator = createSimulator()
  const gates: (() => void)[] = []
  answerInstead = async (merchantId, cards) => {
    await new Promise<void>(resolve => gates.push(resolve))
    return simulator.updateCards?.(merchantId, cards) ?? []
  }
  const body = JSON.stringify({ transId: 't', cards: manyCards(1_000) })
  const { port } = new URL(gateway.url)
  const socket = connect(Number(port), '127.0.0.1')
  socket.write(
    `POST /api/v2/services/accountUpdater HTTP/1.1\r\nhost: x\r\nauthorization: ${shop.authorization}\r\n` +
      `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  )
  let text = ''
  const heard = async (part: string) => {
    while (!text.includes(part)) text += String(await new Promise(resolve => socket.once('data', resolve)))
  }
  const asked = async (count: number) => {
    while (gates.length < count) await new Promise(resolve => setImmediate(resolve))
  }
  await asked(1)
  gates[0]?.()
  await heard('"reference":"customer-499"')
  // The second slice has not been answered, and the first has left already.
  expect(/^transfer-encoding: chunked\r$/im.test(text)).toBe(true)
  expect(text.includes('customer-500')).toBe(false)
  await asked(2)
  gates[1]?.()
  await heard('"reference":"customer-999"')
  await heard(']}')
  socket.destroy()
})

test('a slice that cannot be made cuts the transfer, and is logged', async () => {
  const simulator = createSimulator()
  let calls = 0
  answerInstead = async (merchantId, cards) => {
    calls += 1
    if (calls === 2) await queryRows(gateway.databaseUrl, 'ALTER TABLE vault_card RENAME TO vault_card_gone')
    return simulator.updateCards?.(merchantId, cards) ?? []
  }
  const cards = manyCards(1_500)
  await expect(update(cards)).rejects.toThrow('other side closed')
  answerInstead = undefined
  await queryRows(gateway.databaseUrl, 'ALTER TABLE vault_card_gone RENAME TO vault_card')
  expect(
    gateway.logged.some(line => line.includes('a fault on our side') && line.includes('updateAccounts')),
  ).toBe(true)
  expect((await update(cards)).body.cards).toHaveLength(1_500)
})

test('200 under a key the whole answer is kept and comes back', async () => {
  const headers = { 'idempotency-key': 'update-1' }
  const cards = [...manyCards(1_200), { number: '4000000000003220' }]
  const first = await update(cards, headers)
  expect(statusesOf(first)).toEqual(new Set(['NO_CHANGE', 'CARD_UPDATED']))
  const again = await update(cards, headers)
  expect([again.status, again.text === first.text]).toEqual([200, true])
  expect(again.headers.get('idempotent-replayed')).toBe('true')
  expect(await update(cards.slice(1), headers)).toMatchObject({
    status: 422,
    body: { responseCode: '20170002' },
  })
})
