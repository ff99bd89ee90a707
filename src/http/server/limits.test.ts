import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { connectionsWithin, defaultLimits, limitsOfOne, readOpenFilesMax } from '#http/server/limits.ts'

test('one process gets the limits of the port, several get an equal share each', () => {
  const { openPerAddress, idlePerAddress } = defaultLimits
  expect(limitsOfOne(1)).toEqual({ openPerAddress, idlePerAddress })
  expect(limitsOfOne(3)).toEqual({ openPerAddress: 333, idlePerAddress: 33 })
  expect(limitsOfOne(5_000)).toEqual({ openPerAddress: 1, idlePerAddress: 1 })
})

test.each([
  ['1024', 512],
  ['20001', 10_000],
  ['65536', 10_000],
  ['unlimited', 10_000],
])('of %s open files, %s connections are for callers at most', (openFiles, connections) => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-limits-'))
  const file = join(folder, 'limits')
  writeFileSync(
    file,
    `Limit                     Soft Limit           Hard Limit           Units
Max core file size        0                    0                    bytes
Max open files            ${openFiles.padEnd(20)} 1048576              files
Max locked memory         8388608              8388608              bytes
`,
  )
  expect(connectionsWithin(readOpenFilesMax(file))).toBe(connections)
  rmSync(folder, { recursive: true })
  expect(connectionsWithin(readOpenFilesMax(file))).toBe(defaultLimits.connections)
})
