/** `provider` and `route` as operators use them: their output, errors and stored rows. */
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type CommandsHere, commandsHere } from '#test/support/command-here.ts'
import { createTestDatabase, type TestDatabase } from '#test/support/database/database.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

let database: TestDatabase
let commands: CommandsHere
let merchantId: string
beforeAll(async () => {
  database = await createTestDatabase()
  commands = commandsHere(database.url, { TOLLGATE_PUBLIC_URL: 'https://pay.example' })
  merchantId = (await commands.json('merchant', 'create', '--name', 'Shop')).merchantId
})
afterAll(async () => {
  commands.remove()
  await database.drop()
})

const add = (name: string, ...more: string[]) =>
  commands.json('provider', 'add', merchantId, '--connector', 'simulator', '--name', name, ...more)

test('an account is added, listed, shown, changed, disabled, enabled, checked and removed', async () => {
  const added = await add('First')
  expect(Object.keys(added)).toEqual(['accountId', 'connector', 'name', 'noticeUrl'])
  expect(added).toEqual({
    accountId: expect.stringMatching(/^acc_[0-9a-f]{24}$/),
    connector: 'simulator',
    name: 'First',
    noticeUrl: `https://pay.example/providers/${added.accountId}/notices`,
  })
  const { accountId } = added
  const listed = { ...added, merchantId, enabled: true, settings: {}, secrets: [] }
  expect(await commands.json('provider', 'list', merchantId)).toMatchObject([listed])
  expect(await commands.json('provider', 'list')).toMatchObject([listed])
  expect(await commands.json('provider', 'show', accountId)).toMatchObject(listed)
  const changed = await commands.json(
    ...['provider', 'set', accountId, '--name', 'Renamed', '--set', 'types=CARD,PROVIDERP'],
    ...['labels.PROVIDERP=PayPal', '--set', 'baseUrl=http://127.0.0.1:9'],
  )
  expect(changed).toMatchObject({
    name: 'Renamed',
    settings: { types: 'CARD,PROVIDERP', 'labels.PROVIDERP': 'PayPal', baseUrl: 'http://127.0.0.1:9' },
  })
  expect((await commands.json('provider', 'set', accountId, '--set', 'baseUrl=')).settings).toEqual({
    types: 'CARD,PROVIDERP',
    'labels.PROVIDERP': 'PayPal',
  })
  expect(await commands.json('provider', 'disable', accountId)).toMatchObject({ enabled: false })
  expect(await commands.json('provider', 'enable', accountId)).toMatchObject({ enabled: true })
  expect(await commands.json('provider', 'check', accountId)).toMatchObject({ accountId, ok: true })
  expect(await commands.json('provider', 'remove', accountId)).toMatchObject({ accountId })
  expect(await commands.json('provider', 'list', merchantId)).toEqual([])
})

test('rules are added, listed in order of priority and removed', async () => {
  const [{ accountId: a }, { accountId: b }] = [await add('A'), await add('B')]
  const rule = (...words: string[]) => commands.json('route', 'add', merchantId, ...words)
  const late = await rule('--account', a)
  const early = await rule(
    ...[
      '--account',
      b,
      '--types',
      'CARD',
      '--brands',
      'visa',
      '--currencies',
      'eur,USD',
      '--countries',
      'deu,FR',
    ],
    ...['--amount-from', '100', '--amount-to', '5000', '--priority', '1'],
  )
  expect(early).toMatchObject({
    merchantId,
    accountId: b,
    types: ['CARD'],
    brands: ['visa'],
    currencies: ['EUR', 'USD'],
    countries: ['DE', 'FR'],
    amountFrom: 100,
    amountTo: 5000,
    priority: 1,
  })
  expect(late).toMatchObject({ accountId: a, types: null, brands: null, amountFrom: null, priority: 100 })
  expect(await commands.json('route', 'list', merchantId)).toEqual([early, late])
  const ids = async () =>
    (await commands.json('route', 'list', merchantId)).map(({ ruleId }: { ruleId: string }) => ruleId)
  expect(await ids()).toEqual([early.ruleId, late.ruleId])
  await commands.json('route', 'remove', early.ruleId)
  expect(await ids()).toEqual([late.ruleId])
  // Afterwards only the audit trail shows the removed rule.
  const [removed, added] = (await commands.json('audit', 'list'))
    .filter(({ object }: { object: string }) => object === early.ruleId)
    .toReversed()
  expect([added.act, removed.act, removed.after]).toEqual(['route.add', 'route.remove', null])
  expect(removed.before).toEqual(added.after)
  // The rules of an account go with it.
  await commands.json('provider', 'remove', a)
  expect(await ids()).toEqual([])
  await commands.json('provider', 'remove', b)
})

