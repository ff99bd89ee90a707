/** What a release ships: the packed files, and the newest part of the changelog. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { projectRoot } from '#test/support/docs.ts'
import { readNotes } from '../../tools/release.ts'

test('the package holds program, sources and migrations, and neither tests nor data', () => {
  const [packed] = JSON.parse(
    execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
      cwd: projectRoot,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }),
  )
  const paths: string[] = packed.files.map(({ path }: { path: string }) => path)
  expect(paths).toEqual(
    expect.arrayContaining([
      'bin/tollgate.js',
      'bin/strip-types.js',
      'src/main.ts',
      'migrations/0001-foundation.sql',
    ]),
  )
  expect(paths.filter(path => /\.test(-support)?\.ts$|^test\/|\.tollgate|\.env|\.key$/.test(path))).toEqual(
    [],
  )
})

test('the notes are the newest part of the changelog alone', () => {
  const notes = readNotes(readFileSync(join(projectRoot, 'CHANGELOG.md'), 'utf8'))
  expect(notes).toMatch(/^## \S/)
  expect(notes.match(/^## /gm)).toHaveLength(1)
})
