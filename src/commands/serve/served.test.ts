/** Commands know where the server of their data folder listens, and no stale file misleads them. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { findConsoleOrigin, findOrigin, findServed, rememberServed } from '#commands/serve/served.ts'
import type { Config } from '#config.ts'

let dataDirectory: string
beforeEach(() => {
  dataDirectory = mkdtempSync(join(tmpdir(), 'tollgate-served-'))
})
afterEach(() => rmSync(dataDirectory, { recursive: true }))

const configOf = (more: Partial<Config>): Config => ({ dataDirectory, port: 0, ...more }) as Config

test('the address of a running server is found until it stops', () => {
  const forget = rememberServed(configOf({}), 'http://127.0.0.1:4567')
  expect(findServed({ dataDirectory })?.origin).toBe('http://127.0.0.1:4567')
  expect(findConsoleOrigin(configOf({}))).toBe('http://localhost:4567')
  forget()
  expect(findServed({ dataDirectory })).toBeUndefined()
})

test.each<[string, Partial<Config>, string | null, string]>([
  ['on a port of its own', { consolePort: 9 }, 'http://localhost:9', 'http://localhost:9'],
  ['that is switched off', { console: 'off' }, null, 'http://localhost:4567'],
])('a console %s is found by commands without the settings of the server', (_, settings, console, link) => {
  const forget = rememberServed(configOf(settings), 'http://127.0.0.1:4567')
  expect(findServed({ dataDirectory })).toMatchObject({ console })
  expect(findConsoleOrigin(configOf({}))).toBe(link)
  forget()
})

test('a public address is known to commands without the settings of the server', () => {
  const publicUrl = 'https://pay.example'
  const forget = rememberServed(configOf({ publicUrl, consolePort: 9 }), publicUrl)
  expect(findConsoleOrigin(configOf({}))).toBe(publicUrl)
  forget()
})

test('of an earlier release only the address of the gateway is known', () => {
  const note = { origin: 'http://127.0.0.1:4567', pid: process.pid }
  writeFileSync(join(dataDirectory, 'served.json'), JSON.stringify(note))
  expect(findServed({ dataDirectory })).not.toHaveProperty('console')
  expect(findConsoleOrigin(configOf({ consolePort: 9 }))).toBe('http://localhost:9')
})

test.each([
  ['of a process that is gone', '{"origin":"http://127.0.0.1:1","pid":2147483646}'],
  ['that is half a file', '{"origin":'],
  ['of something else', '[]'],
])('an entry %s is not taken for a running server', (_, text) => {
  writeFileSync(join(dataDirectory, 'served.json'), text)
  expect(findServed({ dataDirectory })).toBeUndefined()
})

test('a folder that cannot be read is one without a running server', () => {
  const file = join(dataDirectory, 'file')
  writeFileSync(file, '')
  expect(findServed({ dataDirectory: file })).toBeUndefined()
})

test('without a running server the configured port is used, and none where any free port was asked for', () => {
  expect(findConsoleOrigin(configOf({ port: 8080 }))).toBe('http://localhost:8080')
  expect(findConsoleOrigin(configOf({ publicUrl: 'https://pay.example' }))).toBe('https://pay.example')
  expect(findConsoleOrigin(configOf({ port: 0 }))).toBeUndefined()
})

test.each<[Partial<Config>, string]>([
  [{ host: '127.0.0.1', port: 8080 }, 'http://127.0.0.1:8080'],
  [{ host: '0.0.0.0', port: 8080 }, 'http://127.0.0.1:8080'],
  [{ host: '::1', port: 8080 }, 'http://[::1]:8080'],
  [{ host: '127.0.0.1', port: 8080, publicUrl: 'https://pay.example' }, 'https://pay.example'],
])('others reach the gateway of %j at %s', (settings, origin) => {
  expect(findOrigin(configOf(settings))).toBe(origin)
  const forget = rememberServed(configOf({}), 'http://127.0.0.1:4567')
  expect(findOrigin(configOf(settings))).toBe(settings.publicUrl ?? 'http://127.0.0.1:4567')
  forget()
})
