/** Notices over HTTP: forged, repeated, huge, early and late ones, and processes that crash in between. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { NoticeItem } from '#connectors/contract.ts'
import type { MerchantId } from '#domain/ids.ts'
import type { Applied, ApplyNotice } from '#providers/apply-notices.ts'
import { commandsHere } from '#test/support/command-here.ts'
import { masterKeyOf, startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { openDispute } from '#test/support/providers/example-dispute.ts'
import { openAccountBench } from '#test/support/providers/provider-accounts.ts'
import { tell, tellingProvider } from '#test/support/providers/telling-provider.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

const secret = 'a word that only the provider knows'

let gateway: TestGateway
let account: { accountId: string; merchantId: MerchantId }
/** The applied keys in order, and the result of applying each key, which tests can set. */
let applied: string[]
let appliedFacts: NoticeItem['fact'][]
let answers: Record<string, Applied | Error | (() => Promise<Applied>)>
let crashAt: string | undefined

const apply: ApplyNotice = async ({ merchantId }, { key, fact }) => {
  expect(merchantId).toBe(account.merchantId)
  applied.push(key)
  appliedFacts.push(fact)
  const answer = answers[key] ?? 'applied'
  if (answer instanceof Error) throw answer
  return typeof answer === 'string' ? answer : answer()
}

const options = {
  definitions: [tellingProvider],
  applyNotice: apply,
  noticeCrash: (point: string) => {
    if (point === crashAt) throw new Error(`died ${point}`)
  },
}

beforeAll(async () => {
  gateway = await startTestGateway(options)
  account = await addAccount(gateway)
})
afterAll(() => gateway.stop())
beforeEach(() => {
  applied = []
  appliedFacts = []
  answers = {}
  crashAt = undefined
})

async function addAccount({ merchantId }: TestGateway) {
  const bench = openAccountBench(gateway, [tellingProvider])
  try {
    return await bench.add(merchantId, {
      connector: 'telling',
      name: 'T',
      settings: {},
      secrets: { word: secret },
    })
  } finally {
    await bench.close()
  }
}

const item = (key: string, more: Partial<NoticeItem> = {}): NoticeItem => ({
  key,
  fact: {
    kind: 'dispute',
    subject: { transactionId: `tx-${key}` },
    dispute: openDispute(key),
  },
  ...more,
})

async function deliver(body: string | Uint8Array, accountId = account.accountId) {
  const response = await fetch(`${gateway.url}/providers/${accountId}/notices`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: body as string,
  })
  return { status: response.status, text: await response.text() }
}

const states = async () => {
  const rows = await queryRows(gateway.databaseUrl, 'SELECT item_key, state FROM notice_item')
  return Object.fromEntries(rows.map(({ item_key, state }) => [item_key, state]))
}

const counted = async (verdict: string): Promise<number> => {
  const text = await (await fetch(`${gateway.url}/metrics`)).text()
  return Number(
    new RegExp(`^tollgate_notices_total\\{verdict="${verdict}"\\} (\\d+)$`, 'm').exec(text)?.[1] ?? 0,
  )
}

/** Makes the next tries due. */
const makeDue = () =>
  queryRows(
    gateway.databaseUrl,
    `UPDATE notice_item SET due_at = now() - interval '1 s', leased_until = NULL
    WHERE due_at IS NOT NULL`,
  )

test('a notice is stored, answered as the provider expects and applied once; a repeated one gets the same answer', async () => {
  const body = tell(secret, [item('first'), item('second')])
  expect(await deliver(body)).toEqual({ status: 202, text: '[heard]' })
  await gateway.gateway.notices.runDue()
  expect(applied).toEqual(['first', 'second'])
  expect(await deliver(body)).toEqual({ status: 202, text: '[heard]' })
  // With one known and one new item, the new one is not lost.
  expect(await deliver(tell(secret, [item('second'), item('third')]))).toMatchObject({ status: 202 })
  await gateway.gateway.notices.runDue()
  expect(applied).toEqual(['first', 'second', 'third'])
  expect(await states()).toMatchObject({ first: 'APPLIED', third: 'APPLIED' })
  expect(await counted('repeated')).toBe(1)
})

