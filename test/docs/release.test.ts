/** What a release ships: the packed files, and the newest part of the changelog. */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { projectRoot } from '#test/support/docs/docs.ts'
import manifest from '../../package.json' with { type: 'json' }
import lock from '../../package-lock.json' with { type: 'json' }
import { readNotes, tagCommand } from '../../tools/release.ts'
import { writeSbom } from '../../tools/sbom.ts'

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

const hasGit = spawnSync('git', ['--version']).status === 0

test.skipIf(!hasGit)('the tag has the notes with their headings', () => {
  const repository = mkdtempSync(join(tmpdir(), 'tollgate-release-'))
  // Nothing of the developer's own settings counts, such as a key that signs.
  const env = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null' }
  const git = (...words: readonly string[]): string =>
    execFileSync('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@shop.example', ...words], {
      cwd: repository,
      env,
      encoding: 'utf8',
    })
  const notes = '## 2.0.0\n\n### Added\n\n- Refunds.\n'
  try {
    writeFileSync(join(repository, 'notes.md'), notes)
    git('init', '--quiet')
    git('commit', '--quiet', '--allow-empty', '--message', 'Begin')
    const [program, ...words] = tagCommand('2.0.0', 'notes.md')
    expect(program).toBe('git')
    git(...words)
    expect(git('tag', '--list', '--format=%(contents)', 'v2.0.0').trim()).toBe(notes.trim())
  } finally {
    rmSync(repository, { recursive: true })
  }
})

// npm's own list left out what a development package needs as well: ajv, and all that reads PostgreSQL's types.
test('the SBOM lists every package of production with its checksum, and none of development', () => {
  interface Listed {
    readonly components: readonly {
      readonly 'bom-ref': string
      readonly name: string
      readonly hashes?: object
    }[]
    readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[]
  }
  const { components, dependencies }: Listed = JSON.parse(writeSbom(projectRoot))
  const names = components.map(({ name }) => name)
  const direct = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })
  expect(direct.filter(name => !names.includes(name))).toEqual([])
  expect(names).toEqual(expect.arrayContaining(['ajv', 'pg-types', 'fast-uri', 'pg-protocol']))
  expect(names.filter(name => Object.hasOwn(manifest.devDependencies, name))).toEqual([])
  const refs = components.map(component => component['bom-ref'])
  const packages = lock.packages as Record<string, { dev?: boolean; link?: boolean }>
  const locked = Object.keys(packages).filter(
    path => path.startsWith('node_modules/') && !packages[path]?.dev && !packages[path]?.link,
  )
  expect(refs).toEqual(locked)
  expect(components.filter(({ hashes }) => hashes === undefined)).toEqual([])
  // Whatever a listed package needs is listed too.
  expect(dependencies.flatMap(({ dependsOn }) => dependsOn).filter(ref => !refs.includes(ref))).toEqual([])
  expect(dependencies.find(({ ref }) => ref === 'node_modules/ajv')?.dependsOn).toHaveLength(4)
})
