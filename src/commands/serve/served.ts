/**
 * The address at which the gateway of this data folder listens. The serving process stores it, because with PORT=0, or
 * with variables that only it has, no other command could know.
 */

import { readFileSync, renameSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '#config.ts'
import { toConsoleOrigin } from '#console/address.ts'
import { memberOf, textAt } from '#domain/json.ts'

const servedFile = (directory: string): string => join(directory, 'served.json')

/** In a folder that is not writable nothing is stored; commands then use the settings. */
const unwritable: readonly (string | undefined)[] = ['ENOENT', 'EROFS', 'EACCES', 'EPERM']

/** Returns a function that removes the note when the server stops. */
export function rememberServed({ dataDirectory }: Pick<Config, 'dataDirectory'>, origin: string): () => void {
  const file = servedFile(dataDirectory)
  const draft = `${file}.${process.pid}`
  try {
    writeFileSync(draft, `${JSON.stringify({ origin, pid: process.pid })}\n`, { mode: 0o600 })
    // Written under another name and then renamed, so that readers never see half a file.
    renameSync(draft, file)
  } catch (error) {
    if (unwritable.includes(textAt(error, 'code'))) return () => {}
    throw error
  }
  return () => {
    if (readServed(file)?.pid === process.pid) unlinkSync(file)
  }
}

/** Undefined: no server of this data folder runs now. */
export function findServed({ dataDirectory }: Pick<Config, 'dataDirectory'>): string | undefined {
  const served = readServed(servedFile(dataDirectory))
  return served && isAlive(served.pid) ? served.origin : undefined
}

function readServed(file: string): { readonly origin: string; readonly pid: number } | undefined {
  try {
    const served: unknown = JSON.parse(readFileSync(file, 'utf8'))
    const [origin, pid] = [memberOf(served, 'origin'), memberOf(served, 'pid')]
    return typeof origin === 'string' && typeof pid === 'number' ? { origin, pid } : undefined
  } catch (error) {
    // Nothing was stored, or the file is not ours: then the address is unknown.
    if (error instanceof SyntaxError || textAt(error, 'code') === 'ENOENT') return undefined
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
  const known = publicUrl ?? findServed(config)
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
  // A console port that is chosen at the start is not stored anywhere.
  if (served !== undefined && consolePort !== 0) return toConsoleOrigin(served, consolePort)
  const shownPort = consolePort ?? port
  return shownPort === 0 ? undefined : `${tls ? 'https' : 'http'}://localhost:${shownPort}`
}
