/** The command line as scripts and people use it: outputs and exit codes, with a server running and without. */
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { rememberServed } from '#commands/serve/served.ts'
import { variables } from '#config.ts'
import { waitUntil } from '#storage/embedded/processes.ts'
import {
  isGone,
  killRest,
  login,
  makeEmptyFolder,
  readPids,
  startServer,
  tollgate,
  tollgateHere,
} from '#test/support/command-line.ts'
import { createTestDatabase, type TestDatabase } from '#test/support/database/database.ts'

let folder: string
const run = (...words: string[]) => tollgate(words, { TOLLGATE_DATA: folder })

let database: TestDatabase
let keyFolder: string
const elsewhere = () => ({ TOLLGATE_DATA: keyFolder, DATABASE_URL: database.url })
/** On a database that runs already, where it does not matter who starts it. */
const runHere = (...words: string[]) => tollgateHere(words, elsewhere())

/** Makes the database, which the first command of a user does too. */
beforeAll(async () => {
  folder = makeEmptyFolder()
  keyFolder = makeEmptyFolder()
  database = await createTestDatabase()
  const migrated = await run('migrate')
  expect(migrated).toMatchObject({ code: 0, stdout: `The schema of ${folder} is up to date.\n` })
  expect(migrated.stderr).toContain('migrating: 0001')
  const checked = await run('migrate', '--check')
  expect(checked).toMatchObject({
    code: 0,
    stdout: `Nothing to run: the schema of ${folder} is up to date.\n`,
  })
})

afterEach(() => killRest(folder))
afterAll(async () => {
  for (const each of [folder, keyFolder]) rmSync(each, { recursive: true, force: true })
  await database.drop()
})

async function createMerchant(name: string, by: typeof run | typeof runHere = run) {
  const { code, stdout, stderr } = await by('merchant', 'create', '--name', name, '--json')
  expect({ code, stderr }).toMatchObject({ code: 0 })
  // One line and nothing else: scripts parse the whole output.
  expect(stdout).toMatch(/^\{[^\n]*\}\n$/)
  const created: Record<'merchantId' | 'apiKey' | 'webhookSecret', string> = JSON.parse(stdout)
  expect(Object.keys(created)).toEqual(['merchantId', 'apiKey', 'webhookSecret'])
  return { ...created, stderr }
}

const list = async () => JSON.parse((await run('merchant', 'list', '--json')).stdout)

test('while no server runs, commands create, list and change a merchant, and leave no owner and a private master key', async () => {
  const { merchantId, apiKey, webhookSecret } = await createMerchant('Corner shop')
  expect(apiKey).toMatch(/^tg_test_[0-9a-f]{32}_[\w-]{43}$/)
  expect(webhookSecret).toMatch(/^whsec_[\w+/]{43}=$/)
  expect(existsSync(join(folder, 'owner.json'))).toBe(false)
  expect(existsSync(join(folder, 'postgres', 'postmaster.pid'))).toBe(false)
  expect(statSync(join(folder, 'master.key')).mode & 0o777).toBe(0o600)
  const fresh = {
    merchantId,
    name: 'Corner shop',
    disabled: false,
    webhookKind: 'ENHANCED',
    webhookUrl: null,
    requestsPerSecond: 1000,
    methods: null,
    theme: null,
    frameOrigins: null,
    dcc: false,
    paidLate: 'return',
    createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
  }
  expect(await list()).toContainEqual(fresh)

  const change =
    '--name Café --webhook-kind BASIC --webhook-url https://shop.example/hook --requests-per-second 5 --disable'
  const set = await run('merchant', 'set', merchantId, ...change.split(' '), '--json')
  const changed = {
    ...fresh,
    name: 'Café',
    disabled: true,
    webhookKind: 'BASIC',
    webhookUrl: 'https://shop.example/hook',
    requestsPerSecond: 5,
  }
  expect(set).toMatchObject({ code: 0, stdout: expect.stringMatching(/^[^\n]+\n$/) })
  expect(JSON.parse(set.stdout)).toEqual(changed)
  const reset = await run('merchant', 'set', merchantId, '--webhook-url', 'none', '--enable', '--json')
  expect(JSON.parse(reset.stdout)).toEqual({ ...changed, disabled: false, webhookUrl: null })
})

