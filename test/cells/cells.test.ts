/** Several cells behind one gateway: where merchants live, how they are found, and how they move. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openDirectory } from '#cells/directory.ts'
import { moveMerchant } from '#cells/move.ts'
import { prepareCells } from '#cells/prepare.ts'
import type { CellAddress } from '#storage/cells/address.ts'
import { countCell, withClient } from '#storage/cells/create-cell.ts'
import { createDirectoryStore, MerchantUnavailable } from '#storage/cells/directory-store.ts'
import { openDatabase } from '#storage/database.ts'
import { examineCells } from '#storage/doctor/cell-checks.ts'
import { examine } from '#storage/doctor/doctor.ts'
import { type Person, signUp } from '#test/support/browser/console.ts'
import { commandsHere } from '#test/support/command-here.ts'
import { type CellStage, createCellStage } from '#test/support/database/cells.ts'
import { basic, cardPayment, startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

let stage: CellStage
let gateway: TestGateway
beforeAll(async () => {
  stage = await createCellStage()
  gateway = await startTestGateway({ ...stage, cells: stage.cells.slice(1) })
})
afterAll(async () => {
  await gateway.stop()
  await stage.drop()
})

interface Shop {
  readonly merchantId: string
  readonly headers: { readonly authorization: string }
  readonly apiKey: string
}

async function openShop(): Promise<Shop> {
  const { merchantId, apiKey } = await gateway.gateway.merchants.create('A shop')
  return { merchantId, apiKey, headers: { authorization: basic(merchantId, apiKey) } }
}

const pay = (shop: Shop, more: Record<string, string> = {}, change = {}) =>
  gateway.call('POST', '/payments', cardPayment(change), { ...shop.headers, ...more })

const read = (shop: Shop, payId: string) =>
  gateway.call('GET', `/payments/getByPayId/${payId}`, undefined, shop.headers)

/** The cells that have rows of the merchant. */
async function placesOf(merchantId: string): Promise<readonly string[]> {
  const found = await Promise.all(
    stage.cells.map(async ({ name, url }) => {
      const rows = await withClient(
        url,
        async client =>
          (await client.query('SELECT 1 FROM merchant WHERE merchant_id = $1', [merchantId])).rows,
      )
      return rows.length > 0 ? [name] : []
    }),
  )
  return found.flat()
}

const move = (merchantId: string, to: number, more = {}) =>
  moveMerchant({ cells: stage.cells, merchantId, to, ...more })

const cellOf = async (shop: Shop): Promise<CellAddress> => {
  const [name] = await placesOf(shop.merchantId)
  return stage.cells.find(cell => cell.name === name) as CellAddress
}

/** A cell that the shop does not live in. */
async function elsewhere(shop: Shop): Promise<number> {
  const { number } = await cellOf(shop)
  return (number + 1) % stage.cells.length
}

test('new merchants go to the emptiest cell, and each lives in one', async () => {
  // One after the other: those that are made at the same moment may see the same cell as the emptiest.
  const shops = [await openShop(), await openShop(), await openShop()]
  const counts = await Promise.all(stage.cells.map(({ url }) => countCell(url)))
  const merchants = counts.map(count => count.merchants)
  expect(Math.max(...merchants) - Math.min(...merchants)).toBeLessThanOrEqual(1)
  for (const shop of shops) expect(await placesOf(shop.merchantId)).toHaveLength(1)
})

