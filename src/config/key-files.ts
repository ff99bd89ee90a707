/** Whether others on this machine may read or change the files that hold our keys. */
import { statSync } from 'node:fs'

interface Reader {
  text(name: string): string | undefined
  fault(sentence: string): void
}

export type ReadMode = (path: string) => number | undefined

/** Undefined where the file does not exist, or the system has no file modes. */
export const readFileMode: ReadMode = path =>
  process.platform === 'win32' ? undefined : statSync(path, { throwIfNoEntry: false })?.mode

/**
 * In live only its owner and group may read or write the master key's file. Certificate tools often make a
 * certificate's key readable by all: that causes a warning, and only a file that all may change is refused.
 */
export function judgeKeyFiles({ text, fault }: Reader, readMode: ReadMode): readonly string[] {
  const judge = (name: string, forbidden: number): string | undefined => {
    const path = text(name)
    const mode = (path && readMode(path)) || 0
    return (mode & forbidden) === 0
      ? undefined
      : `${name} names the file "${path}", which every user may read or write: "chmod o-rwx ${path}" first`
  }
  const refused = [judge('TOLLGATE_MASTER_KEY_FILE', 0o006), judge('TOLLGATE_TLS_KEY', 0o002)]
  for (const sentence of refused) if (sentence !== undefined) fault(sentence)
  const warning = judge('TOLLGATE_TLS_KEY', 0o004)
  return warning === undefined ? [] : [warning]
}
