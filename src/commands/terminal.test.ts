/** Colours and bars are for terminals; whatever is read by a program stays plain. */
import { expect, test, vi } from 'vitest'
import { paintState, printExport, printRows, showProgress } from '#commands/terminal.ts'
import { toVisible } from '#domain/text.ts'

const streamOf = (isTTY: boolean) => {
  const written: string[] = []
  const stream = {
    isTTY,
    writable: true,
    getColorDepth: () => 8,
    hasColors: () => true,
    write: (text: string) => written.push(text) > 0,
  }
  return { written, stream: stream as unknown as NodeJS.WriteStream }
}

test('output into a pipe has no colours and no progress bar', () => {
  const { stream, written } = streamOf(false)
  expect(paintState('FAILED', stream)).toBe('FAILED')
  const progress = showProgress('Reading', { stream })
  progress.advance(5, 10)
  progress.end()
  expect(written).toEqual([])
})

test('output into a log is the line as it was given', () => {
  const { stream, written } = streamOf(false)
  showProgress('Reading', { stream, line: (done, total) => `${done} of ${total}` }).advance(5, 10)
  expect(written).toEqual(['5 of 10\n'])
})

test('a terminal gets a bar that is cleared in the end, drawn ten times a second at most', () => {
  const { stream, written } = streamOf(true)
  let now = 0
  const progress = showProgress('Reading', { stream, nowMs: () => now })
  progress.advance(5, 10)
  now += 50
  progress.advance(6, 10)
  now += 60
  progress.advance(10, 10)
  progress.end()
  expect(written).toHaveLength(3)
  expect(written[0]).toContain('Reading [############            ] 50 % (5 of 10)')
  expect(written[1]).toContain('100 %')
  expect(written[2]).toBe('\r\u001b[K')
})

test('progress towards an unknown end is shown as a count', () => {
  const { stream, written } = streamOf(true)
  showProgress('Reading', { stream, nowMs: () => 0 }).advance(12_345)
  expect(written[0]).toContain('Reading 12,345')
})

test('words that are not states keep their look, also on a terminal', () => {
  expect(paintState('hello', streamOf(true).stream)).toBe('hello')
})

test('text from others is printed without its control characters', () => {
  const text = 'é\u001b]0;title\u0007 \u009b31m\r\n\u202ertl'
  expect(toVisible(text)).toBe('é\\u001b]0;title\\u0007 \\u009b31m\\u000d\\u000a\\u202ertl')
})

test('a table has columns that fit their cells, and no cell controls the terminal', () => {
  const log = vi.spyOn(console, 'log').mockImplementation(() => {})
  printRows([
    ['ID', 'SAID'],
    ['4711', 'ok\u001b[2J'],
  ])
  expect(log.mock.calls).toEqual([['ID    SAID'], ['4711  ok\\u001b[2J']])
  log.mockRestore()
})

const failing = (code: string) =>
  vi
    .spyOn(process.stdout, 'errored', 'get')
    .mockReturnValue(Object.assign(new Error(`write ${code}`), { code }))

test('an export ends without an error when its reader has gone, and reads no further', async () => {
  const read: string[] = []
  async function* pieces() {
    for (const piece of ['first', 'second']) {
      read.push(piece)
      yield piece
    }
  }
  const gone = failing('EPIPE')
  try {
    await expect(printExport(pieces())).resolves.toBeUndefined()
    expect(read).toEqual(['first'])
  } finally {
    gone.mockRestore()
  }
})

test('an export that does not fit onto its disk fails', async () => {
  async function* pieces() {
    yield 'first'
  }
  const full = failing('ENOSPC')
  try {
    await expect(printExport(pieces())).rejects.toThrow(
      'standard output cannot be written (ENOSPC), so it is not complete',
    )
  } finally {
    full.mockRestore()
  }
})
