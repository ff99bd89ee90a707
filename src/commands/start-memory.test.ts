/** When the memory of the start is given back: in an idle second, not in the middle of traffic. And the flags of Node beside it. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { isIdleAfterStart } from '#commands/start-memory.ts'

test.each([
  ['still starting', 3_900, 5, false],
  ['started, idle', 4_000, 5, true],
  ['started into traffic', 4_000, 900, false],
  ['still traffic', 28_000, 100, false],
  ['the traffic pauses', 29_000, 99, true],
  ['idle after half a minute of traffic', 30_000, 5, false],
])('whether memory is given back while the process is: %s', (_, uptimeMs, usedMs, isDue) => {
  expect(isIdleAfterStart({ uptimeMs, usedMs })).toBe(isDue)
})

const flagsIn = (file: string): readonly string[] => {
  const text = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')
  const line = text.split('\n').find(one => one.includes('--max-semi-space-size')) ?? ''
  return line.match(/--[a-z0-9-]+(=\d+)?/g) ?? []
}

test.each(['bin/tollgate.js', 'Dockerfile', 'deploy/systemd/tollgate.service'])(
  'a server that %s starts has the flags of npm start',
  file => {
    const flags = flagsIn('package.json')
    expect(flags).toContain('--no-memory-reducer')
    expect(flagsIn(file)).toEqual(flags)
  },
)
