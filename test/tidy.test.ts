/** The rules of the house, run as a test: who may import whom, what stays pure, where SQL and connections live. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { methodTypes } from '#methods/catalogue.ts'
import { listRooms } from '#test/support/docs/docs.ts'
import lintRules from '../biome.json' with { type: 'json' }

interface SourceFile {
  /** Relative to src, for example lifecycle/capture.ts. */
  readonly path: string
  readonly room: string
  readonly text: string
  /** Without comments, so that words about a thing are not taken for the thing. */
  readonly code: string
}

const root = new URL('../src/', import.meta.url)

const files: SourceFile[] = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter(path => path.endsWith('.ts'))
  .map(path => {
    const text = readFileSync(new URL(path, root), 'utf8')
    return {
      path,
      room: roomAt(path.includes('/') ? path : path.replace('.test.ts', '.ts')),
      text,
      code: withoutComments(text),
    }
  })

const isTest = (path: string): boolean => /\.test(-support)?\.ts$/.test(path)
const product = files.filter(file => !isTest(file.path))

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|[\s;{}(,])\/\/.*$/gm, '$1')
}

const importsOf = (file: SourceFile): string[] =>
  [...file.code.matchAll(/from '([^']+)'|(?:import|require)\('([^']+)'\)/g)].map(m => m[1] ?? m[2] ?? '')

const truth = ['domain', 'schemas', 'methods', 'lifecycle']
const stores = ['connectors', 'storage', 'vault']
const deeds = [...truth, ...stores, 'operations', 'providers', 'webhooks']
const entrances = [...deeds, 'http', 'endpoints', 'pages']

/** Each room and the rooms it may import from, besides itself. */
const mayImport: Record<string, readonly string[]> = {
  domain: [],
  // The objects of single methods stand beside their rows, and requests and answers are put together from them.
  schemas: ['domain', 'methods/fields'],
  'methods/fields': ['domain', 'schemas'],
  methods: ['domain', 'schemas'],
  lifecycle: ['domain', 'schemas', 'methods'],
  connectors: truth,
  storage: truth,
  vault: [...truth, 'storage'],
  operations: [...truth, ...stores],
  webhooks: [...truth, ...stores],
  providers: [...truth, ...stores, 'operations', 'webhooks'],
  cells: ['domain', 'storage', 'vault', 'operations'],
  'output.ts': [],
  http: ['domain', 'schemas', 'output.ts'],
  endpoints: [...deeds, 'http'],
  workers: deeds,
  pages: [...truth, 'connectors', 'operations', 'http'],
  config: ['domain'],
  'config.ts': ['domain', 'schemas', 'vault', 'config'],
  console: entrances,
  wiring: [...entrances, 'workers', 'console', 'cells'],
  'gateway.ts': [...entrances, 'workers', 'wiring'],
  'banks.ts': ['wiring'],
  commands: [
    ...deeds.filter(room => room !== 'lifecycle' && room !== 'connectors'),
    ...['pages', 'config', 'config.ts', 'gateway.ts', 'banks.ts', 'console', 'cells', 'output.ts'],
  ],
  'main.ts': ['commands', 'config.ts', 'gateway.ts'],
}

/** A room within a room counts as one of its own. */
function roomAt(path: string): string {
  if (path.startsWith('methods/fields/')) return 'methods/fields'
  return path.includes('/') ? path.slice(0, path.indexOf('/')) : path
}

const roomOf = (specifier: string): string => roomAt(specifier.slice(1))

test('every room imports only from the rooms below it', () => {
  const wrong = product.flatMap(file => {
    const named = [...(mayImport[file.room] ?? []), file.room]
    const allowed = named.includes('methods') ? [...named, 'methods/fields'] : named
    return importsOf(file)
      .filter(specifier => specifier.startsWith('#') && !allowed.includes(roomOf(specifier)))
      .map(specifier => `${file.path} imports ${specifier}`)
  })
  expect(wrong).toEqual([])
})

