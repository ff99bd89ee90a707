/** Everything of one database that has to do with keeping book of people and keys, put together. */
import { type AccessRecorder, createAccessRecorder } from '#operations/audit/access-recorder.ts'
import { type Audit, auditAs, gatewayActor } from '#operations/audit/audit.ts'
import { type ApiKeyStore, createApiKeyStore } from '#storage/api-keys.ts'
import { type AuditStore, createAuditStore } from '#storage/audit/audit.ts'
import type { Database } from '#storage/database.ts'

export interface OpenAudit {
  readonly apiKeys: ApiKeyStore
  readonly store: AuditStore
  readonly access: AccessRecorder
  /** For what the gateway does by itself. */
  readonly audit: Audit
}

/** `home`: the database that holds the trail of all cells; this one unless given. */
export function openAudit(database: Database, nowMs: () => number, home = database): OpenAudit {
  const apiKeys = createApiKeyStore(database)
  const store = createAuditStore(home)
  return {
    apiKeys,
    store,
    access: createAccessRecorder({ apiKeys, audit: store, nowMs }),
    audit: auditAs(gatewayActor, store),
  }
}
