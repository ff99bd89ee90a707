/** Commands within this process, on a database of the test's own: a fraction of the time that processes take. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { vi } from 'vitest'
import { run } from '#commands/program.ts'
import type { AnyJson } from '#test/support/any-json.ts'

export interface CommandsHere {
  /** The data folder, for files of the test. */
  readonly folder: string
  run(...words: string[]): Promise<{ code: number; stdout: string; stderr: string }>
  /** As run with `--json`; throws when the command fails. */
  json(...words: string[]): Promise<AnyJson>
  /** Writes a file into the folder and returns its path. */
  file(name: string, content: string | Uint8Array): string
  remove(): void
}

/** `env`: what the commands read besides the database, for example TOLLGATE_MASTER_KEY. */
export function commandsHere(databaseUrl: string, env: Readonly<Record<string, string>> = {}): CommandsHere {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-here-'))
  const settings = { DATABASE_URL: databaseUrl, TOLLGATE_DATA: folder, ...env }
  async function runHere(...words: string[]) {
    const [stdout, stderr]: [string[], string[]] = [[], []]
    for (const [name, value] of Object.entries(settings)) vi.stubEnv(name, value)
    const spies = [
      vi.spyOn(console, 'log').mockImplementation(line => void stdout.push(`${line}\n`)),
      vi.spyOn(console, 'error').mockImplementation(line => void stderr.push(`${line}\n`)),
    ]
    try {
      return { code: await run(words), stdout: stdout.join(''), stderr: stderr.join('') }
    } finally {
      for (const spy of spies) spy.mockRestore()
      vi.unstubAllEnvs()
    }
  }
  return {
    folder,
    run: runHere,
    async json(...words) {
      const { code, stdout, stderr } = await runHere(...words, '--json')
      if (code !== 0) throw new Error(`tollgate ${words.join(' ')} ended with ${code}: ${stderr}`)
      return JSON.parse(stdout)
    },
    file(name, content) {
      const path = join(folder, name)
      writeFileSync(path, content)
      return path
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
