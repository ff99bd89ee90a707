/** When the memory of the start is given back: in an idle second, not in the middle of traffic. And the flags of Node beside it. */
import { readFileSync } from 'node:fs'
import { afterEach, expect, test, vi } from 'vitest'
import { isIdleAfterStart, releaseStartMemory } from '#commands/serve/start-memory.ts'

test.each([
  ['still starting', 3_900, 5, false],
  ['started, idle', 4_000, 5, true],
  ['started into traffic', 4_000, 900, false],
  ['still traffic', 28_000, 100, false],
  ['the traffic pauses', 29_000, 99, true],
  ['idle after half a minute of traffic', 30_000, 5, false],
])('whether memory is given back while the process is: %s', (_, servingMs, usedMs, isDue) => {
  expect(isIdleAfterStart({ servingMs, usedMs })).toBe(isDue)
})

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

test('it is given back after the schemas were compiled, however long the process has been starting', () => {
  vi.useFakeTimers()
  let usedMs = 0
  vi.spyOn(process, 'uptime').mockReturnValue(60)
  vi.spyOn(process, 'cpuUsage').mockImplementation(before => {
    const user = usedMs * 1000 - (before?.user ?? 0)
    return { user, system: 0 }
  })
  const collect = vi.fn()
  releaseStartMemory(collect)
  vi.advanceTimersByTime(3_500)
  // The schemas are compiled.
  usedMs += 400
  vi.advanceTimersByTime(1_000)
  expect(collect).not.toHaveBeenCalled()
  vi.advanceTimersByTime(1_000)
  expect(collect).toHaveBeenCalledOnce()
  vi.advanceTimersByTime(60_000)
  expect(collect).toHaveBeenCalledOnce()
})

const flagsIn = (file: string): readonly string[] => {
  const text = readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8')
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