test("a merchant's pages: named settings change, others stay, none resets one", async () => {
  const { merchantId } = await createMerchant('Painter', runHere)
  const set = async (words: string) =>
    JSON.parse((await runHere('merchant', 'set', merchantId, ...words.split(' '), '--json')).stdout)
  const look = '--theme-accent #0B5FFF --theme-font serif --theme-logo https://cdn.example/a.svg'
  expect(
    await set(
      `--methods CARD,IDEAL,CARD ${look} --frame-origins https://a.example,http://localhost:3000 --dcc on`,
    ),
  ).toMatchObject({
    methods: ['CARD', 'IDEAL'],
    theme: { accent: '#0b5fff', font: 'serif', logoUrl: 'https://cdn.example/a.svg' },
    frameOrigins: ['https://a.example', 'http://localhost:3000'],
    dcc: true,
  })
  const partly = await set('--theme-font none --theme-background #fff8ee')
  expect(partly.theme).toEqual({
    accent: '#0b5fff',
    logoUrl: 'https://cdn.example/a.svg',
    background: '#fff8ee',
  })
  expect(partly).toMatchObject({ methods: ['CARD', 'IDEAL'], dcc: true })
  const bare =
    '--theme-accent none --theme-background none --theme-logo none --methods none --frame-origins none --dcc off'
  expect(await set(bare)).toMatchObject({ methods: null, theme: null, frameOrigins: null, dcc: false })
})

test('output for people has lines and tables, and shows secrets only once', async () => {
  const created = await runHere('merchant', 'create', '--name', 'Bookshop')
  expect(created).toMatchObject({ code: 0, stderr: expect.stringContaining('not shown again') })
  const [, merchantId, apiKey] =
    /^merchant id: (\S+)\nAPI key: (\S+)\nwebhook secret: (\S+)\n$/.exec(created.stdout) ?? []
  const table = await runHere('merchant', 'list')
  expect(table).toMatchObject({ code: 0 })
  expect(table.stdout).toMatch(new RegExp(`^${merchantId}  enabled .* Bookshop$`, 'm'))
  expect(table.stdout).not.toContain(apiKey)
})

test('while the server runs, commands share its database and the server picks up their changes', async () => {
  const server = startServer('node', { TOLLGATE_DATA: folder, PORT: '0' })
  const { baseUrl } = await server.ready()
  const { server: pid } = readPids(folder)
  const merchant = await createMerchant('Florist')
  expect(merchant.stderr).toBe('')
  const ask = async (apiKey: string) => {
    const url = `${baseUrl}/payments/getByPayId/${'0'.repeat(32)}`
    return (await fetch(url, { headers: { Authorization: login({ ...merchant, apiKey }) } })).status
  }
  expect(await ask(merchant.apiKey)).toBe(404)

  const rotated = await run('key', 'rotate', merchant.merchantId, '--json')
  expect(rotated).toMatchObject({ code: 0, stdout: expect.stringMatching(/^[^\n]+\n$/) })
  const { apiKey, ...rest } = JSON.parse(rotated.stdout)
  expect(rest).toEqual({ merchantId: merchant.merchantId, overlapHours: 24 })
  expect([await ask(apiKey), await ask(merchant.apiKey)]).toEqual([404, 404])

  const cut = await run('key', 'rotate', merchant.merchantId, '--overlap-hours', '0')
  const newest = /^merchant id: \S+\nAPI key: (\S+)\n$/.exec(cut.stdout)?.[1] ?? ''
  expect(await ask(newest)).toBe(404)
  expect(await waitUntil(async () => (await ask(merchant.apiKey)) === 401, 30_000)).toBe(true)

  expect((await run('merchant', 'set', merchant.merchantId, '--disable')).stdout).toContain('disabled')
  expect(await waitUntil(async () => (await ask(newest)) === 403, 30_000)).toBe(true)
  expect(isGone(pid)).toBe(false)
  server.child.kill('SIGTERM')
  expect(await server.exited).toBe(0)
})

test('a rotated key of the demo merchant is the one that the next start prints', async () => {
  const server = startServer('node', { TOLLGATE_DATA: folder, PORT: '0' })
  const { merchantId } = await server.ready()
  const { apiKey } = JSON.parse((await run('key', 'rotate', merchantId, '--json')).stdout)
  expect(JSON.parse(readFileSync(join(folder, 'demo.json'), 'utf8'))).toMatchObject({ merchantId, apiKey })
  expect(statSync(join(folder, 'demo.json')).mode & 0o777).toBe(0o600)
})

test('commands print addresses of the running server, whatever port it has', async () => {
  const { merchantId } = await createMerchant('Baker', runHere)
  const forget = rememberServed({ dataDirectory: keyFolder, console: 'on' }, 'http://127.0.0.1:4567')
  const words = ['provider', 'add', merchantId, '--connector', 'simulator', '--name', 'Till', '--json']
  const { noticeUrl } = JSON.parse((await runHere(...words)).stdout)
  const { src } = JSON.parse((await runHere('script-tag', '--json')).stdout)
  forget()
  expect([noticeUrl, src].map(address => new URL(address).origin)).toEqual(
    Array(2).fill('http://127.0.0.1:4567'),
  )
})

