/** Checks the file modes of key files: other users of this machine must not read or change them. */
import { statSync } from 'node:fs'

interface Reader {
  text(name: string): string | undefined
  fault(sentence: string): void
}

export type ReadMode = (path: string) => number | undefined

/** Returns undefined if the file does not exist, or the system has no file modes. */
export const readFileMode: ReadMode = path =>
  process.platform === 'win32' ? undefined : statSync(path, { throwIfNoEntry: false })?.mode

/**
 * In live, only owner and group may read or write the file of the master key. Certificate tools often make a TLS key
 * readable by everyone, so that is a warning; a TLS key that everyone may write is refused.
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
