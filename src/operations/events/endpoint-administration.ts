/** Adding, showing and removing the endpoints of a merchant. Secrets are returned once, to be shown once. */
import { type KeyObject, randomBytes } from 'node:crypto'
import type { EventType } from '#domain/event-types.ts'
import type { MerchantId } from '#domain/ids.ts'
import type { WebhookKind } from '#domain/merchant.ts'
import { makeWebhookSecret } from '#operations/events/webhook-secret.ts'
import type { EndpointStore, WebhookEndpoint } from '#storage/events/endpoints.ts'

export interface EndpointAdministration {
  /** Undefined: there is no such merchant. */
  add(wish: EndpointWish): Promise<AddedEndpoint | undefined>
  list: EndpointStore['list']
  remove: EndpointStore['remove']
  /** For the overlap every message carries a signature of the old secret, too. Undefined: no such endpoint. */
  rotateSecret(endpointId: string, overlapHours: number): Promise<string | undefined>
}

export interface EndpointWish {
  readonly merchantId: string
  readonly url: string
  /** All of them unless given. */
  readonly types?: readonly EventType[]
  readonly kind: WebhookKind
}

export interface AddedEndpoint extends EndpointWish {
  readonly endpointId: string
  readonly webhookSecret: string
}

export interface EndpointDeps {
  readonly store: EndpointStore
  readonly webhookSecretKey: KeyObject
  readonly newId: () => string
}

export function createEndpointAdministration(deps: EndpointDeps): EndpointAdministration {
  const { store, webhookSecretKey, newId } = deps
  const makeSecret = (owner: Pick<WebhookEndpoint, 'merchantId' | 'endpointId'>) => {
    const { shown, sealed } = makeWebhookSecret(webhookSecretKey, owner)
    return { shown, row: { secretId: newId(), sealed } }
  }
  return {
    async add(wish) {
      const merchantId = wish.merchantId as MerchantId
      // Chance, not time: the id tells nobody how many endpoints there are.
      const endpointId = `we_${randomBytes(16).toString('hex')}`
      const secret = makeSecret({ merchantId, endpointId })
      const added = await store.insert({ ...wish, merchantId, endpointId }, secret.row)
      return added ? { ...wish, endpointId, webhookSecret: secret.shown } : undefined
    },
    list: merchantId => store.list(merchantId),
    remove: endpointId => store.remove(endpointId),
    async rotateSecret(endpointId, overlapHours) {
      const owner = (await store.list()).find(endpoint => endpoint.endpointId === endpointId)
      if (!owner) return undefined
      const secret = makeSecret(owner)
      return (await store.rotateSecret(endpointId, { ...secret.row, overlapHours }))
        ? secret.shown
        : undefined
    },
  }
}
