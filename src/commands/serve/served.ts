/**
 * The addresses at which the gateway of this data folder and its console are reached. The serving process stores them,
 * because with PORT=0, or with variables that only it has, no other command could know.
 */

import { readFileSync, renameSync, rmSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '#config.ts'
import { toConsoleOrigin } from '#console/address.ts'
import { memberOf, textAt } from '#domain/json.ts'

const servedFile = (directory: string): string => join(directory, 'served.json')

/** In a folder that is not writable, or whose disk is full, nothing is stored; commands then use the settings. */
const unwritable: readonly (string | undefined)[] = [
  ...['ENOENT', 'EROFS', 'EACCES', 'EPERM'],
  ...['ENOSPC', 'EDQUOT'],
]

/** There is no such file, or the folder is another user's, who may use the same database through DATABASE_URL. */
const unreadable: readonly (string | undefined)[] = ['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM']

export interface Served {
  readonly origin: string
  /** The origin of the console; null if it is switched off. Absent in a note of an earlier release. */
  readonly console?: string | null
}

/** Undefined: the console is switched off. */
export const consoleOriginOf = (
  { console, publicUrl, consolePort }: Pick<Config, 'console' | 'publicUrl' | 'consolePort'>,
  origin: string,
): string | undefined =>
  console === 'off' ? undefined : toConsoleOrigin(origin, publicUrl === undefined ? consolePort : undefined)

/** Returns a function that removes the note when the server stops. */
export function rememberServed(
  config: Pick<Config, 'dataDirectory' | 'console' | 'publicUrl' | 'consolePort'>,
  origin: string,
): () => void {
  const file = servedFile(config.dataDirectory)
  const draft = `${file}.${process.pid}`
  const served: Served = { origin, console: consoleOriginOf(config, origin) ?? null }
  try {
    writeFileSync(draft, `${JSON.stringify({ ...served, pid: process.pid })}\n`, { mode: 0o600 })
    // Written under another name and then renamed, so that readers never see half a file.
    renameSync(draft, file)
  } catch (error) {
    if (!unwritable.includes(textAt(error, 'code'))) throw error
    // A full disk leaves an empty file.
    rmSync(draft, { force: true })
    return () => {}
  }
  return () => {
    if (readServed(file)?.pid === process.pid) unlinkSync(file)
  }
}

/** Undefined: no server of this data folder runs now. */
export function findServed({ dataDirectory }: Pick<Config, 'dataDirectory'>): Served | undefined {
  const served = readServed(servedFile(dataDirectory))
  return served && isAlive(served.pid) ? served : undefined
}

function readServed(file: string): (Served & { readonly pid: number }) | undefined {
  try {
    const served: unknown = JSON.parse(readFileSync(file, 'utf8'))
    const [origin, pid, console] = ['origin', 'pid', 'console'].map(name => memberOf(served, name))
    if (typeof origin !== 'string' || typeof pid !== 'number') return undefined
    return { origin, pid, ...(typeof console === 'string' || console === null ? { console } : {}) }
  } catch (error) {
    // Nothing was stored, or the file is not ours: then the address is unknown.
    if (error instanceof SyntaxError || unreadable.includes(textAt(error, 'code'))) return undefined
    throw error
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return textAt(error, 'code') === 'EPERM'
  }
}

/**
 * The origin at which others reach the gateway: the public address, else the address of the running server, else the
 * configured one.
 */
export function findOrigin(config: Config): string {
  const { publicUrl, host, port, tls } = config
  const known = publicUrl ?? findServed(config)?.origin
  if (known !== undefined) return known
  // A server that listens on all addresses is reached on loopback.
  const reachable =
    host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host
  return `${tls ? 'https' : 'http'}://${reachable}:${port}`
}

/** The origin of the console; undefined if its port is chosen when the server starts, and none runs. */
export function findConsoleOrigin(config: Config): string | undefined {
  const { publicUrl, tls, port, consolePort } = config
  if (publicUrl !== undefined) return publicUrl
  const served = findServed(config)
  if (served) return served.console ?? toConsoleOrigin(served.origin, consolePort)
  const shownPort = consolePort ?? port
  return shownPort === 0 ? undefined : `${tls ? 'https' : 'http'}://localhost:${shownPort}`
}