test('DATABASE_URL is used instead of the embedded database', async () => {
  const { merchantId } = await createMerchant('Elsewhere', (...words) => tollgate(words, elsewhere()))
  const listed = await runHere('merchant', 'list', '--json')
  expect(JSON.parse(listed.stdout)).toContainEqual(expect.objectContaining({ merchantId }))
  expect(existsSync(join(keyFolder, 'postgres'))).toBe(false)
  const other = await tollgateHere(['merchant', 'list'], {
    ...elsewhere(),
    TOLLGATE_MASTER_KEY: Buffer.alloc(32).toString('base64'),
  })
  expect(other).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('sealed with the master key'),
  })
})

test.each([
  [['foo'], "unknown command 'foo'"],
  [['merchnt', 'list'], 'Did you mean merchant?'],
  [['serve', 'now'], 'too many arguments'],
  [['merchant', 'create'], "required option '--name <name>' not specified"],
  [['merchant', 'create', '--name', 'x', '--jsno'], 'Did you mean --json?'],
  [['merchant', 'create', '--name', ' '], 'It must be 1 to 128 visible characters.'],
  [['merchant', 'create', '--name', 'x'.repeat(129)], 'It must be 1 to 128 visible characters.'],
  [['merchant', 'create', '--name', 'a\u0007b'], 'It must be 1 to 128 visible characters.'],
  [['merchant', 'set'], "missing required argument 'id'"],
  [['merchant', 'set', 'mer_x'], 'nothing to set'],
  [['merchant', 'set', 'mer_x', '--webhook-kind', 'LOUD'], 'Allowed choices are BASIC, ENHANCED.'],
  [['merchant', 'set', 'mer_x', '--webhook-url', 'ftp://x'], 'It must be an http or https address'],
  [
    ['merchant', 'set', 'mer_x', '--requests-per-second', '0'],
    'It must be a whole number from 1 to 1000000.',
  ],
  [
    ['merchant', 'set', 'mer_x', '--requests-per-second', '1e3'],
    'It must be a whole number from 1 to 1000000.',
  ],
  [['merchant', 'set', 'mer_x', '--enable', '--disable'], 'cannot be used with option'],
  [['merchant', 'set', 'mer_x', '--methods', 'CARD,IDEALE'], 'IDEAL'],
  [['merchant', 'set', 'mer_x', '--methods', ','], 'It must name at least one method, or none.'],
  [['merchant', 'set', 'mer_x', '--theme-accent', 'red'], 'It must be a colour such as #0b5fff, or none.'],
  [['merchant', 'set', 'mer_x', '--theme-background', '#336699'], 'It must be light enough'],
  [['merchant', 'set', 'mer_x', '--theme-logo', 'http://cdn.example/a.svg'], 'It must be an https address'],
  [['merchant', 'set', 'mer_x', '--theme-font', 'Comic'], 'It must be one of system, humanist'],
  [['merchant', 'set', 'mer_x', '--frame-origins', 'https://a.example/path'], 'without a path, or none.'],
  [['merchant', 'set', 'mer_x', '--frame-origins', 'http://a.example'], 'without a path, or none.'],
  [['merchant', 'set', 'mer_x', '--dcc', 'yes'], 'Allowed choices are on, off.'],
  [['operator', 'set', '--email', 'ada@example.com'], 'nothing to set; give --role, --merchants or'],
  [['key', 'rotate', 'mer_x', '--overlap-hours', '721'], 'It must be a whole number from 0 to 720.'],
])('%j is wrong usage: exit code 2, one sentence', async (words, sentence) => {
  const { code, stdout, stderr } = await tollgateHere(words)
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain(sentence)
  expect(stderr).toMatch(/^tollgate: [^\n]+\n(\([^\n]+\)\n)?$/)
})

const liveKey = { TOLLGATE_ENVIRONMENT: 'live', TOLLGATE_MASTER_KEY: randomBytes(32).toString('base64') }
const secretUrl = 'postgres://u:hunter2@127.0.0.1:1/shop'

test.each([[['merchant', 'set', 'mer_x', '--enable']], [['key', 'rotate', 'mer_x']]])(
  '%j names the merchant that is not there',
  async words => {
    const { code, stdout, stderr } = await runHere(...words)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/^tollgate: there is no merchant "mer_x"; [^\n]+\n$/m)
    expect(stderr).not.toContain('\n    at ')
  },
)

