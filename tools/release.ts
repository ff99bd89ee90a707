/**
 * `npm run release -- --dry-run`: writes the files of a release to the folder `dist`: version, notes, SBOM, the packed
 * packages and their checksums. It publishes nothing; without --dry-run it also refuses a work tree with changes.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { writeSbom } from './sbom.ts'

const root = join(import.meta.dirname, '..')
const folder = join(root, 'dist')
const { values } = parseArgs({ options: { 'dry-run': { type: 'boolean', default: false } } })

const run = (program: string, ...words: string[]): string =>
  execFileSync(program, words, { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })

/** The text below the newest heading of the changelog. */
export function readNotes(changelog: string): string {
  const [, newest = ''] = changelog.split(/^## /m)
  return `## ${newest.trim()}\n`
}

/** Without a gentler clean-up git takes every heading of the notes for a comment, and leaves it out. */
export const tagCommand = (version: string, notes: string): readonly string[] => [
  'git',
  'tag',
  '--annotate',
  `v${version}`,
  '--cleanup=whitespace',
  '--file',
  notes,
]

function release(): void {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  if (!values['dry-run'] && run('git', 'status', '--porcelain') !== '')
    throw new Error('the work tree has changes: commit them first, or try --dry-run')
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder)
  writeFileSync(join(folder, 'notes.md'), readNotes(readFileSync(join(root, 'CHANGELOG.md'), 'utf8')))
  writeFileSync(join(folder, 'sbom.cdx.json'), writeSbom(root))
  run('npm', 'pack', '--pack-destination', folder)
  run('npm', 'pack', '--workspace', '@tollgate/client', '--pack-destination', folder)
  const sums = readdirSync(folder)
    .sort()
    .map(
      name =>
        `${createHash('sha256')
          .update(readFileSync(join(folder, name)))
          .digest('hex')}  ${name}`,
    )
  writeFileSync(join(folder, 'SHA256SUMS'), `${sums.join('\n')}\n`)
  console.log(`Tollgate ${version}, in ${folder}:\n${sums.join('\n')}`)
  console.log(
    values['dry-run']
      ? 'Dry run: nothing was tagged.'
      : `Tag it: ${tagCommand(version, 'dist/notes.md').join(' ')}`,
  )
}

if (import.meta.main) release()