test('a notice that holds U+0000 or half a surrogate pair, which no database stores, is stored and applied without them', async () => {
  const facts: NoticeItem['fact'][] = [
    { kind: 'ignored', name: 'charge\u0000.odd' },
    { kind: 'report', url: 'https://provider.example/\u0000', name: 'report\u0000' },
    { kind: 'lapsed', subject: { transactionId: 'odd\u0000\ud800id' } },
  ]
  const told = facts.map((fact, index) => item(`odd-${index}`, { fact }))
  expect(await deliver(tell(secret, told))).toMatchObject({ status: 202 })
  await gateway.gateway.notices.runDue()
  expect(applied).toEqual(['odd-1', 'odd-2'])
  expect(appliedFacts.at(-1)).toEqual({ kind: 'lapsed', subject: { transactionId: 'odd\ufffd\ufffdid' } })
  expect(await states()).toMatchObject({ 'odd-0': 'IGNORED', 'odd-2': 'APPLIED' })
})

test('raw notices are sealed: nothing of them can be read in the database', async () => {
  await deliver(tell(secret, [item('sealed')]))
  const rows = await queryRows(
    gateway.databaseUrl,
    `SELECT position('tx-sealed'::bytea in sealed) AS found FROM provider_notice WHERE sealed IS NOT NULL`,
  )
  expect(rows.every(({ found }) => found === 0)).toBe(true)
})

test('a forged notice, even one item of several, gets 401, is counted, and nothing of it is stored', async () => {
  const before = await counted('forged')
  const good = tell(secret, [item('forged-1'), item('forged-2')])
  for (const body of [
    tell(secret, [item('forged-1'), item('forged-2')], 1),
    tell('another word', [item('forged-1')]),
    good.slice(0, -20),
    '',
    '{}',
    'null',
    Buffer.from([0xff, 0xfe, 0x00]),
  ])
    expect(await deliver(body)).toMatchObject({ status: 401 })
  expect(await counted('forged')).toBe(before + 7)
  expect(Object.keys(await states()).filter(key => key.startsWith('forged'))).toEqual([])
})

test('more than half a mebibyte is refused with 413 and counted', async () => {
  expect(await deliver('x'.repeat(524_289))).toMatchObject({ status: 413 })
  expect(await counted('too_large')).toBe(1)
})

test('a body above the provider’s own limit is refused with 413 before it is parsed', async () => {
  const [genuine, before] = [tell(secret, [item('large')]), await counted('too_large')]
  expect(await deliver(genuine + ' '.repeat(500_001 - genuine.length))).toMatchObject({ status: 413 })
  expect(await counted('too_large')).toBe(before + 1)
  expect(await deliver(genuine + ' '.repeat(500_000 - genuine.length))).toMatchObject({ status: 202 })
})

test.each(['acc_000000000000000000000000', 'acc_1', 'nobody', '%27%3B--'])(
  '404 for the account %s',
  async id => {
    expect(await deliver(tell(secret, [item('x')]), id)).toMatchObject({ status: 404 })
  },
)

test('a notice that matches nothing is listed as unmatched, and applied once it matches', async () => {
  answers.early = 'unmatched'
  await deliver(tell(secret, [item('early', { occurredAt: new Date() })]))
  await gateway.gateway.notices.runDue()
  expect(await states()).toMatchObject({ early: 'UNMATCHED' })
  const commands = commandsHere(gateway.databaseUrl, {
    TOLLGATE_MASTER_KEY: masterKeyOf(gateway.databaseUrl),
  })
  const unmatched = () => commands.json('notices', 'list', '--unmatched')
  expect(await unmatched()).toMatchObject([
    {
      account: account.accountId,
      key: 'early',
      kind: 'dispute OPEN',
      reference: 'tx-early',
      state: 'UNMATCHED',
    },
  ])
  expect((await commands.run('notices', 'list')).stdout).toContain('tx-early')
  answers = {}
  await makeDue()
  await gateway.gateway.notices.runDue()
  expect(await states()).toMatchObject({ early: 'APPLIED' })
  expect(await unmatched()).toEqual([])
  commands.remove()
})