const refusals: [string, string[], number, string][] = [
  [
    'an unknown connector',
    ['provider', 'add', 'M', '--connector', 'nobody', '--name', 'x'],
    2,
    'there is no connector "nobody"',
  ],
  [
    'an unknown setting',
    ['provider', 'add', 'M', '--connector', 'simulator', '--name', 'x', '--set', 'key=1'],
    2,
    'simulator has no setting "key"',
  ],
  [
    'a setting without a value',
    ['provider', 'add', 'M', '--connector', 'simulator', '--name', 'x', '--set', 'key'],
    2,
    'name=value',
  ],
  [
    'an unknown secret',
    ['provider', 'add', 'M', '--connector', 'simulator', '--name', 'x', '--secret', 'key=@FILE'],
    2,
    'simulator has no secret "key"',
  ],
  [
    'a secret on the command line',
    ['provider', 'add', 'M', '--connector', 'simulator', '--name', 'x', '--secret', 'key=hunter2'],
    2,
    'never from the command line',
  ],
  [
    'a secret file that is not there',
    ['provider', 'add', 'M', '--connector', 'simulator', '--name', 'x', '--secret', 'key=@/nowhere/x'],
    1,
    '/nowhere/x of the secret key cannot be read',
  ],
  [
    'two secrets from standard input',
    ['provider', 'add', 'M', '--connector', 'simulator', '--name', 'x', '--secret', 'a=-', '--secret', 'b=-'],
    2,
    'only one secret can come from standard input',
  ],
  [
    'an unknown merchant',
    ['provider', 'add', 'mer_0', '--connector', 'simulator', '--name', 'x'],
    1,
    'there is no merchant "mer_0"',
  ],
  [
    'an unknown account',
    ['provider', 'show', 'acc_000000000000000000000000'],
    1,
    'there is no account "acc_000000000000000000000000"',
  ],
  ['something that is no account', ['provider', 'disable', "'; DROP"], 1, 'there is no account'],
  ['nothing to set', ['provider', 'set', 'acc_000000000000000000000000'], 2, 'nothing to set'],
  [
    'a rule for a foreign account',
    ['route', 'add', 'M', '--account', 'acc_000000000000000000000000'],
    1,
    'has no account',
  ],
  [
    'an unknown method',
    ['route', 'add', 'M', '--account', 'a', '--types', 'CARD,CASHH'],
    2,
    '"CASHH" is not a payment method',
  ],
  [
    'an unknown currency',
    ['route', 'add', 'M', '--account', 'a', '--currencies', 'XYZ'],
    2,
    '"XYZ" is not a currency',
  ],
  [
    'an amount that is none',
    ['route', 'add', 'M', '--account', 'a', '--amount-from', '1.5'],
    2,
    'whole number',
  ],
  [
    'amounts in the wrong order',
    ['route', 'add', 'M', '--account', 'a', '--amount-from', '2', '--amount-to', '1'],
    2,
    'must not be above',
  ],
  ['an unknown rule', ['route', 'remove', 'x'], 1, 'there is no rule "x"'],
  [
    'a list of accounts of an unknown merchant',
    ['provider', 'list', 'mer_0'],
    1,
    'there is no merchant "mer_0"',
  ],
  ['a list of rules of an unknown merchant', ['route', 'list', 'mer_0'], 1, 'there is no merchant "mer_0"'],
  [
    'a list of notices of an unknown merchant',
    ['notices', 'list', '--merchant', 'mer_0'],
    1,
    'there is no merchant "mer_0"',
  ],
  [
    'a list of notices of an unknown account',
    ['notices', 'list', '--unmatched', '--account', 'acc_000000000000000000000000'],
    1,
    'there is no account "acc_000000000000000000000000"',
  ],
  ['a list of no notices', ['notices', 'list', '--limit', '0'], 2, 'whole number from 1 to 10000'],
]

test.each(refusals)('%s is refused in one sentence', async (_, words, code, sentence) => {
  const file = commands.file('secret', 'hunter2')
  const filled = words.map(word => (word === 'M' ? merchantId : word.replace('@FILE', `@${file}`)))
  const refused = await commands.run(...filled)
  expect(refused).toMatchObject({ code, stdout: '' })
  expect(refused.stderr).toContain(sentence)
  expect(refused.stderr).not.toContain('hunter2')
  expect(await commands.json('provider', 'list', merchantId)).toEqual([])
})

test('an account with open payments cannot be removed', async () => {
  const { accountId } = await add('Busy')
  await queryRows(
    database.url,
    `INSERT INTO payment (merchant_id, pay_id, kind, trans_id, method, integration_type, status, live, currency, amount,
       authorized, capturing, captured, reversing, reversed, refunding, refunded, capture_percent, capture_method,
       closed_for_capture, details, event_sequence, created_at, updated_at, version, provider_account, connector)
     VALUES ('${merchantId}', gen_random_uuid(), 'PAYMENT', 't1', 'CARD', 'DIRECT', 'AUTHORIZED', true, 'EUR', 100, 100, 0, 0,
       0, 0, 0, 0, 100, 'MANUAL', false, '{}', 0, now(), now(), 1, '${accountId}', 'simulator')`,
  )
  const refused = await commands.run('provider', 'remove', accountId)
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('has 1 open payments') })
  await queryRows(database.url, `UPDATE payment SET status = 'OK', captured = 100`)
  expect(await commands.run('provider', 'remove', accountId)).toMatchObject({ code: 0 })
})

