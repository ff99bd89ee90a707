/**
 * Turns environment variables into one validated, frozen record. The only reader of process.env. It reports all faults
 * at once, in sentences, and never repeats a value that may hold a secret.
 */

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { createSecureContext } from 'node:tls'
import { judgeKeyFiles, type ReadMode, readFileMode } from '#config/key-files.ts'
import {
  isLoopback,
  isReachable,
  readHost,
  readLoopbackWebhooks,
  readPort,
  readSecurityContact,
  readTrustedProxies,
} from '#config/network.ts'
import { readCells, readCellUrls, readConsolePort, readDrain, readWorkers } from '#config/processes.ts'
import { variables } from '#config/variables.ts'
import { editDistance } from '#domain/edit-distance.ts'
import { textAt } from '#domain/json.ts'
import { Secret } from '#domain/secret.ts'
import { isWebAddress } from '#domain/text.ts'
import { type MasterKey, MasterKeyError, toMasterKeys } from '#vault/master-key.ts'

export { variables } from '#config/variables.ts'

export interface Config {
  readonly environment: 'test' | 'live'
  readonly host: string
  readonly port: number
  /** Absolute. */
  readonly dataDirectory: string
  /** Absent: the embedded PostgreSQL in the data folder. */
  readonly databaseUrl?: Secret<string>
  /** The newest first. Always present in live; in test one is made in the data folder when absent. */
  readonly masterKeys?: readonly [MasterKey, ...MasterKey[]]
  /** The file they were read from, which is read again when the master key is rotated. */
  readonly masterKeyFile?: string
  /** PEM texts, and the files that hold them. */
  readonly tls?: {
    readonly cert: string
    readonly key: Secret<string>
    readonly files: { readonly cert: string; readonly key: string }
  }
  /** The number of proxies in front, or their addresses and networks; absent when none is trusted. */
  readonly trustedProxies?: number | readonly string[]
  /**
   * Whether test webhooks may go to this machine itself; unless set, only if other machines cannot reach the gateway.
   */
  readonly loopbackWebhooks: boolean
  readonly securityContact?: string
  /** An origin, without a path. */
  readonly publicUrl?: string
  readonly logLevel: (typeof logLevels)[number]
  /** Percent with two decimals; the gateway's own unless set. */
  readonly dccMarkup?: string
  /** 0 unless set; always 0 in live. */
  readonly simulatorLatencyMs: number
  /** Where the console is: on the gateway's own port, on another one, or nowhere. */
  readonly console: 'on' | 'off'
  readonly consolePort?: number
  /** The number of processes that serve the port. */
  readonly workers: number
  /** The minimum number of cells, including cell 0. */
  readonly cells: number
  /** Databases that hold one cell each. */
  readonly cellUrls: readonly Secret<string>[]
  /** How long requests are still served after SIGTERM. */
  readonly drainSeconds: number
  /** The npm script that runs the gateway, if any: then it ends with npm, and hints are written for npm. */
  readonly npmScript?: string
  /** Problems that do not prevent the start. */
  readonly warnings: readonly string[]
}

const environments = ['test', 'live'] as const
const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const

/** The variables of the curl commands in the API reference; they are not meant for the gateway. */
const readersVariables = ['TOLLGATE_API', 'TOLLGATE_MERCHANT', 'TOLLGATE_KEY']

export class ConfigError extends Error {
  readonly faults: readonly string[]

  constructor(faults: readonly string[]) {
    super(
      faults.length === 1 ? String(faults[0]) : ['the configuration has faults:', ...faults].join('\n  - '),
    )
    this.faults = faults
  }
}

type Environment = Readonly<Record<string, string | undefined>>
type ReadFile = (path: string) => string

export const config = (): Config => readConfig(process.env)

/** Reads the variable directly, because an error may be reported before there is a valid configuration. */
export const showsStacks = (): boolean => process.env.TOLLGATE_LOG_LEVEL === 'debug'

