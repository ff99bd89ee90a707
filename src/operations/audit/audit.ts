/**
 * Records actions of people, commands and keys in the audit trail. The actor is given once: the system user for the
 * command line, the signed-in person for the console, the gateway for itself.
 */
import type { MerchantId } from '#domain/ids.ts'
import type { AuditEntry, AuditStore } from '#storage/audit/audit.ts'

export interface Actor {
  readonly actor: string
  readonly from: string
}

/** One action. Never put a secret, a card number or a whole request into `before` or `after`. */
export type Act = Omit<AuditEntry, 'actor' | 'from'>

export type Audit = (act: Act) => Promise<void>

/**
 * `const audit = auditAs({ actor: 'ada@shop.example', from: request.address }, store); await audit({ act, object })`
 */
export const auditAs =
  (actor: Actor, store: Pick<AuditStore, 'append'>): Audit =>
  act =>
    store.append([{ ...actor, ...act }])

/** The actor of automatic actions, such as creating the demo merchant. */
export const gatewayActor: Actor = { actor: 'tollgate', from: 'server' }

export interface Opening {
  readonly merchantId: MerchantId
  /** The client's address. */
  readonly from: string
  readonly purpose: 'account updater' | 'tokenization' | 'offer of a currency'
  readonly cards: number
}

export type OpeningLog = Pick<AuditStore, 'append'>

/** Call before card or account numbers are decrypted for any purpose other than paying. */
export async function auditOpening(
  { merchantId, from, purpose, cards }: Opening,
  store: OpeningLog,
): Promise<void> {
  if (cards === 0) return
  const after = { purpose, cards }
  await store.append([{ actor: merchantId, from, act: 'cards.opened', object: merchantId, after }])
}

/** The doctor decrypts numbers of all merchants, and discards them at once. */
export const doctorOpens: Act = { act: 'cards.opened', object: 'vault', after: { purpose: 'doctor' } }
