import { expect, test } from 'vitest'
import { createReportRoute, readReports } from '#pages/csp-reports.ts'

test.each<[name: string, sent: unknown, read: unknown]>([
  [
    'report-uri',
    {
      'csp-report': {
        'effective-directive': 'script-src-elem',
        'blocked-uri': 'https://evil.example/x.js?a=1',
      },
    },
    [{ directive: 'script-src', blocked: 'https://evil.example' }],
  ],
  [
    'the Reporting API',
    [{ type: 'csp-violation', body: { effectiveDirective: 'style-src', blockedURL: 'inline' } }],
    [{ directive: 'style-src', blocked: 'inline' }],
  ],
  [
    'invented words',
    { 'csp-report': { 'effective-directive': '4111111111111111', 'blocked-uri': '4111111111111111' } },
    [{ directive: 'other', blocked: 'unknown' }],
  ],
  [
    'an object in place of a word',
    { 'csp-report': { 'effective-directive': { toString: 1 }, 'blocked-uri': { toString: 1 } } },
    [{ directive: 'other', blocked: 'unknown' }],
  ],
  ['nothing', {}, []],
  ['a list of nonsense', [1, null, { body: 'x' }], []],
])('%s', (_, sent, read) => {
  expect(readReports(JSON.stringify(sent))).toEqual(read)
})

test('lists that are nested deep in place of a word are read as nothing known', () => {
  const deep = `${'['.repeat(4_000)}${']'.repeat(4_000)}`
  expect(readReports(`{"csp-report": {"effective-directive": ${deep}}}`)).toEqual([
    { directive: 'other', blocked: 'unknown' },
  ])
})

test('what is not JSON is read as nothing', () => {
  expect(readReports('{'.repeat(8_000))).toEqual([])
})

test('every report is counted, ten a minute are logged', async () => {
  let now = 0
  let counted = 0
  let logged = 0
  const count = () => void counted++
  const log = () => void logged++
  const route = createReportRoute({ count, log, nowMs: () => now })
  const body = Buffer.from(JSON.stringify({ 'csp-report': { 'effective-directive': 'script-src' } }))
  const send = () => route.handle({ params: {}, headers: {}, query: {}, body })
  for (let sent = 0; sent < 50; sent++) expect((await send()).status).toBe(204)
  expect([counted, logged]).toEqual([50, 10])
  now = 60_000
  await send()
  expect([counted, logged]).toEqual([51, 11])
})
