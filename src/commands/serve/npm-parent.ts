/**
 * Identifies npm for a process that an npm script started. Not every shell passes npm's signals on, and a killed npm
 * sends none: then only the change of this name shows that npm is gone.
 */

import { readFileSync } from 'node:fs'
import { textAt } from '#domain/json.ts'

/** Our parent is npm itself, or the shell that npm runs the script in; then npm is the parent's parent. */
export function identifyNpm(script: string): string {
  const { ppid } = process
  if (process.platform !== 'linux' || !isShellOf(ppid, script)) return String(ppid)
  return `${ppid} of ${readParent(ppid)}`
}

const isShellOf = (pid: number, script: string): boolean =>
  readIfAlive(`/proc/${pid}/cmdline`)
    .split('\0')
    .some(word => word.startsWith(script))

/** The second field is the program's name in parentheses and may contain spaces; state and parent follow it. */
function readParent(pid: number): string | undefined {
  const stat = readIfAlive(`/proc/${pid}/stat`)
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]
}

/** Empty when the process has ended, even between opening and reading (ESRCH). */
function readIfAlive(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const code = textAt(error, 'code')
    if (code === 'ENOENT' || code === 'ESRCH') return ''
    throw error
  }
}
