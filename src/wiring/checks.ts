/** Requirements for a database before anything is stored in it. */
import {
  type Database,
  hasSessionSettings,
  isRefusedByPooler,
  poolerRefusal,
  readDurability,
} from '#storage/database.ts'
import type { Installation } from '#storage/installation.ts'

/** The gateway refuses to start; the message says what to change. */
export class GatewayError extends Error {}

/** Refuses a database, or a pooler in front of it, that would lose payments. Returns tolerated weaknesses. */
export async function checkDatabase(
  database: Database,
  process: number,
  environment: 'test' | 'live',
): Promise<readonly string[]> {
  const isDirect = await hasSessionSettings(database, process).catch((error: unknown) => {
    if (isRefusedByPooler(error)) return false
    throw error
  })
  if (!isDirect) throw new GatewayError(poolerRefusal)
  const { durable, weak, unguardedStandby } = await readDurability(database)
  if (!durable && environment === 'live') {
    throw new GatewayError(
      `the database would lose payments in a crash (${weak.join(', ')}); switch these settings on before you serve the live environment`,
    )
  }
  const standby =
    'a standby is connected, but synchronous_standby_names is empty: a failover may lose payments'
  return unguardedStandby ? [...weak, standby] : weak
}

/** A database belongs to one environment for good: live must never see test data, or the other way round. */
export async function claimEnvironment(
  installation: Installation,
  environment: 'test' | 'live',
): Promise<void> {
  const owner = await installation.readOrInsert('environment', environment)
  if (owner !== environment) {
    throw new GatewayError(
      `this database belongs to the ${owner} environment; give ${environment} one of its own`,
    )
  }
}
