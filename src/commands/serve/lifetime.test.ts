/** When a serving process ends, with signals, time and parent in the test's hands. */
import { EventEmitter } from 'node:events'
import { expect, test, vi } from 'vitest'
import { waitForEnd, watchLifetime } from '#commands/serve/lifetime.ts'

function watch({ hasParent = true } = {}) {
  const exit = vi.fn<(code: number) => void>()
  const watched = Object.assign(new EventEmitter(), { exit })
  const looks = new Set<() => void>()
  const state = { nowMs: 0, parent: 'npm' }
  const lifetime = watchLifetime({
    watched,
    identifyParent: hasParent ? () => state.parent : undefined,
    nowMs: () => state.nowMs,
    every: (_, look) => {
      looks.add(look)
      return () => looks.delete(look)
    },
  })
  const send = (signal: string) => watched.emit(signal, signal)
  return { lifetime, exit, watched, looks, state, send }
}

test.each([
  ['SIGTERM', true],
  ['SIGINT', false],
  ['SIGHUP', false],
])('%s asks for the end, and SIGTERM for draining', async (signal, drains) => {
  const { lifetime, exit, send } = watch()
  expect(lifetime.isEnding()).toBe(false)
  send(signal)
  expect(lifetime.isEnding()).toBe(true)
  expect(await lifetime.ended).toEqual({ drains })
  expect(exit).not.toHaveBeenCalled()
})

test.each([
  ['the same one passed on by npm', 'SIGINT', 0, []],
  ['the same one just before it counts as new', 'SIGINT', 999, []],
  ['the same one a second later', 'SIGINT', 1_000, [[130]]],
  ['another one at once', 'SIGTERM', 0, [[143]]],
])(
  'a signal after a first SIGINT ends the process at once if it is a new one: %s',
  (_, second, laterMs, exits) => {
    const { exit, send, state } = watch()
    send('SIGINT')
    state.nowMs += laterMs
    send(second)
    expect(exit.mock.calls).toEqual(exits)
  },
)

test('the first signal after a fault is not the second one', async () => {
  const { lifetime, exit, send } = watch()
  lifetime.end({ fault: 'the database is gone' })
  send('SIGTERM')
  expect(await lifetime.ended).toEqual({ fault: 'the database is gone' })
  expect(exit).not.toHaveBeenCalled()
})

test('a server started by npm notices that npm has ended when its parent process changes', async () => {
  const { lifetime, looks, state } = watch()
  for (const look of looks) look()
  expect(lifetime.isEnding()).toBe(false)
  state.parent = 'init'
  for (const look of looks) look()
  expect(await lifetime.ended).toEqual({})
})

test('a start that fails because Ctrl-C ended its programs is a stop, any other one a failure', async () => {
  const { lifetime, send } = watch()
  const initdb = new Error('initdb was killed')
  const interrupted = waitForEnd(Promise.reject(initdb), lifetime)
  setImmediate(() => send('SIGINT'))
  expect(await interrupted).toEqual({ ending: { drains: false } })
  expect(await waitForEnd(Promise.reject(initdb), watch().lifetime)).toEqual({ failure: initdb, ending: {} })
})

test('a server that was not started by npm does not watch its parent', () => {
  expect(watch({ hasParent: false }).looks.size).toBe(0)
})

test('once it is released, it no longer watches the parent process', () => {
  const { lifetime, looks, watched } = watch()
  lifetime.release()
  expect([looks.size, watched.listenerCount('SIGTERM'), watched.listenerCount('SIGINT')]).toEqual([0, 0, 0])
})
