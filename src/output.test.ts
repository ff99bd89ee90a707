/** Lines on their way out of the process: a full disk, a reader that stalls and one that is gone. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { openOutput } from '#output.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

describe('lines that cannot be written', () => {
  /** A disk that is full until there is room, and takes a few bytes at a time. */
  function openDisk() {
    const faults: string[] = []
    const disk = { isFull: true, code: 'ENOSPC', written: '' }
    const out = openOutput(
      bytes => {
        if (disk.isFull) throw Object.assign(new Error('no space'), { code: disk.code })
        const part = bytes.subarray(0, 1_000)
        disk.written += part.toString()
        return part.length
      },
      error => void faults.push(String(error)),
    )
    return { out, disk, faults }
  }

  test('are kept, reported once, and written in their order when there is room again', () => {
    const { out, disk, faults } = openDisk()
    for (const line of ['one\n', 'two\n']) out.write(line)
    expect(faults).toEqual(['Error: no space'])
    disk.isFull = false
    out.write('three\n')
    expect(disk.written).toBe('one\ntwo\nthree\n')
    disk.isFull = true
    out.write('four\n')
    expect(faults).toHaveLength(2)
  })

  test('are dropped where there are too many, and the next ones are written again', () => {
    const { out, disk } = openDisk()
    for (let count = 0; count < 100; count += 1) out.write('x'.repeat(65_536))
    disk.isFull = false
    out.write('dropped\n')
    out.write('next\n')
    expect(disk.written.length).toBe(64 * 65_536 + 'next\n'.length)
  })

  test('are written also when no others follow', () => {
    const { out, disk } = openDisk()
    out.write('one\n')
    disk.isFull = false
    vi.runOnlyPendingTimers()
    expect(disk.written).toBe('one\n')
  })

  test('are nobody’s concern once the reader has gone', () => {
    const { out, disk, faults } = openDisk()
    disk.code = 'EPIPE'
    out.write('one\n')
    disk.isFull = false
    out.write('two\n')
    expect([disk.written, faults]).toEqual(['', []])
  })
})

describe('a reader that does not read', () => {
  /** A pipe that is soon full, and takes what is written at once whole or not at all. */
  function openPipe({ size = 30, partBytes = 12 } = {}) {
    const faults: unknown[] = []
    let droppedLines = 0
    const pipe = { waits: '', read: '' }
    const parts: string[] = []
    const out = openOutput(
      bytes => {
        if (pipe.waits.length + bytes.length > size)
          throw Object.assign(new Error('full'), { code: 'EAGAIN' })
        pipe.waits += bytes.toString()
        parts.push(bytes.toString())
        return bytes.length
      },
      error => faults.push(error),
      {
        partBytes,
        describeDropped: count => `${count} dropped\n`,
        onDropped: count => {
          droppedLines += count
        },
      },
    )
    const read = () => {
      pipe.read += pipe.waits
      pipe.waits = ''
      vi.runOnlyPendingTimers()
    }
    return { out, pipe, parts, faults, read, droppedLines: () => droppedLines }
  }

  test('holds nobody up: lines wait, whole and in order, and it is no fault', () => {
    const { out, pipe, parts, faults, read } = openPipe()
    const lines = Array.from({ length: 20 }, (_, number) => `line ${number}\n`)
    out.write(lines.slice(0, 10).join(''))
    for (const line of lines.slice(10)) out.write(line)
    expect(pipe.waits).toBe('line 0\nline 1\nline 2\nline 3\n')
    for (let times = 0; times < 10; times += 1) read()
    expect(pipe.read).toBe(lines.join(''))
    expect(parts).toEqual(lines)
    expect(faults).toEqual([])
  })

  test('finds one line where too many are missing, which says how many', () => {
    const { out, pipe, read, droppedLines } = openPipe({ size: 1_000_000, partBytes: 4_096 })
    for (let times = 0; times < 90; times += 1) out.write('kept\n'.repeat(12_000))
    const dropped = droppedLines()
    for (let times = 0; times < 5; times += 1) read()
    out.write('next\n')
    read()
    const kept = 90 * 12_000 - dropped
    expect(dropped).toBeGreaterThan(0)
    expect(pipe.read.slice(kept * 'kept\n'.length)).toBe(`${dropped} dropped\nnext\n`)
    expect(droppedLines()).toBe(dropped)
  })

  test('finds no line behind the missing ones before it is said how many are missing', () => {
    const { out, pipe, read, droppedLines } = openPipe({ size: 1_000_000, partBytes: 4_096 })
    for (let times = 0; times < 90; times += 1) out.write('kept\n'.repeat(12_000))
    read()
    const before = droppedLines()
    out.write('between\n')
    expect(droppedLines()).toBe(before + 1)
    for (let times = 0; times < 6; times += 1) read()
    expect(pipe.read.endsWith(`kept\n${before + 1} dropped\n`)).toBe(true)
  })

  test('gets a line that is longer than a part in pieces', () => {
    const { out, pipe, read } = openPipe()
    out.write('short\na line of thirty characters …\nshort\n')
    for (let times = 0; times < 5; times += 1) read()
    expect(pipe.read).toBe('short\na line of thirty characters …\nshort\n')
  })

  test('is waited for at the end of the process, but not for ever', () => {
    let isFull = true
    let tries = 0
    const written: string[] = []
    const out = openOutput(
      bytes => {
        tries += 1
        if (isFull && tries < 4) throw Object.assign(new Error('full'), { code: 'EAGAIN' })
        isFull = false
        written.push(bytes.toString())
        return bytes.length
      },
      () => undefined,
    )
    out.write('last\n')
    expect(written).toEqual([])
    out.end()
    expect(written).toEqual(['last\n'])
    const stalled = openPipe()
    stalled.out.write('x'.repeat(100))
    stalled.out.end()
    expect(stalled.pipe.waits.length).toBeLessThan(100)
  })
})
