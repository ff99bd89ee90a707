/**
 * Writes acts of people, commands and keys into the audit trail. The actor is given once: the system user for the
 * command line, the signed-in person for the console, the gateway for itself.
 */
import type { AuditEntry, AuditStore } from '#storage/audit/audit.ts'

export interface Actor {
  readonly actor: string
  readonly from: string
}

/** One thing that was done. Never put a secret, a card number or a whole request into `before` or `after`. */
export type Act = Omit<AuditEntry, 'actor' | 'from'>

export type Audit = (act: Act) => Promise<void>

/** `const audit = auditAs({ actor: 'ada@shop.example', from: request.address }, store); await audit({ act, object })` */
export const auditAs =
  (actor: Actor, store: Pick<AuditStore, 'append'>): Audit =>
  act =>
    store.append([{ ...actor, ...act }])

/** What the gateway does by itself, such as making the demo merchant. */
export const gatewayActor: Actor = { actor: 'tollgate', from: 'server' }
