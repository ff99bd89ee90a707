/** The documents cannot lie: their examples are executed, their tables, links and paths compared with what is there. */
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildProgram } from '#commands/program.ts'
import { variables } from '#config.ts'
import { testCards } from '#connectors/simulator/test-numbers.ts'
import { eventTypes } from '#domain/event-types.ts'
import { endpoints } from '#endpoints/index.ts'
import { createMetrics } from '#http/telemetry/metrics.ts'
import { rows as methods } from '#methods/rows.ts'
import { alarmCodes } from '#operations/engine.ts'
import { tollgate } from '#test/support/command-line.ts'
import { createTestDatabase } from '#test/support/database/database.ts'
import {
  compareShown,
  type Document,
  type Fence,
  listAnchors,
  listFences,
  listLinks,
  listPaths,
  listRooms,
  projectRoot,
  readDocument,
  readDocuments,
  readTables,
  splitWords,
  toRequest,
} from '#test/support/docs/docs.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import manifest from '../../package.json' with { type: 'json' }
import lock from '../../package-lock.json' with { type: 'json' }

const documents = readDocuments()
const readme = readDocument('README.md')
const operating = readDocument('docs/operating.md')

describe('the examples of the README and of the first steps', () => {
  const examples = [readme, readDocument('docs/first-steps.md')].flatMap(document => {
    const fences = listFences(document)
    return fences.flatMap((fence, index) => {
      const shown = fences[index + 1]
      return fence.info === 'sh run' && shown ? [{ page: document.path, line: fence.line, fence, shown }] : []
    })
  })
  let gateway: TestGateway
  let payId: string | undefined
  beforeAll(async () => {
    gateway = await startTestGateway()
  })
  afterAll(() => gateway.stop())

  test('there are some, and each is followed by its answer', () => {
    expect(new Set(examples.map(({ page }) => page)).size).toBe(2)
    expect(examples.filter(({ shown }) => !/^json( \d{3})?$/.test(shown.info))).toEqual([])
  })

  async function send(words: readonly string[]): Promise<{ status: number; body: { payId?: string } }> {
    const { verb, url, headers, body } = toRequest(words)
    const response = await fetch(url, { method: verb, headers, ...(body === undefined ? {} : { body }) })
    return { status: response.status, body: (await response.json()) as { payId?: string } }
  }

  /** In their order: a later one speaks of the payment that an earlier one made. */
  test.each(examples)('$page line $line', async ({ fence, shown }) => {
    const words = splitWords(fence.content, {
      TOLLGATE_API: `${gateway.url}/api/v2`,
      TOLLGATE_MERCHANT: gateway.merchantId,
      TOLLGATE_KEY: gateway.apiKey,
      ...(payId === undefined ? {} : { PAY_ID: payId }),
    })
    if (words[0] === 'npm') return checkCommand(words, shown)
    const { status, body } = await send(words)
    expect(`json ${status}`).toBe(shown.info)
    expect(compareShown(JSON.parse(shown.content), body)).toEqual([])
    payId = body.payId ?? payId
  })

  async function checkCommand(words: readonly string[], shown: Fence): Promise<void> {
    expect(words.slice(0, 5)).toEqual(['npm', 'run', '--silent', 'tollgate', '--'])
    const database = await createTestDatabase()
    const folder = await mkdtemp(join(tmpdir(), 'tollgate-docs-'))
    try {
      const env = { DATABASE_URL: database.url, TOLLGATE_DATA: folder }
      const { code, stdout, stderr } = await tollgate(words.slice(5), env)
      expect(code, stderr).toBe(0)
      expect(compareShown(JSON.parse(shown.content), JSON.parse(stdout))).toEqual([])
    } finally {
      await database.drop()
      await rm(folder, { recursive: true, force: true })
    }
  }
})

describe('what the README and the pages beside it promise', () => {
  test('the two commands stand alone in their fences, and their scripts exist', () => {
    const fences = listFences(readme).map(({ content }) => content)
    expect(fences).toContain('npm ci && npm start')
    expect(fences).toContain('npm ci && npm test')
    expect(Object.keys(manifest.scripts)).toEqual(
      expect.arrayContaining(['start', 'test', 'tollgate', 'bench']),
    )
  })

  test('endpoints.md lists the endpoints of the table', () => {
    const shown = readTables(readDocument('docs/endpoints.md'), 'verb').map(
      ([verb, path]) => `${verb} ${path}`,
    )
    expect(shown.sort()).toEqual(endpoints.map(({ verb, path }) => `${verb} ${path}`).sort())
  })

  test('test-cards.md lists the cards of the simulator, with what create says', () => {
    const rows = readTables(readDocument('docs/test-cards.md'), 'number')
    const shown = rows.map(([number, create = '']) => ({ number, says: create }))
    expect(shown.map(({ number }) => number)).toEqual(testCards.map(({ number }) => number))
    const wrong = shown.filter(({ says }, index) => {
      const { decline, fault } = testCards[index]?.scenario ?? {}
      const detail = fault === 'lost_request' ? '0391' : decline
      if (fault === 'lost_answer') return !says.startsWith('PENDING')
      return !says.startsWith(detail === undefined ? 'approved' : `declined 2100${detail}`)
    })
    expect(wrong).toEqual([])
  })
})