export function readConfig(
  env: Environment,
  readFile: ReadFile = path => readFileSync(path, 'utf8'),
  readMode: ReadMode = readFileMode,
): Config {
  const reader = createReader(env, readFile)
  const { choose, text } = reader
  const environment = choose('TOLLGATE_ENVIRONMENT', environments, 'test')
  const result = {
    environment,
    host: readHost(reader),
    port: readPort(reader),
    dataDirectory: resolve(text('TOLLGATE_DATA') ?? '.tollgate'),
    databaseUrl: readDatabaseUrl(reader),
    masterKeys: readMasterKeys(reader, environment),
    masterKeyFile: text('TOLLGATE_MASTER_KEY_FILE'),
    tls: readTls(reader),
    trustedProxies: readTrustedProxies(reader),
    loopbackWebhooks: readLoopbackWebhooks(reader, environment),
    securityContact: readSecurityContact(reader),
    publicUrl: readPublicUrl(reader, environment),
    logLevel: choose('TOLLGATE_LOG_LEVEL', logLevels, 'info'),
    dccMarkup: readMarkup(reader),
    simulatorLatencyMs: readLatency(reader, environment),
    console: choose('TOLLGATE_CONSOLE', ['on', 'off'], 'on'),
    consolePort: readConsolePort(reader),
    workers: readWorkers(reader),
    cells: readCells(reader),
    cellUrls: readCellUrls(reader),
    drainSeconds: readDrain(reader),
    npmScript: text('npm_lifecycle_event') && text('npm_lifecycle_script'),
    warnings: Object.freeze([
      ...findUnknown(env),
      ...(environment === 'live' ? judgeKeyFiles(reader, readMode) : []),
    ]),
  }
  const tlsWanted = text('TOLLGATE_TLS_CERT') ?? text('TOLLGATE_TLS_KEY')
  if (!isLoopback(result.host) && tlsWanted === undefined && result.trustedProxies === undefined) {
    reader.fault(
      `HOST is "${result.host}", which others can reach, and plain HTTP is for loopback only: ` +
        'set TOLLGATE_TLS_CERT and TOLLGATE_TLS_KEY, or TOLLGATE_TRUSTED_PROXY=true when a proxy in front ends TLS',
    )
  }
  if (reader.faults.length > 0) throw new ConfigError(reader.faults)
  // The default: only if other machines cannot reach the gateway.
  const loopbackWebhooks = result.loopbackWebhooks ?? !isReachable(result)
  return Object.freeze<Config>({ ...result, loopbackWebhooks })
}

interface Reader {
  readonly faults: readonly string[]
  fault(sentence: string): void
  /** An empty variable counts as not set: compose files pass unset variables on as empty ones. */
  text(name: string): string | undefined
  choose<T extends string>(name: string, allowed: readonly T[], otherwise: T): T
  file(name: string): string | undefined
  /** Reads the variable itself, or the file that the variable with the suffix `_FILE` names. */
  secret(name: string): { readonly text: string; readonly origin: string } | undefined
}

function createReader(env: Environment, readFile: ReadFile): Reader {
  const faults: string[] = []
  const fault = (sentence: string) => void faults.push(sentence)
  const text = (name: string) => env[name]?.trim() || undefined

  function choose<T extends string>(name: string, allowed: readonly T[], otherwise: T): T {
    const value = text(name)
    if (value === undefined) return otherwise
    const found = allowed.find(word => word === value)
    if (found === undefined) fault(`${name} is "${value}", but must be ${listWords(allowed)}`)
    return found ?? otherwise
  }

  function file(name: string): string | undefined {
    const path = text(name)
    if (path === undefined) return undefined
    try {
      const content = readFile(path)
      if (content.trim() !== '') return content
      fault(`${name} names the file "${path}", which is empty`)
    } catch (error) {
      const reason = textAt(error, 'code') ?? textAt(error, 'message')
      fault(`${name} names the file "${path}", which cannot be read (${reason})`)
    }
    return undefined
  }

  function secret(name: string): { text: string; origin: string } | undefined {
    const direct = text(name)
    const sibling = `${name}_FILE`
    if (direct !== undefined && text(sibling) !== undefined) {
      fault(`${name} and ${sibling} are both set, but only one of them may be`)
      return undefined
    }
    if (direct !== undefined) return { text: direct, origin: name }
    const content = file(sibling)?.trim()
    return content === undefined ? undefined : { text: content, origin: `the file of ${sibling}` }
  }

  return { faults, fault, text, choose, file, secret }
}

/** A URL with a user but no host means a unix socket: drivers accept it, the URL parser does not. */
export const isDatabaseUrl = (text: string): boolean =>
  /^postgres(ql)?:\/\//.test(text) && URL.canParse(text.replace('@/', '@localhost/'))

function readDatabaseUrl({ secret, fault }: Reader): Secret<string> | undefined {
  const given = secret('DATABASE_URL')
  if (given === undefined) return undefined
  const [, authority = ''] = /^postgres(?:ql)?:\/\/([^/?]*)/.exec(given.text) ?? []
  // libpq accepts several hosts, separated by commas; we do not. A password may contain a comma.
  if (authority.slice(authority.lastIndexOf('@') + 1).includes(',')) {
    fault(
      `${given.origin} names several hosts, but must name one: a proxy or an address that leads to the primary, ` +
        'as in docs/high-availability.md',
    )
    return undefined
  }
  if (isDatabaseUrl(given.text)) return new Secret(given.text)
  fault(
    `${given.origin} must hold an address such as postgres://user:password@host:5432/database ` +
      '(what it holds is not shown, as it may contain a password)',
  )
  return undefined
}