test('a merchant of another database is served: payments, refunds, its key, a token, its events', async () => {
  const shop = await openShop()
  await move(shop.merchantId, 1)
  const { body } = await pay(shop)
  expect(body.status).toBe('OK')
  const refund = { transId: 'back-1', amount: { value: 400, currency: 'EUR' } }
  expect((await gateway.call('POST', `/payments/${body.payId}/refunds`, refund, shop.headers)).status).toBe(
    200,
  )
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: shop.merchantId,
    client_secret: shop.apiKey,
  })
  const token = await gateway.call('POST', '/authorization/oauth/token', String(form), {
    authorization: '',
    'content-type': 'application/x-www-form-urlencoded',
  })
  expect(token, token.text).toMatchObject({ status: 200 })
  const bearer = { authorization: `Bearer ${token.body.access_token}` }
  expect((await gateway.call('GET', '/payments', undefined, bearer)).status).toBe(200)
  const bare = await fetch(`${gateway.url}/api/v2/customers?page=1`, {
    headers: { 'x-api-key': shop.apiKey },
  })
  expect(bare.status).toBe(200)
  expect((await gateway.call('GET', '/events', undefined, shop.headers)).status).toBe(200)
})

/** Every page that the pages of the console under this address link to, with the status of each. */
async function visitAll(person: Person, start: string): Promise<ReadonlyMap<string, number>> {
  const met = new Map<string, number>()
  const waiting = [start]
  for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
    if (met.has(path)) continue
    const answer = await person.get(path)
    met.set(path, answer.status)
    const links = [...(await answer.text()).matchAll(/href="([^"#?]*)"/g)].map(([, link = '']) => link)
    waiting.push(...links.filter(link => link.startsWith(`${start}/`)))
  }
  return met
}

test('the console shows a merchant of another database on every page', async () => {
  const shop = await openShop()
  await move(shop.merchantId, 1)
  const { body } = await pay(shop)
  const person = await signUp(gateway, { role: 'owner', masterKey: stage.key })
  const pages = `/console/m/${shop.merchantId}`
  const met = await visitAll(person, pages)
  expect([...met].filter(([, status]) => status !== 200)).toEqual([])
  expect([...met.keys()]).toEqual(
    expect.arrayContaining([`${pages}/payments/${body.payId}`, `${pages}/providers`, `${pages}/keys`]),
  )
})

test('the wrong key is refused, wherever the merchant lives', async () => {
  const shop = await openShop()
  const wrong = { authorization: basic(shop.merchantId, `${shop.apiKey}x`) }
  expect((await gateway.call('GET', '/events', undefined, wrong)).status).toBe(401)
  expect(
    (await gateway.call('GET', '/events', undefined, { authorization: basic('mer_x', 'y') })).status,
  ).toBe(401)
})

describe('a move', () => {
  test('takes everything along: payments, keys of requests, pages, stored cards, timers', async () => {
    const shop = await openShop()
    const key = { 'idempotency-key': 'before-the-move' }
    const request = cardPayment({ captureMethod: { type: 'MANUAL' } })
    const first = await gateway.call('POST', '/payments', request, { ...shop.headers, ...key })
    expect(first, first.text).toMatchObject({ body: { status: 'AUTHORIZED' } })
    const session = {
      transId: 'session-before-the-move',
      amount: { value: 4999, currency: 'EUR' },
      urls: { return: 'https://shop.example/a', cancel: 'https://shop.example/b' },
    }
    const hosted = await gateway.call('POST', '/payments/sessions', session, shop.headers)
    const page = hosted.body._links?.redirect?.href
    expect(page, hosted.text).toContain('/')
    const moved = await move(shop.merchantId, await elsewhere(shop))
    expect(moved.rows).toBeGreaterThan(5)
    expect(await placesOf(shop.merchantId)).toEqual([moved.to])
    const again = await gateway.call('POST', '/payments', request, { ...shop.headers, ...key })
    expect(again.body.payId).toBe(first.body.payId)
    expect((await read(shop, first.body.payId)).body.status).toBe(first.body.status)
    const shown = await fetch(page)
    expect(shown.status).toBe(200)
    const capture = { transId: 'taken', amount: { value: 700, currency: 'EUR' } }
    const captured = await gateway.call(
      'POST',
      `/payments/${first.body.payId}/captures`,
      capture,
      shop.headers,
    )
    expect(captured, captured.text).toMatchObject({ status: 200, body: { status: 'OK' } })
    const back = await move(shop.merchantId, 0)
    expect(await placesOf(shop.merchantId)).toEqual([back.to])
    expect((await read(shop, first.body.payId)).status).toBe(200)
  })

  test('answers 503 with Retry-After while it lasts, and serves others', async () => {
    const [shop, other] = [await openShop(), await openShop()]
    const { body } = await pay(shop)
    const answers: { status: number; retryAfter: string | null }[] = []
    await move(shop.merchantId, await elsewhere(shop), {
      testCrash: async (point: string) => {
        if (point === 'switched') return
        const answer = await pay(shop)
        answers.push({ status: answer.status, retryAfter: answer.headers.get('retry-after') })
        expect((await pay(other)).status).toBe(200)
      },
    })
    // Once it is held and after each copy, which is repeated if background work wrote a row meanwhile.
    expect(answers.length).toBeGreaterThanOrEqual(2)
    expect(answers).toEqual(answers.map(() => ({ status: 503, retryAfter: '2' })))
    expect((await read(shop, body.payId)).body.status).toBe('OK')
  })

  test.each(['held', 'copied', 'switched'])(
    'that ends after “%s” can be repeated, and nothing is lost',
    async at => {
      const shop = await openShop()
      const { body } = await pay(shop)
      const to = await elsewhere(shop)
      const died = new Error('cut off')
      const cut = move(shop.merchantId, to, {
        testCrash: async (point: string) => {
          if (point === at) throw died
        },
      })
      await expect(cut).rejects.toBe(died)
      // Served again, wherever it lives now.
      expect((await read(shop, body.payId)).body.status).toBe('OK')
      await move(shop.merchantId, to)
      expect(await placesOf(shop.merchantId)).toEqual([stage.cells[to]?.name])
      expect((await read(shop, body.payId)).body.status).toBe('OK')
      expect((await pay(shop)).body.status).toBe('OK')
    },
  )

  test('to where the merchant lives changes nothing', async () => {
    const shop = await openShop()
    const { number } = await cellOf(shop)
    expect(await move(shop.merchantId, number)).toMatchObject({ rows: 0 })
  })

  test('of an unknown merchant, or to an unknown cell, is refused in a sentence', async () => {
    const shop = await openShop()
    await expect(move('mer_nobody', 1)).rejects.toThrow('there is no merchant "mer_nobody"')
    await expect(move(shop.merchantId, 9)).rejects.toThrow('there is no cell number 9')
  })

  test('takes along the cards that customers have just typed into card fields', async () => {
    const shop = await openShop()
    await gateway.gateway.merchants.set(shop.merchantId, { frameOrigins: ['https://shop.example'] })
    const typed = await fetch(`${gateway.url}/pay/fields/${shop.merchantId}`, {
      method: 'POST',
      body: new URLSearchParams({
        ...{ number: '4111 1111 1111 1111', expiry: '12/30', securityCode: '123' },
        cardholderName: 'Ada Lovelace',
      }),
      headers: { accept: 'application/json', 'sec-fetch-site': 'same-origin' },
    })
    const { token } = JSON.parse(await typed.text())
    await move(shop.merchantId, await elsewhere(shop))
    const paymentMethods = { integrationType: 'DIRECT', type: 'CARD', card: { number: token } }
    const paid = await pay(shop, {}, { paymentMethods })
    expect(paid, paid.text).toMatchObject({ status: 200, body: { status: 'OK' } })
    // Used up in the new cell, and not left behind in the old one.
    const keys = await Promise.all(stage.cells.map(({ url }) => queryRows(url, 'SELECT 1 FROM one_time_key')))
    expect(keys.flat()).toEqual([])
  })

  test('is found by a process that was frozen or cut off meanwhile, as soon as it knows that it was', async () => {
    const shop = await openShop()
    const from = await cellOf(shop)
    const database = openDatabase(stage.databaseUrl, () => undefined)
    let isCurrent = true
    const directory = await openDirectory(createDirectoryStore(database), () => isCurrent)
    const { to } = await move(shop.merchantId, await elsewhere(shop))
    expect(await directory.locate(shop.merchantId)).toBe(from.number)
    isCurrent = false
    expect(await directory.locate(shop.merchantId)).toBe(stage.cells.findIndex(({ name }) => name === to))
    // What was under way there finds its payment no more: that is no fault of ours, and may be repeated.
    const underWay = directory.visit(shop.merchantId, async () => {
      await move(shop.merchantId, from.number)
      throw new Error('the payment is gone')
    })
    await expect(underWay).rejects.toThrow(MerchantUnavailable)
    await database.close()
  })

  test('takes faults and the test clock along', async () => {
    const shop = await openShop()
    const rule = { operation: 'AUTHORIZATION', fault: 'decline', times: 1 }
    await gateway.call('POST', '/test/faults', rule, shop.headers)
    await move(shop.merchantId, await elsewhere(shop))
    expect((await gateway.call('GET', '/test/faults', undefined, shop.headers)).body.faults).toHaveLength(1)
    expect((await pay(shop)).body.status).toBe('FAILED')
    expect((await pay(shop)).body.status).toBe('OK')
  })
})

test('rows that a move has left behind are found by the doctor and not served', async () => {
  const shop = await openShop()
  // To cell 0, because a search that takes the copy of the highest cell would find what is left behind.
  const to = 0
  await move(shop.merchantId, 2)
  const from = await cellOf(shop)
  const held = (await pay(shop, {}, { captureMethod: { type: 'MANUAL' } })).body
  const cut = move(shop.merchantId, to, {
    testCrash: async (point: string) => {
      if (point === 'switched') throw new Error('cut off')
    },
  })
  await expect(cut).rejects.toThrow('cut off')
  expect(await placesOf(shop.merchantId)).toHaveLength(2)
  const unwell = async () =>
    (await examineCells(stage.cells)).flatMap(({ examples }) => examples.map(({ merchantId }) => merchantId))
  expect(await unwell()).toEqual([shop.merchantId])
  const { body } = await pay(shop)
  const rows = await queryRows(from.url, `SELECT 1 FROM payment WHERE pay_id = '${body.payId}'`)
  expect(rows).toEqual([])
  const whole = { transId: 'whole', amount: { value: 1000, currency: 'EUR' } }
  const reversal = await gateway.call('POST', `/payments/${held.payId}/reversals`, whole, shop.headers)
  expect(reversal.body.status).toBe('OK')
  const person = await signUp(gateway, { role: 'owner', masterKey: stage.key })
  const found = await (await person.get(`/console/search?q=${held.payId}`)).text()
  expect(found).toContain('REVERSED')
  await move(shop.merchantId, to)
  expect(await unwell()).toEqual([])
})

test('commands about an account find it in any cell, and say what is wrong with it there', async () => {
  const shops: Awaited<ReturnType<typeof openShop>>[] = []
  const places: number[] = []
  // Each goes to the emptiest cell, which earlier tests may have left far behind the others.
  while (places.length < 3 || new Set(places).size < 2) {
    const shop = await openShop()
    shops.push(shop)
    places.push((await cellOf(shop)).number)
  }
  const shop = shops[places.indexOf(Math.max(...places))]
  const commands = commandsHere(stage.databaseUrl, {
    TOLLGATE_CELL_URLS: stage.otherUrl,
    TOLLGATE_MASTER_KEY: stage.keyText,
  })
  const words = ['provider', 'add', shop?.merchantId ?? '', '--connector', 'simulator', '--name', 'Mine']
  const { accountId } = await commands.json(...words)
  // Younger, though its cell is asked first.
  const other = shops[places.indexOf(Math.min(...places))]?.merchantId ?? ''
  await commands.json('provider', 'add', other, '--connector', 'simulator', '--name', 'Later')
  const listed = (await commands.json('provider', 'list')).map(({ name }: { name: string }) => name)
  expect(listed.filter((name: string) => name === 'Mine' || name === 'Later')).toEqual(['Mine', 'Later'])
  const complaints = {
    'settlements import': ['settlements', 'import', accountId, commands.file('lines.csv', '')],
    'bank batch': ['bank', 'batch', '--account', accountId, '--out', commands.folder],
    'provider set': ['provider', 'set', accountId, '--set', 'colour=red'],
  }
  const said: Record<string, string> = {}
  for (const [name, line] of Object.entries(complaints)) said[name] = (await commands.run(...line)).stderr
  expect(said).toEqual({
    'settlements import': expect.stringContaining('cannot read settlement files'),
    'bank batch': expect.stringContaining('belongs to simulator and not to a bank'),
    'provider set': expect.stringContaining('simulator has no setting "colour"'),
  })
  expect((await commands.run('provider', 'show', `acc_${'0'.repeat(24)}`)).stderr).toContain(
    'there is no account',
  )
  commands.remove()
})

test('notices of all cells are one list, the newest first and no more than asked for', async () => {
  const shops = [await openShop(), await openShop(), await openShop()]
  const cells = await Promise.all(shops.map(cellOf))
  for (const [index, { merchantId }] of shops.entries())
    await queryRows(
      cells[index]?.url ?? '',
      `WITH notice AS (INSERT INTO provider_notice (merchant_id, provider_account_id, notice_id, key_version, sealed)
         VALUES ('${merchantId}', 'acc_${'0'.repeat(24)}', gen_random_uuid(), 1, NULL) RETURNING merchant_id, notice_id)
       INSERT INTO notice_item (merchant_id, provider_account_id, item_key, notice_id, position, kind, state, received_at)
       SELECT merchant_id, 'acc_${'0'.repeat(24)}', 'order-' || n, notice_id, n, 'capture', 'EXPIRED',
         now() + (${index} + n * 10) * interval '1 second' FROM notice, generate_series(1, 2) n`,
    )
  const commands = commandsHere(stage.databaseUrl, {
    TOLLGATE_CELL_URLS: stage.otherUrl,
    TOLLGATE_MASTER_KEY: stage.keyText,
  })
  const listed = await commands.json('notices', 'list', '--unmatched', '--limit', '4')
  const [first, second, third] = shops.map(({ merchantId }) => merchantId)
  expect(listed.map(({ merchantId }: { merchantId: string }) => merchantId)).toEqual([
    third,
    second,
    first,
    third,
  ])
  const unknown = await commands.run('notices', 'list', '--account', `acc_${'1'.repeat(24)}`)
  expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('there is no account') })
  commands.remove()
})

test('the doctor finds nothing in any cell', async () => {
  for (const { url } of stage.cells) {
    const unwell = (await examine(url)).filter(({ found }) => found > 0)
    expect(unwell).toEqual([])
  }
})

test('cells that were made once stay, and an installation takes no cell of another', async () => {
  const options = {
    home: { url: stage.databaseUrl, place: 'home' },
    urls: [stage.otherUrl],
    wanted: 1,
    masterKey: stage.masterKey,
    describePlace: () => 'other',
    onProgress: () => undefined,
  }
  expect((await prepareCells(options)).map(({ name }) => name)).toEqual(['cell_00', 'cell_01', 'cell_02'])
  await expect(prepareCells({ ...options, urls: [] })).rejects.toThrow('TOLLGATE_CELL_URLS must name it')
  const stranger = await createCellStage(2)
  const stolen = prepareCells({
    ...options,
    home: { url: stranger.databaseUrl, place: 'home' },
    masterKey: stranger.masterKey,
  })
  await expect(stolen).rejects.toThrow(/belongs to another installation|wrong|key/)
  await stranger.drop()
})