test.each<[string, string[], Record<string, string>, number, string]>([
  [
    'no such server',
    ['merchant', 'list'],
    { DATABASE_URL: secretUrl },
    1,
    'the database 127.0.0.1:1/shop of',
  ],
  ['a folder that is a file', ['migrate'], { TOLLGATE_DATA: '/dev/null' }, 1, 'TOLLGATE_DATA'],
  [
    'a folder that takes no others',
    ['migrate'],
    { TOLLGATE_DATA: '/proc/tollgate/data' },
    1,
    'cannot be used',
  ],
  ['a target that is no address', ['move-to', 'shop'], {}, 2, 'the target must be an address such as'],
  [
    'a target with a port that there is not',
    ['move-to', 'postgres://a:hunter2@b:99999/x'],
    {},
    2,
    'the target must be an address such as',
  ],
  ['an endpoint that is no address', ['webhook', 'add', 'mer_x', '--url', 'ftp://x'], {}, 2, '--url ftp://x'],
  [
    'an endpoint that live never calls',
    ['webhook', 'add', 'mer_x', '--url', 'https://127.0.0.1/'],
    liveKey,
    2,
    '--url https://127.0.0.1/ cannot be used: 127.0.0.1 is not a public address',
  ],
  [
    'an address that live never calls',
    ['merchant', 'set', 'mer_x', '--webhook-url', 'https://localhost/'],
    liveKey,
    2,
    '--webhook-url https://localhost/ cannot be used: localhost is this machine',
  ],
  ['bad configuration', ['serve'], { PORT: 'x' }, 2, 'PORT is "x"'],
  ['an open address', [], { HOST: '0.0.0.0' }, 2, 'plain HTTP is for loopback only'],
  ['live without a key', [], { TOLLGATE_ENVIRONMENT: 'live' }, 2, 'TOLLGATE_MASTER_KEY_FILE must be set'],
])('%s: %j ends with a sentence and no stack', async (_, words, env, code, sentence) => {
  const ended = await tollgateHere(words, { TOLLGATE_DATA: keyFolder, ...env })
  expect(ended).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(sentence) })
  expect(ended.stderr).not.toMatch(/\n {4}at |hunter2/)
})

test.each([
  [['doctor']],
  [['audit', 'verify']],
  [['webhook', 'list']],
  [['payments', 'find']],
  [['keys', 'rotate']],
  [['backup', '--out', 'never.gz']],
])('%j in a folder without data says so and creates none', async words => {
  const empty = makeEmptyFolder()
  const nowhere = join(empty, 'nothing')
  const ended = await tollgateHere(words, { TOLLGATE_DATA: nowhere })
  const sentence = `there is no data in ${nowhere}: TOLLGATE_DATA must name the data folder`
  expect(ended).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(sentence) })
  expect(readdirSync(empty)).toEqual([])
  rmSync(empty, { recursive: true })
})

test('all faults of the configuration are listed at once, and unknown variables are pointed out', async () => {
  const both = await tollgateHere(['serve'], { PORT: 'x', TOLLGATE_LOG_LEVEL: 'loud' })
  expect(both.stderr.trim().split('\n')).toHaveLength(3)
  const odd = await tollgateHere(['merchant', 'list'], { ...elsewhere(), TOLLGATE_LOGLEVEL: 'warn' })
  expect(odd).toMatchObject({ code: 0, stderr: expect.stringContaining('did you mean TOLLGATE_LOG_LEVEL?') })
})

test('the log level debug prints the stack of an error', async () => {
  const words = ['merchant', 'set', 'mer_x', '--enable']
  const { code, stderr } = await tollgate(words, { ...elsewhere(), TOLLGATE_LOG_LEVEL: 'debug' })
  expect([code, stderr]).toEqual([1, expect.stringContaining('\n    at ')])
})

test.each([
  [['--help'], ['Usage: tollgate', 'Examples:', 'Exit codes:', ...variables.map(({ name }) => name)]],
  [['help'], ['Usage: tollgate']],
  [
    ['serve', '--help'],
    ['Usage: tollgate serve', 'TOLLGATE_PUBLIC_URL'],
  ],
  [
    ['merchant', '--help'],
    ['create', 'list', 'set'],
  ],
  [
    ['merchant', 'create', '--help'],
    ['--name <name>', '--json'],
  ],
  [
    ['merchant', 'set', '--help'],
    ['--webhook-kind', '--webhook-url', '--requests-per-second', '--disable', '--enable'],
  ],
  [
    ['key', 'rotate', '--help'],
    ['--overlap-hours <hours>', 'default: 24'],
  ],
  [['--version'], ['.']],
])('%j prints help', async (words, parts) => {
  const { code, stdout, stderr } = await tollgateHere(words)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  for (const part of parts) expect(stdout).toContain(part)
})

test('help prints and wrong usage ends with 2, even with a wrong configuration', async () => {
  const env = { PORT: 'nonsense' }
  const [helped, wrong] = await Promise.all([tollgate(['help'], env), tollgate(['foo'], env)])
  expect(helped).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('Usage: tollgate') })
  expect(wrong).toEqual({ code: 2, stdout: '', stderr: expect.stringContaining("unknown command 'foo'") })
})
