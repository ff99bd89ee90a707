/**
 * A release runs beside its predecessor, on the schema that the newer one has made. So the API tests of the previous release
 * (the last tag; without one, the commit before the newest migration came) run once more with its own code and with the
 * migrations of today.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))

const git = (...words: string[]): string =>
  execFileSync('git', words, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()

function findPrevious(): string {
  const tag = spawnSync('git', ['describe', '--tags', '--abbrev=0'], { cwd: root, encoding: 'utf8' })
  if (tag.status === 0) return tag.stdout.trim()
  const newest = ['-1', '--first-parent', '-m', '--diff-filter=A', '--format=%H', '--', 'migrations']
  return `${git('log', ...newest)}^1`
}

/** The files of the previous release with the migrations of today. */
function checkOut(folder: string): void {
  const archive = join(folder, 'release.tar')
  git('archive', '--output', archive, findPrevious())
  execFileSync('tar', ['-xf', archive, '-C', folder])
  rmSync(join(folder, 'migrations'), { recursive: true })
  cpSync(join(root, 'migrations'), join(folder, 'migrations'), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
}

test('the previous release passes its API tests on the schema of this one', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-previous-'))
  try {
    checkOut(folder)
    const words = ['node_modules/vitest/vitest.mjs', 'run', '--maxWorkers=1', 'test/api']
    // Not spawnSync: while that waits, this process could not answer the test runner, which gives up after a minute.
    const child = spawn(process.execPath, words, { cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] })
    const [stdout, [status]] = await Promise.all([text(child.stdout), once(child, 'close')])
    expect(status, stdout.slice(-5_000)).toBe(0)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
