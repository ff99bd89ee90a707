/** Whether others on this machine may read or change the files that hold our keys. */
import { statSync } from 'node:fs'

interface Reader {
  text(name: string): string | undefined
  fault(sentence: string): void
}

export type ReadMode = (path: string) => number | undefined

/** Undefined where there is no such file, or no such thing as a mode. */
export const readFileMode: ReadMode = path =>
  process.platform === 'win32' ? undefined : statSync(path, { throwIfNoEntry: false })?.mode

/** In live nobody but its owner and its group may read or write a file that holds a key. */
export function refuseOpenFiles({ text, fault }: Reader, readMode: ReadMode): void {
  for (const name of ['TOLLGATE_MASTER_KEY_FILE', 'TOLLGATE_TLS_KEY']) {
    const path = text(name)
    const mode = (path && readMode(path)) || 0
    if ((mode & 0o006) === 0) continue
    fault(`${name} names the file "${path}", which every user may read or write: "chmod o-rwx ${path}" first`)
  }
}
