/** Records the actions of commands in the audit trail, under the name of the system user who runs them. */
import { userInfo } from 'node:os'
import { CommandFault, describeReason, UsageFault } from '#commands/faults.ts'
import { type Act, type Actor, auditAs } from '#operations/audit/audit.ts'
import { createAuditStore } from '#storage/audit/audit.ts'
import { createFormStore } from '#storage/console/forms.ts'
import { openDatabase } from '#storage/database.ts'

/** A container may run under a user id without a name; then the id is used. */
export function commandActor(): Actor {
  try {
    return { actor: userInfo().username, from: 'command line' }
  } catch {
    return { actor: `user ${process.getuid?.() ?? 'unknown'}`, from: 'command line' }
  }
}

/** For commands that work on the database without merchants: one connection, one row. */
export async function auditCommand(databaseUrl: string, act: Act): Promise<void> {
  const pools = openDatabase(databaseUrl, error => console.error(`tollgate: ${describeReason(error)}`))
  try {
    await auditAs(commandActor(), createAuditStore(pools))(act)
  } finally {
    await pools.close()
  }
}

/** What a command is about to do, and to which object; no secret is a word of it. */
export interface Noted {
  readonly command: string
  readonly object: string
}

/**
 * An act and its row in the audit trail are two commits. The note that is made before them becomes the row `command.cut-off`
 * unless the command ends, so that one that was killed in between leaves a trace. None: the command changes nothing.
 */
export async function withNote<T>(
  databaseUrl: string,
  noted: Noted | undefined,
  work: () => Promise<T>,
): Promise<T> {
  if (!noted) return work()
  const { command, object } = noted
  const pools = openDatabase(databaseUrl, error => console.error(`tollgate: ${describeReason(error)}`))
  try {
    const after = { command, status: 'UNKNOWN' }
    const row = { ...commandActor(), act: 'command.cut-off', object, after }
    const takeBack = await createFormStore(pools).note(row)
    try {
      const result = await work()
      // The act is done and has its row; a note that stays says a little too much.
      await takeBack().catch(() => undefined)
      return result
    } catch (error) {
      const isRefused = error instanceof CommandFault || error instanceof UsageFault
      if (isRefused) await takeBack().catch(() => undefined)
      throw error
    }
  } finally {
    await pools.close()
  }
}
