import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { updatedCards } from '#connectors/simulator/card-updates.ts'
import { testBins } from '#connectors/simulator/test-bins.ts'
import { testCards } from '#connectors/simulator/test-numbers.ts'
import { type BinRange, toSpan } from '#domain/cards/bin-ranges.ts'
import { openDatabase } from '#storage/database.ts'
import { RepeatedRange, replaceBins } from '#storage/reference/bins.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { openShop, type Shop } from '#test/support/shop.ts'

let gateway: TestGateway
let shop: Shop
beforeAll(async () => {
  gateway = await startTestGateway()
  shop = await openShop(gateway)
})
afterAll(() => gateway.stop())

const look = (bin: unknown, headers?: Record<string, string>) =>
  shop.call('POST', '/services/binLookup', { bin }, headers)

describe('the ranges of the test environment', () => {
  test.each([...testCards, ...updatedCards, { number: '4000002760003184' }, { number: '4000003800000446' }])(
    '200 know the test card $number',
    async ({ number }) => {
      const answers = await Promise.all([6, 8, 10].map(length => look(number.slice(0, length))))
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    },
  )

  test.each(testBins)('200 $bin of $country', async ({ bin, coBrands = [], ...facts }) => {
    const answer = await look(bin)
    expect(answer).toMatchObject({ status: 200 })
    expect(answer.body).toEqual({ bin, coBrands, ...facts })
  })

  test('200 more digits are more exact', async () => {
    expect((await look('400000')).body.country).toBe('USA')
    expect((await look('40000027')).body.country).toBe('DEU')
    expect((await look('4000002760')).body.country).toBe('DEU')
    // Seven digits may still mean either of the two.
    expect((await look('4000002')).body.country).toBe('USA')
  })
})

test.each(['999999', '9999999999', '000000'])('404 %s', async bin => {
  expect(await look(bin)).toMatchObject({ status: 404, body: { status: 404 } })
})

test.each(['', '41111', '41111111111', '41111x', '411 111', 411111, null, ['411111']])(
  '400 %j',
  async bin => {
    expect(await look(bin)).toMatchObject({ status: 400, body: { errors: { bin: [expect.any(String)] } } })
  },
)

test('200 a repeated request under a key; a 404 does not use the key up', async () => {
  const headers = { 'idempotency-key': 'bin-1' }
  expect((await look('999999', headers)).status).toBe(404)
  const first = await look('411111', headers)
  const again = await look('411111', headers)
  expect([first.status, again.text, again.headers.get('idempotent-replayed')]).toEqual([
    200,
    first.text,
    'true',
  ])
  expect(await look('497010', headers)).toMatchObject({ status: 422, body: { responseCode: '20170002' } })
})

describe('an import', () => {
  const range = (brand: string, first: string, last = first): BinRange => ({
    span: toSpan(first, last),
    brand,
    coBrands: ['other'],
    product: 'P',
    source: 'DEBIT',
    issuer: 'I',
    country: 'AUT',
    currency: 'EUR',
    dccEligible: false,
  })

  async function put(...ranges: BinRange[]): Promise<number> {
    const database = openDatabase(gateway.databaseUrl, () => undefined)
    try {
      return await replaceBins(
        database,
        (async function* () {
          yield* ranges
        })(),
        () => undefined,
      )
    } finally {
      await database.close()
    }
  }

  const brandOf = async (bin: string) => (await look(bin)).body.brand

  test('answers first if it is at least as exact, and is replaced as a whole', async () => {
    expect(
      await put(range('wide', '400000', '499999'), range('same', '424242'), range('eight', '77777777')),
    ).toBe(3)
    expect(await look('77777777')).toMatchObject({
      status: 200,
      body: {
        brand: 'eight',
        coBrands: ['other'],
        product: 'P',
        source: 'DEBIT',
        issuer: 'I',
        country: 'AUT',
        currency: 'EUR',
        dccEligible: false,
      },
    })
    expect(await Promise.all(['450000', '424242', '411111', '7777777'].map(brandOf))).toEqual([
      'wide',
      'same',
      'visa',
      undefined,
    ])
    expect(await put(range('next', '888888'))).toBe(1)
    expect(await Promise.all(['888888', '450000', '77777777', '411111'].map(brandOf))).toEqual([
      'next',
      undefined,
      undefined,
      'visa',
    ])
  })

  test('that breaks changes nothing', async () => {
    await put(range('before', '666666'))
    await expect(put(range('a', '666667'), range('b', '666668'), range('c', '666667'))).rejects.toThrow(
      RepeatedRange,
    )
    const database = openDatabase(gateway.databaseUrl, () => undefined)
    const breaksOff = (async function* () {
      yield range('d', '666669')
      throw new Error('the disk is gone')
    })()
    await expect(replaceBins(database, breaksOff, () => undefined)).rejects.toThrow('the disk is gone')
    await database.close()
    expect(await Promise.all(['666666', '666667', '666669'].map(brandOf))).toEqual([
      'before',
      undefined,
      undefined,
    ])
  })

  test('is the same for every merchant of the environment', async () => {
    await put(range('shared', '555000'))
    const other = await openShop(gateway)
    expect((await other.call('POST', '/services/binLookup', { bin: '555000' })).body.brand).toBe('shared')
  })
})
