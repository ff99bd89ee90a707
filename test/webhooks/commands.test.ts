/** listen (as a process), trigger, events replay and webhook-secret rotate, against a running gateway. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { eventTypeNames } from '#domain/event-types.ts'
import { waitUntil } from '#storage/embedded/processes.ts'
import { makeEmptyFolder, tollgateHere } from '#test/support/command-line.ts'
import { projectRoot } from '#test/support/docs/docs.ts'
import { masterKeyOf, startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { type Receiver, startReceiver } from '#test/support/receiver.ts'
import { openShop, type Shop } from '#test/support/shop.ts'

let gateway: TestGateway
let shop: Shop
let receiver: Receiver
const folder = makeEmptyFolder()
beforeAll(async () => {
  gateway = await startTestGateway()
  receiver = await startReceiver()
})
beforeEach(async () => {
  shop = await openShop(gateway)
})
afterAll(async () => {
  await gateway.stop()
  await receiver.close()
  rmSync(folder, { recursive: true, force: true })
})

const env = () => ({
  TOLLGATE_DATA: folder,
  TOLLGATE_API: `${gateway.url}/api/v2`,
  TOLLGATE_MERCHANT: shop.merchantId,
  TOLLGATE_KEY: shop.apiKey,
})

describe('trigger', () => {
  const statuses: Record<string, string> = {
    'payment.captured': 'OK 00000000',
    'payment.failed': 'FAILED 21000703',
    'capture.succeeded': 'OK 00000000',
    'capture.failed': 'AUTHORIZED 21000305',
    'payment.lapsed': 'REVERSED 00000000',
    'debit.announced': 'OK 00000000',
    'plan.cancelled': 'OK 00000000',
    'refund.failed': 'OK 21000305',
    'debit.returned': 'OK 23000351',
    'plan.charged': 'OK 00000000',
    'dispute.opened': 'OK 00000000',
  }

  test('shows every type of event', async () => {
    const { stdout } = await tollgateHere(['trigger', '--help'], env())
    for (const type of eventTypeNames) expect(stdout).toContain(`  ${type} `)
  })

  test.each(Object.entries(statuses))(
    '%s makes a payment whose event has status %s',
    async (name, expected) => {
      const before = receiver.heard.length
      const { code, stdout, stderr } = await tollgateHere(
        ['trigger', name, '--webhook-url', receiver.url],
        env(),
      )
      expect(code, stderr).toBe(0)
      const payId = /^payId: (\w{32})$/m.exec(stdout)?.[1]
      expect(stdout).toMatch(new RegExp(`payment ${expected}\\) DELIVERED ${receiver.url}/, last answer 204`))
      const heard = receiver.heard.slice(before).map(({ body }) => body)
      expect(heard.map(body => `${body.type} ${body.payId} ${body.status} ${body.responseCode}`)).toEqual([
        `${name} ${payId} ${expected}`,
      ])
      expect(heard.map(body => 'paymentPlanId' in body)).toEqual([name.startsWith('plan.')])
      const type = name.startsWith('debit.') ? 'DIRECTDEBIT' : 'CARD'
      expect(heard.map(body => body.paymentMethods)).toEqual([[{ type }]])
      expect(stderr).toContain('moving the clock')
    },
  )

  test('without an address it says why nothing was sent', async () => {
    const { stdout } = await tollgateHere(['trigger', 'payment.captured'], env())
    expect(stdout).toMatch(/payment OK 00000000\) FAILED, not sent: neither the payment/)
  })

  test.each([
    ['dispute.opened', 'OPEN', 1000],
    ['dispute.won', 'WON', 0],
    ['dispute.lost', 'LOST', 1000],
  ])('%s is about a dispute that exists and is %s', async (name, status, disputedValue) => {
    const before = receiver.heard.length
    const { code, stderr } = await tollgateHere(['trigger', name, '--webhook-url', receiver.url], env())
    expect(code, stderr).toBe(0)
    const event = receiver.heard.slice(before).find(({ body }) => body.type === name)?.body
    expect(event).toMatchObject({ amount: { disputedValue } })
    const { body } = await shop.call('GET', `/disputes/${event?.disputeId}`)
    expect(body).toMatchObject({ payId: event?.payId, status, amount: { value: 1000 } })
  })

  test.each(['payment.exploded', 'payment.completed'])(
    'exit code 2 for %s, which is not a type, with the list of types',
    async name => {
      const { code, stderr } = await tollgateHere(['trigger', name], env())
      expect(code).toBe(2)
      expect(stderr).toContain('It must be one of payment.authorized, ')
    },
  )
})

describe('listen', () => {
  const startListening = async (words: readonly string[], settings: Record<string, string> = env()) => {
    const child = spawn(process.execPath, ['bin/tollgate.js', 'listen', ...words], {
      cwd: projectRoot,
      env: { PATH: process.env.PATH, ...settings },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let printed = ''
    child.stdout.setEncoding('utf8').on('data', chunk => {
      printed += chunk
    })
    const exited = once(child, 'exit').then(([code]) => code)
    await waitUntil(() => /^webhook secret: /m.test(printed), 30_000)
    // The command reads the list once before events count as new.
    return { child, exited, read: () => printed }
  }
  const secretOf = (printed: string) => /^webhook secret: (\S+)$/m.exec(printed)?.[1] ?? ''

  test('forwards new events, signed with the printed secret, and shows the answer', async () => {
    receiver.behave((_, response) => {
      response.writeHead(200).end('thanks a lot')
      return undefined
    })
    const before = receiver.heard.length
    const listening = await startListening(['--forward-to', `${receiver.url}/local`, '--count', '1'])
    // The first read cannot be observed from outside, so events are made until one is new.
    const making = (async () => {
      while (receiver.heard.length === before) {
        await shop.create('CARD', { card: { number: '4000000000000101' } })
        await shop.advance('PT11S')
      }
    })()
    expect(await listening.exited).toBe(0)
    await making
    const heard = receiver.heard[before]
    expect(heard?.path).toBe('/local')
    const headers = Object.fromEntries(
      Object.entries(heard?.headers ?? {}).map(([name, value]) => [name, String(value)]),
    )
    expect(new Webhook(secretOf(listening.read())).verify(heard?.raw ?? '', headers)).toEqual(heard?.body)
    expect(listening.read()).toMatch(
      /OK 00000000 {2}transId \S+ {2}payId \w{32} {2}sequence 1\n {2}200 taken in \d+ ms: thanks a lot\n/,
    )
    receiver.behave(() => 204)
  })

  test('prints the same secret every time, and ends with Ctrl-C', async () => {
    const secrets: string[] = []
    for (let run = 0; run < 2; run += 1) {
      const listening = await startListening(['--forward-to', 'http://localhost:1/'])
      secrets.push(secretOf(listening.read()))
      listening.child.kill('SIGINT')
      expect(await listening.exited).toBe(0)
    }
    expect(secrets[0]).toMatch(/^whsec_/)
    expect(secrets[0]).toBe(secrets[1])
  })

  test('uses the demo merchant of the data folder, and its real secret', async () => {
    const { merchantId, apiKey, webhookSecret } = await gateway.gateway.merchants.create('Demo')
    writeFileSync(join(folder, 'demo.json'), JSON.stringify({ merchantId, apiKey, webhookSecret }))
    const settings = { TOLLGATE_DATA: folder, TOLLGATE_API: `${gateway.url}/api/v2` }
    const listening = await startListening(['--forward-to', 'http://localhost:1/'], settings)
    expect(secretOf(listening.read())).toBe(webhookSecret)
    expect(listening.read()).toContain(merchantId)
    listening.child.kill('SIGTERM')
    expect(await listening.exited).toBe(0)
    rmSync(join(folder, 'demo.json'))
  })

  test.each<[string, Record<string, string>, RegExp]>([
    ['no gateway', { TOLLGATE_API: 'closed' }, /no gateway answers at .* \(ECONNREFUSED\); start it/],
    ['the wrong key', { TOLLGATE_KEY: 'wrong' }, /does not know these credentials/],
    ['the wrong address', { TOLLGATE_API: 'x' }, /no gateway answers at x/],
  ])('exit code 1 and a sentence for %s', async (_, change, sentence) => {
    const closed = await startReceiver()
    await closed.close()
    const api = change.TOLLGATE_API === 'closed' ? { TOLLGATE_API: closed.url } : {}
    const { code, stderr } = await tollgateHere(['listen', '--forward-to', 'http://localhost:1/'], {
      ...env(),
      ...change,
      ...api,
    })
    expect(code).toBe(1)
    expect(stderr).toMatch(sentence)
    expect(stderr).not.toContain('\n    at ')
  })
})

describe('events replay', () => {
  test('sends events since that time again, oldest first', async () => {
    await gateway.gateway.merchants.set(shop.merchantId, { webhookUrl: receiver.url })
    const raise = async () => {
      const { body } = await shop.create('CARD', { card: { number: '4000000000000101' } })
      await shop.advance('PT11S')
      return body.payId
    }
    const old = await raise()
    await shop.advance('PT3H')
    const young = [await raise(), await raise()]
    const before = receiver.heard.length
    const replayed = await tollgateHere(['events', 'replay', '--since', 'PT2H'], env())
    expect(replayed).toMatchObject({ code: 0, stdout: '2 sent again.\n' })
    await receiver.reached(before + 2)
    expect(
      receiver.heard
        .slice(before)
        .map(({ body }) => body.payId)
        .sort(),
    ).toEqual(young.sort())
    const all = await tollgateHere(['events', 'replay', '--since', '2020-01-01'], env())
    expect(all.stdout).toBe('3 sent again.\n')
    await receiver.reached(before + 5)
    expect(receiver.heard.slice(before + 2).map(({ body }) => body.payId)).toContain(old)
    await shop.advance('PT0S')
    const none = await tollgateHere(
      ['events', 'replay', '--since', '2020-01-01', '--status', 'FAILED'],
      env(),
    )
    expect(none.stdout).toBe('There is nothing to send again.\n')
  })

  test.each(['yesterday', 'PT', '2026-13-01', ''])('exit code 2 for --since %j', async since => {
    const { code, stderr } = await tollgateHere(['events', 'replay', '--since', since], env())
    expect([code, stderr]).toEqual([2, expect.stringContaining('It must be an ISO 8601 duration')])
  })
})

test('webhook-secret rotate creates a new secret, and both secrets sign for a while', async () => {
  const { merchantId, webhookSecret } = await gateway.gateway.merchants.create('Rotating')
  const database = {
    TOLLGATE_DATA: folder,
    DATABASE_URL: gateway.databaseUrl,
    TOLLGATE_MASTER_KEY: masterKeyOf(gateway.databaseUrl),
  }
  const { code, stdout, stderr } = await tollgateHere(
    ['webhook-secret', 'rotate', merchantId, '--json'],
    database,
  )
  expect(code, stderr).toBe(0)
  const made = JSON.parse(stdout)
  expect(made).toEqual({ merchantId, webhookSecret: expect.stringMatching(/^whsec_/), overlapHours: 24 })
  expect(made.webhookSecret).not.toBe(webhookSecret)
  const unknown = await tollgateHere(['webhook-secret', 'rotate', 'mer_x'], database)
  expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining('there is no merchant "mer_x"')])
})