test('live refuses the simulator, other hosts than the provider’s, and missing settings that live requires', async () => {
  const folder = commands.folder
  const live = commandsHere(database.url, {
    TOLLGATE_ENVIRONMENT: 'live',
    TOLLGATE_MASTER_KEY_FILE: join(folder, 'master.key'),
    TOLLGATE_TRUSTED_PROXY: 'true',
    TOLLGATE_PUBLIC_URL: 'https://pay.example',
  })
  const file = live.file('secret', '44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056')
  const adyen = ['--connector', 'adyen', '--set', 'merchantAccount=Shop']
  const secrets = ['--secret', `apiKey=@${file}`, '--secret', `hmacKey=@${file}`]
  const add = (...words: string[]) => live.run('provider', 'add', merchantId, '--name', 'x', ...words)
  expect(await add('--connector', 'simulator')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('refused in the live environment'),
  })
  expect(await add(...adyen, '--set', 'baseUrl=https://evil.example', ...secrets)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('the setting baseUrl exists in the test environment only'),
  })
  expect(await add(...adyen, ...secrets)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('the setting liveUrlPrefix is missing'),
  })
  expect(await add(...adyen, '--set', 'liveUrlPrefix=1797a841fbb37ca7-Shop', ...secrets)).toMatchObject({
    code: 0,
  })
  live.remove()
})

test('a settlement file is imported and compared with our books', async () => {
  const headings =
    'Company Account,Merchant Account,Psp Reference,Merchant Reference,Payment Method,Creation Date,TimeZone,Type,' +
    'Modification Reference,Gross Currency,Gross Debit (GC),Gross Credit (GC),Exchange Rate,Net Currency,' +
    'Net Debit (NC),Net Credit (NC),Commission (NC),Markup (NC),Scheme Fees (NC),Interchange (NC),' +
    'Payment Method Variant,Modification Merchant Reference,Batch Number'
  const row = (type: string, cells: string) =>
    `Shop,Shop,PSP1,${'0'.repeat(32)},visa,2026-06-03 11:26:49,CET,${type},MOD1,${cells},visaclassic,,4`
  const rows = [
    headings,
    row('Settled', 'EUR,,5.00,1,EUR,,4.88,,0.04,0.01,0.07'),
    row('Fee', ',,,,EUR,12.30,,,,,'),
    row('Refunded', 'USD,10.00,,0.92,EUR,9.20,,,,,'),
  ]
  const file = commands.file('settlement.csv', `${rows.join('\n')}\n`)
  const secret = commands.file('hmac', '44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056')
  const { accountId } = await commands.json(
    ...[
      'provider',
      'add',
      merchantId,
      '--connector',
      'adyen',
      '--name',
      'A',
      '--set',
      'merchantAccount=Shop',
    ],
    ...['--secret', `apiKey=@${secret}`, '--secret', `hmacKey=@${secret}`],
  )
  const imported = { accountId, lines: 3, added: 3, repeated: 0, unmatched: 2 }
  expect(await commands.json('settlements', 'import', accountId, file)).toEqual(imported)
  const again = { ...imported, added: 0, repeated: 3 }
  expect(await commands.json('settlements', 'import', accountId, file)).toEqual(again)
  const range = ['--account', accountId, '--from', '2026-06-01', '--to', '2026-07-01']
  const compared = await commands.json('reconcile', ...range)
  expect(compared).toMatchObject({ oursWithoutTheirs: [], amountsDiffer: [] })
  expect(compared.theirsWithoutOurs).toMatchObject([
    {
      account: accountId,
      settlementId: '4',
      type: 'CAPTURE',
      gross: 500,
      fee: 12,
      net: 488,
      date: '2026-06-03',
    },
    { type: 'REFUND', gross: -920, currency: 'EUR', paid: { value: -1000, currency: 'USD' } },
  ])
  expect((await commands.run('reconcile', ...range)).stdout).toContain('theirs without ours: 2')
  const empty = ['--account', accountId, '--from', '2026-07-01', '--to', '2026-08-01']
  expect((await commands.json('reconcile', ...empty)).theirsWithoutOurs).toEqual([])
  const wrong = commands.file('wrong.csv', 'not,a,report\n')
  expect(await commands.run('settlements', 'import', accountId, wrong)).toMatchObject({ code: 1, stdout: '' })
  expect(await commands.run('settlements', 'import', accountId, '/nowhere')).toMatchObject({ code: 1 })
  // Days in the wrong order find nothing, which would read as if the books agreed.
  for (const [from, to] of [
    ['x', 'y'],
    ['2026-07-01', '2026-06-01'],
    ['2026-06-01', '2026-06-01'],
    ['2026-02-30', '2026-07-01'],
  ] as const) {
    const days = ['--from', from, '--to', to]
    const { code, stdout, stderr } = await commands.run('reconcile', ...range.slice(0, 2), ...days)
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining('--from')])
  }
})