describe('tables', () => {
  test('operating.md lists every variable with its default, and no other', () => {
    const shown = readTables(operating, 'variable').map(([name, , fallback]) => ({ name, default: fallback }))
    expect(shown).toEqual(variables.map(({ name, default: fallback }) => ({ name, default: fallback })))
  })

  test('operating.md lists every metric of ours, and no other', async () => {
    const { registry } = createMetrics({ registry: new Registry(), processMetrics: false })
    const shown = readTables(operating, 'metric').map(([name]) => name)
    expect(shown).toEqual((await registry.getMetricsAsJSON()).map(({ name }) => name))
  })

  test('operating.md explains every code of an alarm', () => {
    const shown = readTables(operating, 'code').map(([name]) => name)
    expect(shown.filter(name => name !== 'WEBHOOK_FAILED')).toEqual([...alarmCodes])
  })

  test('operating.md lists every command of the program', () => {
    const program = buildProgram(() => {
      throw new Error('no command is run here')
    })
    const [, list = ''] = operating.text.split('\n| command | does |')
    const shown = list.slice(0, list.indexOf('\n\n'))
    const names = program.commands.map(command => command.name())
    expect(names.filter(name => !new RegExp(`\`${name}(?![\\w-])`).test(shown))).toEqual([])
  })

  test('webhooks.md lists every type of event with its sentence, and no other', () => {
    const shown = readTables(readDocument('docs/webhooks.md'), 'type')
    expect(shown.map(([type, meaning]) => [type, meaning])).toEqual(Object.entries(eventTypes))
  })

  test.each([
    ['docs/endpoints.md', /all ([\d,]+) payment methods/],
    ['docs/testing.md', /methods that are paid, of ([\d,]+) /],
  ])('%s says how many methods there are', (path, sentence) => {
    const [, shown] = sentence.exec(readDocument(path).text) ?? []
    expect(shown).toBe(methods.length.toLocaleString('en'))
  })

  test('bench.md names every part that can be measured alone', () => {
    const [, names = ''] = /const partNames = \[([^\]]+)\]/.exec(readDocument('bench/main.ts').text) ?? []
    const parts = [...names.matchAll(/'(\w+)'/g)].map(([, part]) => part)
    const [commands] = listFences(readDocument('docs/bench.md'))
    const [, named = ''] = commands?.content.split('one part:') ?? []
    expect(parts.length).toBeGreaterThan(0)
    expect(parts.filter(part => !new RegExp(`\\b${part}\\b`).test(named))).toEqual([])
  })

  test('dependencies.md describes every direct dependency, and nothing else', () => {
    const { dependencies, optionalDependencies, devDependencies } = manifest
    const direct = { ...dependencies, ...optionalDependencies, ...devDependencies }
    const packages = lock.packages as Record<string, { license?: string; hasInstallScript?: boolean }>
    const expected = Object.keys(direct).map(name => {
      const entry = packages[`node_modules/${name}`]
      return { name, script: entry?.hasInstallScript ? 'yes' : 'none', licence: entry?.license }
    })
    const rows = readTables(readDocument('docs/dependencies.md'), 'package')
    expect(rows.map(([name, , , script, licence]) => ({ name, script, licence }))).toEqual(expected)
    expect(rows.filter(row => row.length !== 5 || row.includes(''))).toEqual([])
  })

  test('dependencies.md describes every override', () => {
    const { text } = readDocument('docs/dependencies.md')
    const missing = Object.entries(manifest.overrides).filter(
      ([name, version]) => !text.includes(`\`${name}\``) || !text.includes(version),
    )
    expect(missing).toEqual([])
  })

  test('the lock file names no place to download from', () => {
    const resolved = Object.values(lock.packages).flatMap(entry =>
      'resolved' in entry ? [entry.resolved] : [],
    )
    expect(resolved).toEqual(manifest.workspaces)
  })

  test('the lock file holds no Node range that would warn people on Node 20', () => {
    const packages = Object.entries(lock.packages).filter(([folder]) => folder.startsWith('node_modules/'))
    expect(packages.filter(([, entry]) => 'engines' in entry).map(([folder]) => folder)).toEqual([])
  })

  test('browsers are development packages, which --omit=dev leaves out', () => {
    const { devDependencies } = manifest
    const browsers = Object.entries(lock.packages).filter(([folder]) =>
      /chromium|playwright|puppeteer/.test(folder),
    )
    expect(browsers.filter(([, entry]) => !('dev' in entry && entry.dev)).map(([folder]) => folder)).toEqual(
      [],
    )
    expect(Object.keys(devDependencies)).toEqual(
      expect.arrayContaining(['@sparticuz/chromium', 'playwright-core']),
    )
  })

  test('the glossary is in order and has each word once', () => {
    const words = readTables(readDocument('docs/glossary.md'), 'word').map(([word = '']) =>
      word.replaceAll('*', '').toLowerCase(),
    )
    expect(words.length).toBeGreaterThan(0)
    expect(words).toEqual([...new Set(words)].sort())
  })
})

