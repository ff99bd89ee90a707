/** Compiles a folder whose misuse.ts must fail at every place marked `// must fail`, and nowhere else. */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { projectRoot } from '#test/support/docs/docs.ts'

export interface Compiled {
  /** The compiler's errors in other files than misuse.ts. */
  readonly complaints: readonly string[]
  /** How many places of misuse.ts must fail. */
  readonly expected: number
  /** The places of these that compile. */
  readonly missed: readonly string[]
}

export async function compileMisuse(folder: string, file: string): Promise<Compiled> {
  const compiler = join(projectRoot, 'node_modules/typescript/bin/tsc')
  const said = await new Promise<string>(resolve => {
    execFile(process.execPath, [compiler, '--project', folder, '--pretty', 'false'], (_, stdout) =>
      resolve(stdout),
    )
  })
  const errors = [...said.matchAll(/^(.+?)\((\d+),.*$/gm)]
  const complained = errors
    .filter(([, name]) => name?.endsWith('misuse.ts'))
    .map(([, , line]) => Number(line))
  const lines = (await readFile(join(folder, file), 'utf8')).split('\n')
  const blocks = lines.flatMap((line, index) => {
    if (!line.startsWith('// must fail')) return []
    const end = lines.indexOf('', index)
    return [{ line, from: index + 1, to: end === -1 ? lines.length : end }]
  })
  return {
    complaints: errors.filter(([, name]) => !name?.endsWith('misuse.ts')).map(([whole]) => whole),
    expected: blocks.length,
    missed: blocks
      .filter(({ from, to }) => !complained.some(number => number > from && number <= to))
      .map(({ line }) => line),
  }
}
