/** What a release ships: the packed files, and the newest part of the changelog. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { projectRoot } from '#test/support/docs/docs.ts'
import manifest from '../../package.json' with { type: 'json' }
import lock from '../../package-lock.json' with { type: 'json' }
import { readNotes } from '../../tools/release.ts'
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
