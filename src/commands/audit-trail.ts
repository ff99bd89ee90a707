/** Records the actions of commands in the audit trail, under the name of the system user who runs them. */
import { userInfo } from 'node:os'
import { describeReason } from '#commands/faults.ts'
import { type Act, type Actor, auditAs } from '#operations/audit/audit.ts'
import { createAuditStore } from '#storage/audit/audit.ts'
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
