/**
 * How a failing command reports its error: one sentence for people, an exit code for scripts, a stack only on request.
 */
import type { CommanderError } from 'commander'
import { OutputFault, ReaderGone } from '#commands/terminal.ts'
import { ConfigError } from '#config.ts'
import { textAt } from '#domain/json.ts'
import { isConnectionLost } from '#storage/database.ts'
import { EmbeddedPostgresError } from '#storage/embedded/index.ts'
import { MigrationError } from '#storage/migrate.ts'
import { MasterKeyError } from '#vault/master-key.ts'
import { TooManyRoots } from '#vault/root-secrets.ts'
import { ClientFault } from '#webhooks/gateway-client.ts'

/** A requirement of the command is not met; the message is a sentence that says what to do. */
export class CommandFault extends Error {}

/** The command was called in a way that cannot work. */
export class UsageFault extends Error {}

/** 1: something broke or is missing. 2: the command line or the environment is wrong. */
export const exitCodes = { fault: 1, usage: 2 } as const

/** Their messages were written for the person at the terminal. Any other error is unexpected. */
const expectedFaults = [
  CommandFault,
  UsageFault,
  ConfigError,
  EmbeddedPostgresError,
  MigrationError,
  MasterKeyError,
  TooManyRoots,
  OutputFault,
]

/** Recognised by its code and not by its class, so that a server need not load the library. */
const isCommanderError = (error: unknown): error is CommanderError =>
  error instanceof Error && 'code' in error && String(error.code).startsWith('commander.')

export function toExitCode(error: unknown): number {
  if (isCommanderError(error) && error.exitCode === 0) return 0
  const usage = isCommanderError(error) || error instanceof UsageFault || error instanceof ConfigError
  return usage ? exitCodes.usage : exitCodes.fault
}

/** Undefined: there is nothing left to say. */
export function describeFault(error: unknown, showsStacks: boolean): string | undefined {
  if (isCommanderError(error)) {
    // Help was asked for or has been shown already.
    if (error.exitCode === 0 || error.code === 'commander.help') return undefined
    return `tollgate: ${error.message.replace(/^error: /, '')}`
  }
  // The reader of our output has gone, so only the exit code reports that not everything was written.
  if (error instanceof ReaderGone) return undefined
  if (showsStacks && error instanceof Error) return `tollgate: ${error.stack}${describeCauses(error)}`
  const sentence = `tollgate: ${describeReason(error)}`
  if (expectedFaults.some(kind => error instanceof kind)) return sentence
  // With several cells one of them may be unreachable while a command works in the others.
  if (isConnectionLost(error))
    return `tollgate: a database cannot be reached: ${describeReason(error)}; try again when it is back`
  if (isRefusedByDatabase(error)) return `tollgate: the database refuses this: ${describeReason(error)}`
  return `${sentence} (unexpected; TOLLGATE_LOG_LEVEL=debug shows where it comes from)`
}

/**
 * 28: user or password; 3D000: no such database; 42501: rights; 53300: too many connections. Their addresses and settings
 * are the operator's.
 */
const isRefusedByDatabase = (error: unknown): boolean =>
  error instanceof Error &&
  (/^(28...|3D000|42501|53300)$/.test(textAt(error, 'code') ?? '') ||
    error.message === 'The server does not support SSL connections')

/** A refused connection to a host with several addresses is an aggregate error without a message. */
export function describeReason(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') {
    return [...new Set(error.errors.map(describeReason))].join('; ')
  }
  return error instanceof Error ? error.message || error.name : String(error)
}

function describeCauses({ cause }: Error): string {
  return cause instanceof Error ? `\ncaused by ${cause.stack}${describeCauses(cause)}` : ''
}

/** A refusal of the gateway is printed as one sentence, like every other error of a command. */
export async function explainFaults(work: Promise<void>): Promise<void> {
  try {
    await work
  } catch (error) {
    throw error instanceof ClientFault ? new CommandFault(error.message, { cause: error }) : error
  }
}