/** Types are gone before anything runs: a circle of them is none. */
const valueImportsOf = (file: SourceFile): string[] =>
  [...file.code.matchAll(/^(?:import|export)(?! type\b)[^']*? from '#([^']+)'/gm)].map(m => m[1] ?? '')

test('no file imports itself by way of others', () => {
  const imports = new Map(product.map(file => [file.path, valueImportsOf(file)]))
  const done = new Set<string>()
  const circles: string[] = []
  const follow = (path: string, way: readonly string[]): void => {
    if (way.includes(path)) circles.push([...way.slice(way.indexOf(path)), path].join(' → '))
    if (done.has(path) || way.includes(path)) return
    for (const next of imports.get(path) ?? []) follow(next, [...way, path])
    done.add(path)
  }
  for (const path of imports.keys()) follow(path, [])
  expect(circles).toEqual([])
})

test('every room is known to this test', () => {
  expect([...new Set(files.map(file => file.room))].filter(room => !(room in mayImport))).toEqual([])
})

test('every room has a README that says what belongs there, what does not, and what to read first', () => {
  const wrong = listRooms().filter(room => {
    const path = new URL(`${room}/README.md`, root)
    const text = existsSync(path) ? readFileSync(path, 'utf8') : ''
    return !['Belongs here:', 'Does not belong here:', 'Read first:'].every(part => text.includes(part))
  })
  expect(wrong).toEqual([])
})

test('imports across folders name the folder', () => {
  const wrong = files.flatMap(file =>
    importsOf(file)
      .filter(s => s.startsWith('.'))
      .map(s => `${file.path} imports ${s}`),
  )
  expect(wrong).toEqual([])
})

const pureRooms = ['domain', 'schemas', 'methods/fields', 'methods', 'lifecycle']
/** Node modules that compute without touching the world. */
const pureModules = ['node:assert', 'node:assert/strict', 'node:crypto', 'typebox']
const impure: [string, RegExp][] = [
  ['a clock', /\bDate\.now\b|new Date\(\)|performance\./],
  ['chance', /Math\.random|randomBytes|randomUUID/],
  ['a promise', /\basync\b|\bawait\b|\bPromise\b/],
  ['a timer', /setTimeout|setInterval|setImmediate/],
  ['the process', /\bprocess\./],
  ['the console', /\bconsole\./],
]

test.each(impure)('the pure folders use no %s', (_, pattern) => {
  const wrong = product
    .filter(file => pureRooms.includes(file.room) && pattern.test(file.code))
    .map(file => file.path)
  expect(wrong).toEqual([])
})

test('the pure folders import only other pure code', () => {
  const wrong = product
    .filter(file => pureRooms.includes(file.room))
    .flatMap(file =>
      importsOf(file)
        .filter(s => !s.startsWith('#') && !pureModules.includes(s))
        .map(s => `${file.path} imports ${s}`),
    )
  expect(wrong).toEqual([])
})

test('SQL is spoken in storage only', () => {
  const sql = /['"`]\s*(SELECT|INSERT INTO|UPDATE|DELETE FROM|WITH|CREATE|ALTER|DROP)\s+[A-Za-z0-9_*($]/
  const wrong = product.filter(file => file.room !== 'storage' && sql.test(file.code))
  expect(wrong.map(file => file.path)).toEqual([])
})

test('statements that change rows are written so that Citus takes them as well', () => {
  const refused = {
    'now() inside COALESCE or CASE': /\bcoalesce\([^()]*,\s*now\(\)|\bCASE\b(?:(?!\bEND\b).)*\bnow\(\)/is,
    'the text of a column read as a time': /\bSET\b.*?[^$\w.][a-z][\w.]*::timestamptz/is,
    // A table that a variable names is a temporary one, which Citus leaves alone.
    'rows found by their place beside other changes':
      /\bAS \((UPDATE|DELETE FROM|INSERT INTO)\s+\w.*\bctid\b/is,
  }
  const statements = product
    .filter(file => file.room === 'storage')
    .flatMap(({ path, code }) => [...code.matchAll(/`[^`]*`/g)].map(([text]) => ({ path, text })))
    .filter(({ text }) => /\bUPDATE\s+[\w${}]+(\s+\w+)?\s+SET\b|\bDELETE FROM\b/.test(text))
  const found = Object.entries(refused).flatMap(([what, pattern]) =>
    statements.filter(({ text }) => pattern.test(text)).map(({ path }) => `${path}: ${what}`),
  )
  expect(found).toEqual([])
})

test('connections to the outside are made in connectors and webhooks only', () => {
  const outgoing =
    /\bfetch\(|from '(undici|node:dgram)'|\b(https?\.(request|get)|(net|tls)\.connect|createConnection)\(/
  const wrong = product.filter(
    file => !['connectors', 'webhooks'].includes(file.room) && outgoing.test(file.code),
  )
  expect(wrong.map(file => file.path)).toEqual([])
})

test('only the configuration reads the environment', () => {
  const wrong = product.filter(
    file => !['config.ts', 'main.ts'].includes(file.path) && /process\.env/.test(file.code),
  )
  expect(wrong.map(file => file.path)).toEqual([])
})

test('no code asks for a method by name', () => {
  const named = new RegExp(`(===|!==|case)\\s*'(${methodTypes.join('|')})'`)
  const wrong = product.filter(
    file => !['methods', 'methods/fields', 'connectors'].includes(file.room) && named.test(file.code),
  )
  expect(wrong.map(file => file.path)).toEqual([])
})

/** The wire's own names and examples, what the start prints for developers, and whoever speaks the wire as a client does. */
const speaksWire = (path: string): boolean =>
  /^(schemas|endpoints|console|commands)\//.test(path) || path === 'webhooks/trigger.ts'

/** The words of the simulator, and who may say them besides. */
const simulated: readonly [string, RegExp, (path: string) => boolean][] = [
  ['the simulation mode', /simulationMode/, speaksWire],
  ['a fault on demand', /lost_answer|lost_request/, speaksWire],
  // Stripe publishes some of the same numbers, for its own sandbox.
  ['a test card', /\b4000\d{12}\b/, path => speaksWire(path) || path === 'connectors/stripe/connector.ts'],
  [
    'the simulator itself',
    /#connectors\/simulator\//,
    // Whoever puts the gateway together, and what exists in the test environment only.
    path =>
      /^(wiring|endpoints\/test)\//.test(path) ||
      [
        'connectors/registry.ts',
        // The bank that is simulated knows the same test accounts.
        'connectors/bank/simulated-ledger.ts',
        'endpoints/services.ts',
      ].includes(path),
  ],
]

test.each(simulated)('%s stays in the simulator’s folder', (_, word, mayNameIt) => {
  const wrong = product.filter(
    ({ path, code }) => !path.startsWith('connectors/simulator/') && !mayNameIt(path) && word.test(code),
  )
  expect(wrong.map(file => file.path)).toEqual([])
})

test('every file is used by another', () => {
  const imported = new Set(
    files
      .flatMap(importsOf)
      .filter(s => s.startsWith('#'))
      .map(s => s.slice(1)),
  )
  // The conformance suite is run by tests of any connector, also of those that live elsewhere.
  const entrances = ['main.ts', 'gateway.ts', 'connectors/conformance.ts']
  const idle = product
    .filter(file => !imported.has(file.path) && !entrances.includes(file.path))
    .map(file => file.path)
  expect(idle).toEqual([])
})

test('every export is named again, by its own file or another', () => {
  // Tests of any connector use these, also tests that live elsewhere.
  const forTests = ['describeConnector', 'simulatedBy']
  const uses = new Map<string, number>()
  for (const { code } of files)
    for (const word of code.match(/[\w$]+/g) ?? []) uses.set(word, (uses.get(word) ?? 0) + 1)
  const exported = /^export (?:async )?(?:const|class|enum|function\*?|interface|type) ([\w$]+)/gm
  const idle = product
    // Texts of pages are loaded by the name of their file.
    .filter(({ path }) => !path.startsWith('pages/texts/'))
    .flatMap(({ path, code }) => [...code.matchAll(exported)].map(([, name = '']) => ({ path, name })))
    .filter(({ name }) => uses.get(name) === 1 && !forTests.includes(name))
  expect(idle).toEqual([])
})

test('comments name only files that exist', () => {
  const names = new Set(
    ['src', 'test', 'tools', 'bench'].flatMap(folder =>
      readdirSync(new URL(`../${folder}/`, root), { recursive: true, encoding: 'utf8' }).map(
        path => path.split('/').at(-1) ?? '',
      ),
    ),
  )
  const wrong = files.flatMap(file =>
    [...file.text.matchAll(/\/\*[\s\S]*?\*\/|(?:^|\s)\/\/.*$/gm)]
      .flatMap(([comment]) => comment.match(/[\w.-]+\.ts\b/g) ?? [])
      .filter(name => !names.has(name))
      .map(name => `${file.path} names ${name}`),
  )
  expect(wrong).toEqual([])
})

test('files are named after what they do', () => {
  const forbidden = /(^|[/-])(utils?|helpers?|common|manager|service|misc)([.-]|$)/
  expect(
    files.filter(({ path }) => forbidden.test(path) || !/^[a-z0-9/.-]+$/.test(path)).map(f => f.path),
  ).toEqual([])
})

test('no leftovers of a merge or an editor lie beside the source', () => {
  const leftovers = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(path =>
    /\.(orig|rej|bak|swp)$|~$/.test(path),
  )
  expect(leftovers).toEqual([])
})

test('files open with what they are, and stay small', () => {
  expect(product.filter(file => !/^(\/\*\*|\/\/)/.test(file.text)).map(file => file.path)).toEqual([])
  // 400: about what one can hold in mind; tables of data may be longer.
  const tables = [
    'connectors/simulator/site-texts.ts',
    'domain/countries.ts',
    'domain/money/currencies.ts',
    'methods/rows.ts',
  ]
  const long = product.filter(file => !tables.includes(file.path) && file.text.split('\n').length > 400)
  expect(long.map(file => file.path)).toEqual([])
})

/** One file for each endpoint and each method, however short: whoever adds one sees where it goes. */
const isRow = (path: string): boolean => /^(endpoints|methods\/(rows|fields))\/|^main\.ts$/.test(path)

/** Short, and still a subject of its own: several rooms or files use it, or a test stands beside it. Never add to this list. */
const shortFiles = [
  'connectors/simulator/instalments.ts',
  'console/address.ts',
  'console/amount.ts',
  'domain/secret.ts',
  'http/server/drain.ts',
  'lifecycle/decision.ts',
  'lifecycle/inquiry.ts',
  'operations/bank/simulate-bank.ts',
  'operations/merchants/gate.ts',
  'operations/payments/retrieve.ts',
  'pages/address.ts',
  'schemas/parts/hints.ts',
  'schemas/services/bin-lookup.ts',
  'schemas/parts/urls.ts',
  'storage/doctor/intent-checks.ts',
  'vault/inventory-signature.ts',
]

test('files of 30 lines or less join a neighbour, and the list of those that do not only gets shorter', () => {
  const short = product
    .filter(({ path, text }) => !isRow(path) && text.trimEnd().split('\n').length <= 30)
    .map(({ path }) => path)
  expect(short.filter(path => !shortFiles.includes(path))).toEqual([])
  // One that has grown or joined another leaves the list.
  expect(shortFiles.filter(path => !short.includes(path))).toEqual([])
})

test('no line of the log names a field that the logger writes itself, because of two only one is read', () => {
  const twice = /logger\.(?:debug|info|warn|error)\(\s*\{[^{}]*\b(level|time|worker|msg)\b/
  expect(product.filter(({ text }) => twice.test(text)).map(({ path }) => path)).toEqual([])
})

test('functions stay below 60 lines, and the list of those that do not only gets shorter', () => {
  const { linter, overrides } = lintRules
  expect(linter.rules.complexity.noExcessiveLinesPerFunction.options.maxLines).toBe(60)
  const excepted = overrides.flatMap(({ includes }) => includes).filter(path => /^src\/[^*]+\.ts$/.test(path))
  const long = excepted.filter(path => path !== 'src/main.ts')
  expect(long.filter(path => !existsSync(new URL(`../${path}`, root)))).toEqual([])
  // Lower this number when a factory has been split; never raise it.
  expect(long.length).toBeLessThanOrEqual(1)
})

test('the code contains no note about work left for later', () => {
  const later = new RegExp(['TO' + 'DO', 'FIX' + 'ME', '@ts-' + 'ignore'].join('|'))
  expect(files.filter(file => later.test(file.text)).map(file => file.path)).toEqual([])
})

test('no test replaces a module', () => {
  // Tests share their process and import as Node does: a replacement would work or not, depending on what ran before.
  const replaces = new RegExp(`\\bvi\\.(do)?${'Mock'}`, 'i')
  const tests = new URL('../test/', root)
  const others = readdirSync(tests, { recursive: true, encoding: 'utf8' })
    .filter(path => path.endsWith('.ts') && !path.includes('node_modules'))
    .map(path => ({ path: `test/${path}`, text: readFileSync(new URL(path, tests), 'utf8') }))
  expect([...files, ...others].filter(file => replaces.test(file.text)).map(file => file.path)).toEqual([])
})
