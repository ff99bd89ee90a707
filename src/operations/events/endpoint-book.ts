/**
 * A cache of all webhook endpoints, so that no event without a receiver is written. Every commit returns a mark that
 * changes with the endpoints, so a change made by any process is noticed with the next commit here.
 */
import type { EventType } from '#domain/event-types.ts'
import type { MerchantId } from '#domain/ids.ts'
import type { EndpointStore, WebhookEndpoint } from '#storage/events/endpoints.ts'

export interface EndpointBook {
  /** Whether an endpoint of the merchant wants events of this type. */
  wants(merchantId: MerchantId, type: EventType): boolean
  /**
   * Whether deliveries to endpoints may wait: there are endpoints, or there were, because a commit that is under way while
   * the last one is removed may still write a delivery to it.
   */
  mayHaveDeliveries(): boolean
  load(): Promise<void>
  /** Call this before a change whose event an endpoint may want that another process has just added. */
  refresh(): Promise<void>
  /** Reloads the endpoints if the mark is new; resolves when they are loaded. */
  notice(mark: string): Promise<void> | undefined
}

export function createEndpointBook(store: Pick<EndpointStore, 'readAll' | 'readMark'>): EndpointBook {
  let known: {
    readonly mark: string
    readonly byMerchant: ReadonlyMap<MerchantId, readonly WebhookEndpoint[]>
  } = {
    mark: '',
    byMerchant: new Map(),
  }
  let mayHaveDeliveries = false
  let loading: Promise<void> | undefined

  async function load(): Promise<void> {
    const { mark, endpoints, deliveriesWait } = await store.readAll()
    known = { mark, byMerchant: Map.groupBy(endpoints, ({ merchantId }) => merchantId) }
    mayHaveDeliveries ||= deliveriesWait || endpoints.length > 0
  }

  function loadShared(): Promise<void> {
    loading = load().finally(() => {
      loading = undefined
    })
    return loading
  }

  function notice(mark: string): Promise<void> | undefined {
    if (mark === known.mark) return undefined
    if (!loading) return loadShared()
    // The load under way may have begun before the endpoints were changed.
    return loading
      .catch(() => undefined)
      .then(() => (mark === known.mark ? undefined : (loading ?? loadShared())))
  }

  return {
    wants: (merchantId, type) =>
      known.byMerchant.get(merchantId)?.some(({ types }) => types?.includes(type) ?? true) === true,
    mayHaveDeliveries: () => mayHaveDeliveries,
    load,
    async refresh() {
      await notice(await store.readMark())
    },
    notice,
  }
}