test('a fact that matches no payment is tried hourly for a day and then daily, one that failed on our side hourly', async () => {
  answers = { foreign: 'unmatched', broken: new Error('the provider did not say it') }
  await deliver(tell(secret, [item('foreign'), item('broken')]))
  await gateway.gateway.notices.runDue()
  const pauses = async (attempt: number) => {
    await queryRows(
      gateway.databaseUrl,
      `UPDATE notice_item SET attempt = ${attempt}, due_at = now() WHERE due_at IS NOT NULL`,
    )
    await gateway.gateway.notices.runDue()
    const rows = await queryRows(
      gateway.databaseUrl,
      `SELECT item_key, round(extract(epoch FROM due_at - now()) / 60)::int AS minutes FROM notice_item
       WHERE due_at IS NOT NULL`,
    )
    return Object.fromEntries(rows.map(({ item_key, minutes }) => [item_key, minutes]))
  }
  expect(await pauses(8)).toEqual({ foreign: 60, broken: 60 })
  expect(await pauses(31)).toEqual({ foreign: 60, broken: 60 })
  expect(await pauses(32)).toEqual({ foreign: 1_440, broken: 60 })
  answers = {}
  await makeDue()
  await gateway.gateway.notices.runDue()
})

test('an item that fails on our side is retried', async () => {
  answers.failing = new Error('the database went away')
  await deliver(tell(secret, [item('failing')]))
  await gateway.gateway.notices.runDue()
  expect(await states()).toMatchObject({ failing: 'PENDING' })
  answers = {}
  await makeDue()
  await gateway.gateway.notices.runDue()
  expect(await states()).toMatchObject({ failing: 'APPLIED' })
})

test('a provider that does not answer holds up no notices of other accounts', async () => {
  const { accountId } = await addAccount(gateway)
  const [begun, release, others] = [0, 1, 2].map(() => Promise.withResolvers<Applied>())
  answers.hanging = () => {
    begun?.resolve('applied')
    return release?.promise ?? Promise.reject()
  }
  answers.other = async () => {
    others?.resolve('applied')
    return 'applied'
  }
  await deliver(tell(secret, [item('hanging'), item('behind it')]))
  await begun?.promise
  await deliver(tell(secret, [item('other')]), accountId)
  await others?.promise
  expect(applied).toEqual(['hanging', 'other'])
  release?.resolve('applied')
  await gateway.gateway.notices.runDue()
  expect(applied).toEqual(['hanging', 'other', 'behind it'])
  expect(await states()).toMatchObject({ hanging: 'APPLIED', other: 'APPLIED', 'behind it': 'APPLIED' })
})

test('a process that crashes before the commit has not answered, and the provider redelivers', async () => {
  crashAt = 'beforeStore'
  expect(await deliver(tell(secret, [item('unstored')]))).toMatchObject({ status: 500 })
  expect(await states()).not.toHaveProperty('unstored')
  crashAt = undefined
  expect(await deliver(tell(secret, [item('unstored')]))).toMatchObject({ status: 202 })
  await gateway.gateway.notices.runDue()
  expect(applied).toEqual(['unstored'])
})

test('after a crash between commit and answer the notice is applied once, although the provider redelivers', async () => {
  crashAt = 'afterStore'
  expect(await deliver(tell(secret, [item('unanswered')]))).toMatchObject({ status: 500 })
  crashAt = undefined
  expect(await deliver(tell(secret, [item('unanswered')]))).toMatchObject({ status: 202 })
  await gateway.gateway.notices.runDue()
  expect(applied).toEqual(['unanswered'])
})

test('an item whose process crashes while applying it is applied by another process', async () => {
  crashAt = 'afterApply'
  await deliver(tell(secret, [item('half-done')]))
  await gateway.gateway.notices.runDue()
  expect(await states()).toMatchObject({ 'half-done': 'PENDING' })
  answers['half-done'] = 'repeated'
  crashAt = undefined
  const other = await startTestGateway({ ...options, beside: gateway })
  await makeDue()
  await other.gateway.notices.runDue()
  await gateway.gateway.notices.runDue()
  expect(await states()).toMatchObject({ 'half-done': 'REPEATED' })
  await other.stop()
})

test('after 90 days the raw notice is erased, and unmatched items are given up', async () => {
  answers.never = 'unmatched'
  await deliver(tell(secret, [item('never')]))
  await gateway.gateway.notices.runDue()
  await queryRows(gateway.databaseUrl, "UPDATE provider_notice SET received_at = now() - interval '91 days'")
  await gateway.gateway.notices.expire()
  expect(await states()).toMatchObject({ never: 'EXPIRED', first: 'APPLIED' })
  const rows = await queryRows(gateway.databaseUrl, 'SELECT 1 FROM provider_notice WHERE sealed IS NOT NULL')
  expect(rows).toEqual([])
})
