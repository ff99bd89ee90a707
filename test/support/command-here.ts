/** Commands within this process, on a database of the test's own: a fraction of the time that processes take. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AnyJson } from '#test/support/any-json.ts'
import { tollgateHere } from '#test/support/command-line.ts'

export interface CommandsHere {
  /** The data folder, for files of the test. */
  readonly folder: string
  run(...words: string[]): Promise<{ code: number; stdout: string; stderr: string }>
  /** Runs the command with `--json`; throws with its whole output if it fails. */
  json(...words: string[]): Promise<AnyJson>
  /** Writes a file into the folder and returns its path. */
  file(name: string, content: string | Uint8Array): string
  remove(): void
}

/** `env`: variables of the commands besides the database, for example TOLLGATE_MASTER_KEY. */
export function commandsHere(databaseUrl: string, env: Readonly<Record<string, string>> = {}): CommandsHere {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-here-'))
  const settings = { DATABASE_URL: databaseUrl, TOLLGATE_DATA: folder, ...env }
  const runHere = (...words: string[]) => tollgateHere(words, settings)
  return {
    folder,
    run: runHere,
    async json(...words) {
      const { code, stdout, stderr } = await runHere(...words, '--json')
      if (code !== 0) throw new Error(`tollgate ${words.join(' ')} ended with ${code}: ${stderr}${stdout}`)
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