describe('architecture.md', () => {
  const architecture = readDocument('docs/architecture.md')

  test('its picture shows every room of src/ once, and no other', () => {
    const picture = listFences(architecture).find(({ info }) => info === 'text house')
    const shown = [...(picture?.content ?? '').matchAll(/\b([a-z]+)\//g)].map(match => match[1])
    expect(shown.sort()).toEqual(listRooms())
  })

  test('an amount walks from the request to the database in at most seven files that name it', () => {
    const [, walk = ''] = architecture.text.split('## The walk of an amount')
    const files = listPaths({ path: architecture.path, text: walk.slice(0, walk.indexOf('\n## ')) })
    expect(files.length).toBeGreaterThan(0)
    expect(files.length).toBeLessThanOrEqual(7)
    expect(files.filter(path => !/\bamount\b/.test(readDocument(path).text))).toEqual([])
    // What each row says happens in its file is found there by name: `sums.capturing`, `plainAmount`, `bigint` …
    const rows = [...walk.matchAll(/^\| \d \| `(\S+)` \| (.+) \|$/gm)]
    expect(rows).toHaveLength(files.length)
    const lost = rows.flatMap(([, path = '', what = '']) =>
      [...what.matchAll(/`([\w.]+)`/g)]
        .map(([, word = '']) => word)
        .filter(word => !readDocument(path).text.includes(word))
        .map(word => `${path}: ${word}`),
    )
    expect(lost).toEqual([])
  })
})

test('decisions have a number each and are listed with their titles', () => {
  const decisions = documents.filter(({ path }) => /^docs\/decisions\/\d/.test(path))
  const titles = decisions.map(({ text }) => text.slice(2, text.indexOf('\n')))
  // Gaps are allowed: a number that was given out to work in progress is not given to another.
  const numbers = decisions.map(({ path }) => path.slice(15, 19))
  expect(new Set(numbers).size).toBe(numbers.length)
  const listed = listedDecisions(readDocument('docs/decisions/README.md'))
  expect(listed).toEqual(
    decisions.map(({ path }, index) => `[${titles[index]?.slice(5)}](${path.slice(15)})`),
  )
  expect(titles.map(title => title.slice(0, 4))).toEqual(numbers)
})

test('decisions say their status and since when', () => {
  const decisions = documents.filter(({ path }) => /^docs\/decisions\/\d/.test(path))
  const status = /^# .+\n\nStatus: (accepted|replaced by \d{4}) · \d{4}-\d{2}-\d{2}\n\n/
  expect(decisions.filter(({ text }) => !status.test(text)).map(({ path }) => path)).toEqual([])
})

const listedDecisions = ({ text }: Document): string[] => text.match(/\[.+\]\(\d{4}-.+\.md\)/g) ?? []

describe.each(documents)('$path', document => {
  test('its links lead somewhere', () => {
    const broken = listLinks(document).filter(link => {
      const [file = '', anchor] = link.split('#')
      const target = file === '' ? document.path : join(dirname(document.path), file)
      if (!existsSync(join(projectRoot, target))) return true
      return anchor !== undefined && !listAnchors(readDocument(target)).includes(anchor)
    })
    expect(broken).toEqual([])
  })

  test('the files it names exist', () => {
    expect(listPaths(document).filter(path => !existsSync(join(projectRoot, path)))).toEqual([])
  })

  test('it names no folder of somebody’s machine and no place to download from', () => {
    const foreign =
      /(?<![\w.])\/(home|root|Users|work|tmp|var|opt)\b|[a-z]:\\|registry\.(?!ts\b)|npmjs|\.pkg\.github/i
    expect(document.text.split('\n').filter(line => foreign.test(line))).toEqual([])
  })
})

test('the client calls every operation, as client.md says', () => {
  const client = readFileSync(join(projectRoot, 'clients/typescript/src/client.ts'), 'utf8')
  // It gets its access tokens itself.
  const operations = endpoints.map(({ operationId }) => operationId).filter(id => id !== 'issueToken')
  expect(operations.filter(id => !client.includes(`'${id}'`))).toEqual([])
})

/** A fence marked `shop` quotes the example shop, which tests run; blanks and line breaks do not count. */
describe('quotes of the example shop', () => {
  const squeeze = (text: string): string => text.replace(/\s+/g, '')
  const shop = squeeze(readFileSync(join(projectRoot, 'examples/shop/shop.ts'), 'utf8'))
  const quotes = documents.flatMap(document =>
    listFences(document)
      .filter(({ info }) => info.endsWith(' shop'))
      .map(({ line, content }) => [`${document.path}:${line}`, content] as const),
  )

  test.each(quotes)('%s stands in the shop', (_, text) => {
    expect(shop).toContain(squeeze(text))
  })

  test('pages, webhooks and the client quote it', () => {
    const quoting = new Set(quotes.map(([place]) => place.split(':')[0]))
    expect([...quoting].sort()).toEqual(['docs/client.md', 'docs/pages.md', 'docs/webhooks.md'])
  })
})