function readMasterKeys({ secret, fault, text }: Reader, environment: string): Config['masterKeys'] {
  const given = secret('TOLLGATE_MASTER_KEY')
  if (given === undefined) {
    const named = text('TOLLGATE_MASTER_KEY') ?? text('TOLLGATE_MASTER_KEY_FILE')
    if (environment === 'live' && named === undefined) {
      fault(
        'TOLLGATE_MASTER_KEY or TOLLGATE_MASTER_KEY_FILE must be set in the live environment: 32 random bytes in ' +
          'base64, for example from "openssl rand -base64 32", kept where no database backup goes',
      )
    }
    return undefined
  }
  try {
    return toMasterKeys(given.text, given.origin)
  } catch (error) {
    if (!(error instanceof MasterKeyError)) throw error
    fault(error.message)
    return undefined
  }
}

function readTls({ text, file, fault }: Reader): Config['tls'] {
  const [certName, keyName] = ['TOLLGATE_TLS_CERT', 'TOLLGATE_TLS_KEY']
  const given = [certName, keyName].filter(name => text(name) !== undefined)
  if (given.length === 1) {
    fault(
      `${certName} and ${keyName} belong together, but only ${given[0]} is set: set the other too, or neither`,
    )
  }
  const [cert, key] = [file(certName), file(keyName)]
  if (cert === undefined || key === undefined) return undefined
  try {
    createSecureContext({ cert, key })
  } catch (error) {
    // The message of OpenSSL names the problem, never the content.
    fault(`${certName} and ${keyName} cannot be used together: ${textAt(error, 'message')}`)
  }
  const files = Object.freeze({ cert: text(certName) ?? '', key: text(keyName) ?? '' })
  return Object.freeze({ cert, key: new Secret(key), files })
}

function readPublicUrl({ text, fault }: Reader, environment: Config['environment']): string | undefined {
  const value = text('TOLLGATE_PUBLIC_URL')
  if (value === undefined) return undefined
  if (isWebAddress(value)) {
    const url = new URL(value)
    if (url.href === `${url.origin}/`) {
      // Customers type their card numbers behind this address.
      if (environment === 'live' && url.protocol !== 'https:' && !isLoopback(url.hostname))
        fault(`TOLLGATE_PUBLIC_URL is "${value}", but must begin with https:// in the live environment`)
      return url.origin
    }
  }
  // A value with an "@" may contain credentials, so it is not repeated.
  const shown = value.includes('@') ? '' : ` is "${value}", but`
  fault(`TOLLGATE_PUBLIC_URL${shown} must be an origin such as https://pay.example.com, without a path`)
  return undefined
}

/** 20 %: a larger markup is more likely a typo than an offer that a cardholder would accept. */
const markupMax = 20

function readMarkup({ text, fault }: Reader): string | undefined {
  const value = text('TOLLGATE_DCC_MARKUP')
  if (value === undefined) return undefined
  const [, whole = '', fraction = ''] = /^([0-9]{1,2})(?:\.([0-9]{1,2}))?$/.exec(value) ?? []
  if (whole !== '' && Number(value) <= markupMax) return `${Number(whole)}.${fraction.padEnd(2, '0')}`
  fault(`TOLLGATE_DCC_MARKUP is "${value}", but must be a percentage from 0 to ${markupMax} such as 3.00`)
  return undefined
}

/** 10 s: half of a provider's timeout, so that the simulator's slow answer still arrives. */
const latencyMaxMs = 10_000

function readLatency({ text, fault }: Reader, environment: string): number {
  const value = text('TOLLGATE_SIMULATOR_LATENCY_MS') ?? '0'
  const latencyMs = /^\d{1,5}$/.test(value) ? Number(value) : Number.POSITIVE_INFINITY
  if (latencyMs > latencyMaxMs) {
    fault(`TOLLGATE_SIMULATOR_LATENCY_MS is "${value}", but must be a whole number from 0 to ${latencyMaxMs}`)
  } else if (latencyMs > 0 && environment === 'live') {
    fault('TOLLGATE_SIMULATOR_LATENCY_MS is set, but the live environment has no simulator: leave it out')
  }
  return latencyMs
}

function findUnknown(env: Environment): readonly string[] {
  const known = variables.map(variable => variable.name)
  return Object.keys(env)
    .filter(name => name.startsWith('TOLLGATE_') && !known.includes(name) && !readersVariables.includes(name))
    .sort()
    .map(name => {
      const nearest = findNearest(name, known)
      const hint =
        nearest === undefined ? 'docs/operating.md lists the variables' : `did you mean ${nearest}?`
      return `${name} is not a variable of Tollgate and has no effect; ${hint}`
    })
}

/** Undefined: with more than one typing error in four letters it is another word. */
function findNearest(name: string, known: readonly string[]): string | undefined {
  const asked = name.slice('TOLLGATE_'.length)
  const most = Math.ceil(asked.length / 4)
  const distance = (word: string): number => {
    // PORT and some others have no prefix; TOLLGATE_PORT is treated as a misspelling of PORT.
    const own = word.replace(/^TOLLGATE_/, '')
    return asked.length > 1 && own.startsWith(asked) ? 0 : editDistance(asked, own)
  }
  const nearest = known.reduce((best, word) => (distance(word) < distance(best) ? word : best))
  return distance(nearest) <= most ? nearest : undefined
}

/** a, b or c */
function listWords(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
}
