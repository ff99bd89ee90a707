/** Adds, lists and removes the webhook endpoints of a merchant. A secret is returned only when it is created. */
import { randomBytes } from 'node:crypto'
import type { EventType } from '#domain/event-types.ts'
import type { MerchantId } from '#domain/ids.ts'
import type { WebhookKind } from '#domain/merchant.ts'
import type { Audit } from '#operations/audit/audit.ts'
import { makeWebhookSecret } from '#operations/events/webhook-secret.ts'
import type { EndpointStore, WebhookEndpoint } from '#storage/events/endpoints.ts'
import type { DerivedKeys } from '#vault/key-ring.ts'

export interface EndpointAdministration {
  /** Undefined: there is no such merchant. */
  add(endpoint: NewEndpoint): Promise<AddedEndpoint | undefined>
  list: EndpointStore['list']
  remove: EndpointStore['remove']
  /**
   * During the overlap every message is signed with the old secret too. Returns undefined if there is no such endpoint.
   */
  rotateSecret(endpointId: string, overlapHours: number): Promise<string | undefined>
}

export interface NewEndpoint {
  readonly merchantId: string
  readonly url: string
  /** All types unless given. */
  readonly types?: readonly EventType[]
  readonly kind: WebhookKind
}

export interface AddedEndpoint extends NewEndpoint {
  readonly endpointId: string
  readonly webhookSecret: string
}

export interface EndpointDeps {
  readonly store: EndpointStore
  readonly keys: Pick<DerivedKeys, 'webhookSecrets'>
  readonly newId: () => string
  readonly audit: Audit
}

/** The members of a removed endpoint that the audit trail records: the same as when it was added. */
const shownOf = ({ merchantId, url, types, kind }: WebhookEndpoint) => ({ merchantId, url, types, kind })

export function createEndpointAdministration(deps: EndpointDeps): EndpointAdministration {
  const { store, keys, newId, audit } = deps
  const makeSecret = (owner: Pick<WebhookEndpoint, 'merchantId' | 'endpointId'>) => {
    const { shown, sealed } = makeWebhookSecret(keys.webhookSecrets, owner)
    return { shown, row: { secretId: newId(), sealed } }
  }
  return {
    async add(endpoint) {
      // Unchecked input: the store refuses an id that no merchant has.
      const merchantId = endpoint.merchantId as MerchantId
      // Random, so that the id does not reveal how many endpoints there are.
      const endpointId = `we_${randomBytes(16).toString('hex')}`
      const secret = makeSecret({ merchantId, endpointId })
      const added = await store.insert({ ...endpoint, merchantId, endpointId }, secret.row)
      if (!added) return undefined
      await audit({ act: 'webhook.add', object: endpointId, after: endpoint })
      return { ...endpoint, endpointId, webhookSecret: secret.shown }
    },
    list: merchantId => store.list(merchantId),
    async remove(endpointId) {
      const known = (await store.list()).find(endpoint => endpoint.endpointId === endpointId)
      const removed = await store.remove(endpointId)
      if (removed) await audit({ act: 'webhook.remove', object: endpointId, before: known && shownOf(known) })
      return removed
    },
    async rotateSecret(endpointId, overlapHours) {
      const owner = (await store.list()).find(endpoint => endpoint.endpointId === endpointId)
      if (!owner) return undefined
      const secret = makeSecret(owner)
      if (!(await store.rotateSecret(endpointId, { ...secret.row, overlapHours }))) return undefined
      await audit({
        act: 'webhook.rotate-secret',
        object: endpointId,
        after: { secretId: secret.row.secretId, overlapHours },
      })
      return secret.shown
    },
  }
}
